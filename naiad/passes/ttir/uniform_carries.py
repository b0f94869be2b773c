"""tt-uniform-carries: a tile that a loop moves by the same amount everywhere is carried as that amount. ttir to ttir.

    for ... iter_args(%p = %p0)             for ... iter_args(%moved = 0)
      load %p                        ->       load addptr(%p0, splat(%moved))
      yield addptr(%p, splat(%s))             yield %moved + %s

so that no backend has to keep the tile of pointers between turns. The step may be computed anywhere in the loop, and
differ from turn to turn. A step that is a tile, the same in every turn, is counted: `addptr(%p0, splat(%turns) * %u)`.
Several steps in a row, and steps under a condition, add up. Pointers' totals are i64 unless they are known to stay
below 2^31.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from naiad.ir.base import bits, element, like
from naiad.ir.constants import ConstantOp, SplatAttr, constant, number
from naiad.ir.elementwise import ELEMENTWISE, AddIOp, MulIOp
from naiad.ir.tt.make import AddPtrOp, SplatOp
from naiad.passes.common.dce import eliminate_dead_code
from naiad.passes.common.fold import trip_count
from naiad.passes.ttir.carries import Carrier, add_carries, carriers

__all__ = ["UniformCarries"]


@dataclass(frozen=True)
class UniformCarries(ModulePass):
    name = "tt-uniform-carries"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = False
        for loop in list(_loops(op)):
            changed |= _Loop(loop).run()
        if changed:
            eliminate_dead_code(op)


def _loops(scope: Operation) -> Iterator[Operation]:
    """The loops and branches in `scope`, inner ones first: a loop in a loop leaves a step for the outer one."""
    for region in scope.regions:
        for block in region.blocks:
            for op in list(block.ops):
                if op.regions:
                    yield from _loops(op)
    if isinstance(scope, ForOp | WhileOp | IfOp):
        yield scope


@dataclass
class Steps:
    """By what a tile moves in a turn: scalars that are known in the loop, and tiles that are the same in every turn."""

    op: type[Operation]
    scalars: list[SSAValue] = field(default_factory=list)
    tiles: list[SSAValue] = field(default_factory=list)


class _Loop:
    def __init__(self, loop: Operation) -> None:
        self.loop = loop

    def run(self) -> bool:
        if isinstance(self.loop, IfOp):
            return _move_steps_out(self.loop)
        changed = False
        for index in reversed(range(len(self.loop.results))):
            changed |= self._replace(index)
        return changed

    def _replace(self, index: int) -> bool:
        carrier = carriers(self.loop, index)
        if carrier is None or not isinstance(carrier.start.type, TensorType):
            return False
        steps = _steps(carrier, self.loop)
        if steps is None or not (steps.scalars or steps.tiles):
            return False
        self.loop = _rewritten(self.loop, carrier, steps)
        return True


# ---- finding -------------------------------------------------------------------------------------------------------


def _steps(carrier: Carrier, loop: Operation) -> Steps | None:
    """How the carried tile gets from a turn's start to its end, where that is by uniform steps only."""
    found: Steps | None = None
    value = carrier.given
    while value is not carrier.argument:
        step = _step(value, carrier.block)
        if step is None:
            return None
        op, value, amount = step
        found = found or Steps(op)
        if not _add(found, amount, loop):
            return None
    return found


def _step(value: SSAValue, block: Block) -> tuple[type[Operation], SSAValue, SSAValue] | None:
    """The op in `block` that makes a value, the tile that it moves, and by how much."""
    op = value.owner
    if isinstance(op, AddPtrOp) and op.parent is block:
        return AddPtrOp, op.ptr, op.offset
    if isinstance(op, AddIOp) and op.parent is block:
        lhs, rhs = op._operands
        swap = _is_uniform(lhs) or (not _is_uniform(rhs) and not _is_of(lhs, block) and _is_of(rhs, block))
        return (AddIOp, rhs, lhs) if swap else (AddIOp, lhs, rhs)
    return None


def _is_of(value: SSAValue, block: Block) -> bool:
    """Whether a value is an argument of `block` or made in it."""
    return value.owner is block or (isinstance(value.owner, Operation) and value.owner.parent is block)


def _is_uniform(value: SSAValue) -> bool:
    return isinstance(value.owner, SplatOp | ConstantOp)


def _add(steps: Steps, amount: SSAValue, loop: Operation) -> bool:
    if _is_uniform(amount):
        steps.scalars.append(amount)
    elif not _is_inside(amount, loop):
        steps.tiles.append(amount)
    else:
        return False
    return True


def _is_inside(value: SSAValue, loop: Operation) -> bool:
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        parent = block.parent_op()
        if parent is loop:
            return True
        block = parent.parent if parent is not None else None
    return False


# ---- rewriting -----------------------------------------------------------------------------------------------------


def _rewritten(loop: Operation, carrier: Carrier, steps: Steps) -> Operation:
    """The loop with scalars carried for the tile; the tile's own carry is left unchanging, for dce to drop."""
    type_ = _total_type(loop, steps)
    counts = len([1 for group in (steps.scalars, steps.tiles) if group])
    zero = constant(0, type_, loop.location)
    _before(loop, zero)
    unit = _sum_of_tiles(loop, steps, type_) if steps.tiles else None

    def total(values: list[SSAValue]) -> list[SSAValue]:
        """What the carried scalars are at the end of a turn, from what they are at its start."""
        last: Operation = carrier.block.last_op  # type: ignore[assignment]
        given, at = [], iter(values)
        if steps.scalars:
            moved = next(at)
            for amount in steps.scalars:
                moved = _insert(last, AddIOp, type_, moved, _scalar(amount, type_, last))
            given.append(moved)
        if steps.tiles:
            one = constant(1, type_, loop.location)
            last.parent.insert_op_before(one, last)
            given.append(_insert(last, AddIOp, type_, next(at), one.results[0]))
        return given

    def tile(values: list[SSAValue], anchor: Operation) -> SSAValue:
        """The tile, from where it started and the carried scalars."""
        made, at = carrier.start, iter(values)
        if steps.scalars:
            made = _moved(steps.op, made, _splat(next(at), made.type, anchor), anchor)
        if unit is not None:
            turns = _splat(next(at), made.type, anchor)
            made = _moved(steps.op, made, _insert(anchor, MulIOp, unit.type, turns, unit), anchor)
        return made

    return add_carries(loop, carrier, [zero.results[0]] * counts, total, tile)


def _total_type(loop: Operation, steps: Steps) -> Attribute:
    """The integer type of what is carried: that of the steps, but i64 for pointers that may go far."""
    amounts = [*steps.scalars, *steps.tiles]
    width = max(bits(a.type) for a in amounts)
    if steps.op is AddIOp:
        return element(amounts[0].type)
    if isinstance(loop, ForOp) and not steps.tiles and (trips := trip_count(loop)) is not None:
        known = [number(_source(a)) for a in steps.scalars]
        if None not in known and width == 32 and abs(sum(known)) * trips < 1 << 31:
            return element(amounts[0].type)
    return i64


def _source(amount: SSAValue) -> SSAValue:
    return amount.owner.src if isinstance(amount.owner, SplatOp) else amount


def _scalar(amount: SSAValue, type_: Attribute, anchor: Operation) -> SSAValue:
    """The scalar of a uniform tile, in type `type_`."""
    if isinstance(amount.owner, ConstantOp):
        value = amount.owner.properties["value"]
        scalar = constant(value.value.data if isinstance(value, SplatAttr) else 0, type_, anchor.location)
        anchor.parent.insert_op_before(scalar, anchor)
        return scalar.results[0]
    source = amount.owner.src
    return source if source.type == type_ else _insert(anchor, ELEMENTWISE["arith.extsi"], type_, source)


def _sum_of_tiles(loop: Operation, steps: Steps, type_: Attribute) -> SSAValue:
    """The steps that are tiles, added up before the loop."""
    wide = []
    for tile in steps.tiles:
        wanted = like(tile.type, type_)
        wide.append(tile if tile.type == wanted else _insert(loop, ELEMENTWISE["arith.extsi"], wanted, tile))
    total = wide[0]
    for tile in wide[1:]:
        total = _insert(loop, AddIOp, total.type, total, tile)
    return total


def _splat(value: SSAValue, tile: Attribute, anchor: Operation) -> SSAValue:
    return _insert(anchor, SplatOp, like(tile, value.type), value)


def _moved(op: type[Operation], tile: SSAValue, amount: SSAValue, anchor: Operation) -> SSAValue:
    return _insert(anchor, op, tile.type, tile, amount)


def _insert(anchor: Operation, op: type[Any], type_: Attribute, *operands: SSAValue) -> SSAValue:
    made = op(*operands, results=[type_], location=anchor.location)
    anchor.parent.insert_op_before(made, anchor)
    return made.results[0]


def _before(anchor: Operation, op: Operation) -> None:
    anchor.parent.insert_op_before(op, anchor)


# ---- steps under a condition ---------------------------------------------------------------------------------------


def _move_steps_out(op: IfOp) -> bool:
    """if c { yield addptr(t, splat(s)) } else { yield t }  ->  addptr(t, splat(if c { yield s } else { yield 0 }))"""
    changed = False
    for index in range(len(op.results)):
        if op.false_region.blocks and isinstance(op.results[index].type, TensorType):
            changed |= _move_step_out(op, index)
    return changed


def _move_step_out(op: IfOp, index: int) -> bool:
    blocks = (op.true_region.block, op.false_region.block)
    given = [block.last_op._operands[index] for block in blocks]
    steps = [_step(value, block) for value, block in zip(given, blocks, strict=True)]
    origin = {s[1] if s is not None else v for s, v in zip(steps, given, strict=True)}
    found = [s for s in steps if s is not None]
    if not found or len(origin) != 1 or any(not _is_uniform(s[2]) or s[0] is not found[0][0] for s in found):
        return False
    start = origin.pop()
    types = {element(s[2].type) for s in found}
    if _is_inside(start, op) or len(types) != 1:
        return False
    type_ = types.pop()
    for step, block in zip(steps, blocks, strict=True):
        last = block.last_op
        zero = constant(0, type_, op.location)
        if step is None:
            _before(last, zero)
        amount = zero.results[0] if step is None else _scalar(step[2], type_, last)
        values = list(last._operands)
        values[index] = amount
        last.operands = values
    result = op.results[index]
    uses = list(result.uses)
    tile_type = result.type
    result._type = type_
    anchor = op.next_op
    moved = _moved(found[0][0], start, _splat(result, like(tile_type, type_), anchor), anchor)
    for use in uses:
        use.operation.operands[use.index] = moved
    return True
