"""Small models, for inference."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.inductor.case import Program, case

MATH = {"fallback_random": True}


class Attention(nn.Module):
    """Attention in its parts, with a causal mask."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A block of a transformer, normalised first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Language(nn.Module):
    """A small language model: embeddings, blocks, logits."""

    def __init__(self, words: int = 61, width: int = 32, length: int = 19) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, i):
        x = self.words(i) + self.places(torch.arange(i.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class Residual(nn.Module):
    """A residual block of convolutions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.a, self.b = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.m, self.n = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.m(self.a(x)))
        return F.relu(self.n(self.b(y)) + x)


class Gated(nn.Module):
    """The gated MLP, with the norm, of recent language models."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.norm, self.gate, self.up = nn.RMSNorm(width), nn.Linear(width, inner), nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def recurrent(x, h, c, w, u, b):
    """An LSTM, step by step."""
    out = []
    for t in range(x.shape[0]):
        i, f, g, o = (x[t] @ w + h @ u + b).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        out.append(h)
    return torch.stack(out), h, c


@case()
def mlp() -> Program:
    layers = nn.Sequential(nn.Linear(32, 65), nn.GELU(), nn.Linear(65, 40), nn.SiLU(), nn.Linear(40, 7))
    return Program(layers, (torch.randn(20, 32),))


@case()
def gated() -> Program:
    return Program(Gated(48, 80), (torch.randn(2, 9, 48),), more=((torch.randn(2, 9, 48),),))


@case()
def half_gated() -> Program:
    return Program(Gated(48, 80).bfloat16(), (torch.randn(2, 9, 48).bfloat16(),))


@case()
def attention() -> Program:
    return Program(Attention(32, 4), (torch.randn(2, 17, 32),), kernels=2)


@case()
def scaled_dot_product() -> Program:
    def fn(q, k, v, bias):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return F.scaled_dot_product_attention(q * 2, k, v, attn_mask=bias).relu()

    shape = (2, 3, 13, 8)
    return Program(fn, (*(torch.randn(shape) for _ in range(3)), torch.randn(13, 13)))


@case()
def transformer_block() -> Program:
    return Program(Block(32, 4), (torch.randn(2, 17, 32),), kernels=3)


@case()
def language_model() -> Program:
    return Program(Language(), (torch.randint(0, 61, (2, 19)),), kernels=4)


@case()
def residual_block() -> Program:
    return Program(Residual(6).eval(), (torch.randn(2, 6, 9, 11),))


@case()
def convolution() -> Program:
    def fn(x, w, b):
        return F.gelu(F.conv2d(x, w, b, padding=1)) * 2 + x[:, :1], F.conv1d(x[:, :, 0], w[:, :, 0], b).relu().sum(-1)

    return Program(fn, (torch.randn(2, 3, 10, 12), torch.randn(5, 3, 3, 3), torch.randn(5)))


@case()
def lstm() -> Program:
    width = 12
    args = [
        torch.randn(s) for s in ((5, 3, 8), (3, width), (3, width), (8, 4 * width), (width, 4 * width), (4 * width,))
    ]
    return Program(recurrent, tuple(args), kernels=2)


@case()
def gru() -> Program:
    cell = nn.GRUCell(8, 12)

    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, x, h):
            for step in x:
                h = self.cell(step, h)
            return h

    return Program(Loop(), (torch.randn(4, 3, 8), torch.randn(3, 12)))


@case()
def cross_entropy() -> Program:
    def fn(x, y):
        return F.cross_entropy(x, y), F.cross_entropy(x, y, label_smoothing=0.1, reduction="none"), F.nll_loss(x, y)

    return Program(fn, (torch.randn(37, 101), torch.randint(0, 101, (37,))))


@case()
def mixture_of_experts() -> Program:
    def fn(x, router, up, down):
        weight, chosen = (x @ router).softmax(-1).topk(2, -1)
        hidden = torch.einsum("nd,ndkh->nkh", x, up[chosen].transpose(1, 2)).relu()
        return (torch.einsum("nkh,nkhd->nkd", hidden, down[chosen]) * weight[..., None]).sum(1)

    return Program(fn, (torch.randn(9, 8), torch.randn(8, 4), torch.randn(4, 8, 12), torch.randn(4, 12, 8)))


@case()
def dropout() -> Program:
    def check(result, compiled):
        kept = result != 0
        assert abs(kept.float().mean().item() - 0.75) < 0.01
        assert torch.equal(result[kept], torch.full_like(result[kept], 1 / 0.75))
        torch.manual_seed(5)
        first = compiled(torch.ones(300, 400))
        assert not torch.equal(first, compiled(torch.ones(300, 400)))
        torch.manual_seed(5)
        assert torch.equal(first, compiled(torch.ones(300, 400)))

    return Program(lambda x: F.dropout(x, 0.25, True), (torch.ones(300, 400),), check=check)


@case()
def random() -> Program:
    def fn(x):
        return torch.rand_like(x), torch.randn_like(x), torch.randint(0, 10, (100000,)), torch.bernoulli(x * 0 + 0.3)

    def check(result, compiled):
        uniform, normal, integers, coins = result
        assert uniform.min() >= 0 and uniform.max() < 1
        assert abs(uniform.mean() - 0.5) < 0.01 and abs(uniform.var() - 1 / 12) < 0.003
        assert abs(normal.mean()) < 0.02 and abs(normal.var() - 1) < 0.03 and abs((normal**4).mean() - 3) < 0.2
        counts = integers.bincount(minlength=10)
        assert len(counts) == 10 and (counts - 10000).abs().max() < 500
        assert abs(coins.mean() - 0.3) < 0.01
        assert torch.corrcoef(torch.stack([uniform[:-1], uniform[1:]]))[0, 1].abs() < 0.02

    return Program(fn, (torch.empty(100000),), check=check)
