"""Which masked loads need no value where their mask is false, because no one can see it there."""

from xdsl.ir import Operation, SSAValue

from naiad.ir.tt.memory import LoadOp, StoreOp

__all__ = ["unseen_where_masked"]

LANEWISE = frozenset(
    f"arith.{name}"
    for name in ("addf", "subf", "mulf", "negf", "divf", "extf", "truncf", "maximumf", "minimumf", "maxnumf", "minnumf",
                 "cmpf", "select", "addi", "subi", "muli", "andi", "ori", "xori", "cmpi", "extsi", "extui", "trunci")
) | {"tt.fp_to_fp", "tt.bitcast"}  # fmt: skip
"""Ops that keep each lane to itself and are harmless for whatever a lane holds: none traps, none branches."""


def unseen_where_masked(load: LoadOp) -> bool:
    """Whether the load's lanes end in stores under its own mask, and pass through lanewise arithmetic only."""
    values: list[SSAValue] = [load.result]
    seen = set(values)
    while values:
        for use in values.pop().uses:
            user = use.operation
            if not _keeps(user, use.index, load):
                return False
            fresh = [v for v in user.results if v not in seen]
            values += fresh
            seen |= set(fresh)
    return load.mask is not None


def _keeps(user: Operation, index: int, load: LoadOp) -> bool:
    if isinstance(user, StoreOp):
        return user.mask is load.mask and user.operands[index] is user.value and index != 0
    return user.name in LANEWISE
