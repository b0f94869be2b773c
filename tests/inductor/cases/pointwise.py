"""Elementwise programs: chains, broadcasting, dtypes, masks, views."""

import torch
import torch.nn.functional as F

from tests.inductor.case import Program, case


@case(slow=False)
def chain() -> Program:
    return Program(lambda x, y: F.gelu(x + y) * torch.sigmoid(y) + x.cos(), (torch.randn(33, 70), torch.randn(70)))


@case()
def broadcasting() -> Program:
    return Program(
        lambda a, b, c, d: (a * b + c) / (d.abs() + 1),
        (torch.randn(5, 1, 7), torch.randn(3, 1), torch.randn(1, 1, 7), torch.randn(())),
    )


@case()
def mathematics() -> Program:
    def fn(x, y):
        positive = x.abs() + 0.1
        return (
            torch.erf(x), torch.erfc(x), torch.tanh(x), torch.expm1(x), torch.log1p(positive), torch.log2(positive),
            torch.atan2(x, y), torch.fmod(x, y), torch.remainder(x, y), torch.pow(positive, y), x.round(), x.trunc(),
            x.floor(), x.ceil(), torch.sign(x), torch.rsqrt(positive), torch.hypot(x, y), torch.asinh(x), torch.sinh(x),
            torch.acos(x.tanh()), torch.atanh(x.tanh() * 0.9), torch.lgamma(positive), torch.logaddexp(x, y), x.tan(),
            torch.copysign(x, y), torch.maximum(x, y), torch.nan_to_num(x / 0), torch.nextafter(x, y), x.frac(),
            torch.special.i0(x), torch.special.erfcx(positive), torch.special.ndtri(x.sigmoid()), torch.exp2(x),
        )  # fmt: skip

    return Program(fn, (torch.randn(301) * 3, torch.randn(301) + 2))


@case()
def activations() -> Program:
    def fn(x):
        return (
            F.relu(x), F.silu(x), F.gelu(x, approximate="tanh"), F.elu(x), F.selu(x), F.leaky_relu(x), F.softplus(x),
            F.mish(x), F.hardswish(x), F.hardsigmoid(x), F.logsigmoid(x), F.relu6(x), F.softsign(x), F.celu(x),
            F.hardtanh(x), F.threshold(x, 0.1, 2.0),
        )  # fmt: skip

    return Program(fn, (torch.randn(7, 99) * 4,))


@case()
def integers() -> Program:
    def fn(a, b, n):
        return (
            a + b, a * b, a // n, a % n, torch.div(a, n, rounding_mode="trunc"), a & b, a | b, a ^ b, ~a, a << n,
            a >> n, a > b, (a == b) | (b < 0), a.abs(), torch.minimum(a, b), a.float() / n, torch.clamp(a, -5, 5),
            a.to(torch.int8), a.to(torch.uint8) + 1, a.bool(), -a, torch.fmod(a, n), torch.gcd(a, b),
        )  # fmt: skip

    sides = [torch.randint(-1000, 1000, (4, 37)) for _ in range(2)]
    return Program(fn, (*sides, torch.randint(1, 9, (37,))), more=((*(s.int() for s in sides), torch.tensor(3).int()),))


@case()
def small_integers() -> Program:
    def fn(a, b):
        return a + b, a * b, a // (b | 1), a > b, a.to(torch.int32) * b, a.to(torch.float32) * 0.5, (a & b) | 1

    args = [torch.randint(0, 255, (2, 65), dtype=torch.uint8), torch.randint(1, 100, (65,), dtype=torch.uint8)]
    short = [(a.to(torch.int32) - 60).clamp(-128, 127).to(torch.int8) for a in args]
    return Program(fn, tuple(args), more=(tuple(short), tuple(a.to(torch.int16) for a in args)))


@case()
def booleans() -> Program:
    def fn(a, b, x):
        return (
            a & b,
            a | ~b,
            a ^ b,
            a.logical_not(),
            x * a,
            torch.where(a, x, b),
            a.to(torch.int64) + b,
            a == b,
            a.sum(),
        )

    return Program(fn, (torch.rand(130) > 0.5, torch.rand(130) > 0.5, torch.randn(130)))


@case()
def masks() -> Program:
    def fn(x, mask):
        causal = torch.ones(20, 20, dtype=torch.bool).tril()
        filled = x.masked_fill(mask, float("-inf")).masked_fill(~causal, -3.0)
        return torch.where(x > 0, x * 2, filled), filled.clamp(min=-1, max=1), x.isfinite(), torch.tril(x, 1), x.triu(2)

    return Program(fn, (torch.randn(3, 20, 20), torch.rand(20) > 0.7))


@case(slow=False)
def bfloat16() -> Program:
    x, y = torch.randn(3, 41, 50, dtype=torch.bfloat16), torch.randn(50, dtype=torch.bfloat16)
    return Program(lambda x, y: (F.silu(x) * y + x.exp(), x.float().sin().bfloat16(), (x * y).sum(-1)), (x, y))


@case()
def float16() -> Program:
    x, y = torch.randn(41, 50, dtype=torch.float16), torch.randn(41, 1, dtype=torch.float16)
    return Program(lambda x, y: (x.tanh() * y - x, (x / (y + 3)).mean(0), x.softmax(-1), x.double() * 2), (x, y))


@case()
def float64() -> Program:
    x, y = torch.randn(41, 50, dtype=torch.float64), torch.randn(50, dtype=torch.float64)
    return Program(
        lambda x, y: (x.exp() * y + torch.erf(x), x.log1p().nan_to_num(), x.var(1), x.tanh(), x.sin(), x.pow(2.5)),
        (x, y),
    )


@case()
def casts() -> Program:
    kinds = (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int16, torch.int8, torch.bool)

    def fn(x):
        return [x.to(kind) for kind in kinds] + [x.to(kind).to(torch.float32) + 1 for kind in kinds]

    return Program(fn, (torch.randn(77) * 30,), more=((torch.randn(77, dtype=torch.float64) * 30,),),
                   config={"emulate_precision_casts": True})  # fmt: skip


@case()
def float8() -> Program:
    def fn(x):
        return x.to(torch.float8_e4m3fn).float() * 2, x.to(torch.float8_e5m2).to(torch.bfloat16)

    return Program(fn, (torch.randn(300) * 10,), exact=False)


@case()
def views() -> Program:
    def fn(x, y):
        t = x.transpose(0, 2) + 1
        return t, t.permute(1, 0, 2).contiguous(), x[:, ::2, 3:] * y[::2, 3:], x.flip(1), x.unfold(2, 4, 2).sum(-1)

    return Program(fn, (torch.randn(6, 10, 17), torch.randn(17, 10).t()))


@case()
def transposes() -> Program:
    def fn(x, y):
        return x.t() + y, (x * 2).t().contiguous(), x + y.t()

    return Program(fn, (torch.randn(130, 77), torch.randn(77, 130)))


@case()
def joins() -> Program:
    def fn(x, y, z):
        joined = torch.cat([x * 2, y, z.relu()], 1)
        return joined.sin(), torch.stack([x, x + 1], -1), torch.chunk(joined, 3, 1), F.pad(x, (1, 2, 0, 3), value=7.0)

    return Program(fn, (torch.randn(5, 7), torch.randn(5, 1), torch.randn(5, 20)))


@case()
def in_place() -> Program:
    def fn(x, y):
        x.mul_(2).add_(y)
        y[1:3] = x[2:4]
        x[:, 0].zero_()
        return x + 1, x, y

    return Program(fn, (torch.randn(9, 33), torch.randn(9, 33)))


@case()
def factories() -> Program:
    def fn(x):
        ramp = torch.arange(x.shape[0], dtype=torch.float32)
        return ramp * x, torch.full_like(x, 3.0) + x, torch.linspace(0, 1, 33) + x[0], torch.eye(33) + x, x.new_zeros(3)

    return Program(fn, (torch.randn(33),))


@case()
def many_sizes() -> Program:
    shapes = [(1,), (2,), (15,), (16,), (17,), (1023,), (1, 1), (3, 1), (1, 129), (2, 3, 5, 7), (0, 4), (1000, 33)]
    args = tuple(torch.randn(shape) for shape in shapes)
    return Program(lambda *xs: [x * 2 + x.abs().sqrt() for x in xs], args, kernels=5)


@case()
def large() -> Program:
    return Program(lambda x, y: (x * y).tanh() + x, (torch.randn(1 << 20), torch.randn(1 << 20)))
