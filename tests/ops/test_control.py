"""Loops and branches that carry tiles, on the CPU."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl


@triton.jit
def swap_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    at = tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    for _ in range(n):
        x, y = y, x + 1
    tl.store(x_ptr + at, x)
    tl.store(y_ptr + at, y)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_carried_tiles_swap(n: int) -> None:
    x, y = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.float32) * 10
    a, b = x.copy(), y.copy()
    swap_kernel[(1,)](a, b, n, 64)
    for _ in range(n):
        x, y = y, x + 1
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, y)


@triton.jit
def shift_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    """Each turn reads the whole old tile at other places than it writes."""
    x = tl.load(x_ptr + tl.arange(0, N))
    for _ in range(n):
        x = x + tl.flip(x, 0)
    tl.store(out_ptr + tl.arange(0, N), x)


def test_carried_tile_read_elsewhere() -> None:
    x = np.arange(64, dtype=np.float32)
    out = np.zeros_like(x)
    shift_kernel[(1,)](x, out, 3, 64)
    for _ in range(3):
        x = x + x[::-1]
    np.testing.assert_array_equal(out, x)


@triton.jit
def pointers_kernel(x_ptr, out_ptr, rows, stride, N: tl.constexpr):
    at = x_ptr + tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for _ in range(rows):
        total += tl.load(at)
        at += stride
    tl.store(out_ptr + tl.arange(0, N), total)


def test_carried_pointers() -> None:
    x = np.random.default_rng(0).standard_normal((37, 100)).astype(np.float32)
    out = np.zeros(64, np.float32)
    pointers_kernel[(1,)](x, out, 37, 100, 64)
    np.testing.assert_allclose(out, x[:, :64].sum(0), rtol=1e-5, atol=1e-5)


@triton.jit
def while_kernel(x_ptr, out_ptr, limit, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    turns = 0
    while tl.sum(x, 0) < limit:
        x = x * 2
        turns += 1
    tl.store(out_ptr + tl.arange(0, N), x)
    tl.store(out_ptr + N, turns)


def test_while_on_a_tile() -> None:
    x = np.ones(32, np.float32)
    out = np.zeros(33, np.float32)
    while_kernel[(1,)](x, out, 1000.0, 32)
    assert out[32] == 5
    np.testing.assert_array_equal(out[:32], 32)


@triton.jit
def branch_kernel(x_ptr, out_ptr, flag, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    if flag > 0:
        y = x * 2
        z = tl.sum(x, 0)
    else:
        y = x - 1
        z = tl.max(x, 0)
    tl.store(out_ptr + tl.arange(0, N), y + z)


@pytest.mark.parametrize("flag", [-1, 0, 1, 16])
def test_branch_gives_tiles(flag: int) -> None:
    x = np.arange(16, dtype=np.float32)
    out = np.zeros_like(x)
    branch_kernel[(1,)](x, out, flag, 16)
    np.testing.assert_array_equal(out, x * 2 + x.sum() if flag > 0 else x - 1 + x.max())


@triton.jit
def early_kernel(out_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out_ptr + pid, pid + 1)


def test_early_return() -> None:
    out = np.zeros(8, np.int32)
    early_kernel[(8,)](out, 5)
    np.testing.assert_array_equal(out, [1, 2, 3, 4, 5, 0, 0, 0])


@triton.jit
def overwrite_kernel(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at, x * 0)
    tl.store(out_ptr + at, x + tl.load(x_ptr + at))


def test_a_load_is_not_overtaken_by_a_store() -> None:
    x = np.arange(64, dtype=np.float32)
    want = x.copy()
    out = np.zeros_like(x)
    overwrite_kernel[(1,)](x, out, 64)
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(x, 0)


@triton.jit
def overlap_kernel(x_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(x_ptr + at + 1, tl.load(x_ptr + at))


def test_store_shifted_over_its_own_source() -> None:
    x = np.arange(65, dtype=np.float32)
    want = np.concatenate([x[:1], x[:64]])
    overlap_kernel[(1,)](x, 64)
    np.testing.assert_array_equal(x, want)


@triton.jit
def locked_kernel(x_ptr, total_ptr, lock_ptr, count_ptr, N: tl.constexpr):
    """Each program adds its row to one row in memory, one at a time."""
    at = tl.arange(0, N)
    row = tl.load(x_ptr + tl.program_id(0) * N + at)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(count_ptr) == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        row += tl.load(total_ptr + at)
    tl.store(total_ptr + at, row)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def test_a_lock_guards_plain_stores() -> None:
    x = np.random.default_rng(0).standard_normal((1024, 4096)).astype(np.float32)
    total, lock, count = np.full(4096, np.nan, np.float32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    locked_kernel[(1024,)](x, total, lock, count, 4096)
    np.testing.assert_allclose(total, x.sum(0, dtype=np.float64), rtol=1e-3, atol=1e-3)
