"""Matrix products in every type against float64 (exact for the integers), batches, and the scaled formats."""

import ml_dtypes
import numpy as np
import pytest

import naiad.language as tl

from .interpreted import NUMPY, jit, language_dtype, poisoned


@jit
def product(a, b, c, o, OUT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    start = tl.load(c + m[:, None] * N + n[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot(x, y, start, out_dtype=OUT))


CASES = [
    ("float16", "float32"), ("float16", "float16"), ("bfloat16", "float32"), ("float32", "float32"),
    ("float64", "float64"), ("float8e4nv", "float32"), ("float8e5", "float32"), ("float8e4b8", "float32"),
]  # fmt: skip


@pytest.mark.parametrize("name, result", CASES)
@pytest.mark.parametrize("m, n, k", [(16, 16, 16), (32, 8, 64), (1, 4, 128)])
def test_floats(name, result, m, n, k):
    """The sum is formed exactly enough to be rounded once."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(NUMPY[name]) for s in ((m, k), (k, n)))
    c = rng.standard_normal((m, n)).astype(NUMPY[result])
    out = poisoned((m, n), result)
    product[(1,)](a, b, c, out, language_dtype(result), m, n, k)
    exact = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    spread = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)) * k * 2.0**-52
    half = np.spacing(np.abs(exact).astype(NUMPY[result])).astype(np.float64) / 2
    assert (np.abs(out.astype(np.float64) - exact) <= half + spread).all()


def test_bytes_are_exact_and_wrap():
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((16, 64), (64, 32)))
    c = np.full((16, 32), 2**31 - 1, np.int32)
    out = poisoned((16, 32), "int32")
    product[(1,)](a, b, c, out, tl.int32, 16, 32, 64)
    with np.errstate(over="ignore"):
        want = a.astype(np.int32) @ b.astype(np.int32) + c
    assert np.array_equal(out, want)


@jit
def batched(a, b, o, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, m, n, k = tl.arange(0, B)[:, None, None], tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + i * K * N + k[None, :, None] * N + n[None, None, :])
    tl.store(o + i * M * N + m[None, :, None] * N + n[None, None, :], tl.dot(x, y))


def test_batches():
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((4, 16, 32), (4, 32, 8)))
    out = poisoned((4, 16, 8), "float32")
    batched[(1,)](a, b, out, 4, 16, 8, 32)
    assert np.array_equal(out, (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32))


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def values_of(kind, rng, shape):
    """Random codes of a format and the numbers that they mean, one code a number."""
    if kind == "e2m1":
        code = rng.integers(0, 16, shape).astype(np.uint8)
        return code, E2M1[code & 7] * np.where(code & 8, -1, 1)
    element = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "bf16": ml_dtypes.bfloat16}[kind]
    numbers = rng.standard_normal(shape).astype(element)
    return numbers, numbers.astype(np.float64)


def packed(code, axis):
    low, high = np.take(code, range(0, code.shape[axis], 2), axis), np.take(code, range(1, code.shape[axis], 2), axis)
    return low | (high << 4)


@jit
def scaled(
    a, sa, b, sb, o, A: tl.constexpr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    AM: tl.constexpr, AK: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr, A_K: tl.constexpr, B_K: tl.constexpr,
):  # fmt: skip
    x = tl.load(a + tl.arange(0, AM)[:, None] * AK + tl.arange(0, AK)[None, :])
    y = tl.load(b + tl.arange(0, BK)[:, None] * BN + tl.arange(0, BN)[None, :])
    groups = tl.arange(0, K // 32)[None, :]
    u = tl.load(sa + tl.arange(0, M)[:, None] * (K // 32) + groups)
    if sb is None:
        v = None
    else:
        v = tl.load(sb + tl.arange(0, N)[:, None] * (K // 32) + groups)
    c = tl.dot_scaled(x, u, A, y, v, B, lhs_k_pack=A_K, rhs_k_pack=B_K)
    tl.store(o + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], c)


@pytest.mark.parametrize("a_kind", ["e2m1", "e4m3", "e5m2", "bf16"])
@pytest.mark.parametrize("b_kind", ["e2m1", "e4m3"])
@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("scale_b", [True, False])
def test_scaled(a_kind, b_kind, along_k, scale_b):
    if not along_k and "e2m1" not in (a_kind, b_kind):
        pytest.skip("only e2m1 can be packed along M or N")
    m, n, k, rng = 32, 16, 64, np.random.default_rng(3)
    (a, x), (b, y) = values_of(a_kind, rng, (m, k)), values_of(b_kind, rng, (k, n))
    a_k, b_k = along_k or a_kind != "e2m1", along_k or b_kind != "e2m1"
    a = packed(a, 1 if a_k else 0) if a_kind == "e2m1" else a
    b = packed(b, 0 if b_k else 1) if b_kind == "e2m1" else b
    sa, sb = (
        rng.integers(120, 134, (m, k // 32)).astype(np.uint8),
        rng.integers(120, 134, (n, k // 32)).astype(np.uint8),
    )
    out = poisoned((m, n), "float32")
    scaled[(1,)](a, sa, b, sb if scale_b else None, out, a_kind, b_kind, m, n, k, *a.shape, *b.shape, a_k, b_k)
    left = x * np.repeat(np.exp2(sa - 127.0), 32, axis=1)
    right = y * (np.repeat(np.exp2(sb - 127.0), 32, axis=1).T if scale_b else 1.0)
    assert np.array_equal(out, (left @ right).astype(np.float32))
