"""Kernels that the tests of the NVIDIA backend run: on the emulator, and on a GPU where there is one."""

import naiad as triton
import naiad.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(o_ptr + offs, tl.load(x_ptr + offs, mask=mask) + tl.load(y_ptr + offs, mask=mask), mask=mask)


@triton.jit
def softmax(x_ptr, o_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(o_ptr + row * stride + cols, e / tl.sum(e, 0), mask=cols < n)


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, o_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    d = tl.where(mask, x - tl.sum(x, 0) / n, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask).to(tl.float32)
    tl.store(o_ptr + row * stride + cols, d * scale * w + b, mask=mask)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * sam + rk[None, :] * sak
    b = b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        ta = tl.load(a, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
        tb = tl.load(b, mask=(rk[:, None] < K - k * BK) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(ta, tb, acc)
        a += BK * sak
        b += BK * sbk
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * scm + rn[None, :] * scn, acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def one_dot(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
    b = tl.load(b_ptr + rk[:, None] * N + rn[None, :])
    c = tl.dot(a, b, input_precision=PRECISION)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, scale, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd, rn = tl.arange(0, D), tl.arange(0, BN)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    m = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, n, BN):
        k = tl.load(k_ptr + (start + rn[None, :]) * D + rd[:, None])
        s = tl.dot(q, k) * (scale * 1.44269504)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(m - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + (start + rn[:, None]) * D + rd[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(o_ptr.dtype.element_ty))


@triton.jit
def transpose(x_ptr, o_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    x = tl.load(x_ptr + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N))
    tl.store(o_ptr + rn[:, None] * M + rm[None, :], tl.trans(x), mask=(rn[:, None] < N) & (rm[None, :] < M))


@triton.jit
def dropout(x_ptr, o_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(o_ptr + offs, tl.where(tl.rand(seed, offs) > p, x / (1 - p), 0.0), mask=offs < n)


@triton.jit
def sort_rows(x_ptr, o_ptr, BLOCK: tl.constexpr, DESCENDING: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + offs, tl.sort(tl.load(x_ptr + offs), descending=DESCENDING))


@triton.jit
def scan_rows(x_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o_ptr + at, tl.cumsum(tl.load(x_ptr + at), AXIS, reverse=REVERSE))


@triton.jit
def reduce_rows(x_ptr, sum_ptr, max_ptr, arg_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    out = tl.arange(0, N if AXIS == 0 else M)
    tl.store(sum_ptr + out, tl.sum(x, AXIS))
    tl.store(max_ptr + out, tl.max(x, AXIS))
    tl.store(arg_ptr + out, tl.argmax(x, AXIS))


@triton.jit
def histogram(x_ptr, o_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0)
    tl.store(o_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def gather_rows(x_ptr, i_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o_ptr + at, tl.gather(tl.load(x_ptr + at), tl.load(i_ptr + at), 1))


@triton.jit
def atomics(x_ptr, sum_ptr, max_ptr, count_ptr, old_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.atomic_add(sum_ptr + offs % 16, x, mask=offs < n)
    tl.atomic_max(max_ptr + offs % 16, (x * 100).to(tl.int32), mask=offs < n)
    tl.store(old_ptr + pid, tl.atomic_add(count_ptr, 1))


@triton.jit
def unary(x_ptr, o_ptr, n, NAME: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(o_ptr + offs, getattr(tl, NAME)(x), mask=offs < n)


@triton.jit
def convert(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(o_ptr + offs, x.to(o_ptr.dtype.element_ty), mask=offs < n)


@triton.jit
def interleave(x_ptr, y_ptr, o_ptr, even_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    both = tl.join(tl.load(x_ptr + offs), tl.load(y_ptr + offs))
    tl.store(o_ptr + tl.arange(0, 2 * BLOCK), tl.reshape(both, 2 * BLOCK))
    even, odd = tl.split(both)
    tl.store(even_ptr + offs, even - odd)


@triton.jit
def collatz(x_ptr, o_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    steps = 0
    while x > 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(o_ptr + tl.program_id(0), steps)


@triton.jit
def scaled_matmul(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Operands are computed in each turn, so that they are written to shared memory each time."""
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + k + rk[None, :]) * 2.0
        b = tl.load(b_ptr + rn[:, None] * K + k + rk[None, :]) - 1.0
        acc = tl.dot(a.to(tl.float16), tl.trans(b.to(tl.float16)), acc)
    tl.store(c_ptr + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def two_dots_of_bytes(a_ptr, b_ptr, c_ptr, d_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """(a @ -b) in 8 bits, @ -c."""
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
    b = (-tl.load(b_ptr + rk[:, None] * K + rk[None, :]).to(tl.float32)).to(a.dtype)
    c = (-tl.load(c_ptr + rk[:, None] * N + rn[None, :]).to(tl.float32)).to(a.dtype)
    d = tl.dot(tl.dot(a, b).to(a.dtype), c)
    tl.store(d_ptr + rm[:, None] * N + rn[None, :], d)
