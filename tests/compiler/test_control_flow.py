# ruff: noqa: B007, RUF021, SIM201
"""Control flow computes what Python would: kernels run on the CPU against the same function in plain Python."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

from .kernels import partly, sign
from .support import body


def run(kernel, *scalars, size=8):
    out = np.full(size, -99, np.int32)
    kernel[(1,)](out, *scalars)
    return out.tolist()


@triton.jit
def several_returns(out, n, m):
    tl.store(out, 1)
    if n > 3:
        tl.store(out + 1, n)
        if m > 3:
            tl.store(out + 2, m)
            return
        n += 10
    elif n == 2:
        return
    else:
        m += 100
        if m == 101:
            n = 7
        elif m == 102:
            return
    tl.store(out + 3, n)
    if n > 12:
        return
    tl.store(out + 4, m)


def several_returns_in_python(n, m):
    out = [-99] * 8
    out[0] = 1
    if n > 3:
        out[1] = n
        if m > 3:
            out[2] = m
            return out
        n += 10
    elif n == 2:
        return out
    else:
        m += 100
        if m == 101:
            n = 7
        elif m == 102:
            return out
    out[3] = n
    if n > 12:
        return out
    out[4] = m
    return out


@pytest.mark.parametrize("n", [0, 2, 3, 4, 5, 20])
@pytest.mark.parametrize("m", [0, 1, 2, 5])
def test_early_returns(n, m):
    assert run(several_returns, n, m) == several_returns_in_python(n, m)


@triton.jit
def call_sign(out, x, y):
    tl.store(out, sign(x))
    tl.store(out + 1, partly(x, y))


@pytest.mark.parametrize(("x", "y"), [(3, 4), (3, -4), (-3, 4), (0, 0), (-1, -1)])
def test_values_returned_on_different_paths(x, y):
    expected = x * y if x > 0 and y > 0 else (x - y if x > 0 else x) + y
    assert run(call_sign, x, y)[:2] == [(x > 0) - (x < 0), expected]


@triton.jit
def fibonacci(out, n):
    a, b = 0, 1
    for i in range(n):
        a, b = b, a + b
        if i % 2 == 1:
            tl.store(out + i // 2, a)
    tl.store(out + 7, a)


@pytest.mark.parametrize("n", [0, 1, 6, 9])
def test_names_that_swap_in_a_loop(n):
    a, b, out = 0, 1, [-99] * 8
    for i in range(n):
        a, b = b, a + b
        if i % 2 == 1:
            out[i // 2] = a
    out[7] = a
    assert run(fibonacci, n) == out


@triton.jit
def steps(out, n):
    count = 0
    for i in range(10, n, -3):
        tl.store(out + count, i)
        count += 1
    for i in range(n, 10, 4):
        tl.store(out + 4 + count % 4, i)
    tl.store(out + 7, count)


@pytest.mark.parametrize("n", [0, 2, 9, 12])
def test_steps(n):
    out, count = [-99] * 8, 0
    for i in range(10, n, -3):
        out[count] = i
        count += 1
    for i in range(n, 10, 4):
        out[4 + count % 4] = i
    out[7] = count
    assert run(steps, n) == out


@triton.jit
def collatz(out, n):
    length = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        length += 1
    tl.store(out, length)


@pytest.mark.parametrize(("n", "length"), [(1, 0), (6, 8), (27, 111)])
def test_while(n, length):
    assert run(collatz, n)[0] == length


@triton.jit
def walrus_while(out, n):
    i = 0
    while (twice := i * 2) < n:
        tl.store(out + i, twice)
        i += 1
    tl.store(out + 7, twice)


def test_walrus_in_a_condition():
    assert run(walrus_while, 5) == [0, 2, 4, -99, -99, -99, -99, 6]


@triton.jit
def unrolled(out, n):
    for i in tl.static_range(3):
        if n == i:
            tl.store(out, 10 + i)
            return
        tl.store(out + 1 + i, i)
    tl.store(out + 6, n)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_return_in_an_unrolled_loop(n):
    out = [-99] * 8
    for i in range(3):
        if n == i:
            out[0] = 10 + i
            break
        out[1 + i] = i
    else:
        out[6] = n
    assert run(unrolled, n) == out


@triton.jit
def logic(out, a, b):
    tl.store(out, (0 < a < b).to(tl.int32))
    tl.store(out + 1, (a > 1 and b > 2 or not a == b).to(tl.int32))
    tl.store(out + 2, a if a > b else b)
    tl.store(out + 3, (a in (1, 2, 3)).to(tl.int32))
    tl.store(out + 4, max(a, b) - min(a, 2, b))


@pytest.mark.parametrize(("a", "b"), [(1, 2), (2, 1), (0, 5), (3, 3), (-1, -4)])
def test_logic(a, b):
    expected = [0 < a < b, a > 1 and b > 2 or a != b, max(a, b), a in (1, 2, 3), max(a, b) - min(a, 2, b)]
    assert run(logic, a, b)[:5] == [int(v) for v in expected]


@triton.jit
def constant_grows(out, n, START: tl.constexpr):
    for i in range(n):
        START = START + i
    tl.store(out, START)


def test_a_constant_that_a_loop_changes():
    out = np.zeros(1, np.int32)
    constant_grows[(1,)](out, 5, START=100)
    assert out[0] == 110


def test_a_plain_early_return_needs_no_flag():
    @triton.jit
    def kernel(out, n):
        if n > 3:
            return
        tl.store(out, n)

    text = body(kernel, "*i32", "i32")
    assert text.count("scf.if") == 1 and "->" not in text and "ub.poison" not in text


def test_what_does_not_change_does_not_travel():
    @triton.jit
    def kernel(out, n, flag: tl.constexpr):
        a = n * 2
        b = 0
        for i in range(n):
            for j in range(n):
                if flag:
                    a = j
                b += a
        tl.store(out, a + b)

    text = body(kernel, "*i32", "i32", flag=False)
    assert text.count("iter_args(%b") == 2 and "%a_" not in text
