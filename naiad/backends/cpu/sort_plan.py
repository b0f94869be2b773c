"""Which comparisons sort a row of 2**k keys that lies in vectors, and where each key is meanwhile.

A key's number has k bits. Some of them say in which lane of a vector it is, the others in which vector, the `positions`
of memory; at first the highest bits are the lanes, at the end the lowest. A stage compares the keys whose numbers
differ in one bit: two vectors, if that bit is a position. Where it is a lane, it first changes places with the position
whose bit is not needed for longest: one shuffle a vector.

The stages are those of bitonic merges of ever larger blocks. The first stage of a merge compares a block's lower half
with its upper half read backwards, so that everything ascends; Batcher's network stands for the first merges. A pass
does as many stages as it can between loading and storing vectors: those that differ in its `active` positions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Compare:
    """Vectors that differ at position `place`, the upper ones with the positions `turned` complemented."""

    place: int
    turned: tuple[int, ...] = ()


@dataclass(frozen=True)
class Swap:
    """The vectors that differ at position `place` exchange a bit of the lane for that position: which lanes, of the two
    vectors one after the other, the new ones have."""

    place: int
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True)
class Pass:
    """What is done between loading and storing vectors."""

    active: tuple[int, ...]
    steps: tuple[Compare | Swap, ...]
    sorts: bool
    """Whether it begins by sorting the vectors that it loads, lane by lane."""
    targets: tuple[int, ...] = ()
    """Which position each one is stored as; none: as it was."""

    @property
    def flipped(self) -> tuple[int, tuple[int, ...]] | None:
        """A position, and those not active which are complemented in loading where it is 1."""
        for step in self.steps:
            if isinstance(step, Compare) and (outside := tuple(p for p in step.turned if p not in self.active)):
                return step.place, outside
        return None

    @property
    def moves(self) -> bool:
        """Whether vectors are stored elsewhere than they were loaded from."""
        return bool(self.targets) or self.flipped is not None


@cache
def sort_plan(k: int, width: int, inner: int, most: int) -> tuple[Pass, ...]:
    """The passes that sort 2**k keys in vectors of 2**width, which hold 2**inner in 16 bytes; registers hold 2**most
    vectors."""
    return tuple(Planner(k, width, inner, min(most, k - width)).passes())


class Planner:
    """Follows the bits of the keys' numbers through the stages."""

    def __init__(self, k: int, width: int, inner: int, most: int) -> None:
        self.width, self.inner, self.most = width, min(inner, width), most
        self.positions, self.lanes = list(range(k - width)), list(range(k - width, k))
        self.stages = [(bit, bit == top) for top in range(most, k) for bit in range(top, -1, -1)]
        self.uses = [bit for bit, _ in self.stages] + list(range(k - 1, width - 1, -1))  # the last: as in memory
        self.done = 0

    def passes(self) -> Iterator[Pass]:
        made = self.one_pass(list(range(self.most)), sorts=True)
        while self.done < len(self.uses):
            yield made
            made = self.one_pass([], sorts=False)
        yield self.ordered(made)

    def one_pass(self, active: list[int], sorts: bool) -> Pass:
        """As many stages as `most` active positions allow."""
        self.active, self.steps, self.loaded = active, list[Compare | Swap](), tuple(self.positions)
        while self.done < len(self.uses) and self.use(self.uses[self.done], self.done < len(self.stages)):
            self.done += 1
        return Pass(tuple(self.active), tuple(self.steps), sorts)

    def use(self, bit: int, compared: bool) -> bool:
        """Brings `bit` to a position and compares there, if this pass can."""
        mirrored, fetched = compared and self.stages[self.done][1], bit in self.lanes
        place = self.positions.index(self.needed_last() if fetched else bit)
        if place not in self.active and (fetched or compared):
            if len(self.active) == self.most:
                return False
            self.active.append(place)
        if fetched:
            self.fetch(place, bit, mirrored)
        if mirrored and self.most < len(self.positions) and self.loaded[place] != bit:
            return False  # what it is compared with is in vectors of another group: the next pass loads them together
        if compared:
            below = [p for p, other in enumerate(self.positions) if other < bit] if mirrored else []
            self.steps.append(Compare(place, tuple(below)))
        return True

    def needed_last(self) -> int:
        """The bit among the positions that is not needed for longest."""
        later = self.uses[self.done :]
        at = {bit: later.index(bit) if bit in later else len(later) + (bit < self.width) for bit in self.positions}
        return max(self.positions, key=at.__getitem__)

    def fetch(self, place: int, bit: int, mirrored: bool) -> None:
        """Swaps the bit from its lanes to `place`; the vectors where it is 1 backwards, if `mirrored`."""
        out = self.lanes.index(bit)
        into = (self.inner if out < self.inner else self.width) - 1  # what one cheap instruction does
        del self.lanes[out]
        self.lanes.insert(into, self.positions[place])
        self.positions[place] = bit
        turn = sum(1 << lane for lane, other in enumerate(self.lanes) if other < bit) if mirrored else 0
        low, high = [tuple(swapped(lane ^ t, out, into, value, self.width) for lane in range(1 << self.width))
                     for value, t in ((0, 0), (1, turn))]  # fmt: skip
        self.steps.append(Swap(place, low, high))

    def ordered(self, made: Pass) -> Pass:
        """The last pass: its last swap brings the lanes into order, its stores the vectors."""
        source = [
            sum((lane >> bit & 1) << old for old, bit in enumerate(self.lanes)) for lane in range(1 << self.width)
        ]
        steps = list(made.steps)
        for i in reversed(range(len(steps))):
            step = steps[i]
            if isinstance(step, Swap):
                low, high = [tuple(lanes[s] for s in source) for lanes in (step.low, step.high)]
                steps[i] = Swap(step.place, low, high)
                break
        targets = tuple(bit - self.width for bit in self.positions)
        return Pass(made.active, tuple(steps), made.sorts, targets if targets != tuple(range(len(targets))) else ())


def swapped(lane: int, out: int, into: int, value: int, width: int) -> int:
    """Which lane of a pair of vectors comes to `lane` of the new one with `value`, when the lane's bit `out` leaves and
    the number of the vector enters as bit `into`."""
    bits = [lane >> i & 1 for i in range(width)]
    vector = bits.pop(into)
    bits.insert(out, value)
    return (vector << width) + sum(b << i for i, b in enumerate(bits))


def batcher(n: int) -> Iterator[tuple[int, int]]:
    """The comparators of Batcher's odd-even merge sort of n elements, a power of two."""
    p = 1
    while p < n:
        k = p
        while k:
            for j in range(k % p, n - k, 2 * k):
                for i in range(j, j + min(k, n - j - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        yield i, i + k
            k //= 2
        p *= 2
