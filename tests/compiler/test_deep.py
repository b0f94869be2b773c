"""Long chains of operations, as unrolled loops leave them, compile."""

import sys
import threading

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad.compiler.deep import deeply


@naiad.jit
def chain(x, out, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    for j in tl.static_range(N):
        a = tl.where(a > j, a * 0.5, a + 1)
    tl.store(out + i, a)


def test_an_unrolled_loop():
    x = np.linspace(0, 500, 32, dtype="f4")
    out = np.zeros(32, "f4")
    chain[(1,)](x, out, 200, 32)
    for j in range(200):
        x = np.where(x > j, x * np.float32(0.5), x + 1)
    np.testing.assert_array_equal(out, x)


def test_room_for_recursion():
    limit = sys.getrecursionlimit()

    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    assert deeply(lambda: down(10 * limit)) == 10 * limit
    with pytest.raises(ValueError, match="as it is"):
        deeply(lambda: int("as it is"))
    with pytest.raises(RecursionError):
        deeply(lambda: down(10**9))
    assert sys.getrecursionlimit() == limit and threading.stack_size() == 0


@pytest.mark.parametrize("method", ["start", "join"])
def test_the_limits_are_as_before_where_there_is_no_thread(monkeypatch, method):
    def fails(self):
        raise RuntimeError("can't start new thread")

    limit = sys.getrecursionlimit()
    monkeypatch.setattr(threading.Thread, method, fails)
    with pytest.raises(RuntimeError, match="new thread"):
        deeply(lambda: 1)
    assert sys.getrecursionlimit() == limit and threading.stack_size() == 0
