"""Atomics: what they leave in memory and what they give back, with lanes that meet at one address."""

import numpy as np
import pytest

import naiad.language as tl

from .interpreted import NUMPY, jit, numbers, poisoned, wrapped

N = 64


@jit
def update(memory, at, values, mask, old, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p, v, m = memory + tl.load(at + i), tl.load(values + i), tl.load(mask + i)
    if OP == "add":
        before = tl.atomic_add(p, v, mask=m)
    elif OP == "max":
        before = tl.atomic_max(p, v, mask=m)
    elif OP == "min":
        before = tl.atomic_min(p, v, mask=m)
    elif OP == "and":
        before = tl.atomic_and(p, v, mask=m)
    elif OP == "or":
        before = tl.atomic_or(p, v, mask=m, sem="relaxed")
    elif OP == "xor":
        before = tl.atomic_xor(p, v, mask=m, scope="sys")
    else:
        before = tl.atomic_xchg(p, v, mask=m)
    tl.store(old + i, before, mask=m)


PYTHON = {
    "add": lambda a, b: a + b, "max": max, "min": min, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b, "xchg": lambda a, b: b,
}  # fmt: skip


def run_update(op, name, values):
    """Memory and old values after one program, and what a loop over the lanes gives."""
    rng = np.random.default_rng(1)
    memory, at, mask = numbers(rng, name, 8), rng.integers(0, 8, N).astype(np.int32), rng.random(N) < 0.7
    want, befores = memory.tolist(), []
    for address, value, on in zip(at, values.tolist(), mask, strict=True):
        if on:
            befores.append(want[address])
            result = PYTHON[op](want[address], value)
            integer = NUMPY[name].kind in "iu"
            want[address] = wrapped(result, name) if integer else NUMPY[name].type(result).item()
    old = poisoned(N, name)
    update[(1,)](memory, at, values, mask, old, op, BLOCK=N)
    return memory.tolist(), old[mask].tolist(), want, befores


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("op", PYTHON)
def test_integers(op, name):
    memory, old, want, befores = run_update(op, name, numbers(np.random.default_rng(2), name, N))
    assert memory == want and old == befores


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("op", ["add", "max", "min", "xchg"])
def test_floats(op, name):
    """max and min of floats are two integer atomics: what they leave is right, what a lane saw is not always."""
    memory, old, want, befores = run_update(op, name, numbers(np.random.default_rng(3), name, N))
    assert memory == want
    if op in ("add", "xchg"):
        assert old == befores


def test_half_precision_add():
    values = numbers(np.random.default_rng(4), "float16", N)
    memory, _, want, _ = run_update("add", "float16", values)
    assert memory == want


@jit
def lock_free_sum(total, x, BLOCK: tl.constexpr):
    v = tl.load(x + tl.program_id(0))
    before = tl.load(total)
    seen = tl.atomic_cas(total, before, before + v)
    while seen != before:
        before = seen
        seen = tl.atomic_cas(total, before, before + v)


def test_compare_and_swap():
    x, total = np.arange(20, dtype=np.int32), np.zeros(1, np.int32)
    lock_free_sum[(20,)](total, x, BLOCK=1)
    assert total[0] == 190


@jit
def swap_tiles(memory, compare, old, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(old + i, tl.atomic_cas(memory + i, tl.load(compare + i), i + 100))


def test_compare_and_swap_of_a_tile():
    memory, compare, old = np.arange(8), np.array([0, 9, 2, 9, 4, 9, 6, 9]), poisoned(8, "int64")
    swap_tiles[(1,)](memory, compare, old, BLOCK=8)
    assert memory.tolist() == [100, 1, 102, 3, 104, 5, 106, 7] and old.tolist() == list(range(8))


@jit
def tickets(counter, o):
    tl.store(o + tl.program_id(0), tl.atomic_add(counter, 1))


def test_programs_run_in_order():
    counter, out = np.zeros(1, np.int32), poisoned(9, "int32")
    tickets[(9,)](counter, out)
    assert out.tolist() == list(range(9)) and counter[0] == 9


@jit
def largest(memory, x):
    tl.atomic_max(memory, tl.load(x + tl.program_id(0)))


def test_minus_zero_is_above_negative_numbers():
    memory = np.array([-5.0], np.float32)
    largest[(3,)](memory, np.array([-7.0, -0.0, -1.0], np.float32))
    assert memory[0] == 0
