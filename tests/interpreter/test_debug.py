"""device_print, device_assert and asserts, barriers and promises; what has no interpretation says so."""

import inspect

import numpy as np
import pytest

import naiad.language as tl

from .interpreted import jit, poisoned


@jit
def shown(x, HEX: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, 2)[:, None] * N + tl.arange(0, N)[None, :]
    tl.device_print("x", tl.load(x + at), hex=HEX)


def test_print_of_a_tile(capsys):
    x = np.arange(-2, 22, dtype=np.int16).reshape(2, 12)[:, :8].copy()
    shown[(1,)](x, False, 8)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pid (0, 0, 0) idx (0, 0) x: -2" and lines[-1] == f"pid (0, 0, 0) idx (1, 7) x: {x[1, 7]}"
    assert len(lines) == 16
    shown[(1,)](x, True, 8)
    assert capsys.readouterr().out.splitlines()[0] == "pid (0, 0, 0) idx (0, 0) x: 0xfffe"


@jit
def many(n, f, u):
    tl.device_print("", n, f)
    tl.device_print("u: ", u)
    tl.device_print("here")


def test_print_of_scalars(capsys):
    many[(1, 2)](3, 0.5, 2**63)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert "(operand 0) 3" in lines[0] and lines[1].endswith("(operand 1) 0.500000")
    assert lines[2].endswith(f"u: {2**63}") and "here" in lines[3] and lines[4].startswith("pid (0, 1, 0)")


@jit
def asserting(x, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.device_assert(v > 0, "not positive")
    assert tl.sum(v, axis=0) < 100, "too much"


def test_assertions():
    asserting[(1,)](np.array([1, 2, 3, -1]), 4)  # nothing is checked without debug
    asserting[(1,)](np.array([1, 2, 3, 4]), 4, debug=True)
    line = inspect.getsourcelines(asserting.fn)[1] + 3
    with pytest.raises(
        RuntimeError, match=rf"(?s)test_debug.py:{line}: in asserting.*device-side assert: not positive.*\(3\)"
    ):
        asserting[(1,)](np.array([1, 2, 3, -1]), 4, debug=True)
    with pytest.raises(RuntimeError, match="device-side assert: too much"):
        asserting[(1,)](np.array([1, 2, 3, 400]), 4, debug=True)


@jit
def promises(o, n):
    tl.assume(n > 0)
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, 4), 4), 4)
    tl.store(o + i, n)
    tl.debug_barrier()
    tl.static_print("n", n.dtype)


def test_promises_change_nothing():
    out = poisoned(4, "int32")
    promises[(1,)](out, 5)
    assert out.tolist() == [5] * 4
