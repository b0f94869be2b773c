"""How much work one program is, from its ttcir: what decides about threads, and whether a launch keeps the GIL."""

from math import prod

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Operation, SSAValue

UNKNOWN_TURNS = 16
"""What a loop is taken to run where its bounds are known only at run time."""
WAITING = 1e6
"""Of a loop that looks at memory until another thread has written it: that one must be able to run."""


def scalar_operations(function: Operation) -> float:
    """An estimate of the scalar operations of one program; a vector op counts its lanes."""
    return sum(_of_block(block) for region in function.regions for block in region.blocks)


def _of_block(block: Block) -> float:
    return sum(_of(op) for op in block.ops)


def _of(op: Operation) -> float:
    if op.name == "ttc.dot":
        return prod(op.properties[size].value.data for size in "mnk") / 4
    if op.name in ("ttc.sort", "ttc.transpose"):
        return 8.0 * prod(p.value.data for name, p in op.properties.items() if name in ("rows", "n", "m"))
    inner = sum(_of_block(block) for region in op.regions for block in region.blocks)
    if op.name == "scf.for":
        return inner * _turns(*op.operands[:3])
    if op.name == "scf.while":
        waits = any(o.name in ("ttc.atomic_rmw", "ttc.atomic_cas") for o in op.walk())
        return max(inner * UNKNOWN_TURNS, WAITING if waits else 0.0)
    return inner + max((_lanes(v) for v in (*op.results, *op.operands)), default=1)


def _lanes(value: SSAValue) -> int:
    kind = value.type
    return kind.get_shape()[0] if type(kind) is VectorType else 1


def _turns(low: SSAValue, high: SSAValue, step: SSAValue) -> float:
    bounds = [_constant(v) for v in (low, high, step)]
    if None in bounds or not bounds[2]:
        return UNKNOWN_TURNS
    return max(0, -(-(bounds[1] - bounds[0]) // bounds[2]))  # type: ignore[operator]


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    if isinstance(op, Operation) and op.name == "arith.constant":
        return op.properties["value"].value.data
    return None
