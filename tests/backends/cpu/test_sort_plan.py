"""The passes of a sort, followed in numpy: what they compare sorts rows of every length."""

import numpy as np
import pytest

from naiad.backends.cpu.sort_plan import Compare, Pass, batcher, sort_plan

VECTORS = ((4, 2), (5, 3), (3, 1), (2, 2), (3, 2), (4, 4), (1, 1))  # bits of the lane, and of those in 16 bytes


def slots(bits: tuple[int, ...]) -> list[int]:
    """All sums of the bits."""
    sums = [0]
    for bit in bits:
        sums += [s | 1 << bit for s in sums]
    return sums


def follow(made: Pass, memory: np.ndarray, positions: int) -> np.ndarray:
    after = memory.copy()
    place, outside = made.flipped or (0, ())
    for base in slots(tuple(p for p in range(positions) if p not in made.active)):
        group = [base | s for s in slots(made.active)]
        held = {s: memory[s ^ sum(1 << p for p in outside) if s >> place & 1 else s] for s in group}
        if made.sorts:
            for a, b in batcher(len(group)):
                x, y = held[group[a]], held[group[b]]
                held[group[a]], held[group[b]] = np.minimum(x, y), np.maximum(x, y)
        for step in made.steps:
            before, one = dict(held), 1 << step.place
            for s in [s for s in group if not s & one]:
                if isinstance(step, Compare):
                    x, y = before[s], before[(s | one) ^ sum(1 << p for p in step.turned if p in made.active)]
                    held[s], held[s | one] = np.minimum(x, y), np.maximum(x, y)
                else:
                    both = np.concatenate([before[s], before[s | one]])
                    held[s], held[s | one] = both[list(step.low)], both[list(step.high)]
        for s in group:
            target = sum((s >> p & 1) << t for p, t in enumerate(made.targets)) if made.targets else s
            after[target] = held[s]
    return after


@pytest.mark.parametrize(("lane", "inner"), VECTORS)
@pytest.mark.parametrize("registers", [3, 4])
def test_rows_of_every_length_are_sorted(lane, inner, registers):
    rng = np.random.default_rng(lane)
    for k in range(1, 12):
        width = min(lane, k - 1)
        for keys in (rng.permutation(1 << k), rng.integers(0, 2, 1 << k)):
            memory = keys.reshape(-1, 1 << width)
            for made in sort_plan(k, width, inner, registers):
                memory = follow(made, memory, k - width)
            assert np.array_equal(memory.reshape(-1), np.sort(keys)), k


def test_what_a_row_of_1024_takes():
    """The shuffles and comparisons, and the times that the row is loaded and stored."""
    plan = sort_plan(10, 4, 2, 4)
    steps = [isinstance(step, Compare) for made in plan for step in made.steps]
    assert (len(plan), steps.count(True), steps.count(False)) == (12, 45, 15)
