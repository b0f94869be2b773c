"""Ops that move elements, on the CPU: every element carries its own number, so any wrong place shows."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl


@triton.jit
def trans_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(x) + 1)


@pytest.mark.parametrize("shape", [(1, 1), (16, 64), (64, 16), (2, 128), (128, 2), (32, 32)])
def test_trans(shape: tuple[int, int]) -> None:
    x = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
    out = np.zeros((shape[1], shape[0]), np.int32)
    trans_kernel[(1,)](x, out, *shape)
    np.testing.assert_array_equal(out, x.T + 1)


@triton.jit
def permute_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, P: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, A * B * C)).reshape(A, B, C)
    tl.store(out_ptr + tl.arange(0, A * B * C), tl.permute(x, P).reshape(A * B * C))


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_permute_and_reshape(order: tuple[int, int, int]) -> None:
    x = np.arange(4 * 8 * 32, dtype=np.int32)
    out = np.zeros_like(x)
    permute_kernel[(1,)](x, out, 4, 8, 32, order)
    np.testing.assert_array_equal(out, x.reshape(4, 8, 32).transpose(order).ravel())


@triton.jit
def join_kernel(x_ptr, y_ptr, joined_ptr, woven_ptr, cat_ptr, even_ptr, odd_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    joined = tl.join(x, y)
    tl.store(joined_ptr + at[:, None] * 2 + tl.arange(0, 2)[None, :], joined)
    wide = tl.arange(0, 2 * N)
    woven = tl.interleave(x, y)
    tl.store(woven_ptr + wide, woven)
    tl.store(cat_ptr + wide, tl.cat(x, y, can_reorder=True))
    even, odd = tl.split(woven.reshape(N, 2))
    tl.store(even_ptr + at, even)
    tl.store(odd_ptr + at, odd)


@pytest.mark.parametrize("n", [1, 4, 16, 128])
def test_join_split_cat_interleave(n: int) -> None:
    x, y = np.arange(n, dtype=np.float32), np.arange(n, dtype=np.float32) + 1000
    joined, woven, cat = np.zeros((n, 2), np.float32), np.zeros(2 * n, np.float32), np.zeros(2 * n, np.float32)
    even, odd = np.zeros(n, np.float32), np.zeros(n, np.float32)
    join_kernel[(1,)](x, y, joined, woven, cat, even, odd, n)
    np.testing.assert_array_equal(joined, np.stack([x, y], 1))
    np.testing.assert_array_equal(woven, np.stack([x, y], 1).ravel())
    np.testing.assert_array_equal(np.sort(cat), np.sort(np.concatenate([x, y])))
    np.testing.assert_array_equal(even, x)
    np.testing.assert_array_equal(odd, y)


@triton.jit
def flip_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.flip(tl.load(x_ptr + at), DIM))


@pytest.mark.parametrize("shape", [(4, 64), (64, 4), (16, 16)])
@pytest.mark.parametrize("dim", [0, 1])
def test_flip(shape: tuple[int, int], dim: int) -> None:
    x = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
    out = np.zeros_like(x)
    flip_kernel[(1,)](x, out, *shape, dim)
    np.testing.assert_array_equal(out, np.flip(x, dim))


@triton.jit
def gather_kernel(x_ptr, i_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    P: tl.constexpr = K if AXIS == 0 else M
    Q: tl.constexpr = N if AXIS == 0 else K
    at = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    tl.store(out_ptr + at, tl.gather(x, tl.load(i_ptr + at), AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_gather(axis: int, dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((16, 32)).astype(np.float32)
    shape = (64, 32) if axis == 0 else (16, 64)
    index = rng.integers(0, x.shape[axis], shape).astype(dtype)
    out = np.zeros(shape, np.float32)
    gather_kernel[(1,)](x, index, out, 16, 32, 64, axis)
    np.testing.assert_array_equal(out, np.take_along_axis(x, index.astype(np.int64), axis))


@triton.jit
def histogram_kernel(x_ptr, out_ptr, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(tl.load(x_ptr + tl.arange(0, N)), BINS))


def test_histogram() -> None:
    x = np.random.default_rng(2).integers(0, 16, 1024).astype(np.int32)
    out = np.zeros(16, np.int32)
    histogram_kernel[(1,)](x, out, 1024, 16)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=16))
