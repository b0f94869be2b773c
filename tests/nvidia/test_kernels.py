"""Whole kernels, compiled for NVIDIA GPUs and run on the emulator, against numpy in float64; odd sizes throughout."""

import ml_dtypes
import numpy as np
import pytest

from . import kernels as K
from .harness import run

E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
RNG = np.random.default_rng(7)


def normal(*shape: int, dtype=np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def poisoned(*shape: int, dtype=np.float32) -> np.ndarray:
    return (
        np.full(shape, 7, dtype) if np.dtype(dtype).kind in "iu" else np.full(shape, np.nan, np.float32).astype(dtype)
    )


def error(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.linalg.norm(got.astype(np.float64) - want) / max(1e-30, np.linalg.norm(want)))


@pytest.mark.parametrize("n", [1, 1000, 1024, 3001])
@pytest.mark.parametrize("warps", [1, 4])
def test_vector_add(n: int, warps: int) -> None:
    x, y, o = normal(n), normal(n), poisoned(n)
    run(K.vector_add, (-(-n // 1024),), x, y, o, n, BLOCK=1024, num_warps=warps)
    assert np.array_equal(o, x + y)


@pytest.mark.parametrize(("n", "block", "warps"), [(1000, 1024, 4), (33, 64, 1), (16, 16, 4), (3000, 4096, 8)])
def test_softmax(n: int, block: int, warps: int) -> None:
    x, o = normal(2, n), poisoned(2, n)
    run(K.softmax, (2,), x, o, n, n, BLOCK=block, num_warps=warps)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    assert error(o, e / e.sum(1, keepdims=True)) < 1e-6


def test_layer_norm() -> None:
    n = 1000
    x, w, b, o = (
        normal(2, n, dtype=np.float16),
        normal(n, dtype=np.float16),
        normal(n, dtype=np.float16),
        poisoned(2, n, dtype=np.float16),
    )
    run(K.layer_norm, (2,), x, w, b, o, n, n, 1e-5, BLOCK=1024)
    wide = x.astype(np.float64)
    want = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * w.astype(
        float
    ) + b.astype(float)
    assert error(o, want) < 1e-3


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize(("warps", "stages"), [(4, 1), (4, 3), (8, 2)])
def test_matmul(dtype: type, warps: int, stages: int, arch: int) -> None:
    m, n, k = 72, 56, 80
    a, b, c = normal(m, k).astype(dtype), normal(k, n).astype(dtype), poisoned(m, n, dtype=dtype)
    run(K.matmul, (2, 1), a, b, c, m, n, k, k, 1, n, 1, n, 1, BM=64, BN=64, BK=32, num_warps=warps, num_stages=stages,
        arch=arch)  # fmt: skip
    assert error(c, a.astype(np.float64) @ b.astype(np.float64)) < {2: 5e-3, 4: 2e-3}[c.itemsize]


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("block", [(64, 64, 32), (128, 32, 64), (64, 128, 128)])
def test_matmul_with_transposed_operands(arch: int, block: tuple[int, int, int]) -> None:
    m, n, k = 128, 128, 128
    a, b, c = normal(k, m, dtype=np.float16), normal(n, k, dtype=np.float16), poisoned(m, n)
    grid = (m // block[0], n // block[1])
    run(K.matmul, grid, a, b, c, m, n, k, 1, m, 1, k, n, 1, BM=block[0], BN=block[1], BK=block[2], arch=arch)
    assert error(c, a.T.astype(np.float64) @ b.T.astype(np.float64)) < 1e-3


@pytest.mark.parametrize(("dtype", "out", "precision", "tolerance"), [
    (np.float16, np.float32, "tf32", 1e-3), (np.float32, np.float32, "tf32", 2e-3),
    (np.float32, np.float32, "ieee", 1e-6), (np.int8, np.int32, "tf32", 0),
    (np.float64, np.float64, "ieee", 1e-14)])  # fmt: skip
@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 64, 32), (64, 16, 128)])
def test_dot(dtype: type, out: type, precision: str, tolerance: float, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    k = max(k, 32) if dtype == np.int8 else k
    draw = (
        (lambda *s: RNG.integers(-9, 9, s).astype(np.int8))
        if dtype == np.int8
        else (lambda *s: normal(*s).astype(dtype))
    )
    a, b, c = draw(m, k), draw(k, n), poisoned(m, n, dtype=out)
    run(K.one_dot, (1,), a, b, c, M=m, N=n, K=k, PRECISION=precision)
    assert error(c, a.astype(np.float64) @ b.astype(np.float64)) <= tolerance


@pytest.mark.parametrize("shape", [(64, 8, 16), (128, 8, 64), (64, 16, 16), (64, 32, 128), (64, 8, 32)])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_dots_of_few_columns_on_hopper(dtype: type, shape: tuple[int, int, int]) -> None:
    """wgmma's rows of shared memory have 32 bytes at least: narrower ones go another way."""
    m, n, k = shape
    a, b, c = normal(m, k).astype(dtype), normal(k, n).astype(dtype), poisoned(m, n)
    run(K.one_dot, (1,), a, b, c, M=m, N=n, K=k, PRECISION="ieee", arch=90)
    assert error(c, a.astype(np.float64) @ b.astype(np.float64)) <= 1e-6


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_dot_of_8_bit_floats(dtype: type) -> None:
    a, b, c = normal(32, 64).astype(dtype), normal(64, 32).astype(dtype), poisoned(32, 32)
    run(K.one_dot, (1,), a, b, c, M=32, N=32, K=64, PRECISION="tf32", arch=89)
    assert error(c, a.astype(np.float64) @ b.astype(np.float64)) < 1e-6


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("block", [(64, 64, 32), (128, 32, 64), (64, 128, 128)])
@pytest.mark.parametrize(("dtype", "other"), [(E4M3, E4M3), (E5M2, E4M3), (E5M2, E5M2)])
def test_matmul_of_8_bit_floats(dtype: type, other: type, block: tuple[int, int, int], stages: int) -> None:
    m, n, k = 128, 128, 256
    a, b, c = normal(m, k).astype(dtype), normal(n, k).astype(other), poisoned(m, n)
    run(K.matmul, (m // block[0], n // block[1]), a, b, c, m, n, k, k, 1, 1, k, n, 1, BM=block[0], BN=block[1],
        BK=block[2], num_stages=stages, arch=90)  # fmt: skip
    assert error(c, a.astype(np.float64) @ b.astype(np.float64).T) < 1e-6


@pytest.mark.parametrize("strides", [(1, 128, 1, 64), (64, 1, 128, 1), (1, 128, 128, 1)])
def test_matmul_of_8_bit_floats_whose_bytes_do_not_run_along_k(strides: tuple[int, int, int, int]) -> None:
    m, n, k = 128, 128, 64
    a, b, c = normal(m, k).astype(E4M3), normal(k, n).astype(E4M3), poisoned(m, n)
    left = a if strides[1] == 1 else np.ascontiguousarray(a.T)
    right = b if strides[3] == 1 else np.ascontiguousarray(b.T)
    run(K.matmul, (2, 2), left, right, c, m, n, k, *strides, n, 1, BM=64, BN=64, BK=32, arch=90)
    assert error(c, a.astype(np.float64) @ b.astype(np.float64)) < 1e-6


def test_matmul_of_8_bit_floats_computed_in_the_loop() -> None:
    """They lie in registers in any order, and are turned on the way to shared memory; the sum of a dot too."""
    a, b, c, d = normal(64, 64).astype(E4M3), normal(64, 64).astype(E4M3), normal(64, 32).astype(E4M3), poisoned(64, 32)
    run(K.two_dots_of_bytes, (1,), a, b, c, d, M=64, N=32, K=64, arch=90)
    inner = (a.astype(np.float64) @ (-b.astype(np.float64))).astype(np.float32).astype(E4M3)
    assert error(d, inner.astype(np.float64) @ (-c.astype(np.float64))) < 2e-2


@pytest.mark.parametrize("arch", [80, 90])
def test_matmul_of_operands_computed_in_the_loop(arch: int) -> None:
    k = 160
    a, b, c = normal(64, k, dtype=np.float16), normal(32, k, dtype=np.float16), poisoned(64, 32)
    run(K.scaled_matmul, (1,), a, b, c, k, BM=64, BN=32, BK=32, arch=arch)
    assert error(c, (2 * a.astype(np.float64)) @ (b.astype(np.float64) - 1).T) < 1e-3


@pytest.mark.parametrize("arch", [80, 90])
def test_attention(arch: int) -> None:
    n, d = 128, 64
    q, k, v, o = (
        normal(n, d, dtype=np.float16),
        normal(n, d, dtype=np.float16),
        normal(n, d, dtype=np.float16),
        poisoned(n, d, dtype=np.float16),
    )
    run(K.attention, (2,), q, k, v, o, 0.125, n, D=d, BM=64, BN=32, arch=arch)
    s = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    p = np.exp(s - s.max(1, keepdims=True))
    assert error(o, p / p.sum(1, keepdims=True) @ v.astype(np.float64)) < 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64])
def test_transpose(dtype: type) -> None:
    m, n = 100, 77
    x, o = (100 * normal(m, n)).astype(dtype), poisoned(n, m, dtype=dtype)
    run(K.transpose, (2, 2), x, o, m, n, BM=64, BN=64)
    assert np.array_equal(o, x.T)


def test_dropout() -> None:
    x, o = np.ones(4000, np.float32), poisoned(4000)
    run(K.dropout, (4,), x, o, 4000, 0.25, 99, BLOCK=1024)
    assert set(o.tolist()) <= {0.0, np.float32(4 / 3)} and abs((o > 0).mean() - 0.75) < 0.03


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize(("block", "warps"), [(512, 4), (64, 1), (1024, 8), (64, 4), (16, 8)])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dtype: type, block: int, warps: int, descending: bool) -> None:
    x, o = (50 * normal(2, block)).astype(dtype), poisoned(2, block, dtype=dtype)
    run(K.sort_rows, (2,), x, o, BLOCK=block, DESCENDING=descending, num_warps=warps)
    want = np.sort(x, 1)
    assert np.array_equal(o, want[:, ::-1] if descending else want)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(8, 128), (128, 8), (2, 512), (32, 32)])
def test_scan(axis: int, reverse: bool, shape: tuple[int, int]) -> None:
    x, o = normal(*shape), poisoned(*shape)
    run(K.scan_rows, (1,), x, o, M=shape[0], N=shape[1], AXIS=axis, REVERSE=reverse)
    wide = np.flip(x, axis).astype(np.float64) if reverse else x.astype(np.float64)
    want = np.cumsum(wide, axis)
    assert error(o, np.flip(want, axis) if reverse else want) < 1e-5


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(8, 128), (128, 8), (4, 4), (32, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16])
def test_reduce(axis: int, shape: tuple[int, int], dtype: type) -> None:
    x, n = (10 * normal(*shape)).astype(dtype), shape[1 - axis]
    total, largest, place = poisoned(n, dtype=dtype), poisoned(n, dtype=dtype), poisoned(n, dtype=np.int32)
    run(K.reduce_rows, (1,), x, total, largest, place, M=shape[0], N=shape[1], AXIS=axis)
    assert np.allclose(
        total.astype(float),
        x.astype(float).sum(axis),
        rtol=2e-2 if dtype == np.float16 else 1e-4,
        atol=1.0 if dtype == np.float16 else 1e-2,
    )
    assert np.array_equal(largest, x.max(axis)) and np.array_equal(place, x.argmax(axis))


def test_histogram() -> None:
    x, o = RNG.integers(0, 16, 300).astype(np.int32), poisoned(16, dtype=np.int32)
    run(K.histogram, (1,), x, o, 300, BLOCK=512, BINS=16)
    want = np.bincount(x, minlength=16)
    want[0] += 512 - 300
    assert np.array_equal(o, want)


def test_gather() -> None:
    x, i, o = normal(16, 64), RNG.integers(0, 64, (16, 64)).astype(np.int32), poisoned(16, 64)
    run(K.gather_rows, (1,), x, i, o, M=16, N=64)
    assert np.array_equal(o, np.take_along_axis(x, i, 1))


def test_atomics() -> None:
    n = 500
    x, total, largest = normal(n), np.zeros(16, np.float32), np.full(16, -(2**31), np.int32)
    count, old = np.zeros(1, np.int32), poisoned(4, dtype=np.int32)
    run(K.atomics, (4,), x, total, largest, count, old, n, BLOCK=128)
    slots = np.arange(n) % 16
    assert np.allclose(total, np.bincount(slots, x, 16), atol=1e-4)
    assert all(largest[s] == np.trunc(x[slots == s].astype(np.float32) * np.float32(100)).max() for s in range(16))
    assert count[0] == 4 and sorted(old.tolist()) == [0, 1, 2, 3]


BOUNDS = {"exp": 4e-7, "exp2": 2e-7, "log": 2e-7, "log2": 3e-7, "sin": 3e-7, "cos": 3e-7, "sqrt": 2e-7, "rsqrt": 2e-7,
          "erf": 4e-7, "floor": 0, "ceil": 0, "abs": 0}  # fmt: skip


@pytest.mark.parametrize("name", list(BOUNDS))
def test_functions(name: str) -> None:
    from scipy.special import erf

    x, o = (3 * normal(2000)).astype(np.float32), poisoned(2000)
    x = np.abs(x) + np.float32(1e-3) if name in ("log", "log2", "sqrt", "rsqrt") else x
    run(K.unary, (4,), x, o, 2000, NAME=name, BLOCK=512)
    want = {"rsqrt": lambda v: 1 / np.sqrt(v), "erf": erf}.get(name, getattr(np, name, None))(x.astype(np.float64))
    assert np.max(np.abs(o - want) / np.maximum(np.abs(want), 1e-3)) <= max(BOUNDS[name], 0) * 4 + (
        0 if BOUNDS[name] == 0 else 1e-7
    )


TYPES = [
    np.float32,
    np.float16,
    ml_dtypes.bfloat16,
    np.int32,
    np.int8,
    np.int64,
    np.float64,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
]


SMALL = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@pytest.mark.parametrize(("source", "target", "arch"), [
    (a, b, arch) for a in TYPES for b in TYPES for arch in ((80, 90) if a in SMALL or b in SMALL else (80,))
])  # fmt: skip
def test_convert(source: type, target: type, arch: int) -> None:
    values = np.concatenate([normal(200) * 3, [0.0, -0.0, 1.0, -1.5, 0.001, 2.0**-9, 2.0**-10, 448.0, 100.0]]).astype(
        np.float32
    )
    if np.dtype(target).kind in "iu" or np.dtype(source).kind in "iu":
        values = np.clip(values, -100, 100)
    x, o = values.astype(source), np.zeros(len(values), target)
    run(K.convert, (1,), x, o, len(x), BLOCK=256, arch=arch)
    wide = x.astype(np.float64)
    want = (
        (np.trunc(wide) if np.dtype(target).kind in "iu" else wide)
        .astype(np.float32 if target != np.float64 else np.float64)
        .astype(target)
    )
    assert np.array_equal(o.astype(np.float64), want.astype(np.float64))


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("source", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("target", SMALL)
def test_8_bit_floats_saturate(source: type, target: type, arch: int) -> None:
    most = float(ml_dtypes.finfo(target).max)
    x = np.array([1.03, 1.06, 1.5, np.inf, np.nan], np.float64) * most
    x = np.concatenate([x, -x]).astype(source)
    o = np.zeros(len(x), target)
    run(K.convert, (1,), x, o, len(x), BLOCK=256, arch=arch)
    assert o.astype(np.float64).tolist()[:4] == [most] * 4 and o.astype(np.float64).tolist()[5:9] == [-most] * 4
    assert np.isnan(o.astype(np.float64)[[4, 9]]).all()


@pytest.mark.parametrize("arch", [80, 90])
def test_f64_is_rounded_once_to_8_bits(arch: int) -> None:
    x = np.array([1.0625 + 2.0**-40, -1.1875 + 2.0**-40, 1.0625, 2.0**-10 + 2.0**-50, 2.0**-10], np.float64)
    o = np.zeros(len(x), E4M3)
    run(K.convert, (1,), x, o, len(x), BLOCK=256, arch=arch)
    assert o.astype(np.float64).tolist() == [1.125, -1.125, 1.0, 2.0**-9, 0.0]


def test_join_and_split() -> None:
    x, y, o, d = normal(128), normal(128), poisoned(256), poisoned(128)
    run(K.interleave, (1,), x, y, o, d, BLOCK=128)
    assert np.array_equal(o, np.stack([x, y], 1).reshape(-1)) and np.array_equal(d, x - y)


def test_while_and_if() -> None:
    x, o = np.array([1, 7, 27, 97], np.int32), poisoned(4, dtype=np.int32)
    run(K.collatz, (4,), x, o)
    assert o.tolist() == [0, 16, 111, 118]
