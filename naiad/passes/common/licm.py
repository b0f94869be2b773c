"""licm: moves out of a loop what is the same in every turn. Works at any level, on scf.for and scf.while.

Only what cannot trap and touches no memory goes, since the loop may not run at all. A read goes too where the loop is
known to run at least once and nothing in it writes. A loop that says so (`tl.range(disable_licm=True)`) is left alone.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from naiad.ir.loops import forbids_licm
from naiad.passes.common.fold import trip_count
from naiad.passes.effects import Effect, effect_of, is_speculatable

__all__ = ["HoistInvariants", "hoist"]


@dataclass(frozen=True)
class HoistInvariants(ModulePass):
    name = "licm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.body.block.ops:
            hoist(inner)


def hoist(scope: Operation) -> None:
    """Hoists in every loop of `scope`, inner loops first, so that an op may leave several."""
    for region in scope.regions:
        for block in region.blocks:
            for op in list(block.ops):
                if op.regions:
                    hoist(op)
    if isinstance(scope, ForOp | WhileOp) and not forbids_licm(scope):
        _hoist_out_of(scope)


def _hoist_out_of(loop: Operation) -> None:
    inside: set[SSAValue] = set()
    for region in loop.regions:
        _collect(region.block, inside)
    reads = _reads_may_leave(loop)
    for region in loop.regions:
        _hoist_block(region.block, loop, inside, reads)


def _hoist_block(block: Block, loop: Operation, inside: set[SSAValue], reads: bool) -> None:
    """What is in an scf.if leaves too, as it cannot trap; a read under a condition stays."""
    for op in list(block.ops):
        if isinstance(op, IfOp):
            for region in op.regions:
                for inner in region.blocks:
                    _hoist_block(inner, loop, inside, reads=False)
        elif (is_speculatable(op) or (reads and _is_plain_read(op))) and not _depends_on(op, inside):
            op.detach()
            loop.parent.insert_op_before(op, loop)
            inside.difference_update(op.results)


def _collect(block: Block, inside: set[SSAValue]) -> None:
    inside.update(block.args)
    for op in block.ops:
        inside.update(op.results)
        for region in op.regions:
            for inner in region.blocks:
                _collect(inner, inside)


def _depends_on(op: Operation, inside: set[SSAValue]) -> bool:
    if any(v in inside for v in op._operands):
        return True
    if not op.regions:
        return False
    own: set[SSAValue] = set()
    for region in op.regions:
        _collect(region.block, own)
    return any(v in inside and v not in own for inner in op.walk() for v in inner._operands)


def _reads_may_leave(loop: Operation) -> bool:
    runs = isinstance(loop, ForOp) and (trip_count(loop) or 0) > 0
    return runs and not effect_of(loop) & Effect.WRITE


def _is_plain_read(op: Operation) -> bool:
    return not op.regions and effect_of(op) == Effect.READ and "isVolatile" not in op.properties
