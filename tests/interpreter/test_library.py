"""Functions of libdevice in the interpreter, against scipy, Python's integers, and exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

import naiad.language as tl
from naiad.language.extra import libdevice

from .interpreted import NUMPY, jit, poisoned

special = pytest.importorskip("scipy.special")

ONE = {
    "j0": special.j0, "j1": special.j1, "y0": special.y0, "y1": special.y1, "cyl_bessel_i0": special.i0,
    "cyl_bessel_i1": special.i1, "erfc": special.erfc, "erfcx": special.erfcx, "tgamma": special.gamma,
    "lgamma": special.gammaln, "normcdf": special.ndtr, "tan": np.tan, "sinpi": lambda x: np.sin(np.pi * x),
    "exp10": lambda x: 10.0**x, "asinh": np.arcsinh, "cbrt": np.cbrt, "rint": np.rint, "logb": special.xlogy,
}  # fmt: skip
ONE["logb"] = lambda x: np.floor(np.log2(np.abs(x)))
UNIT = {"erfinv": special.erfinv, "erfcinv": special.erfcinv, "normcdfinv": special.ndtri, "acos": np.arccos}


@jit
def unary(x, o, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, F(tl.load(x + i)))


@jit
def binary(x, y, o, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, F(tl.load(x + i), tl.load(y + i)))


def run(name, *arrays, result):
    out = poisoned(arrays[0].size, result)
    (unary if len(arrays) == 1 else binary)[(1,)](*arrays, out, getattr(libdevice, name), arrays[0].size)
    return out


@pytest.mark.parametrize("name", [*ONE, *UNIT])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_one_number(name, dtype):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.01, 0.99, 64) if name in UNIT else np.exp2(rng.uniform(-5, 4.5, 64))
    x = x.astype(NUMPY[dtype])
    want = {**ONE, **UNIT}[name](x.astype(np.float64))
    got = run(name, x, result=dtype).astype(np.float64)
    bound = 1e-7 if dtype == "float32" else 2e-13
    assert np.allclose(got, want, rtol=bound, atol=bound * 0.1)


@pytest.mark.parametrize("mode, compare", [("rz", None), ("rd", "down"), ("ru", "up"), ("rn", "near")])
@pytest.mark.parametrize("name", ["add", "mul", "div"])
def test_directed_rounding(name, mode, compare):
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(64).astype(np.float32) for _ in range(2))
    got = run(f"{name}_{mode}", x, y, result="float32")
    for g, a, b in zip(got, x, y, strict=True):
        p, q = Fraction(float(a)), Fraction(float(b))
        exact = {"add": p + q, "mul": p * q, "div": p / q}[name]
        step = Fraction(float(np.spacing(abs(g))))
        off = Fraction(float(g)) - exact
        if compare == "near":
            assert abs(off) <= step / 2
        else:
            low = compare == "down" or (compare is None and exact > 0)
            assert -step < off <= 0 if low else 0 <= off < step


def test_bits():
    x = np.array([0, 1, -1, 0x00F0, 1 << 30, -(2**31), 12345, 77], np.int32)
    words = [int(v) % 2**32 for v in x]
    assert run("clz", x, result="int32").tolist() == [32 - w.bit_length() for w in words]
    assert run("popc", x, result="int32").tolist() == [w.bit_count() for w in words]
    assert run("ffs", x, result="int32").tolist() == [(w & -w).bit_length() for w in words]
    assert run("brev", x, result="uint32").tolist() == [int(f"{w:032b}"[::-1], 2) for w in words]
    y = x[::-1].copy()
    assert run("mulhi", x, y, result="int32").tolist() == [(int(a) * int(b)) >> 32 for a, b in zip(x, y, strict=True)]
    assert run("hadd", x, y, result="int32").tolist() == [(int(a) + int(b)) >> 1 for a, b in zip(x, y, strict=True)]


def test_conversions():
    x = np.array([0.5, 1.5, -1.5, 2.7, -2.7, 1e10, -1e10, np.nan], np.float32)
    largest, least = 2**31 - 1, -(2**31)
    assert run("float2int_rn", x, result="int32").tolist() == [0, 2, -2, 3, -3, largest, least, 0]
    assert run("float2int_ru", x, result="int32").tolist() == [1, 2, -1, 3, -2, largest, least, 0]
    i = np.array([2**24 + 1, -(2**24) - 1, 2**30 + 1, 5, 0, 1, 2, 3], np.int32)
    assert run("int2float_rz", i, result="float32").tolist()[:3] == [2.0**24, -(2.0**24), 2.0**30]
    assert run("int2float_ru", i, result="float32").tolist()[:3] == [2.0**24 + 2, -(2.0**24), 2.0**30 + 128]
    assert run("float_as_int", x, result="int32").tolist() == x.view(np.int32).tolist()


def test_questions():
    x = np.array([1.0, np.nan, np.inf, -np.inf], np.float32)
    assert run("isnan", x, result="int32").tolist() == [0, 1, 0, 0]
    assert run("isinf", x, result="int32").tolist() == [0, 0, 1, 1]
    assert math.isinf(run("y0", np.zeros(1, np.float64), result="float64")[0])
