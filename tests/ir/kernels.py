"""Small Triton kernels that between them use every family of ops; the peer's own front end compiles them."""

import triton
import triton.language as tl


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def larger(v, i, w, j):
    first = v > w
    return tl.where(first, v, w), tl.where(first, i, j)


@triton.jit
def sine(a, b):
    return tl.sin(a) * b


@triton.jit
def elementwise(x, y, o, n, d, BLOCK: tl.constexpr):
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    a = tl.load(x + offs, mask=m, cache_modifier=".cg", eviction_policy="evict_last", volatile=True)
    b = tl.load(y + offs, mask=m, other=-float("inf"), cache_modifier=".ca", eviction_policy="evict_first")
    f = (
        tl.math.exp(a)
        + tl.math.log2(b)
        + tl.sqrt_rn(a)
        + tl.div_rn(a, b)
        + tl.clamp(a, b, a + 1)
        + tl.erf(a)
        + tl.rsqrt(a)
    )
    f += (
        tl.clamp(a, b, a, propagate_nan=tl.PropagateNan.ALL)
        + tl.math.fma(a, b, f)
        + tl.floor(a)
        + tl.ceil(b)
        + tl.abs(a)
    )
    f += (
        a.to(tl.float8e4nv).to(tl.float32)
        + a.to(tl.float8e5, fp_downcast_rounding="rtz").to(tl.float32)
        + (a % b)
        - (-a)
    )
    f += a.to(tl.bfloat16).to(tl.float32) + tl.maximum(a, b) + tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    f += tl.cos(a) + tl.sin(a) + tl.exp2(a) + tl.log(a) + tl.sqrt(a)
    w = (
        tl.umulhi(offs, offs)
        + offs // 3
        + offs % d
        + (offs.to(tl.uint32) // 3).to(tl.int32)
        + (offs >> 2)
        + (offs << 1)
    )
    w += (
        tl.maximum(offs, 3)
        + offs.to(tl.int8).to(tl.int32)
        + a.to(tl.int32)
        + a.to(tl.int32, bitcast=True)
        + tl.abs(offs)
    )
    w += tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [w], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(o + offs, f + w + tl.where(a.to(tl.float64) > 1.0, 1.0, float("nan")).to(tl.float32), mask=m)
    tl.store((x + offs).to(tl.int64).to(tl.pointer_type(tl.float32)), f, cache_modifier=".wb")
    tl.device_print("a", a, offs, hex=True)
    tl.device_assert(offs < 10, "message")
    tl.assume(n > 3)
    tl.debug_barrier()


@triton.jit
def shapes(x, o, i, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    j = tl.join(a, a + 1)
    p, q = tl.split(j)
    c = tl.cat(p, q, can_reorder=True) + tl.reshape(j, (BLOCK * 2,))
    tl.store(o + tl.arange(0, 2)[:, None] * BLOCK + offs[None, :], tl.trans(j))
    tl.store(o + tl.arange(0, BLOCK * 2), c)
    s = tl.reduce(a, 0, plus)
    v, at = tl.reduce((a, offs), 0, larger)
    scan = tl.associative_scan(a, 0, plus, reverse=True)
    tl.store(o + offs, s + v + at + scan + tl.gather(a, offs, 0) + tl.map_elementwise(sine, a, a) + tl.num_programs(0))
    tl.store(i + tl.arange(0, 16), tl.histogram(offs, 16, mask=offs < n))
    tl.atomic_add(o + offs, a, mask=offs < n, sem="relaxed", scope="cta")
    tl.atomic_max(o + offs, a)
    tl.atomic_and(i + offs, offs)
    tl.atomic_cas(i, 0, 1)
    tl.atomic_xchg(o + offs, a, sem="release", scope="sys")


@triton.jit
def products(a, b, e, s, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.make_block_ptr(a, (M, K), (K, 1), (0, 0), (BM, BK), (1, 0))
    pn = tl.make_block_ptr(b, (K, N), (N, 1), (0, 0), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in tl.range(0, K, BK, num_stages=3, disallow_acc_multi_buffer=True, flatten=True, disable_licm=True):
        x = tl.load(pm, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(pn, boundary_check=(0,), padding_option="nan")
        acc = tl.dot(x, y, acc, input_precision="tf32x3", max_num_imprecise_acc=0)
        pm = tl.advance(pm, (0, BK))
        pn = tl.advance(pn, (BK, 0))
    i = 0
    while i < M:
        if i > 3:
            acc += 1.0
            i += 1
        else:
            i += 2
    d = tl.make_tensor_descriptor(o, (M, N), (N, 1), (BM, BN))
    d.store([0, 0], acc)
    d.atomic_add([0, BN], d.load([BM, 0]))
    rows = tl.make_tensor_descriptor(o, (M, N), (N, 1), (1, BN), padding_option="nan")
    rows.scatter(rows.gather(tl.arange(0, BM), 0), tl.arange(0, BM), 0)
    r = tl.arange(0, 128)
    u = tl.load(e + r[:, None] * 128 + r[None, :])
    scale = tl.load(s + r[:, None] * 4 + tl.arange(0, 4)[None, :])
    tl.store(o + r[:, None] * 128 + r[None, :], tl.dot_scaled(u, scale, "e4m3", u, None, "e4m3"))


KERNELS = {
    elementwise: ({"x": "*fp32", "y": "*fp32", "o": "*fp32", "n": "i32", "d": "i32"}, {"BLOCK": 128}),
    shapes: ({"x": "*fp32", "o": "*fp32", "i": "*i32", "n": "i32"}, {"BLOCK": 64}),
    products: (
        {"a": "*fp16", "b": "*fp16", "e": "*fp8e4nv", "s": "*u8", "o": "*fp32", "M": "i32", "N": "i32", "K": "i32"},
        {"BM": 64, "BN": 64, "BK": 32},
    ),
}
