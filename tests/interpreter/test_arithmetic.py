"""Operators and functions of math: integers bit for bit against Python's, floats against float64 rounded once."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest

import naiad.language as tl

from .interpreted import INTEGERS, NUMPY, jit, numbers, poisoned, truncating, wrapped
from .test_casts import nearest

N = 203


@jit
def binary(x, y, o, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n)
    b = tl.load(y + i, mask=i < n, other=1)
    if OP == "add":
        c = a + b
    elif OP == "sub":
        c = a - b
    elif OP == "mul":
        c = a * b
    elif OP == "truediv":
        c = a / b
    elif OP == "floordiv":
        c = a // b
    elif OP == "mod":
        c = a % b
    elif OP == "and":
        c = a & b
    elif OP == "or":
        c = a | b
    elif OP == "xor":
        c = a ^ b
    elif OP == "lshift":
        c = a << b
    elif OP == "rshift":
        c = a >> b
    elif OP == "minimum":
        c = tl.minimum(a, b)
    elif OP == "maximum":
        c = tl.maximum(a, b)
    elif OP == "lt":
        c = a < b
    elif OP == "ge":
        c = a >= b
    elif OP == "eq":
        c = a == b
    elif OP == "ne":
        c = a != b
    else:
        tl.static_assert(OP == "umulhi")
        c = tl.umulhi(a, b)
    tl.store(o + i, c, mask=i < n)


def run_binary(op, x, y, result):
    out = poisoned(x.size, result)
    binary[(-(-x.size // 64),)](x, y, out, x.size, op, BLOCK=64)
    return out


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "and", "or", "xor", "minimum", "maximum"])
def test_integer_arithmetic(name, op):
    rng = np.random.default_rng(7)
    x, y = numbers(rng, name, N), numbers(rng, name, N)[::-1].copy()
    python = {"minimum": min, "maximum": max}.get(op) or getattr(operator, {"and": "and_", "or": "or_"}.get(op, op))
    want = [wrapped(python(int(a), int(b)), name) for a, b in zip(x, y, strict=True)]
    assert run_binary(op, x, y, name).tolist() == want


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_division_truncates(name):
    rng = np.random.default_rng(8)
    x, y = numbers(rng, name, N), numbers(rng, name, N, -9 if "u" not in name else 1, 9)
    y[y == 0] = 3
    pairs = [truncating(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    assert run_binary("floordiv", x, y, name).tolist() == [wrapped(q, name) for q, _ in pairs]
    assert run_binary("mod", x, y, name).tolist() == [wrapped(r, name) for _, r in pairs]


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts(name):
    rng = np.random.default_rng(9)
    x, y = numbers(rng, name, N), numbers(rng, name, N, 0, NUMPY[name].itemsize * 8 - 1)
    assert run_binary("lshift", x, y, name).tolist() == [
        wrapped(int(a) << int(b), name) for a, b in zip(x, y, strict=True)
    ]
    assert run_binary("rshift", x, y, name).tolist() == [int(a) >> int(b) for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", ["lt", "ge", "eq", "ne"])
def test_integer_comparison(name, op):
    rng = np.random.default_rng(10)
    x, y = numbers(rng, name, N), numbers(rng, name, N)
    y[::3] = x[::3]
    want = [getattr(operator, op)(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    assert run_binary(op, x, y, "bool").tolist() == want


@pytest.mark.parametrize("name", ["int32", "int64", "uint32", "uint64"])
def test_high_half_of_a_product(name):
    rng = np.random.default_rng(11)
    x, y = numbers(rng, name, N), numbers(rng, name, N)
    bits = NUMPY[name].itemsize * 8
    want = [wrapped((int(a) % 2**bits) * (int(b) % 2**bits) >> bits, name) for a, b in zip(x, y, strict=True)]
    assert run_binary("umulhi", x, y, name).tolist() == want


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "truediv"])
def test_float_arithmetic_is_rounded_once(name, op):
    """f16 and bf16 divide in f32, as in Triton; the store rounds to 16 bits then."""
    rng = np.random.default_rng(12)
    x, y = numbers(rng, name, N), numbers(rng, name, N)
    exact = getattr(operator, op)(x.astype(np.float64), y.astype(np.float64))
    got = run_binary(op, x, y, name).astype(np.float64)
    if name == "float32":
        assert np.array_equal(got, exact.astype(np.float32).astype(np.float64))
    else:
        exact = exact.astype(np.float32) if op == "truediv" else exact
        assert np.array_equal(got, nearest(exact, name))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_extrema_of_nan_and_zero(name):
    nan = np.nan
    x = np.array([nan, 1, nan, -0.0, 0.0, np.inf], NUMPY[name])
    y = np.array([2, nan, nan, 0.0, -0.0, -np.inf], NUMPY[name])
    low, high = (run_binary(op, x, y, name).astype(np.float64) for op in ("minimum", "maximum"))
    assert low[:2].tolist() == [2, 1] and high[:2].tolist() == [2, 1]
    assert np.isnan(low[2]) and np.isnan(high[2])
    assert low[5] == -np.inf and high[5] == np.inf


def test_comparison_with_nan():
    x, y = np.array([np.nan, 1, np.nan], np.float32), np.array([1, np.nan, np.nan], np.float32)
    assert [run_binary(op, x, y, "bool").any() for op in ("lt", "ge", "eq")] == [False, False, False]
    assert run_binary("ne", x, y, "bool").all()


@jit
def propagating(x, y, lo, hi, cl, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(lo + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(hi + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(cl + i, tl.clamp(a, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL))


def test_extrema_that_propagate_nan():
    x, y = np.array([np.nan, 1, -5, 2], np.float32), np.array([1, np.nan, 3, 3], np.float32)
    lo, hi, cl = (poisoned(4, "float32") for _ in range(3))
    propagating[(1,)](x, y, lo, hi, cl, BLOCK=4)
    assert np.isnan(lo).tolist() == np.isnan(hi).tolist() == [True, True, False, False]
    assert lo[2:].tolist() == [-5, 2] and hi[2:].tolist() == [3, 3]
    assert np.isnan(cl[0]) and cl[1:].tolist() == [1, -1, 1]


UNARY = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "floor": np.floor, "ceil": np.ceil, "abs": np.abs, "erf": np.vectorize(math.erf),
}  # fmt: skip


@jit
def unary(x, o, n, F: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, F(tl.load(x + i, mask=i < n, other=1.0)), mask=i < n)


@pytest.mark.parametrize("function", UNARY)
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_math(function, name):
    x = numbers(np.random.default_rng(13), name, N)
    x = np.abs(x) if function in ("log", "log2", "sqrt", "rsqrt") else x
    out = poisoned(N, name)
    unary[(4,)](x, out, N, getattr(tl, function), BLOCK=64)
    want = UNARY[function](x.astype(np.float64))
    if name == "float32":
        with np.errstate(over="ignore"):
            want = want.astype(np.float32)
        assert np.array_equal(out, want)
    else:
        assert np.allclose(out, want, rtol=4e-16, atol=0)


@jit
def fused(x, y, z, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.fma(tl.load(x + i), tl.load(y + i), tl.load(z + i)))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_fma_is_rounded_once(name):
    rng = np.random.default_rng(14)
    x, y = numbers(rng, name, 128), numbers(rng, name, 128)
    z = -(x * y)
    z[::2] = numbers(rng, name, 64)
    out = poisoned(128, name)
    fused[(1,)](x, y, z, out, BLOCK=128)
    for got, a, b, c in zip(out, x, y, z, strict=True):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        step = Fraction(float(np.spacing(abs(got))))
        assert abs(Fraction(float(got)) - exact) <= step / 2


@jit
def mixed(o, x: tl.int32, y: tl.float32, z: tl.uint8):
    tl.store(o + 0, x / 2)
    tl.store(o + 1, x // 2 + y)
    tl.store(o + 2, (z + 250).to(tl.float32))
    tl.store(o + 3, -y * 2 + x % 3)
    tl.store(o + 4, tl.where(x > 0, y, 7.0))
    tl.store(o + 5, ~x)


def test_scalars_promote():
    out = poisoned(6, "float32")
    mixed[(1,)](out, -7, 1.5, 10)
    assert out.tolist() == [-3.5, -1.5, 4.0, -4.0, 7.0, 6.0]
