"""ttg-sink: cheap tiles are made where they are used, not before loops that do not need them. ttgir to ttgir.

    %offsets = ...                                 for {
    for {                                            for { ... dots ... }
      for { ... dots ... }              ->           %offsets = ...
      store %offsets                                 store %offsets
    }                                              }

What hoisting gains by computing them once, it loses by the registers that they take during the inner loop.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from naiad.passes.effects import is_speculatable
from naiad.passes.ttgir.assign_layouts import is_cheap

__all__ = ["Sink"]

LOOPS = ("scf.for", "scf.while")


@dataclass(frozen=True)
class Sink(ModulePass):
    name = "ttg-sink"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if sum(inner.name in LOOPS for inner in op.walk()):
            for inner in reversed(list(op.walk())):
                if is_movable(inner) and (place := below(inner)) is not None:
                    inner.detach()
                    place.parent_block().insert_op_before(inner, place)


def is_movable(op: Operation) -> bool:
    tiles = [isinstance(r.type, TensorType) for r in op.results]
    return any(tiles) and op.name != "arith.constant" and is_cheap(op) and is_speculatable(op)


def within(op: Operation, block: Block) -> Operation | None:
    """The op of `block` that an op is, or lies in."""
    here: Operation | None = op
    while here is not None and here.parent_block() is not block:
        here = here.parent_op()
    return here


def below(op: Operation) -> Operation | None:
    """The op before which a cheap one should stand, so that a loop that does not use it is passed; None to stay."""
    uses = [u.operation for r in op.results for u in r.uses]
    block, passed, place = op.parent_block(), False, None
    after: Operation | None = op.next_op
    while block is not None and uses:
        users = {within(use, block) for use in uses}
        if None in users:  # the test of a while loop, or the other branch
            return place
        while after is not None and after not in users:
            passed |= after.name in LOOPS
            after = after.next_op
        if after is None:
            return None
        if passed:
            place, passed = after, False
        if len(users) > 1 or after.name not in LOOPS:
            return place
        block = after.regions[-1].blocks[0]
        after = block.first_op
    return place
