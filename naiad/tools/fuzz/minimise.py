"""Leaves out of a failing kernel every statement without which it still fails in the same way."""

from collections.abc import Callable, Collection

from naiad.tools.fuzz.compare import Outcome
from naiad.tools.fuzz.program import Program

Check = Callable[[Collection[int]], Outcome]
"""The outcome of the kernel without the statements of these numbers."""


def minimise(program: Program, kind: str, check: Check) -> frozenset[int]:
    """The numbers of the statements that can be left out: of halves first, then of ever smaller parts."""
    dropped: frozenset[int] = frozenset()
    size = max(1, len(program.numbers()) // 2)
    while True:
        smaller = _one_round(program, dropped, size, kind, check)
        if size == 1 and smaller == dropped:
            return dropped
        dropped, size = smaller, max(1, size // 2)


def _one_round(program: Program, dropped: frozenset[int], size: int, kind: str, check: Check) -> frozenset[int]:
    """Tries to drop each group of `size` statements; the last ones first, which nothing else uses."""
    left = [number for number in sorted(program.numbers(), reverse=True) if number not in dropped]
    for start in range(0, len(left), size):
        candidate = dropped | frozenset(left[start : start + size])
        if check(candidate).kind == kind:
            dropped = candidate
    return dropped
