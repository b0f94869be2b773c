"""Where threads must wait for each other: before an op that touches shared memory which others read or wrote since the
last barrier. Inserts gpu.barrier ops.

Reads after reads need none. Loops are walked until what is pending at their start is stable, so that the end of one
round
is ordered before the start of the next.
"""

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from naiad.analysis.alias import Aliases
from naiad.analysis.allocate import Allocation
from naiad.analysis.scratch import waits
from naiad.ir.encodings import MemDescType
from naiad.ir.tt.debug import BarrierOp

__all__ = ["insert_barriers"]

Span = tuple[int, int]
FRESH = "ttg.other_buffer"
"""On an asynchronous copy: the pipeliner vouches that no thread still reads the buffer that it fills."""


@dataclass
class Pending:
    """The bytes read and written since the last barrier."""

    reads: set[Span] = field(default_factory=set)
    writes: set[Span] = field(default_factory=set)

    def copy(self) -> "Pending":
        return Pending(set(self.reads), set(self.writes))

    def clear(self) -> None:
        self.reads.clear()
        self.writes.clear()

    def join(self, other: "Pending") -> bool:
        """Adds the other's; whether that changed anything."""
        before = len(self.reads) + len(self.writes)
        self.reads |= other.reads
        self.writes |= other.writes
        return len(self.reads) + len(self.writes) != before


@dataclass(frozen=True)
class Effect:
    """What an op does: first it reads and writes; `syncs`: then it waits itself; `after`: what it reads at last."""

    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()
    syncs: bool = False
    after: tuple[Span, ...] = ()


def meets(spans: tuple[Span, ...], pending: set[Span]) -> bool:
    return any(a < d and c < b for a, b in spans for c, d in pending)


class Walk:
    """The walk over one function."""

    def __init__(self, function: Operation, allocation: Allocation):
        self.allocation, self.aliases = allocation, Aliases(function)

    def block(self, block: Block, pending: Pending, insert: bool) -> None:
        for op in list(block.ops):
            self.op(op, pending, insert)

    def op(self, op: Operation, pending: Pending, insert: bool) -> None:
        if op.name in ("scf.for", "scf.while"):
            self.loop(op, pending, insert)
        elif op.name == "scf.if":
            self.branch(op, pending, insert)
        elif op.name == "gpu.barrier":
            pending.clear()
        else:
            self.plain(op, pending, insert)

    def plain(self, op: Operation, pending: Pending, insert: bool) -> None:
        effect = self.effect(op)
        if meets(effect.reads, pending.writes) or meets(effect.writes, pending.writes | pending.reads):
            pending.clear()
            if insert:
                op.parent_block().insert_op_before(BarrierOp(location=op.location), op)
        pending.reads |= set(effect.reads)
        pending.writes |= set(effect.writes)
        if effect.syncs:
            pending.clear()
        pending.reads |= set(effect.after)

    def loop(self, op: Operation, pending: Pending, insert: bool) -> None:
        blocks = [b for r in op.regions for b in r.blocks]
        start = pending.copy()
        while True:
            around = start.copy()
            for block in blocks:
                self.block(block, around, False)
            if not start.join(around):
                break
        around = start.copy()
        if insert:
            for block in blocks:
                self.block(block, around, True)
        pending.clear()
        pending.join(start)
        pending.join(around)

    def branch(self, op: Operation, pending: Pending, insert: bool) -> None:
        ends = []
        for region in op.regions:
            end = pending.copy()
            for block in region.blocks:
                self.block(block, end, insert)
            ends.append(end)
        if len(ends) == 2:
            pending.clear()
        for end in ends:
            pending.join(end)

    def spans(self, value: SSAValue) -> tuple[Span, ...]:
        found = [self.allocation.span(alloc) for alloc in self.aliases[value]]
        return tuple(s for s in found if s is not None)

    def effect(self, op: Operation) -> Effect:
        if op.name == "ttg.local_alloc":
            return Effect(writes=self.spans(op.results[0])) if op.operands else Effect()
        if op.name in ("ttg.local_load", "ttng.warp_group_dot"):
            return Effect(reads=tuple(s for o in op.operands if isinstance(o.type, MemDescType) for s in self.spans(o)))
        if op.name == "ttg.local_store":
            return Effect(writes=self.spans(op.operands[1]))
        if op.name == "ttg.async_copy_global_to_local":
            return Effect() if FRESH in op.attributes else Effect(writes=self.spans(op.operands[1]))
        if op.name == "ttg.async_wait":
            return Effect(syncs=True)
        own = self.allocation.span(op)
        return Effect() if own is None else Effect(writes=(own,), syncs=waits(op), after=(own,))


def insert_barriers(function: Operation, allocation: Allocation) -> None:
    """Adds the barriers that a function needs, given where its shared memory lies."""
    walk = Walk(function, allocation)
    for block in function.regions[0].blocks:
        walk.block(block, Pending(), True)
