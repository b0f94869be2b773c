"""Tiles that a loop carries lie in memory as the loop goes over them; whatever reads them then gets the right ones."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

RNG = np.random.default_rng(0)


@triton.jit
def column_sums(x, out, out2, rows, columns, X: tl.constexpr, R: tl.constexpr):
    column = tl.program_id(0) * X + tl.arange(0, X)[:, None]
    total = tl.full([X, R], 0, tl.float32)
    largest = tl.full([X, R], float("-inf"), tl.float32)
    for start in range(0, rows, R):
        row = start + tl.arange(0, R)[None, :]
        mask = (row < rows) & (column < columns)
        value = tl.load(x + row * columns + column, mask, 0.0)
        total = tl.where(mask, total + value, total)
        largest = tl.where(mask, tl.maximum(largest, value), largest)
    tl.store(out + column, tl.sum(total, 1)[:, None], column < columns)
    tl.store(out2 + column, tl.max(largest, 1)[:, None], column < columns)


@pytest.mark.parametrize("block", [(64, 4), (64, 64), (8, 512), (1, 64), (128, 1)])
def test_sums_down_columns(block):
    x = RNG.standard_normal((100, 130)).astype(np.float32)
    out, out2 = np.full((2, 130), np.nan, np.float32)
    kernel = column_sums[(-(-130 // block[0]),)](x, out, out2, 100, 130, *block)
    np.testing.assert_allclose(out, x.astype(np.float64).sum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(out2, x.max(0))
    if block[0] >= 64:  # lanes run along columns, in the loads and in the carried tiles
        assert "ttc.gather" not in kernel.asm["ttcir"]
        assert "step = " not in kernel.asm["ttcir"]


@triton.jit
def used_in_products(x, y, left, right, added, flat, n, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    total = tl.full([N, N], 0, tl.float32)
    for k in range(n):
        total += tl.load(x + k * N * N + j * N + i)
    other = tl.load(y + i * N + j)
    tl.store(left + i * N + j, tl.dot(total, other, input_precision="ieee"))
    tl.store(right + i * N + j, tl.dot(other, total, input_precision="ieee"))
    tl.store(flat + tl.arange(0, N * N), tl.reshape(total, [N * N]))
    tl.store(added + i * N + j, tl.dot(other, other, total, input_precision="ieee"))


def test_products_of_what_was_carried():
    x, y = RNG.standard_normal((3, 32, 32)).astype(np.float32), RNG.standard_normal((32, 32)).astype(np.float32)
    left, right, added, flat = np.full((4, 32, 32), np.nan, np.float32)
    used_in_products[(1,)](x, y, left, right, added, flat, 3, 32)
    total, wide = x.astype(np.float64).sum(0).T, y.astype(np.float64)
    for got, exact in ((left, total @ wide), (right, wide @ total), (added, wide @ wide + total), (flat, total)):
        np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-4)


@triton.jit
def nested(x, out, n, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, M)[None, :]
    total = tl.full([N, M], 0, tl.float32)
    swapped = tl.full([N, M], 1, tl.float32)
    for k in range(n):
        for m in range(k):
            total += tl.load(x + (k + m) * N * M + j * N + i)
        total, swapped = swapped, total + tl.cumsum(total, 1)
    tl.store(out + i * M + j, total + 2 * swapped)


def test_nested_loops_and_exchanged_tiles():
    x, out = RNG.standard_normal((8, 4, 32)).astype(np.float32), np.full((32, 4), np.nan, np.float32)
    nested[(1,)](x, out, 4, 32, 4)
    total, swapped = np.zeros((32, 4)), np.ones((32, 4))
    for k in range(4):
        for m in range(k):
            total = total + x[k + m].T
        total, swapped = swapped, total + total.cumsum(1)
    np.testing.assert_allclose(out, total + 2 * swapped, rtol=1e-4, atol=1e-4)
