"""Kernels that the tests compile ahead of time."""

import naiad as triton
import naiad.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def softmax(out, x, rows, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + place, mask=place < columns, other=-float("inf"))
    tl.store(out + row * stride + place, tl.softmax(values), mask=place < columns)


@triton.jit
def matmul(c, a, b, M, N, K, stride_am, stride_bk, stride_cm,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * stride_am + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * stride_bk + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * stride_cm + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def scalars(out, half, brain, single, double, flag, byte, word, MODE: tl.constexpr, stream):
    """What each kind of argument is when it arrives."""
    tl.store(out + 0, half.to(tl.float64))
    tl.store(out + 1, brain.to(tl.float64))
    tl.store(out + 2, single.to(tl.float64))
    tl.store(out + 3, double)
    tl.store(out + 4, tl.where(flag, 1.0, 0.0).to(tl.float64))
    tl.store(out + 5, byte.to(tl.float64))
    tl.store(out + 6, word.to(tl.float64))
    tl.store(out + 7, stream.to(tl.float64))
    if MODE == "sign":
        tl.store(out + 8, -1.0)


@triton.jit
def places(out):
    """Writes where each program is in the grid."""
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    number = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)
    tl.store(out + number, x + 100 * y + 10000 * z)


@triton.jit
def checked(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0)
    tl.device_assert(values != 7, 'no "seven" here')
    tl.device_assert(values >= 0, "negative")
    tl.store(x + offsets, values + 1, mask=offsets < n)


@triton.jit
def copy_tiles(source, target):
    target.store([0, 0], source.load([0, 0]))


@triton.jit
def empty():
    pass


@triton.jit
def chosen(x, MODE: tl.constexpr):
    tl.store(x, 1 if MODE == 1 else 2)
