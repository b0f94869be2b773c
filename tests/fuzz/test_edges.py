"""Integer operations at their edges, where C leaves them undefined: interpreter and CPU agree on one value."""

from functools import partial

import numpy as np
import pytest

import naiad.language as tl
from naiad.runtime.jit import jit

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def edges(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(o + i, a // b)
    tl.store(o + n + i, a % b)
    tl.store(o + 2 * n + i, a << b)
    tl.store(o + 3 * n + i, a >> b)


def run(name, interpret):
    info = np.iinfo(name)
    pairs = [(a, b) for a in (info.min, -1, 0, 1, 77, info.max) for b in (info.min, -1, 0, 1, 7, 8, 31, 64, info.max)]
    pairs = [(a, b) for a, b in pairs if info.min <= min(a, b) and max(a, b) <= info.max]
    x, y = (np.resize(np.array(column, name), 64) for column in zip(*pairs, strict=True))
    out = np.full((4, 64), 0xA5, np.uint8).astype(name)
    partial(jit, interpret=interpret)(edges)[(1,)](x, y, out, 64, BLOCK=64)
    return x, y, out


@pytest.mark.parametrize("name", INTEGERS)
def test_division_and_shifts_at_their_edges(name):
    x, y, want = run(name, interpret=True)
    _, _, got = run(name, interpret=False)
    assert np.array_equal(want, got), (x[(want != got).any(0)], y[(want != got).any(0)])
    zero = y == 0
    assert (want[0][zero] == 0).all() and np.array_equal(want[1][zero], x[zero])
    far = y.astype(np.uint64 if name[0] == "u" else np.int64) >= np.iinfo(name).bits
    assert (want[2][far] == 0).all() and np.array_equal(want[3][far], np.where(x[far] < 0, -1, 0))
