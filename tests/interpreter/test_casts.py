"""Conversions between all dtypes, against the nearest of all values that the target has."""

import ml_dtypes
import numpy as np
import pytest

import naiad.language as tl

from .interpreted import INTEGERS, NUMPY, jit, language_dtype, numbers, poisoned, wrapped

FP8 = ("float8e4nv", "float8e5", "float8e4b8", "float8e5b16")
SMALL = (*FP8, "float16", "bfloat16")


@jit
def convert(x, o, n, TO: tl.constexpr, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n).to(TO, fp_downcast_rounding=ROUNDING), mask=i < n)


@jit
def reinterpret(x, o, n, TO: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n).to(TO, bitcast=True), mask=i < n)


def converted(x, name, rounding=None, block=1024):
    out = poisoned(x.size, name)
    convert[(-(-x.size // block),)](x, out, x.size, language_dtype(name), rounding, BLOCK=block)
    return out


def finite_values(name):
    """All finite values of a small float in order, and whether the last bit of each one's code is zero."""
    element = NUMPY[name]
    word = np.dtype(f"u{element.itemsize}")
    codes = np.arange(2 ** (8 * element.itemsize), dtype=np.uint32).astype(word)
    with np.errstate(invalid="ignore"):  # signalling NaN
        values = codes.view(element).astype(np.float64)
    keep = np.isfinite(values)
    order = np.argsort(values[keep], kind="stable")
    return values[keep][order], (codes[keep][order] & 1) == 0


def nearest(x, name, rounding="rtne"):
    """Each of `x` rounded to the values that the dtype has, by looking among all of them."""
    values, even = finite_values(name)
    x = x.astype(np.float64)
    above = np.clip(np.searchsorted(values, x, side="left"), 1, len(values) - 1)
    low, high = values[above - 1], values[above]
    if rounding == "rtz":
        exact = np.where(high == x, high, np.where(x >= 0, low, high))
        exact = np.where(x >= values[-1], values[-1], np.where(x <= values[0], values[0], exact))
        return np.where(np.abs(x) < np.abs(values[values != 0]).min(), 0.0, exact)
    closer = np.where(x - low < high - x, low, high)
    tied = np.where(even[above - 1], low, high)
    return np.where(x - low == high - x, tied, closer)


def samples(name, rng):
    """Values of the dtype, what lies half way between them and next to that, and sizes outside of its range."""
    values, _ = finite_values(name)
    values = values[:: max(1, len(values) // 1500)]
    middle = (values[:-1] + values[1:]) / 2
    spread = rng.standard_normal(400) * np.exp2(rng.integers(-30, 12, 400))
    x = np.concatenate([values, middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf), spread])
    return x.astype(np.float32)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("rounding", ["rtne", "rtz"])
def test_float32_becomes_the_right_neighbour(name, rounding):
    x = samples(name, np.random.default_rng(3))
    largest = float(ml_dtypes.finfo(NUMPY[name]).max)
    x = x[np.abs(x) <= largest]
    assert np.array_equal(converted(x, name, rounding).astype(np.float64), nearest(x, name, rounding))


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float64"])
def test_other_floats_become_fp8(source, name):
    x = samples(name, np.random.default_rng(4)).astype(NUMPY[source])
    x = x[np.abs(x.astype(np.float64)) <= float(ml_dtypes.finfo(NUMPY[name]).max)]
    assert np.array_equal(converted(x, name).astype(np.float64), nearest(x, name))


@pytest.mark.parametrize("name", FP8)
def test_fp8_saturates(name):
    largest = float(ml_dtypes.finfo(NUMPY[name]).max)
    x = np.array([largest * 4, -largest * 4, np.inf, -np.inf, np.nan, 3e38], np.float32)
    got = converted(x, name).astype(np.float32)
    assert got[:4].tolist() == [largest, -largest, largest, -largest]
    assert np.isnan(got[4]) and got[5] == largest


@pytest.mark.parametrize("rounding, large", [("rtne", np.inf), ("rtz", 65504.0)])
def test_float16_overflow(rounding, large):
    x = np.array([65520.0, -70000.0, np.inf, np.nan, 65519.0], np.float32)
    got = converted(x, "float16", rounding).astype(np.float32)
    assert got[0] == large and got[1] == -large and got[2] == np.inf and np.isnan(got[3]) and got[4] == 65504


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64"])
def test_every_small_float_keeps_its_value(name, target):
    element = NUMPY[name]
    x = np.arange(2 ** (8 * element.itemsize), dtype=np.uint32).astype(f"u{element.itemsize}").view(element)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = x.astype(np.float64)
        fits = np.isfinite(exact)
        if target in ("float16", "bfloat16"):
            fits &= exact.astype(NUMPY[target]).astype(np.float64) == exact
        got = converted(x, target, block=8192).astype(np.float64)
    assert np.array_equal(got[fits], exact[fits])
    assert np.array_equal(np.isnan(got), np.isnan(exact))


def test_float64_is_rounded_once():
    """Through float32 the first would become a tie, and go down."""
    x = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 2.0**-11 + 2.0**-45])
    assert converted(x, "bfloat16").astype(np.float64).tolist() == [1 + 2.0**-7, 1.0, 1.0]
    assert converted(x, "float16").astype(np.float64)[2] == 1 + 2.0**-10


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_integers_wrap(source, target):
    x = numbers(np.random.default_rng(1), source, 77)
    assert converted(x, target).tolist() == [wrapped(int(v), target) for v in x]


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", ["float32", "float64", "float16", "bfloat16"])
def test_integers_become_floats(source, target):
    x = numbers(np.random.default_rng(2), source, 501)
    got = converted(x, target).astype(np.float64)
    if target == "float64":
        assert got.tolist() == [float(int(v)) for v in x]
    elif target == "float32":
        assert got.tolist() == [float(np.float32(int(v))) for v in x]
    else:
        small = np.array([abs(int(v)) < 2**52 for v in x])
        with np.errstate(over="ignore"):
            want = nearest(x, target)
        over = np.abs(x.astype(np.float64)) >= 65520 if target == "float16" else np.zeros(len(x), bool)
        assert np.array_equal(got[small & ~over], want[small & ~over])
        assert np.isinf(got[over]).all()


def test_large_integers_are_rounded_once():
    """2**56 + 2**48 is a tie of bfloat16; one more must go up, though float64 does not have it."""
    x = np.array([2**56 + 2**48, 2**56 + 2**48 + 1, 2**56 + 3 * 2**48, -(2**56) - 2**48 - 1], np.int64)
    want = [2.0**56, 2.0**56 + 2.0**49, 2.0**56 + 2.0**50, -(2.0**56) - 2.0**49]
    assert converted(x, "bfloat16").astype(np.float64).tolist() == want


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_floats_lose_their_fraction_and_saturate(source, target):
    info = np.iinfo(NUMPY[target])
    x = np.array([0.0, -0.0, 0.9, -0.9, 2.5, 100.75, 1e4, -1e4, 3e38, -3e38, np.inf, -np.inf, np.nan])
    with np.errstate(over="ignore"):
        x = x.astype(NUMPY[source])
    want = [0 if np.isnan(v) else int(np.clip(v, -1e30, 1e30)) for v in x.astype(np.float64)]
    assert converted(x, target).tolist() == [min(max(v, info.min), info.max) for v in want]


@pytest.mark.parametrize("name", [*INTEGERS, "float16", "bfloat16", "float32", "float64"])
def test_bool_is_not_zero(name):
    x = np.array([0, 1, 2, 100, 0, 64]).astype(NUMPY[name])
    assert converted(x, "bool").tolist() == [False, True, True, True, False, True]
    assert converted(np.array([True, False]), name).astype(float).tolist() == [1.0, 0.0]


def test_bits_stay():
    x = np.random.default_rng(5).integers(-(2**31), 2**31, 60).astype(np.int32)
    out = poisoned(60, "float32")
    reinterpret[(1,)](x, out, 60, tl.float32, BLOCK=64)
    assert np.array_equal(out.view(np.int32), x)


@jit
def through_e4b15(x, o, bits, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.load(x + i).to(tl.float8e4b15)
    tl.store(bits + i, y.to(tl.uint8, bitcast=True))
    tl.store(o + i, y.to(tl.float32))


def test_fp8e4b15_is_nearest():
    rng = np.random.default_rng(6)
    x = (rng.standard_normal(1024) * np.exp2(rng.integers(-14, 2, 1024))).astype(np.float16)
    out, bits = poisoned(1024, "float32"), poisoned(1024, "uint8")
    through_e4b15[(1,)](x, out, bits, BLOCK=1024)
    code = np.arange(127)  # 127 would be NaN
    values = np.where(code < 8, code * 2.0**-17, (8 + (code & 7)) * np.exp2((code >> 3) - 18.0))
    distance = np.abs(np.minimum(np.abs(x.astype(np.float64)), 1.75)[:, None] - values)
    assert np.array_equal(np.abs(np.abs(x.astype(np.float64)).clip(max=1.75) - np.abs(out)), distance.min(1))
    assert np.array_equal(values[bits & 127] * np.where(bits & 128, -1, 1), out)
