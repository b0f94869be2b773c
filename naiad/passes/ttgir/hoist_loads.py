"""ttg-hoist-loads: small loads, and what they need, go before computations that do not wait for them. ttgir to ttgir.

    %r = ... a hundred ops ...                %x = tt.load %p
    %x = tt.load %p                    ->     %r = ... a hundred ops ...
    ... %r, %x ...                            ... %r, %x ...

so that memory answers meanwhile. Only what has no effects is passed; what one thread loads so early is bounded, since
it stays in registers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from naiad.ir.base import bits, element
from naiad.ir.encodings import linear_of
from naiad.passes.effects import Effect, effect_of, is_terminator

__all__ = ["HoistLoads"]


@dataclass(frozen=True)
class HoistLoads(ModulePass):
    """most: bytes that a thread may hold of what is loaded early."""

    name = "ttg-hoist-loads"
    most: int = 128

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if inner.name in ("tt.func", "scf.for", "scf.if", "scf.while"):
                for region in inner.regions:
                    for block in region.blocks:
                        for run in runs(block):
                            hoist(run, self.most)


def runs(block: Block) -> Iterator[list[Operation]]:
    """The longest runs of ops that have no effects but to read."""
    run: list[Operation] = []
    for op in block.ops:
        if is_terminator(type(op)) or effect_of(op) & Effect.WRITE or "isVolatile" in op.properties:
            yield run
            run = []
        else:
            run.append(op)
    yield run


def loaded_bytes(load: Operation) -> int:
    """What one thread holds of a load's result."""
    type = load.results[0].type
    count = linear_of(type).size("register") if isinstance(type, TensorType) else 1
    return count * max(8, bits(element(type))) // 8


def hoist(run: list[Operation], most: int) -> None:
    """Puts loads and what they need first, in their order, as long as they are small enough."""
    inside, early = set(run), set[Operation]()
    for op in run:
        if op.name == "tt.load" and loaded_bytes(op) <= most:
            most -= loaded_bytes(op)
            work = [op]
            while work:
                here = work.pop()
                early.add(here)
                values = [v for inner in here.walk() for v in inner.operands]
                work += [v.owner for v in values if v.owner in inside and v.owner not in early]
    ordered = [op for op in run if op in early]
    if not ordered or ordered == run[: len(ordered)]:
        return
    block, first = run[0].parent_block(), run[0]
    for op in ordered:
        if op is first:
            first = first.next_op
            continue
        op.detach()
        block.insert_op_before(op, first)
