"""Quotients and remainders by sizes that no vector divides: vectors within a row, and those in which a row ends."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

RNG = np.random.default_rng(0)


@triton.jit
def spread(x, out, n, W: tl.constexpr, H: tl.constexpr, PITCH: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """A dense [N, H, W] tensor times two, into rows of PITCH elements; the transposed one beside it."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WIDE:
        i = i.to(tl.int64)
    column, row, image = i % W, i // W % H, i // (W * H)
    value = tl.load(x + i, i < n) * 2
    tl.store(out + column + PITCH * (row + H * image), value, i < n)


@triton.jit
def gather(x, out, n, W: tl.constexpr, PITCH: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of PITCH elements into dense ones, and their sums by block."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i % W + PITCH * (i // W), i < n, 0.0)
    tl.store(out + i, value - tl.max(value, 0), i < n)


@triton.jit
def negative(out, shift, W: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK) + shift
    tl.store(out + tl.arange(0, BLOCK), i % W)
    tl.store(out + BLOCK + tl.arange(0, BLOCK), i // W)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("w", [1, 7, 17, 47, 48, 49, 50, 63, 100, 130, 500])
def test_stores_into_rows(w, wide):
    h, images, pitch = 5, 3, w + 9
    x = RNG.standard_normal((images, h, w)).astype(np.float32)
    out = np.full((images, h, pitch), np.nan, np.float32)
    spread[(-(-x.size // 256),)](x, out, x.size, w, h, pitch, wide, 256)
    np.testing.assert_array_equal(out[:, :, :w], x * 2)
    assert np.isnan(out[:, :, w:]).all()


@pytest.mark.parametrize("w", [49, 50, 77, 300])
def test_loads_from_rows(w):
    x = RNG.standard_normal((12, w + 5)).astype(np.float32)
    dense = x[:, :w].ravel()
    blocks = -(-dense.size // 128)
    out = np.full(dense.size, np.nan, np.float32)
    gather[(blocks,)](x, out, dense.size, w, w + 5, 128)
    padded = np.zeros(blocks * 128, np.float32)
    padded[: dense.size] = dense
    rows = padded.reshape(blocks, 128)
    np.testing.assert_array_equal(out, (rows - rows.max(1, keepdims=True)).ravel()[: dense.size])


@pytest.mark.parametrize("shift", [0, -1, -50, -1000, 3, 99, 2**31 - 300])
def test_as_in_c(shift):
    out = np.full((2, 256), 77, np.int32)
    negative[(1,)](out, shift, 50, 256)
    i = np.arange(256) + shift
    np.testing.assert_array_equal(out, [np.fmod(i, 50), np.trunc(i / 50)])


def test_rows_are_stored_as_such():
    x, out = np.zeros(1000, np.float32), np.zeros(2000, np.float32)
    kernel = spread[(4,)](x, out, 1000, 100, 5, 110, False, 256)
    stores = [line for line in kernel.asm["ttcir"].splitlines() if "ttc.store" in line]
    assert stores and "ttc.scatter" in kernel.asm["ttcir"]


@triton.jit
def unsigned(out, n, BLOCK: tl.constexpr):
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.uint32)
    tl.store(out + i, (i % n.to(tl.uint32)).to(tl.int64))
    tl.store(out + 2 * BLOCK + i, (i // n.to(tl.uint32)).to(tl.int64))


@pytest.mark.parametrize("n", [48, 2**31, 2**32 - 16, 2**32 - 1])
def test_numbers_without_a_sign_by_large_ones(n):
    out = np.full((2, 128), -1, np.int64)
    unsigned[(2,)](out, n, BLOCK=64)
    i = np.arange(128)
    np.testing.assert_array_equal(out, [i % n, i // n])
