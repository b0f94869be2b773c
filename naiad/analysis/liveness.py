"""When each piece of shared memory is live, as an interval of op numbers in program order.

A piece used inside a loop but made outside of it is live until the loop ends. Scratch is live while its op runs.
"""

from dataclasses import dataclass

from xdsl.ir import Operation

from naiad.analysis.alias import Aliases
from naiad.analysis.scratch import scratch_bytes

__all__ = ["Piece", "pieces"]


@dataclass(frozen=True)
class Piece:
    """Shared memory of `size` bytes that belongs to `op`, live from op number `start` through `end`."""

    op: Operation
    size: int
    start: int
    end: int

    def meets(self, other: "Piece") -> bool:
        return self.start <= other.end and other.start <= self.end


def pieces(function: Operation) -> list[Piece]:
    """Every piece of shared memory that a function needs."""
    order = {op: n for n, op in enumerate(function.walk())}
    aliases = Aliases(function)
    found = []
    for op, at in order.items():
        if size := scratch_bytes(op):
            end = last_use(op, order, aliases) if op.name == "ttg.local_alloc" else at
            found.append(Piece(op, size, at, end))
    return found


def last_use(alloc: Operation, order: dict[Operation, int], aliases: Aliases) -> int:
    """The number of the last op that may touch an allocation, moved out of loops that do not hold the allocation."""
    end = order[alloc]
    for value, allocations in aliases.of.items():
        if alloc in allocations:
            for use in value.uses:
                end = max(end, leaving(use.operation, alloc, order))
    return end


def leaving(op: Operation, alloc: Operation, order: dict[Operation, int]) -> int:
    """The number of the op, or of the last op of the outermost loop around it that the allocation is not in."""
    number, here = order[op], op
    home = alloc.parent_block()
    while (parent := here.parent_op()) is not None and here.parent_block() is not home:
        if parent.name in ("scf.for", "scf.while"):
            number = max(number, max(order[inner] for inner in parent.walk()))
        here = parent
    return number
