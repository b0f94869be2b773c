"""Kernels that only the benchmarks use; the others are in examples/."""

import naiad as triton
import naiad.language as tl


@triton.jit
def cumsum_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), 0))


@triton.jit
def sort_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at)))


@triton.jit
def topk_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + row * K + tl.arange(0, K), tl.topk(x, K))


@triton.jit
def argmax_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.argmax(tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK)), 0))


@triton.jit
def histogram_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + row * BINS + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def embedding_kernel(index_ptr, table_ptr, out_ptr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, WIDTH)
    index = tl.load(index_ptr + rows)
    values = tl.load(table_ptr + index[:, None] * WIDTH + cols[None, :])
    tl.store(out_ptr + rows[:, None] * WIDTH + cols[None, :], values)


@triton.jit
def dequant_matmul_kernel(
    a_ptr, b_ptr, scale_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    """c = a @ (b * scale): b int8 or fp8 [K, N], scale per column."""
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    offs_n = tl.program_id(1) * BN + tl.arange(0, BN)
    offs_k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + offs_m[:, None] * K + k + offs_k[None, :])
        b = tl.load(b_ptr + (k + offs_k)[:, None] * N + offs_n[None, :])
        acc = tl.dot(a, b.to(a.dtype), acc)
    acc = acc * tl.load(scale_ptr + offs_n)[None, :]
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def wide_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """A large two-dimensional tile, for the time that its compilation takes."""
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.exp(x - tl.max(x, axis=1)[:, None]))
