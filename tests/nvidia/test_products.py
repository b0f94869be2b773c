"""Products that are not written as `tl.dot` of plain floats: sums of broadcast products, microscaled halves."""

import re

import ml_dtypes
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

from .harness import compiled, run
from .kernels import one_dot

RNG = np.random.default_rng(5)


@triton.jit
def sum_of_products(z, x, y, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(x + m[:, None] * K + start + k[None, :])
        b = tl.load(y + (start + k)[:, None] * N + n[None, :])
        total += tl.sum(a[:, :, None] * b[None, :, :], axis=1)
    tl.store(z + m[:, None] * N + n[None, :], total)


@triton.jit
def scaled_halves(a, s, b, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    scale = tl.load(s + m[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot_scaled(x, scale, "e5m2", y, None, "fp16"))


def test_a_sum_of_products_needs_no_memory_for_all_products() -> None:
    x, y = (RNG.standard_normal(size).astype(np.float32) for size in ((128, 64), (64, 32)))
    z = np.full((128, 32), np.nan, np.float32)
    run(sum_of_products, (1,), z, x, y, 64, M=128, N=32, BK=32, arch=90)
    assert np.abs(z - x.astype(np.float64) @ y).max() < 1e-4
    made = compiled(sum_of_products, {"z": z, "x": x, "y": y, "K": 64}, {"M": 128, "N": 32, "BK": 32}, 90)
    assert made.metadata.shared < 128 * 32 * 32 * 4


def test_microscaled_numbers_times_halves_are_exact_halves() -> None:
    a, b = RNG.standard_normal((32, 64)).astype(ml_dtypes.float8_e5m2), RNG.standard_normal((64, 32)).astype(np.float16)
    scale, o = RNG.integers(125, 138, (32, 2)).astype(np.uint8), np.full((32, 32), np.nan, np.float32)
    given, sizes = a.view(np.uint8), {"M": 32, "N": 32, "K": 64}
    run(scaled_halves, (1,), given, scale, b, o, arch=90, **sizes)
    factors = np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, 1)
    want = (a.astype(np.float64) * factors) @ b.astype(np.float64)
    assert np.abs(o - want).max() <= 1e-6 * np.abs(want).max()
    made = compiled(scaled_halves, {"a": given, "s": scale, "b": b, "o": o}, sizes, 90)
    assert "f32.f16.f16.f32" in made.asm["ptx"]


@triton.jit
def both_scaled(a, s, b, t, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 2), tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * (K // 2) + k[None, :])
    y = tl.load(b + n[None, :] * (K // 2) + k[:, None])
    u = tl.load(s + m[:, None] * (K // 32) + g[None, :])
    v = tl.load(t + n[:, None] * (K // 32) + g[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot_scaled(x, u, "e2m1", y, v, "e2m1"))


def test_scales_move_before_they_are_spread() -> None:
    m, n, k = 16, 64, 128
    a, b = RNG.integers(0, 256, (m, k // 2)).astype(np.uint8), RNG.integers(0, 256, (n, k // 2)).astype(np.uint8)
    s, t = (RNG.integers(120, 134, (size, k // 32)).astype(np.uint8) for size in (m, n))
    o, sizes = np.full((m, n), np.nan, np.float32), dict(M=m, N=n, K=k)
    run(both_scaled, (1,), a, s, b, t, o, arch=90, **sizes)

    def numbers(packed: np.ndarray, scale: np.ndarray) -> np.ndarray:
        halves = np.stack((packed & 15, packed >> 4), -1).reshape(len(packed), k)
        values = halves.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
        return values * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, 1)

    np.testing.assert_allclose(o, numbers(a, s) @ numbers(b, t).T, rtol=1e-5)
    made = compiled(both_scaled, dict(a=a, s=s, b=b, t=t, o=o), sizes, 90)
    assert f"tensor<{k}x{n}xf32, " in made.asm["ttgir"]  # the scaled numbers, which stay where they are
    assert not re.search(rf"convert_layout .*tensor<{k}x{n}xf32", made.asm["ttgir"])


@triton.jit
def long_halves(a, b, s, o, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK), tl.arange(0, BK // 32)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        u = tl.load(s + m[:, None] * (K // 32) + start // 32 + g[None, :])
        total = tl.dot_scaled(x, u, "e5m2", y, None, "bf16", total)
    tl.store(o + m[:, None] * N + n[None, :], total)


def test_operands_that_a_turn_computes_leave_less_memory_for_loads_ahead() -> None:
    a, b = np.zeros((128, 512), np.uint8), np.zeros((512, 128), ml_dtypes.bfloat16)
    s, o = np.zeros((128, 16), np.uint8), np.zeros((128, 128), np.float32)
    sizes = dict(M=128, N=128, BK=256)
    made = compiled(long_halves, dict(a=a, b=b, s=s, o=o, K=512), sizes, 90, num_stages=4)
    assert 128 * 256 * 2 < made.metadata.shared <= 232448


@triton.jit
def into_halves(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    c = tl.load(c_ptr + rm[:, None] * N + rn[None, :])
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
    b = tl.load(b_ptr + rk[:, None] * N + rn[None, :])
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], tl.dot(a, b, c, out_dtype=tl.float16))


@pytest.mark.parametrize(("left", "right"), [("float8_e5m2", "float8_e5m2"), ("float8_e4m3fn", "float8_e5m2"),
                                             ("float16", "float16")])  # fmt: skip
@pytest.mark.parametrize("arch", [89, 90])
def test_sums_of_halves_use_matrix_instructions(left: str, right: str, arch: int) -> None:
    a = RNG.uniform(-1, 1, (64, 32)).astype(getattr(ml_dtypes, left, np.float16))
    b = RNG.uniform(-1, 1, (32, 64)).astype(getattr(ml_dtypes, right, np.float16))
    c = RNG.uniform(-1, 1, (64, 64)).astype(np.float16)
    want, sizes = a.astype(np.float64) @ b.astype(np.float64) + c, dict(M=64, N=64, K=32)
    run(into_halves, (1,), a, b, c, arch=arch, **sizes)
    assert np.abs(c - want).max() < 2e-3 * np.abs(want).max()
    made = compiled(into_halves, dict(a_ptr=a, b_ptr=b, c_ptr=c), sizes, arch)
    assert "mma" in made.asm["ptx"] and "fma.rn.f" not in made.asm["ptx"]


def test_8_bit_floats_are_multiplied_as_halves_where_there_is_no_instruction() -> None:
    a, b = (RNG.uniform(-1, 1, s).astype(ml_dtypes.float8_e5m2) for s in ((32, 64), (64, 32)))
    c, sizes = np.full((32, 32), np.nan, np.float32), dict(M=32, N=32, K=64, PRECISION="ieee")
    run(one_dot, (1,), a, b, c, arch=80, **sizes)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-6, atol=1e-6)
    made = compiled(one_dot, dict(a_ptr=a, b_ptr=b, c_ptr=c), sizes, 80)
    assert "f32.f16.f16.f32" in made.asm["ptx"]


@triton.jit
def bytes_along_k(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    total = tl.zeros((M, N), tl.int32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + start + rk[None, :])
        b = tl.load(b_ptr + rn[None, :] * K + start + rk[:, None])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], total)


@pytest.mark.parametrize(("m", "n", "block"), [(64, 8, 32), (64, 64, 64), (128, 32, 128), (128, 256, 32)])
@pytest.mark.parametrize("warps", [4, 8])
def test_integers_are_multiplied_by_warpgroups(m: int, n: int, block: int, warps: int) -> None:
    k = 3 * block
    a, b = (RNG.integers(-128, 128, (size, k)).astype(np.int8) for size in (m, n))
    c, sizes = np.full((m, n), 77, np.int32), dict(M=m, N=n, BK=block)
    run(bytes_along_k, (1,), a, b, c, k, arch=90, num_warps=warps, **sizes)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32).T)
    made = compiled(bytes_along_k, dict(a_ptr=a, b_ptr=b, c_ptr=c, K=k), sizes, 90, num_warps=warps)
    assert ".s32.s8.s8" in made.asm["ptx"] and "wgmma.mma_async" in made.asm["ptx"] and len(made.asm["cubin"]) > 0


@pytest.mark.parametrize("k", [8, 16])
def test_f32_is_multiplied_eight_deep(k: int) -> None:
    a, b = (RNG.integers(-8, 8, s).astype(np.float32) for s in ((64, k), (k, 8)))
    c, sizes = np.full((64, 8), np.nan, np.float32), dict(M=64, N=8, K=k, PRECISION="tf32")
    run(one_dot, (1,), a, b, c, arch=90, **sizes)
    np.testing.assert_array_equal(c, a @ b)
    assert "m16n8k8" in compiled(one_dot, dict(a_ptr=a, b_ptr=b, c_ptr=c), sizes, 90).asm["ptx"]


@pytest.mark.parametrize(("precision", "tolerance", "instruction"), [
    ("tf32x3", 3e-6, "f32.tf32.tf32"), ("bf16x3", 3e-5, "f32.bf16.bf16"), ("bf16x6", 1e-6, "f32.bf16.bf16"),
])  # fmt: skip
@pytest.mark.parametrize("arch", [80, 90])
def test_products_in_parts_are_as_precise_as_they_say(
    precision: str, tolerance: float, instruction: str, arch: int
) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((64, 32)).astype(np.float32), rng.standard_normal((32, 64)).astype(np.float32)
    a[3, 5], b[5, 3] = np.inf, 2.0
    c, sizes = np.zeros((64, 64), np.float32), dict(M=64, N=64, K=32, PRECISION=precision)
    run(one_dot, (1,), a, b, c, arch=arch, **sizes)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(np.isinf(c), np.isinf(expected))
    assert np.abs((c - expected)[np.isfinite(expected)]).max() < tolerance * 32
    made = compiled(one_dot, dict(a_ptr=a, b_ptr=b, c_ptr=c), sizes, arch)
    assert instruction in made.asm["ptx"] and len(made.asm["cubin"]) > 0
    parts = {"tf32x3": 1, "bf16x3": 2, "bf16x6": 3}[precision]  # of each operand, stored once; tf32 is cut when loaded
    assert made.asm["ttgir"].count("ttg.local_alloc") == 2 * parts
