"""Ten kernels of different kinds, each with what it must give."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import naiad
import naiad.language as tl


@naiad.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@naiad.jit
def multiplied(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * tl.load(y + i, i < n), i < n)


@naiad.jit
def larger(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, i < n), tl.load(y + i, i < n)), i < n)


@naiad.jit
def chosen(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, i < n), tl.load(y + i, i < n)
    tl.store(out + i, tl.where(a > 0, a, b), i < n)


@naiad.jit
def root(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sqrt(tl.abs(tl.load(x + i, i < n))), i < n)


@naiad.jit
def exponential(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(x + i, i < n)), i < n)


@naiad.jit
def summed(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sum(tl.load(x + i, i < n, other=0.0)) + tl.zeros((BLOCK,), tl.float32), i < n)


@naiad.jit
def running(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i, i < n, other=0.0)), i < n)


@naiad.jit
def repeated(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(3):
        total += tl.load(x + i, i < n)
    tl.store(out + i, total, i < n)


@naiad.jit
def rounded(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n).to(tl.int32).to(tl.float32), i < n)


@dataclass(frozen=True)
class Case:
    """A kernel of (x, y, out, n, BLOCK) in one program, and the same in numpy on float64."""

    kernel: Any
    expected: Callable[[np.ndarray, np.ndarray], np.ndarray]


KERNELS = [
    Case(added, lambda x, y: x + y),
    Case(multiplied, lambda x, y: x * y),
    Case(larger, np.maximum),
    Case(chosen, lambda x, y: np.where(x > 0, x, y)),
    Case(root, lambda x, y: np.sqrt(np.abs(x))),
    Case(exponential, lambda x, y: np.exp(x)),
    Case(summed, lambda x, y: np.full_like(x, x.sum())),
    Case(running, lambda x, y: np.cumsum(x)),
    Case(repeated, lambda x, y: 3 * x),
    Case(rounded, lambda x, y: np.trunc(x)),
]


def check(case: Case, rng: np.random.Generator) -> None:
    """One launch on fresh random input."""
    x, y = rng.standard_normal((2, 200)).astype("f4") * 4
    out = np.full(200, np.nan, "f4")
    case.kernel[(1,)](x, y, out, 200, BLOCK=256)
    np.testing.assert_allclose(out, case.expected(x.astype("f8"), y.astype("f8")), rtol=2e-5, atol=2e-5)
