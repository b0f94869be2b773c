"""x / d by one divisor for all lanes: rounded once, for every kind of operand."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl


@triton.jit
def divide_kernel(x_ptr, out_ptr, d, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) / d)


def bits(x: np.ndarray) -> np.ndarray:
    """The bit patterns, any NaN as one."""
    return np.where(np.isnan(x), np.uint32(0x7FC00000), x.view(np.uint32))


@pytest.mark.parametrize(
    "d", [3.0, -3.0, 0.1, 1.0, 1e-38, 1e-42, 1e38, 2.0**30, 2.0**-30, 7.77e8, 0.0, -0.0, np.inf, np.nan]
)
def test_rounded_once(d: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1 << 32, 1 << 16, np.uint32).view(np.float32)
    x[: 1 << 14] = rng.standard_normal(1 << 14)
    x[100:106] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45]
    out = np.full_like(x, 77)
    divide_kernel[(1,)](x, out, float(d), 1 << 16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(bits(out), bits(x / np.float32(d)))


def test_random_divisors() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(1 << 12).astype(np.float32)
    out = np.empty_like(x)
    for d in np.exp(rng.uniform(-20, 20, 200)).astype(np.float32):
        divide_kernel[(1,)](x, out, float(d), 1 << 12)
        np.testing.assert_array_equal(bits(out), bits(x / d))
