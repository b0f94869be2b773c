"""The ops of a ttir block in order: scalars as they are, virtual tiles not at all, the rest through its rule."""

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from naiad.backends.cpu.tiles.facts import Facts
from naiad.backends.cpu.tiles.foreign import is_impure, run_once
from naiad.backends.cpu.tiles.lanes import scalar_op
from naiad.backends.cpu.tiles.plan import is_elementwise, is_tile, is_virtual
from naiad.backends.cpu.tiles.store import lower_stores, stored
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.ir import ttc
from naiad.ir.base import segments, shape
from naiad.lowering.mistakes import no_rule

Rule = Callable[[Tiles, Operation], None]
ROOTS: dict[str, Rule] = {}
"""Op name -> how it is done; `lower.py` fills it in, since rules for loops call back to this file."""

TERMINATORS = frozenset({"scf.yield", "scf.condition", "tt.return", "tt.map_elementwise.return"})


def lower_block(tiles: Tiles, block: Block) -> None:
    """Writes the block's ops, all but its terminator."""
    ops = list(block.ops)
    at = 0
    while at < len(ops):
        op = ops[at]
        tiles.w.location = op.location
        if op.name == "tt.store":
            at = _stores(tiles, ops, at)
        elif op.name not in TERMINATORS:
            lower_op(tiles, op)
            _finish_pending(tiles, op)
            at += 1
        else:
            at += 1


def lower_op(tiles: Tiles, op: Operation) -> None:
    if rule := ROOTS.get(op.name):
        rule(tiles, op)
    elif is_impure(op):
        run_once(tiles, op)
    elif any(map(is_tile, op.results)):
        _virtual(tiles, op)
    elif is_virtual(op):
        _scalar(tiles, op)
    else:
        raise no_rule(op)


def _virtual(tiles: Tiles, op: Operation) -> None:
    """Nothing, or the tile into memory where the plan wants it there: now, or by the first nest that computes it."""
    if not is_virtual(op):
        raise no_rule(op)
    for result in op.results:
        if result in tiles.plan.stored:
            if (reader := _first_reader(tiles, op, result)) is not None:
                tiles.pending[result] = tiles.buffer_for(result)
                tiles.pending_readers[reader] = [*tiles.pending_readers.get(reader, ()), result]
            else:
                stored(tiles, result)


def _first_reader(tiles: Tiles, op: Operation, value: SSAValue) -> Operation | None:
    """The reduce that reads the tile first, each element once and in place: it can store the tile as it goes."""
    plan = tiles.plan
    first = min(plan.readers(value), key=lambda r: plan.order[r], default=None)
    if first is None or first.parent is not op.parent or first.name != "tt.reduce":
        return None
    start, end = plan.order[op], plan.order[first]
    if any(start < plan.order[w] < end for w in plan.writes):
        return None
    return first if _only_in_place(tiles, value, first) else None


def _only_in_place(tiles: Tiles, value: SSAValue, reader: Operation) -> bool:
    """Whether every way from `value` to `reader` goes element by element, and one does."""
    for use in value.uses:
        op = use.operation
        if op is reader:
            if shape(op.operands[0].type) != shape(value.type):
                return False
        elif is_virtual(op) and any(reader in tiles.plan.readers(r) for r in op.results):
            if not is_elementwise(op) or not all(_only_in_place(tiles, r, reader) for r in op.results):
                return False
            if any(r in tiles.plan.stored for r in op.results):
                return False
    return True


def _finish_pending(tiles: Tiles, op: Operation) -> None:
    for value in tiles.pending_readers.pop(op, ()):
        tiles.buffers[value] = tiles.pending.pop(value)


def _scalar(tiles: Tiles, op: Operation) -> None:
    """An op on scalars only."""
    w = tiles.w
    if op.name == "arith.constant":
        number = op.properties["value"].value.data
        tiles.scalars[op.results[0]] = w.constant(number, op.results[0].type)
        return
    operands = [tiles.scalar(o) for o in op.operands]
    if op.name == "tt.load":
        sizes = segments(1, op.mask is not None, op.other is not None)
        load = ttc.LoadOp(*operands, results=[op.results[0].type], location=op.location, operandSegmentSizes=sizes)
        tiles.scalars[op.results[0]] = w.effect(load).results[0]
        return
    made = scalar_op(w, op.name, operands, [r.type for r in op.results], op.properties)
    tiles.scalars.update(zip(op.results, made, strict=True))
    note_hints(tiles, op)


def note_hints(tiles: Tiles, op: Operation) -> None:
    """What `tl.multiple_of` says of a scalar."""
    hint = op.attributes.get("tt.divisibility")
    if hint is None or len(op.results) != 1:
        return
    value = tiles.scalars[op.results[0]]
    divisor = next(iter(_numbers(hint)), 1)
    known = tiles.w.known(value)
    tiles.w.facts[value] = Facts(max(known.divisor, divisor & -divisor), known.signs)


def _numbers(attr) -> Sequence[int]:
    if hasattr(attr, "get_values"):
        return [int(v) for v in attr.get_values()]
    return [int(attr.value.data)] if hasattr(attr, "value") else []


def _stores(tiles: Tiles, ops: Sequence[Operation], at: int) -> int:
    """The stores of one shape from `at` on that nothing but pure ops stand between; returns where to go on."""
    group = [ops[at]]
    sizes = shape(ops[at].operands[0].type)
    end = at + 1
    for position in range(at + 1, len(ops)):
        op = ops[position]
        if op.name == "tt.store" and shape(op.operands[0].type) == sizes and sizes:
            group.append(op)
            end = position + 1
        elif not _harmless(tiles, op):
            break
    for op in ops[at:end]:
        if op.name != "tt.store":
            lower_op(tiles, op)
    lower_stores(tiles, group)
    for op in group:
        _finish_pending(tiles, op)
    return end


def _harmless(tiles: Tiles, op: Operation) -> bool:
    """Whether the op may be done before a store that it follows."""
    pure = is_virtual(op) and op.name != "tt.load" and not is_impure(op)
    return pure and not any(r in tiles.plan.stored for r in op.results)
