"""Reductions and scans on the CPU, against numpy in float64."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

RNG = np.random.default_rng(0)


@triton.jit
def reduce_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if OP == "sum":
        z = tl.sum(x, axis=AXIS)
    elif OP == "max":
        z = tl.max(x, axis=AXIS)
    elif OP == "min":
        z = tl.min(x, axis=AXIS)
    elif OP == "argmax":
        z = tl.argmax(x, axis=AXIS)
    elif OP == "argmin":
        z = tl.argmin(x, axis=AXIS)
    else:
        z = tl.xor_sum(x, axis=AXIS)
    if AXIS is None:
        tl.store(out_ptr, z)
    else:
        tl.store(out_ptr + tl.arange(0, N if AXIS == 0 else M), z)


@pytest.mark.parametrize("shape", [(1, 1), (2, 8), (8, 2), (64, 4), (4, 64), (32, 128), (128, 32), (1, 512), (512, 1)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", ["sum", "max", "min", "argmax", "argmin"])
def test_reduce(shape: tuple[int, int], axis: int, op: str) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    size = shape[1 - axis]
    out = np.full(size, 77, np.int32 if op.startswith("arg") else np.float32)
    reduce_kernel[(1,)](x, out, *shape, axis, op)
    right = getattr(np, op)(x.astype(np.float64), axis=axis)
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float64"]
)
@pytest.mark.parametrize("op", ["sum", "max", "min", "argmax", "argmin"])
def test_dtypes(dtype: str, op: str) -> None:
    if dtype.startswith("float"):
        x = RNG.standard_normal((16, 64)).astype(dtype)
    else:
        info = np.iinfo(dtype)
        x = RNG.integers(info.min, info.max, (16, 64), dtype, endpoint=True)
    if op == "sum" and x.dtype.kind in "iu":
        x //= 64
    out = np.zeros(16, np.int32 if op.startswith("arg") else x.dtype)
    reduce_kernel[(1,)](x, out, 16, 64, 1, op)
    right = getattr(np, op)(x, axis=1)
    if op == "sum" and x.dtype.kind in "iu":
        right = right.astype(x.dtype)
    rtol, atol = (4e-3, 1e-2) if dtype == "float16" else (1e-7, 1e-9)
    np.testing.assert_allclose(out.astype(np.float64), right.astype(np.float64), rtol=rtol, atol=atol)


@triton.jit
def reduce3_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    z = tl.sum(tl.load(x_ptr + a * B * C + b * C + c), axis=AXIS, keep_dims=True)
    if AXIS == 0:
        at = b * C + c
    elif AXIS == 1:
        at = a * C + c
    else:
        at = a * B + b
    tl.store(out_ptr + at, z)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_three_dimensions(axis: int) -> None:
    x = RNG.standard_normal((4, 8, 32)).astype(np.float32)
    right = x.astype(np.float64).sum(axis)
    out = np.full(right.shape, np.nan, np.float32)
    reduce3_kernel[(1,)](x, out, 4, 8, 32, axis)
    np.testing.assert_allclose(out, right, rtol=1e-5, atol=1e-5)


@triton.jit
def scan_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), AXIS, reverse=REVERSE))


@pytest.mark.parametrize("shape", [(1, 1), (2, 8), (8, 2), (4, 64), (64, 4), (32, 128), (1, 2048)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumsum(shape: tuple[int, int], axis: int, reverse: bool) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    out = np.full(shape, np.nan, np.float32)
    scan_kernel[(1,)](x, out, *shape, axis, reverse)
    right = np.cumsum(np.flip(x, axis) if reverse else x, axis=axis, dtype=np.float64)
    np.testing.assert_allclose(out, np.flip(right, axis) if reverse else right, rtol=1e-4, atol=1e-4)


@triton.jit
def step(decay_a, value_a, decay_b, value_b):
    return decay_a * decay_b, value_a * decay_b + value_b


@triton.jit
def recurrence_kernel(g_ptr, u_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    _, h = tl.associative_scan((tl.load(g_ptr + at), tl.load(u_ptr + at)), AXIS, step)
    tl.store(out_ptr + at, h)


@pytest.mark.parametrize("axis", [0, 1])
def test_recurrence_does_not_commute(axis: int) -> None:
    g, u = RNG.random((2, 64, 64), np.float32)
    out = np.full((64, 64), np.nan, np.float32)
    recurrence_kernel[(1,)](g, u, out, 64, 64, axis)
    h, right = np.zeros(64), np.empty((64, 64))
    for i in range(64):
        h = np.take(g, i, axis) * h + np.take(u, i, axis)
        right[(i, slice(None)) if axis == 0 else (slice(None), i)] = h
    np.testing.assert_allclose(out, right, rtol=1e-5)


@triton.jit
def widest(value_a, place_a, value_b, place_b):
    better = (value_a > value_b) | ((value_a == value_b) & (place_a < place_b))
    return tl.where(better, value_a, value_b), tl.where(better, place_a, place_b)


@triton.jit
def pair_kernel(x_ptr, value_ptr, place_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    value, place = tl.reduce((tl.load(x_ptr + at), at), 0, widest)
    tl.store(value_ptr, value)
    tl.store(place_ptr, place)


@pytest.mark.parametrize("n", [1, 2, 16, 32, 64, 1024])
def test_any_combine_function(n: int) -> None:
    x = RNG.integers(0, 9, n).astype(np.float32)
    value, place = np.zeros(1, np.float32), np.zeros(1, np.int32)
    pair_kernel[(1,)](x, value, place, n)
    assert (value[0], place[0]) == (x.max(), x.argmax())


@triton.jit
def extreme_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.store(out_ptr + tl.program_id(0) * 2, tl.max(x, 0))
    tl.store(out_ptr + tl.program_id(0) * 2 + 1, tl.min(x, 0))


@pytest.mark.parametrize("n", [16, 64, 1024])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_extremes_give_way_to_numbers(n: int, dtype: type) -> None:
    x = RNG.standard_normal((6, n)).astype(dtype)
    x[0] = np.nan
    x[1] = np.inf
    x[2] = -np.inf
    x[3] = np.nan
    x[3, n // 2] = 3
    x[4, ::3] = np.nan
    x[5] = np.where(np.arange(n) % 2, np.nan, -np.inf)
    out = np.full((6, 2), 77, dtype)
    extreme_kernel[(6,)](x, out, n)
    with np.errstate(all="ignore"):
        right = np.stack([np.fmax.reduce(x, 1), np.fmin.reduce(x, 1)], 1)
    np.testing.assert_array_equal(out, right)


@triton.jit
def larger(a, b):
    if tl.abs(a) >= tl.abs(b):
        return a
    else:
        return b


@triton.jit
def divisor(a, b):
    """The greatest common divisor, of two that one divides; 0 where one is 0."""
    if a != 0 and b != 0:
        if b % a == 0:
            found = a
        else:
            found = b
        return found
    return a * 0


@triton.jit
def branching_kernel(x_ptr, out_ptr, all_ptr, N: tl.constexpr, combine: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.reduce(x, 0, combine))
    tl.store(all_ptr + tl.arange(0, N), tl.associative_scan(x, 0, combine))


@pytest.mark.parametrize("n", [4, 64])
def test_functions_with_branches(n: int) -> None:
    x = RNG.permutation(np.arange(-n, n))[:n].astype(np.int32)
    out, running = np.zeros(1, np.int32), np.zeros(n, np.int32)
    branching_kernel[(1,)](x, out, running, n, larger)
    first = [x[np.argmax(np.abs(x[: i + 1]) == np.abs(x[: i + 1]).max())] for i in range(n)]
    assert (np.abs(running) == np.abs(first)).all() and abs(out[0]) == abs(first[-1])

    x = (2 ** RNG.integers(0, 20, n)).astype(np.int32)
    x[n // 2] = 0  # neither side of a branch may stop the program
    branching_kernel[(1,)](x, out, running, n, divisor)
    want = np.where(np.arange(n) < n // 2, np.minimum.accumulate(np.where(x == 0, 1 << 30, x)), 0)
    assert (running == want).all() and out[0] == 0


@triton.jit
def multiplied(a, b):
    for _ in range(b):
        a += b
    return a


def test_a_function_with_a_loop() -> None:
    x = np.zeros(8, np.int32)
    with pytest.raises(NotImplementedError, match="no loops in functions that a reduction or scan combines with"):
        branching_kernel[(1,)](x, x, x, 8, multiplied)
