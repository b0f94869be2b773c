"""Attention without the matrix of scores: softmax over the keys, one block of them after the other."""

import naiad as triton
import naiad.language as tl
from naiad.testing import assert_close, empty, random, to_float64


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, n_ctx,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1) * n_ctx * D
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    rows = offs_m[:, None] < n_ctx
    q = tl.load(q_ptr + head + offs_m[:, None] * D + offs_d[None, :], mask=rows, other=0.0)
    peak = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    for start in range(0, n_ctx, BLOCK_N):
        keys = start + offs_n
        at = head + keys[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + at, mask=keys[:, None] < n_ctx, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(keys[None, :] < n_ctx, scores, -float("inf"))
        new_peak = tl.maximum(peak, tl.max(scores, axis=1))
        p = tl.exp(scores - new_peak[:, None])
        shrink = tl.exp(peak - new_peak)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + at, mask=keys[:, None] < n_ctx, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        peak = new_peak
    out = (acc / total[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + head + offs_m[:, None] * D + offs_d[None, :], out, mask=rows)


def attention(q, k, v, out, scale):
    """out = softmax(q k^T * scale) v per head; arrays (heads, length, depth), contiguous, depth a power of two."""
    heads, n_ctx, depth = q.shape
    block = 128 if getattr(getattr(q, "device", "cpu"), "type", "cpu") == "cpu" else 64
    grid = (triton.cdiv(n_ctx, block), heads)
    attention_kernel[grid](q, k, v, out, scale, n_ctx, D=depth, BLOCK_M=block, BLOCK_N=block)
    return out


def reference(q, k, v, scale):
    """The same with numpy, in float64."""
    import numpy as np

    q, k, v = (to_float64(a) for a in (q, k, v))
    scores = np.einsum("hmd,hnd->hmn", q, k) * scale
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.einsum("hmn,hnd->hmd", p / p.sum(axis=2, keepdims=True), v)


if __name__ == "__main__":
    q, k, v = (random((4, 200, 64), seed=s) for s in range(3))
    assert_close(attention(q, k, v, empty((4, 200, 64)), 0.125), reference(q, k, v, 0.125), atol=1e-5, rtol=1e-5)
    print("flash_attention: right")
