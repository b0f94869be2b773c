"""Reductions, scans and functions on elements, against numpy in float64 or Python's integers."""

import numpy as np
import pytest

import naiad.language as tl

from .interpreted import INTEGERS, NUMPY, jit, language_dtype, numbers, poisoned, wrapped

FLOATS = ("float16", "bfloat16", "float32", "float64")
EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}


@jit
def reduced(x, o, m, n, F: tl.constexpr, AXIS: tl.constexpr, KEEP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tile = tl.load(x + i * n + j, mask=(i < m) & (j < n), other=0)
    y = F(tile, axis=AXIS, keep_dims=KEEP)
    if AXIS is None:
        if KEEP:
            tl.static_assert(len(y.shape) == 2)
            tl.store(o + tl.zeros((1, 1), tl.int32), y)
        else:
            tl.store(o, y)
    elif AXIS == 0:
        if KEEP:
            tl.static_assert(y.shape[0] == 1)
            y = tl.reshape(y, (N,))
        tl.store(o + tl.arange(0, N), y)
    else:
        if KEEP:
            tl.static_assert(y.shape[1] == 1)
            y = tl.reshape(y, (M,))
        tl.store(o + tl.arange(0, M), y)


def run_reduced(function, x, axis, result, keep=False, shape=(16, 32)):
    out = poisoned({None: 1, 0: shape[1], 1: shape[0]}[axis], result)
    reduced[(1,)](x, out, *x.shape, function, axis, keep, *shape)
    return out


def padded(x, shape=(16, 32)):
    return np.pad(x, [(0, shape[i] - x.shape[i]) for i in range(2)])


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_integer_sum(name, axis):
    x = numbers(np.random.default_rng(0), name, 13 * 29).reshape(13, 29)
    result = name if NUMPY[name].itemsize >= 4 else ("uint32" if name[0] == "u" else "int32")
    sums = padded(x).astype(object).sum(axis=axis)
    want = [wrapped(int(v), result) for v in np.atleast_1d(sums)]
    assert run_reduced(tl.sum, x, axis, result).tolist() == want


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keep", [False, True])
def test_float_sum(name, axis, keep):
    """A 16-bit sum is off by one rounding, since it is formed in 32 bits."""
    x = numbers(np.random.default_rng(1), name, 16 * 31).reshape(16, 31)
    got = run_reduced(tl.sum, x, axis, name, keep).astype(np.float64)
    exact = np.atleast_1d(padded(x.astype(np.float64)).sum(axis=axis))
    size = np.atleast_1d(np.abs(padded(x.astype(np.float64))).sum(axis=axis))
    bound = EPSILON[name] * np.abs(exact) * 1.01 + size * 12 * min(EPSILON[name], 2.0**-24)
    assert (np.abs(got - exact) <= bound).all()


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("axis", [0, 1])
def test_extrema_and_where_they_are(name, axis):
    x = numbers(np.random.default_rng(2), name, 16 * 32).reshape(16, 32)
    x[3] = x[5]
    x[:, 7] = x[:, 9]
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x.astype(object)
    result = name if NUMPY[name].itemsize >= 4 else ("float32" if NUMPY[name].kind not in "iu" else "int32")
    assert run_reduced(tl.max, x, axis, result).tolist() == wide.max(axis=axis).tolist()
    assert run_reduced(tl.min, x, axis, result).tolist() == wide.min(axis=axis).tolist()
    assert run_reduced(tl.argmax, x, axis, "int32").tolist() == np.argmax(wide, axis=axis).tolist()
    assert run_reduced(tl.argmin, x, axis, "int32").tolist() == np.argmin(wide, axis=axis).tolist()


def test_extrema_skip_nan():
    x = np.array([[1, np.nan, 3, 2], [np.nan] * 4], np.float32)
    got = run_reduced(tl.max, x, 1, "float32", shape=(2, 4))
    assert got[0] == 3 and np.isnan(got[1])
    assert run_reduced(tl.argmax, x, 1, "int32", shape=(2, 4))[0] == 2
    assert run_reduced(tl.min, x, 1, "float32", shape=(2, 4))[0] == 1


@pytest.mark.parametrize("name", ["int32", "uint8", "int64"])
def test_bits(name):
    x = numbers(np.random.default_rng(3), name, 16 * 32).reshape(16, 32)
    assert np.array_equal(run_reduced(tl.xor_sum, x, 0, name), np.bitwise_xor.reduce(x, axis=0))
    assert np.array_equal(run_reduced(tl.reduce_or, x, 1, name), np.bitwise_or.reduce(x, axis=1))


@jit
def scanned(x, o, F: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + at, F(tl.load(x + at), axis=AXIS, reverse=REVERSE))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["int8", "uint16", "int32", "int64", "uint64"])
def test_integer_cumsum(name, axis, reverse):
    x = numbers(np.random.default_rng(4), name, 8 * 64).reshape(8, 64)
    result = name if NUMPY[name].itemsize >= 4 else ("uint32" if name[0] == "u" else "int32")
    out = poisoned(x.shape, result)
    scanned[(1,)](x, out, tl.cumsum, axis, reverse, 8, 64)
    ordered = np.flip(x, axis) if reverse else x
    want = np.cumsum(ordered.astype(object), axis=axis)
    want = np.flip(want, axis) if reverse else want
    assert out.tolist() == [[wrapped(int(v), result) for v in row] for row in want]


@pytest.mark.parametrize("function", ["cumsum", "cumprod"])
@pytest.mark.parametrize("name", FLOATS)
def test_float_scans(function, name):
    x = np.random.default_rng(5).uniform(0.9, 1.1, (4, 128)).astype(NUMPY[name])
    out = poisoned(x.shape, "float32" if name == "bfloat16" else name)
    scanned[(1,)](x, out, getattr(tl, function), 1, False, 4, 128)
    want = getattr(np, function)(x.astype(np.float64), axis=1)
    bound = EPSILON["float32" if name == "bfloat16" else name] + 300 * min(EPSILON[name], 2.0**-24)
    assert (np.abs(out.astype(np.float64) - want) <= bound * np.abs(want)).all()


@jit
def affine(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@jit
def recurrence(g, u, h, o, REVERSE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    _, b = tl.associative_scan((tl.load(g + i), tl.load(u + i)), 0, affine, reverse=REVERSE)
    tl.store(h + i, b)
    _, last = tl.reduce((tl.load(g + i), tl.load(u + i)), 0, affine)
    tl.store(o, last)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_combination_that_does_not_commute(reverse):
    rng = np.random.default_rng(6)
    g, u = rng.integers(-3, 4, 64), rng.integers(-9, 10, 64)
    h, last = poisoned(64, "int64"), poisoned(1, "int64")
    recurrence[(1,)](g, u, h, last, reverse, 64)
    state, want = 0, []
    for a, b in list(zip(g, u, strict=True))[:: -1 if reverse else 1]:
        state = wrapped(state * int(a) + int(b), "int64")
        want.append(state)
    assert h[:: -1 if reverse else 1].tolist() == want
    if not reverse:
        assert last[0] == want[-1]


@jit
def first_larger(a, b):
    if a > b:
        return a
    return b


@jit
def with_branches(x, o, N: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + tl.arange(0, 4), tl.reduce(tl.load(x + at), 1, first_larger))


def test_a_combination_with_branches():
    x = np.random.default_rng(7).integers(-99, 99, (4, 16))
    out = poisoned(4, "int64")
    with_branches[(1,)](x, out, 16)
    assert out.tolist() == x.max(axis=1).tolist()


@jit
def low_bits(a, b):
    mixed = a.to(tl.int16, bitcast=True) | b.to(tl.int16, bitcast=True)
    return mixed.to(tl.float16, bitcast=True)


@jit
def bits_of_halves(x, o, N: tl.constexpr):
    tl.store(o, tl.reduce(tl.load(x + tl.arange(0, N)), 0, low_bits))


def test_a_combination_that_looks_at_bits():
    x = np.array([1, 2, 3, 0.5, 0.25, 7, 100, 1.5], np.float16)
    out = poisoned(1, "float16")
    bits_of_halves[(1,)](x, out, 8)
    assert out.view(np.uint16)[0] == np.bitwise_or.reduce(x.view(np.uint16))


@jit
def collatz(x):
    steps = 0
    while x > 1:
        x = tl.where(x % 2 == 0, x // 2, 3 * x + 1)
        steps += 1
    return steps


@jit
def swap_neighbours(a0, a1, b0, b1):
    return a1 + b0, a0 + b1, a0 - b0, a1 - b1


@jit
def order(a, b):
    if a < b:
        return -1
    elif a == b:
        return 0
    return 1


@jit
def mapped(x, y, o, p, q, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, tl.map_elementwise(collatz, a) * tl.map_elementwise(order, 8, a))
    s, d = tl.map_elementwise(swap_neighbours, a, b, pack=2)
    tl.store(p + i, s)
    tl.store(q + i, d)


def test_map_elementwise():
    x, y = np.arange(1, 17, dtype=np.int32), np.arange(100, 116, dtype=np.int32)
    out, p, q = (poisoned(16, "int32") for _ in range(3))
    mapped[(1,)](x, y, out, p, q, 16)
    steps = np.array([0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9, 9, 17, 17, 4])
    assert np.array_equal(out, steps * np.sign(8 - x))
    assert np.array_equal(p.reshape(-1, 2), x.reshape(-1, 2)[:, ::-1] + y.reshape(-1, 2))
    assert np.array_equal(q, x - y)


@jit
def softmaxed(x, o, N: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + at, tl.softmax(tl.load(x + at), dim=1, keep_dims=True))


def test_softmax():
    x = np.random.default_rng(8).standard_normal((4, 64)).astype(np.float32) * 5
    out = poisoned(x.shape, "float32")
    softmaxed[(1,)](x, out, 64)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.allclose(out, e / e.sum(axis=1, keepdims=True), rtol=2e-6, atol=0)


@jit
def counted(x, mask, o, p, BINS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + tl.arange(0, BINS), tl.histogram(tl.load(x + i), BINS))
    tl.store(p + tl.arange(0, BINS), tl.histogram(tl.load(x + i), BINS, mask=tl.load(mask + i)))


def test_histogram():
    rng = np.random.default_rng(9)
    x, mask = rng.integers(0, 16, 256).astype(np.int32), rng.random(256) < 0.4
    out, masked = poisoned(16, "int32"), poisoned(16, "int32")
    counted[(1,)](x, mask, out, masked, 16, 256)
    assert np.array_equal(out, np.bincount(x, minlength=16))
    assert np.array_equal(masked, np.bincount(x[mask], minlength=16))


@jit
def summed_as(x, o, DTYPE: tl.constexpr, N: tl.constexpr):
    tl.store(o, tl.sum(tl.load(x + tl.arange(0, N)), dtype=DTYPE))


def test_sum_in_a_given_dtype():
    out = poisoned(1, "int64")
    summed_as[(1,)](np.full(64, 2**31 - 1, np.int32), out, language_dtype("int64"), 64)
    assert out[0] == 64 * (2**31 - 1)
