"""device_assert on tiles: one element that is wrong, wherever it is, fails the launch, before anything relies on it."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl


@triton.jit
def gather_rows(x, index, out, rows, N: tl.constexpr, M: tl.constexpr):
    """Row index[i // M] of x; the index is the same along M lanes."""
    i = tl.arange(0, N * M)
    row = tl.load(index + i // M)
    tl.device_assert((row >= 0) & (row < rows), "index out of bounds")
    tl.store(out + i, tl.load(x + row * M + i % M))


@triton.jit
def check_tile(x, bad, R: tl.constexpr, C: tl.constexpr):
    i, j = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    tl.device_assert(tl.load(x + i * C + j) != bad, "a bad element")
    tl.device_assert(bad > 0, "a bad scalar")


@pytest.mark.parametrize("m", [1, 4, 64])
def test_rows(m):
    x = np.random.default_rng(0).standard_normal((9, m)).astype(np.float32)
    index = np.arange(16, dtype=np.int64) % 9
    out = np.full((16, m), np.nan, np.float32)
    gather_rows[(1,)](x, index, out, 9, 16, m, debug=True)
    np.testing.assert_array_equal(out, x[index])
    index[13] = 1 << 40
    with pytest.raises(RuntimeError, match="index out of bounds"):
        gather_rows[(1,)](x, index, out, 9, 16, m, debug=True)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (4, 16), (8, 128), (16, 2)])
def test_every_element_counts(shape):
    r, c = shape[0], triton.next_power_of_2(shape[1])
    x = np.zeros((r, c), np.int32)
    check_tile[(1,)](x, 5, r, c, debug=True)
    for place in {0, r * c // 2, r * c - 1}:
        x.flat[place] = 5
        with pytest.raises(RuntimeError, match="a bad element"):
            check_tile[(1,)](x, 5, r, c, debug=True)
        x.flat[place] = 0
    with pytest.raises(RuntimeError, match="a bad scalar"):
        check_tile[(1,)](x, -5, r, c, debug=True)
