"""Loads and stores of one array stay in order, also where loads run ahead of a loop."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

from .harness import compiled, run


@triton.jit
def powers(a, o, b, n, B: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    w = tl.load(b + at)
    for k in tl.range(0, n, num_stages=STAGES):
        product = tl.dot(tl.load(a + k * B * B + at), w)
        tl.store(o + (k + 1) * B * B + at, product.to(tl.float16))
        tl.debug_barrier()


@triton.jit
def powers_in_place(a, b, n, B: tl.constexpr, STAGES: tl.constexpr):
    powers(a, a, b, n, B, STAGES)


@triton.jit
def in_turn(p, q, n, B: tl.constexpr):
    i = tl.arange(0, B)
    first = tl.load(p + i)
    tl.store(p + i, first + 1)
    second = tl.load(p + i)
    tl.atomic_add(p + i, second)
    tl.store(q + i, first)
    tl.store(q + B + i, second)
    tl.store(q + 2 * B + i, tl.load(p + i))
    for k in range(n):
        x = tl.load(p + i)
        tl.store(q + (3 + k) * B + i, x)
        tl.store(p + i, x * 2 + k)


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_a_loop_that_reads_what_it_wrote(arch: int, stages: int) -> None:
    """The copy of turn k + 1 was issued before turn k had written what it reads."""
    a, b = np.zeros((5, 64, 64), np.float16), np.eye(64, dtype=np.float16)[::-1].copy()
    a[0] = np.random.default_rng(0).integers(-2, 3, (64, 64))
    want = np.stack([a[0] @ np.linalg.matrix_power(b.astype(np.float64), k) for k in range(5)])
    run(powers_in_place, (1,), a, b, 4, B=64, STAGES=stages, arch=arch)
    assert np.array_equal(a, want)


def test_what_a_loop_does_not_write_is_read_ahead() -> None:
    a = np.zeros((5, 64, 64), np.float16)
    made = compiled(powers, dict(a=a, o=a, b=a, n=4), dict(B=64, STAGES=3), 90)
    assert "cp.async.c" in made.asm["ptx"]


@pytest.mark.parametrize("arch", [80, 90])
def test_loads_and_stores_in_turn(arch: int) -> None:
    p, q = np.arange(64, dtype=np.int32), np.zeros((7, 64), np.int32)
    x = 2 * p + 2
    want = [p.copy(), p + 1, x]
    for k in range(4):
        want.append(x)
        x = x * 2 + k
    run(in_turn, (1,), p, q, 4, B=64, arch=arch)
    assert np.array_equal(q, want) and np.array_equal(p, x)
