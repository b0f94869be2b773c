"""Integer divisions and shifts on NVIDIA GPUs where LLVM leaves them undefined, and what depends on them."""

import ml_dtypes
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from tests.fuzz.test_edges import edges
from tests.fuzz.test_edges import run as run_edges

from .harness import run

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@triton.jit
def guarded(x, y, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    inside = i < n
    a, b = tl.load(x + i), tl.load(y + i)
    quotient = a // tl.where(inside, b, 0)
    tl.store(o + i, quotient, mask=inside & (a > 3))
    tl.store(o + N + i, tl.where(b != 0, a // b, 99))
    tl.store(o + 2 * N + i, tl.where(b != 0, a % b, 99))
    tl.store(o + 3 * N + i, a >> i, mask=(i < 16) & ((a >> i) < 100))


@triton.jit
def far_shifts(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(o + i, a << a)
    tl.store(o + N + i, a >> a)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_division_does_not_undo_its_guard(dtype: str) -> None:
    """LLVM concludes from a division that the divisor is not zero: it dropped the mask `inside`, and the choice."""
    x, y, o = np.arange(32).astype(dtype), (np.arange(32) % 4).astype(dtype), np.full((4, 32), 77, dtype)
    run(guarded, (1,), x, y, o, 10, N=32, arch=90)
    safe, i = np.maximum(y, 1), np.arange(32)
    written = (i < 10) & (x > 3)
    assert np.array_equal(o[0][~written], np.full(32 - written.sum(), 77, dtype))
    assert np.array_equal(o[0][written & (y > 0)], (x // safe)[written & (y > 0)])
    assert np.array_equal(o[1], np.where(y != 0, x // safe, 99)) and np.array_equal(
        o[2], np.where(y != 0, x % safe, 99)
    )
    assert np.array_equal(o[3], np.where(i < 16, x.astype(np.int64) >> i, 77))


@pytest.mark.parametrize("name", INTEGERS)
def test_divisions_and_shifts_at_their_edges(name: str) -> None:
    x, y, want = run_edges(name, interpret=True)
    got = np.full_like(want, 0x5A)
    run(triton.jit(edges), (1,), x, y, got, 64, BLOCK=64)
    assert np.array_equal(want, got), (x[(want != got).any(0)], y[(want != got).any(0)])


@pytest.mark.parametrize("dtype", ["uint32", "int64", "uint64"])
def test_counts_of_many_bits(dtype: str) -> None:
    """Of a count of 64 bits LLVM looked at the lower half only, and x << x it took for x << 0."""
    x = (np.arange(32).astype(dtype) << np.dtype(dtype).type(np.iinfo(dtype).bits - 8)) + np.arange(32).astype(
        dtype
    ) % 2
    o = np.full((2, 32), 77, dtype)
    run(far_shifts, (1,), x, o, N=32, arch=90)
    fits = x.astype(np.uint64) < np.iinfo(dtype).bits
    count = np.where(fits, x, 0)
    assert np.array_equal(o[0], np.where(fits, x << count, 0))
    assert np.array_equal(o[1], np.where(fits, x >> count, np.where(x < 0, -1, 0)))


@triton.jit
def converted(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty))


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("source", ["float64", "float32", "float16", "bfloat16", "float8_e5m2"])
def test_floats_become_the_nearest_integers(source: str, target: str) -> None:
    """500.0 is 127 as int8, and was -12."""
    numbers = [0, 1.7, -1.7, 127.4, 128, 255, 256, 300, -128, -129, -500, np.inf, -np.inf, 65536, -1e9, 1e30]
    x, o = np.array(numbers).astype(np.dtype(getattr(ml_dtypes, source, source))), np.full(16, 77, target)
    run(converted, (1,), x, o, N=16, arch=80 if target == "uint8" else 90)
    limits = np.iinfo(target)
    assert np.array_equal(o, np.clip(np.trunc(x.astype(np.float64)), limits.min, limits.max).astype(target))
