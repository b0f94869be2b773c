"""Arguments that a launch fixed (`n` where n is 1): constexprs where one is asked for, with a type everywhere else."""

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad.errors import CompilationError


@naiad.jit
def annotated(out, n, B: tl.constexpr):
    size: tl.constexpr = n * B
    shape: tl.constexpr = (n, size)
    more: tl.constexpr = 2**n + (n << 1) + min(n, 4) + naiad.cdiv(n, 4)
    tl.store(out + tl.arange(0, size) + tl.zeros(shape, tl.int32), more)


@naiad.jit
def doubled(count: tl.constexpr, B: tl.constexpr):
    return tl.arange(0, count * B)


@naiad.jit
def called(out, n, B: tl.constexpr):
    tl.static_assert(n == 1)
    x = doubled(n, B) + tl.zeros((n * B,), tl.int32)
    for i in tl.static_range(n + 1):
        tl.store(out + x, x * i, mask=x < (B, 0)[n - 1])


@naiad.jit
def branches(out, n, B: tl.constexpr):
    if n == 1 and B == 16:
        x = tl.arange(0, B)
    else:
        x = 7
    y = x if not n > 1 else 3
    tl.store(out + tl.arange(0, B), y)


@naiad.jit
def carried(out, n, B: tl.constexpr):
    for _ in range(3):
        if n == 1:
            n = n + 4
        else:
            n = n * 10
    tl.store(out + tl.arange(0, B), n)


@naiad.jit
def typed(out, n, B: tl.constexpr):
    tl.static_assert(n.dtype == tl.int32)
    tl.store(out + tl.arange(0, B), (n.to(tl.int64) << 40) >> 38)


X = np.arange(16, dtype="i4")
CASES = {
    annotated: np.full(16, 6),
    called: X,
    branches: X,
    carried: np.full(16, 500),
    typed: np.full(16, 4),
}


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_an_argument_of_one(kernel):
    out = np.zeros(16, "i4")
    kernel[(1,)](out, 1, 16)
    assert (out == CASES[kernel]).all()


@pytest.mark.parametrize("kernel", [annotated, called, branches], ids=lambda kernel: kernel.__name__)
def test_an_argument_that_is_not_fixed(kernel):
    with pytest.raises(CompilationError):
        kernel[(1,)](np.zeros(16, "i4"), 2, 16)


def test_a_loop_sees_the_same_for_every_value():
    out = np.zeros(16, "i4")
    carried[(1,)](out, 2, 16)
    assert (out == 2000).all()


@naiad.jit
def wraps(out, n, B: tl.constexpr):
    wide = (n + 2147483646) + n  # past int32: nothing known is said of it
    tl.store(out + tl.arange(0, B), wide < 0)


def test_numbers_past_the_type_are_not_known():
    out = np.zeros(16, "i4")
    wraps[(1,)](out, 1, 16)
    assert out.all()


@naiad.jit
def named_constexpr(out, n, B: tl.constexpr):
    size: tl.constexpr = n * B
    last: tl.constexpr = size - 1
    for i in range(size):
        tl.store(out + i, tl.minimum(i, last - 2))


def test_a_run_time_value_may_be_named_constexpr():
    out = np.zeros(16, "i4")
    named_constexpr[(1,)](out, 2, 8)
    assert (out == np.minimum(X, 13)).all()
