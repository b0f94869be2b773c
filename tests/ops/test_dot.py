"""tl.dot on the CPU for shapes and types, against float64."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

RNG = np.random.default_rng(0)


@triton.jit
def dot_kernel(
    a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if TA:
        a = tl.trans(tl.load(a_ptr + k[:, None] * M + m[None, :]))
    else:
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    if TB:
        b = tl.trans(tl.load(b_ptr + n[:, None] * K + k[None, :]))
    else:
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(a, b, out_dtype=out_ptr.dtype.element_ty))


SHAPES = [(16, 16, 16), (64, 64, 64), (128, 128, 32), (32, 64, 128), (16, 128, 16), (128, 16, 64), (1, 64, 32),
          (64, 1, 32), (2, 4, 16)]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_f32(shape: tuple[int, int, int], turned: tuple[bool, bool]) -> None:
    m, n, k = shape
    a, b = RNG.standard_normal((m, k)).astype(np.float32), RNG.standard_normal((k, n)).astype(np.float32)
    out = np.full((m, n), np.nan, np.float32)
    given = [np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), turned, strict=True)]
    dot_kernel[(1,)](*given, out, m, n, k, *turned)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("turned", [(False, False), (False, True)])
def test_dtypes(dtype: str, turned: tuple[bool, bool]) -> None:
    import ml_dtypes

    kind = np.dtype(getattr(ml_dtypes, dtype)) if dtype.startswith(("bf", "float8")) else np.dtype(dtype)
    m, n, k = 32, 64, 64
    if dtype == "int8":
        a, b = RNG.integers(-128, 128, (m, k)).astype(kind), RNG.integers(-128, 128, (k, n)).astype(kind)
    else:
        a, b = RNG.standard_normal((m, k)).astype(kind), RNG.standard_normal((k, n)).astype(kind)
    out = np.zeros((m, n), {"int8": np.int32, "float64": np.float64}.get(dtype, np.float32))
    given = [np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), turned, strict=True)]
    dot_kernel[(1,)](*given, out, m, n, k, *turned)
    right = a.astype(np.float64) @ b.astype(np.float64)
    if dtype == "int8":
        np.testing.assert_array_equal(out, right)
    else:
        np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-3 if dtype != "float64" else 1e-10)


@triton.jit
def batched_kernel(a_ptr, b_ptr, out_ptr, B: tl.constexpr, N: tl.constexpr):
    z, i, j = tl.arange(0, B)[:, None, None], tl.arange(0, N)[None, :, None], tl.arange(0, N)[None, None, :]
    at = z * N * N + i * N + j
    tl.store(out_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


def test_batched() -> None:
    a, b = RNG.standard_normal((2, 4, 32, 32)).astype(np.float32)
    out = np.full((4, 32, 32), np.nan, np.float32)
    batched_kernel[(1,)](a, b, out, 4, 32)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-4)


@triton.jit
def chain_kernel(a_ptr, b_ptr, out_ptr, turns, N: tl.constexpr):
    """Two products a turn into one accumulator, scaled on the way."""
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    acc = tl.zeros((N, N), tl.float32)
    for _ in range(turns):
        acc = tl.dot(a, b, acc * 0.5)
        acc = tl.dot(b, a, acc)
    tl.store(out_ptr + at, acc)


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_chained_into_one_accumulator(turns: int) -> None:
    a, b = RNG.standard_normal((2, 32, 32)).astype(np.float32)
    out = np.full((32, 32), np.nan, np.float32)
    chain_kernel[(1,)](a, b, out, turns, 32)
    x, y, right = a.astype(np.float64), b.astype(np.float64), np.zeros((32, 32))
    for _ in range(turns):
        right = x @ y + right * 0.5 + y @ x
    np.testing.assert_allclose(out, right, rtol=1e-4, atol=1e-3)


@triton.jit
def old_kernel(a_ptr, out_ptr, old_ptr, turns, N: tl.constexpr):
    """The accumulator of the turn before is still wanted after the product."""
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + at)
    acc = a
    for _ in range(turns):
        new = tl.dot(a, a, acc)
        tl.store(old_ptr + at, acc)
        acc = new
    tl.store(out_ptr + at, acc)


def test_old_accumulator_read_after_the_product() -> None:
    a = RNG.standard_normal((16, 16)).astype(np.float32) * 0.1
    out, old = np.zeros((2, 16, 16), np.float32)
    old_kernel[(1,)](a, out, old, 3, 16)
    x = a.astype(np.float64)
    np.testing.assert_allclose(old, x + 2 * (x @ x), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out, x + 3 * (x @ x), rtol=1e-5, atol=1e-5)


@triton.jit
def sum_kernel(a_ptr, b_ptr, out_ptr, turns, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for turn in range(turns):
        a = tl.load(a_ptr + m[:, None] * K * turns + turn * K + k[None, :])
        b = tl.load(b_ptr + (turn * K + k[:, None]) * N + n[None, :])
        total = tl.dot(a, b, total)
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("turns", [0, 1, 3])
@pytest.mark.parametrize("shape", [(32, 32, 32), (64, 256, 64)])
def test_sums_of_a_loop_begin_at_zero(dtype: str, turns: int, shape: tuple[int, int, int]) -> None:
    """Two programs after each other, so that memory holds the sums of the first."""
    import ml_dtypes

    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    m, n, k = shape
    a = RNG.standard_normal((m, max(turns, 1) * k)).astype(kind)
    b = RNG.standard_normal((max(turns, 1) * k, n)).astype(kind)
    out = np.full((m, n), np.nan, np.float32)
    sum_kernel[(2,)](a, b, out, turns, m, n, k)
    right = a.astype(np.float64) @ b.astype(np.float64) * bool(turns)
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-3)
