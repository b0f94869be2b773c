"""Whether an integer is known to be at least 0, from how it is made."""

from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from naiad.ir.constants import number
from naiad.ir.tt.make import GetNumProgramsOp, GetProgramIdOp, MakeRangeOp

__all__ = ["is_nonnegative", "is_nonpositive"]

KEEPS = frozenset({"arith.extsi", "arith.index_cast", "tt.splat", "tt.broadcast", "tt.expand_dims"})
BOTH = frozenset({"arith.divsi", "arith.minsi", "arith.shrsi"})
EITHER = frozenset({"arith.maxsi", "arith.andi"})
DEPTH = 8


def is_nonnegative(value: SSAValue, depth: int = DEPTH) -> bool:
    """Whether a signed integer is never below 0. Sums and products count in i64 only, where indices do not overflow."""
    known = number(value)
    if known is not None:
        return known >= 0
    if depth == 0:
        return False
    owner = value.owner
    if isinstance(owner, Block):
        return _is_counter(value, owner, depth)
    if isinstance(owner, MakeRangeOp):
        return owner.start.value.data >= 0
    return isinstance(owner, GetProgramIdOp | GetNumProgramsOp) or _by_operands(owner, depth - 1)


def _by_operands(op: Operation, depth: int) -> bool:
    name = op.name
    if name == "arith.extui":
        return True
    if name in KEEPS or name == "arith.remsi":
        return is_nonnegative(op._operands[0], depth)
    if name in EITHER:
        return any(is_nonnegative(v, depth) for v in op._operands)
    wide = name in ("arith.addi", "arith.muli") and str(op.results[0].type) == "i64"
    return (name in BOTH or wide) and all(is_nonnegative(v, depth) for v in op._operands)


def _is_counter(value: BlockArgument, block: Block, depth: int) -> bool:
    """The counter of a loop that starts at 0 or above; a carried i64 that only grows."""
    loop = block.parent_op()
    if not isinstance(loop, ForOp):
        return False
    if value.index == 0:
        return is_nonnegative(loop.lb, depth - 1) and is_nonnegative(loop.step, depth - 1)
    start, given = loop._operands[2 + value.index], block.last_op._operands[value.index - 1]
    if not is_nonnegative(start, depth - 1):
        return False
    if given is value:
        return True
    step = given.owner
    if not isinstance(step, Operation) or step.name != "arith.addi" or str(value.type) != "i64":
        return False
    others = [v for v in step._operands if v is not value]
    return len(others) == 1 and is_nonnegative(others[0], depth - 1)


def is_nonpositive(value: SSAValue) -> bool:
    """Whether a signed integer is never above 0: a constant, or 0 - x with x at least 0."""
    known = number(value)
    if known is not None:
        return known <= 0
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != "arith.subi":
        return False
    return number(owner._operands[0]) == 0 and is_nonnegative(owner._operands[1])
