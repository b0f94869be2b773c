"""Functions that move elements, and those that order them."""

import ml_dtypes
import numpy as np
import pytest

import naiad.language as tl

from .interpreted import INTEGERS, NUMPY, jit, numbers, poisoned


@jit
def moved(x, o, HOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr, SIZE: tl.constexpr):
    a = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if HOW == "trans":
        y = tl.trans(a)
    elif HOW == "T":
        y = a.T
    elif HOW == "permute":
        y = tl.permute(a[:, None, :], 2, 0, 1)
    elif HOW == "reshape":
        y = a.reshape(N // 2, 2, M)
    elif HOW == "ravel":
        y = tl.ravel(a)
    elif HOW == "join":
        y = tl.join(a, a + 1)
    elif HOW == "split":
        left, right = tl.split(tl.reshape(a, (M, N // 2, 2)))
        y = left * 1000 + right
    elif HOW == "interleave":
        y = tl.interleave(a, -a)
    elif HOW == "cat":
        y = tl.cat(tl.ravel(a), tl.ravel(a) * 2, can_reorder=True)
    elif HOW == "cat1":
        y = tl.cat(a, a * 3, dim=1)
    elif HOW == "flip":
        y = tl.flip(a, 0)
    elif HOW == "broadcast":
        y = tl.broadcast_to(tl.sum(a, axis=0, keep_dims=True), (M, N))
    elif HOW == "expand":
        y = tl.expand_dims(a, (0, -1)) + tl.zeros((2, 1, 1, 1), a.dtype)
    elif HOW == "squeeze":
        y = tl.squeeze(tl.unsqueeze(a, 1), 1)
    elif HOW == "item":
        y = tl.full((1, 1), 5, a.dtype).item() + a
    else:
        tl.static_assert(HOW == "where")
        y = tl.where(a % 2 == 0, a, a[:, :] * 10)
    tl.static_assert(y.numel == SIZE)
    tl.store(o + tl.arange(0, SIZE), tl.reshape(y, (SIZE,)))


NUMPY_OF = {
    "trans": lambda a: a.T,
    "T": lambda a: a.T,
    "permute": lambda a: np.transpose(a[:, None, :], (2, 0, 1)),
    "reshape": lambda a: a,
    "ravel": lambda a: a,
    "join": lambda a: np.stack([a, a + 1], -1),
    "split": lambda a: a[:, ::2] * 1000 + a[:, 1::2],
    "interleave": lambda a: np.stack([a, -a], -1),
    "cat": lambda a: np.concatenate([a.ravel(), a.ravel() * 2]),
    "cat1": lambda a: np.concatenate([a, a * 3], axis=1),
    "flip": lambda a: a[::-1],
    "broadcast": lambda a: np.broadcast_to(a.sum(axis=0, keepdims=True), a.shape),
    "expand": lambda a: np.stack([a, a]),
    "squeeze": lambda a: a,
    "item": lambda a: a + 5,
    "where": lambda a: np.where(a % 2 == 0, a, a * 10),
}


@pytest.mark.parametrize("how", NUMPY_OF)
@pytest.mark.parametrize("name", ["int32", "float32"])
def test_moves(how, name):
    x = np.arange(8 * 16).reshape(8, 16).astype(NUMPY[name])
    want = NUMPY_OF[how](x)
    out = poisoned(want.size, name)
    moved[(1,)](x, out, how, 8, 16, want.size)
    assert np.array_equal(out, want.ravel())


@jit
def gathered(x, index, o, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if AXIS == 0:
        at = tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :]
    else:
        at = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(o + at, tl.gather(a, tl.load(index + at), AXIS))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(axis):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 16)).astype(np.float32)
    index = rng.integers(0, x.shape[axis], (4, 16) if axis == 0 else (8, 4)).astype(np.int32)
    out = poisoned(index.shape, "float32")
    gathered[(1,)](x, index, out, axis, 8, 16, 4)
    assert np.array_equal(out, np.take_along_axis(x, index, axis))


@jit
def ordered(x, o, t, DIM: tl.constexpr, DOWN: tl.constexpr, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j)
    tl.store(o + i * N + j, tl.sort(a, dim=DIM, descending=DOWN))
    best = tl.topk(a, K, dim=1)
    tl.store(t + i * K + tl.arange(0, K)[None, :], best)


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", [*INTEGERS, "float16", "bfloat16", "float32"])
def test_sort_and_topk(name, dim, descending):
    x = numbers(np.random.default_rng(1), name, 8 * 32).reshape(8, 32)
    x[2] = x[2, 0]
    out, best = poisoned(x.shape, name), poisoned((8, 4), name)
    ordered[(1,)](x, out, best, dim, descending, 4, 8, 32)
    axis = 1 if dim is None else dim
    wide = x.astype(np.float64) if x.dtype == ml_dtypes.bfloat16 else x
    want = np.sort(wide, axis=axis)
    assert np.array_equal(out.astype(wide.dtype), np.flip(want, axis) if descending else want)
    assert np.array_equal(best.astype(wide.dtype), np.sort(wide, axis=1)[:, ::-1][:, :4])


def test_nan_sorts_above_all_and_zeros_by_sign():
    x = np.array([[0.0, 1, np.nan, -np.inf, np.inf, -0.0, 0.0, -np.nan]], np.float32)
    out, best = poisoned(x.shape, "float32"), poisoned((1, 1), "float32")
    ordered[(1,)](x, out, best, 1, False, 1, 1, 8)
    assert out[0, :6].tolist() == [-np.inf, 0, 0, 0, 1, np.inf] and np.isnan(out[0, 6:]).all() and np.isnan(best[0, 0])
    assert np.signbit(out[0, :4]).tolist() == [True, True, False, False]


@jit
def swizzled(o, p, m, n, g):
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), m, n, g)
    at = tl.program_id(0) * n + tl.program_id(1)
    tl.store(o + at, i)
    tl.store(p + at, j)


def test_swizzle_is_a_permutation_by_groups():
    m, n, g = 5, 3, 2
    rows, columns = poisoned(m * n, "int32"), poisoned(m * n, "int32")
    swizzled[(m, n)](rows, columns, m, n, g)
    want = [(r, c) for first in range(0, m, g) for c in range(n) for r in range(first, min(first + g, m))]
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == want
