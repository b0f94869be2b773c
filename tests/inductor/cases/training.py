"""Forward and backward passes, and optimizers."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.inductor.case import Program, case
from tests.inductor.cases.models import Attention, Block, Gated, Language, Residual


def wanted(*shape: int) -> torch.Tensor:
    return torch.randn(shape, requires_grad=True)


@case()
def pointwise() -> Program:
    return Program(lambda x, y: F.gelu(x * y) + y.sigmoid(), (wanted(9, 33), wanted(33)), train=True, kernels=2)


@case()
def mlp() -> Program:
    layers = nn.Sequential(nn.Linear(32, 65), nn.GELU(), nn.Linear(65, 7))
    return Program(layers, (wanted(20, 32),), train=True, kernels=2)


@case()
def layer_norm() -> Program:
    return Program(nn.LayerNorm(90), (wanted(20, 90),), train=True, kernels=2)


@case()
def softmax() -> Program:
    return Program(lambda x: (x.softmax(-1), x.log_softmax(0)), (wanted(20, 90),), train=True, kernels=2)


@case()
def attention() -> Program:
    return Program(Attention(32, 4), (wanted(2, 17, 32),), train=True, kernels=4)


@case()
def gated() -> Program:
    return Program(Gated(48, 80), (wanted(2, 9, 48),), train=True, kernels=4)


@case()
def block() -> Program:
    return Program(Block(32, 4), (wanted(2, 17, 32),), train=True, kernels=6)


@case()
def residual_block() -> Program:
    return Program(Residual(6).train(), (wanted(2, 6, 9, 11),), train=True, kernels=4)


@case()
def convolution() -> Program:
    layers = nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(100, 4))
    return Program(layers, (wanted(2, 3, 10, 12),), train=True, kernels=2)


@case()
def embedding() -> Program:
    return Program(nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 3)), (torch.randint(0, 11, (4, 9)),), train=True)


@case()
def cross_entropy() -> Program:
    return Program(F.cross_entropy, (wanted(37, 101), torch.randint(0, 101, (37,))), train=True, kernels=2)


@case()
def language_model() -> Program:
    model = Language()

    def loss(i):
        return F.cross_entropy(model(i).flatten(0, 1), i.flatten())

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, i):
            return F.cross_entropy(self.model(i).flatten(0, 1), i.flatten())

    return Program(Loss(), (torch.randint(0, 61, (2, 19)),), train=True, kernels=8)


@case()
def optimizer() -> Program:
    """Three steps of AdamW, compiled; the parameters are the result."""

    def steps(compiled: bool, kind: type) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(9, 17), nn.Tanh(), nn.Linear(17, 3)).to(
            torch.float64 if kind is float else None
        )
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        step = torch.compile(optimizer.step) if compiled else optimizer.step
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 9, dtype=next(model.parameters()).dtype)).pow(2).sum().backward()
            step()
        return list(model.parameters())

    def check(_, compiled):
        for got, exact in zip(steps(True, int), steps(False, float), strict=True):
            assert (got - exact).abs().max() < 1e-5

    return Program(lambda x: x + 1, (torch.ones(3),), check=check, kernels=2)
