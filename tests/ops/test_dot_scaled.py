"""tl.dot_scaled on the CPU: formats, packing and scales, against float64."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

RNG = np.random.default_rng(0)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
KINDS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}
M, N, K = 32, 64, 128


@triton.jit
def scaled_kernel(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr,
                  A_ROWS: tl.constexpr, A_COLUMNS: tl.constexpr, B_ROWS: tl.constexpr, B_COLUMNS: tl.constexpr,
                  GROUPS: tl.constexpr, A_KIND: tl.constexpr, B_KIND: tl.constexpr, A_K: tl.constexpr,
                  B_K: tl.constexpr, TURNED: tl.constexpr = False):  # fmt: skip
    a = tl.load(a_ptr + tl.arange(0, A_ROWS)[:, None] * A_COLUMNS + tl.arange(0, A_COLUMNS)[None, :])
    if TURNED:
        b = tl.load(b_ptr + tl.arange(0, B_COLUMNS)[:, None] * B_ROWS + tl.arange(0, B_ROWS)[None, :]).T
    else:
        b = tl.load(b_ptr + tl.arange(0, B_ROWS)[:, None] * B_COLUMNS + tl.arange(0, B_COLUMNS)[None, :])
    groups, m, n = tl.arange(0, GROUPS)[None, :], tl.arange(0, M), tl.arange(0, N)
    a_scale, b_scale = None, None
    if a_scale_ptr is not None:
        a_scale = tl.load(a_scale_ptr + m[:, None] * GROUPS + groups)
    if b_scale_ptr is not None:
        b_scale = tl.load(b_scale_ptr + n[:, None] * GROUPS + groups)
    acc = tl.full((M, N), 1.0, tl.float32)
    out = tl.dot_scaled(a, a_scale, A_KIND, b, b_scale, B_KIND, acc, lhs_k_pack=A_K, rhs_k_pack=B_K)
    tl.store(out_ptr + m[:, None] * N + n[None, :], out)


def operand(kind: str, sizes: tuple[int, int], axis: int) -> tuple[Any, Any]:
    """What the kernel is given, and its numbers; e2m1 is packed along `axis`."""
    if kind != "e2m1":
        given = RNG.standard_normal(sizes).astype(KINDS[kind])
        return given, given.astype(np.float64)
    codes = RNG.integers(0, 16, sizes).astype(np.uint8)
    pairs = np.moveaxis(codes, axis, 0)
    packed = np.moveaxis(pairs[::2] | pairs[1::2] << 4, 0, axis)
    return np.ascontiguousarray(packed), E2M1[codes]


def run(
    a_kind: str, b_kind: str, a_scale: Any, b_scale: Any, a_k: bool = True, b_k: bool = True, turned: bool = False
) -> tuple[Any, Any]:
    a, a_numbers = operand(a_kind, (M, K), 1 if a_k else 0)
    b, b_numbers = operand(b_kind, (K, N), 0 if b_k else 1)
    out = np.full((M, N), np.nan, np.float32)
    groups = next((s.shape[1] for s in (a_scale, b_scale) if s is not None), 4)
    given = np.ascontiguousarray(b.T) if turned else b
    shapes = (M, N, *a.shape, *b.shape, groups)
    scaled_kernel[(1,)](a, a_scale, given, b_scale, out, *shapes, a_kind, b_kind, a_k, b_k, turned)
    left, right = (x * np.repeat(factors(s), K // groups, axis=1) if s is not None else x
                   for x, s in ((a_numbers, a_scale), (b_numbers.T, b_scale)))  # fmt: skip
    return out, left @ right.T + 1


def factors(scale: Any) -> Any:
    if scale.dtype != np.uint8:
        return scale.astype(np.float64)
    return np.where(scale == 255, np.nan, np.ldexp(1.0, scale.astype(int) - 127))


def codes(rows: int) -> Any:
    return RNG.integers(120, 134, (rows, K // 32)).astype(np.uint8)


@pytest.mark.parametrize("a_kind", ["e2m1", "e4m3", "e5m2", "bf16", "fp16"])
@pytest.mark.parametrize("b_kind", ["e2m1", "e4m3", "fp16"])
def test_formats(a_kind: str, b_kind: str) -> None:
    out, right = run(a_kind, b_kind, codes(M), codes(N))
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())


@pytest.mark.parametrize(("a_k", "b_k"), [(False, True), (True, False), (False, False)])
def test_packed_across_k(a_k: bool, b_k: bool) -> None:
    out, right = run("e2m1", "e2m1", codes(M), codes(N), a_k, b_k)
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())


@pytest.mark.parametrize(("b_kind", "b_k"), [("e2m1", True), ("e2m1", False), ("e4m3", True), ("fp16", True)])
def test_transposed(b_kind: str, b_k: bool) -> None:
    out, right = run("e5m2", b_kind, codes(M), codes(N), True, b_k, turned=True)
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())


@pytest.mark.parametrize(("has_a", "has_b"), [(True, False), (False, True), (False, False)])
def test_one_scale_or_none(has_a: bool, has_b: bool) -> None:
    out, right = run("e2m1", "e5m2", codes(M) if has_a else None, codes(N) if has_b else None)
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())


def test_scales_of_16_in_fp8() -> None:
    a_scale, b_scale = (RNG.uniform(0.1, 4, (rows, K // 16)).astype(KINDS["e4m3"]) for rows in (M, N))
    out, right = run("e2m1", "e2m1", a_scale, b_scale)
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())


def test_scale_that_is_nan() -> None:
    a_scale = codes(M)
    a_scale[3, 1] = 255
    out, right = run("e4m3", "e4m3", a_scale, codes(N))
    assert np.isnan(out[3]).all() and not np.isnan(np.delete(out, 3, 0)).any()
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5 * np.nanmax(np.abs(right)))


def test_large_and_small_scales() -> None:
    """2^124 against 2^-124."""
    out, right = run("e2m1", "e2m1", np.full((M, K // 32), 251, np.uint8), np.full((N, K // 32), 3, np.uint8))
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())


def test_smallest_scale() -> None:
    """Code 0 is 2^-127, below the least normal number of f32."""
    out, right = run("fp16", "fp16", np.full((M, K // 32), 251, np.uint8), np.zeros((N, K // 32), np.uint8))
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())
