"""Arithmetic and sorts of 8-bit floats, and casts that round toward zero."""

import ml_dtypes
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

from .harness import run

E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


def codes(dtype: type, seed: int = 0) -> np.ndarray:
    """All finite numbers of an 8-bit format, shuffled."""
    found = np.arange(256, dtype=np.uint8).view(dtype)
    found = np.where(np.isfinite(found.astype(np.float32)), found, dtype(0))
    return np.random.default_rng(seed).permutation(found)


@triton.jit
def combine(x_ptr, y_ptr, sum_ptr, most_ptr, less_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(sum_ptr + at, x + y)
    tl.store(less_ptr + at, x < y)
    tl.store(most_ptr, tl.max(x))


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
@pytest.mark.parametrize("arch", [80, 90])
def test_arithmetic(dtype, arch):
    x, y = codes(dtype, 1), codes(dtype, 2)
    total, most, less = np.zeros_like(x), np.zeros(1, dtype), np.zeros(256, bool)
    run(combine, (1,), x, y, total, most, less, N=256, arch=arch)
    exact = x.astype(np.float32) + y.astype(np.float32)
    limit = float(ml_dtypes.finfo(dtype).max)
    np.testing.assert_array_equal(
        total.astype(np.float32), np.clip(exact, -limit, limit).astype(dtype).astype(np.float32)
    )
    np.testing.assert_array_equal(less, x.astype(np.float32) < y.astype(np.float32))
    assert most[0] == x.astype(np.float32).max()


@triton.jit
def sorted_codes(x_ptr, o_ptr, N: tl.constexpr):
    tl.store(o_ptr + tl.arange(0, N), tl.sort(tl.load(x_ptr + tl.arange(0, N))))


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_sort(dtype):
    x = codes(dtype)
    x[7] = np.nan
    out = np.zeros_like(x)
    run(sorted_codes, (1,), x, out, N=256)
    np.testing.assert_array_equal(out.astype(np.float32), np.sort(x.astype(np.float32)))


@triton.jit
def toward_zero(x_ptr, o_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(o_ptr + tl.arange(0, N), x.to(o_ptr.dtype.element_ty, fp_downcast_rounding="rtz"))


@pytest.mark.parametrize(("source", "target"), [
    (np.float64, np.float32), (np.float64, np.float16), (np.float64, ml_dtypes.bfloat16), (np.float32, np.float16),
    (np.float32, ml_dtypes.bfloat16),
])  # fmt: skip
def test_rounding_toward_zero(source, target):
    x = np.random.default_rng(3).standard_normal(128).astype(source)
    out = np.zeros(128, target)
    run(toward_zero, (1,), x, out, N=128)
    nearest = x.astype(target)
    below = np.nextafter(nearest, target(0))
    wanted = np.where(np.abs(nearest.astype(np.float64)) > np.abs(x), below, nearest)
    np.testing.assert_array_equal(out.astype(np.float64), wanted.astype(np.float64))
