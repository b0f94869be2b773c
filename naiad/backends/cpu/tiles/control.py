"""Loops and branches. A tile that a loop carries has one buffer: written before it, updated at the end of each turn."""

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from naiad.backends.cpu.tiles.block import lower_block
from naiad.backends.cpu.tiles.branch import choose
from naiad.backends.cpu.tiles.dot import begins_at_zero, sum_gap
from naiad.backends.cpu.tiles.nest import plan_nest
from naiad.backends.cpu.tiles.plan import is_elementwise, is_tile
from naiad.backends.cpu.tiles.store import store_tiles
from naiad.backends.cpu.tiles.tiles import Buffer, Tiles
from naiad.ir.base import shape


def lower_for(tiles: Tiles, op: Operation) -> None:
    low, high, step, *inits = op.operands
    body = op.regions[0].block
    buffers = carry(tiles, op, inits)
    w = tiles.w
    scalars = [tiles.scalar(v) for v in inits if not is_tile(v)]
    begin, end, by = (tiles.scalar(v) for v in (low, high, step))
    with w.loop(begin, end, by, scalars) as loop:
        tiles.scalars[body.args[0]] = loop.index
        for number in range(len(inits)):
            if (product := begins_at_zero(tiles, op, number)) is not None:
                tiles.fresh[product] = w.compare("eq", loop.index, begin)
        bind(tiles, body.args[1:], loop.carried, buffers)
        yielded = body.last_op
        assert yielded is not None
        claim(tiles, body.args[1:], yielded, buffers)
        lower_block(tiles, body)
        loop.next = assign(tiles, body.args[1:], yielded.operands, buffers)
    bind(tiles, op.results, loop.results, buffers)


def lower_while(tiles: Tiles, op: Operation) -> None:
    """before: computes the condition and what the body gets; after: the body."""
    before, after = (r.block for r in op.regions)
    buffers = carry(tiles, op, op.operands)
    w = tiles.w
    inits = [tiles.scalar(v) for v in op.operands if not is_tile(v)]
    first = Block(arg_types=[v.type for v in inits])
    with w.inside(first):
        bind(tiles, before.args, first.args, buffers)
        lower_block(tiles, before)
        condition, *passed = before.last_op.operands
        given = tiles_of(tiles, passed)
        for value, buffer in zip((v for v in passed if is_tile(v)), given, strict=True):
            tiles.buffers.setdefault(value, buffer)
        scalars = [tiles.scalar(v) for v in passed if not is_tile(v)]
        first.add_op(scf.ConditionOp(tiles.scalar(condition), *scalars))
    second = Block(arg_types=[v.type for v in scalars])
    with w.inside(second, speculative=True):
        bind(tiles, after.args, second.args, given)
        yielded = after.last_op
        assert yielded is not None
        lower_block(tiles, after)
        second.add_op(scf.YieldOp(*assign(tiles, before.args, yielded.operands, buffers)))
    made = w.effect(scf.WhileOp(inits, [v.type for v in scalars], Region(first), Region(second)))
    bind(tiles, op.results, made.results, given)


def lower_if(tiles: Tiles, op: Operation) -> None:
    w = tiles.w
    buffers = [tiles.buffer_for(r) for r in op.results if is_tile(r)]
    regions = []
    for region in op.regions:
        block = Block()
        with w.inside(block, speculative=True):
            values: Sequence[SSAValue] = []
            if region.blocks:
                lower_block(tiles, region.block)
                last = region.block.last_op
                values = last.operands if last is not None and last.name == "scf.yield" else []
            for value, buffer in zip((v for v in values if is_tile(v)), buffers, strict=False):
                store_tiles(tiles, [value], [buffer])
            block.add_op(scf.YieldOp(*(tiles.scalar(v) for v in values if not is_tile(v))))
        regions.append(Region(block))
    types = [r.type for r in op.results if not is_tile(r)]
    made = w.effect(scf.IfOp(tiles.scalar(op.operands[0]), types, *regions))
    bind(tiles, op.results, made.results, buffers)


def bind(tiles: Tiles, values: Sequence[SSAValue], scalars: Sequence[SSAValue], buffers: Sequence[Buffer]) -> None:
    """Gives each ttir value its scalar or its buffer, both in order."""
    tiles.scalars.update(zip((v for v in values if not is_tile(v)), scalars, strict=True))
    tiles.buffers.update(zip((v for v in values if is_tile(v)), buffers, strict=True))


def tiles_of(tiles: Tiles, values: Sequence[SSAValue]) -> list[Buffer]:
    """The tiles among `values` in memory; those that are not are put there."""
    found = []
    for value in (v for v in values if is_tile(v)):
        if value not in tiles.buffers:
            buffer = tiles.buffer_for(value)
            store_tiles(tiles, [value], [buffer])
            found.append(buffer)
        else:
            found.append(tiles.buffers[value])
    return found


def carry(tiles: Tiles, op: Operation, inits: Sequence[SSAValue]) -> list[Buffer]:
    """A buffer for each tile that the loop carries, holding its first value."""
    results = list(op.results) if op.name == "scf.for" else [None] * len(inits)
    inner = innermost(tiles, op) if op.name == "scf.for" else {}
    buffers = []
    for number, (init, result) in enumerate(zip(inits, results, strict=True)):
        if not is_tile(init):
            continue
        buffer = tiles.in_place.get(result) if result is not None else None
        if buffer is None and result is not None and (gap := sum_gap(tiles, yielded_for(op, result))):
            buffer = tiles.rows_apart(result, gap)
        buffer = buffer or tiles.buffer_for(init if result is None else result, inner.get(shape(init.type), -1))
        if result is not None and begins_at_zero(tiles, op, number) is not None:
            unless_it_runs(tiles, op, partial(store_tiles, tiles, [init], [buffer]))
        elif tiles.buffers.get(init) is not buffer:
            store_tiles(tiles, [init], [buffer])
        buffers.append(buffer)
    return buffers


def unless_it_runs(tiles: Tiles, loop: Operation, write: Callable[[], None]) -> None:
    """What stands for a loop that makes no turn."""
    w = tiles.w
    begin, end = (tiles.scalar(v) for v in loop.operands[:2])
    first, last = w.constants.get(begin), w.constants.get(end)
    if first is None or last is None or first >= last:
        choose(tiles, w.compare("sge", begin, end), write)


def yielded_for(loop: Operation, result: SSAValue) -> SSAValue:
    """What the loop's body gives for a result."""
    last = loop.regions[0].block.last_op
    assert last is not None
    return last.operands[loop.results.index(result)]


def innermost(tiles: Tiles, op: Operation) -> dict[tuple[int, ...], int]:
    """By shape, the dimension along which the loop goes over the tiles that it carries: the one along which what they
    are updated with is read. Products are row-major."""
    yielded = op.regions[0].block.last_op
    assert yielded is not None
    groups: dict[tuple[int, ...], list[SSAValue]] = {}
    for value in (v for v in yielded.operands if is_tile(v)):
        groups.setdefault(shape(value.type), []).append(value)
    return {sizes: plan_nest(tiles, sizes, *values).dim for sizes, values in groups.items()
            if not any(isinstance(v.owner, Operation) and v.owner.name == "tt.dot" for v in values)}  # fmt: skip


def claim(tiles: Tiles, arguments: Sequence[SSAValue], yielded: Operation, buffers: Sequence[Buffer]) -> None:
    """Lets a dot or an inner loop write its result into the carried buffer itself, where nothing reads the old tile
    later."""
    values = [(a, v) for a, v in zip(arguments, yielded.operands, strict=True) if is_tile(a)]
    for (argument, value), buffer in zip(values, buffers, strict=True):
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not yielded.parent:
            continue
        source = _updated(owner, value)
        if source is None or any(v is value for a, v in values if a is not argument):
            continue
        if _reads_only_here(tiles, argument, owner) and _is_chain(source, argument):
            tiles.in_place[value] = buffer


def _updated(op: Operation, result: SSAValue) -> SSAValue | None:
    """The operand that `op` adds to or goes on from."""
    if op.name == "tt.dot":
        return op.operands[2]
    if op.name == "scf.for":
        return op.operands[3 + list(op.results).index(result)]
    return None


def _is_chain(value: SSAValue, argument: SSAValue) -> bool:
    """Whether `value` reads `argument`, if at all, element by element."""
    if value is argument:
        return True
    op = value.owner
    if not isinstance(op, Operation):
        return True
    if op.name == "tt.dot" and value.has_one_use():
        return _is_chain(op.operands[2], argument)
    if not is_elementwise(op):
        return not _reaches(value, argument)
    return all(_is_chain(o, argument) for o in op.operands if is_tile(o))


def _reaches(value: SSAValue, argument: SSAValue) -> bool:
    if value is argument:
        return True
    op = value.owner
    return (
        isinstance(op, Operation) and not op.regions and any(_reaches(o, argument) for o in op.operands if is_tile(o))
    )


def _reads_only_here(tiles: Tiles, argument: SSAValue, op: Operation) -> bool:
    """Whether every nest that reads the carried tile comes before `op` or is its own."""
    order = tiles.plan.order
    return all(order[r] <= order[op] for r in tiles.plan.readers(argument))


def assign(
    tiles: Tiles, arguments: Sequence[SSAValue], values: Sequence[SSAValue], buffers: Sequence[Buffer]
) -> list[SSAValue]:
    """Writes the new tiles into the carried buffers, as if all at once; returns the new scalars."""
    targets = dict(zip((a for a in arguments if is_tile(a)), buffers, strict=True))
    todo = [(a, v) for a, v in zip(arguments, values, strict=True)
            if is_tile(a) and tiles.buffers.get(v) is not targets[a]]  # fmt: skip
    groups: dict[tuple[int, ...], list[tuple[SSAValue, SSAValue]]] = {}
    for argument, value in todo:
        groups.setdefault(shape(argument.type), []).append((argument, value))
    ordered = sorted(groups.values(), key=lambda g: -_size(g[0][0]))
    written: list[tuple[SSAValue, Buffer, Buffer]] = []
    for i, group in enumerate(ordered):
        later = [v for g in ordered[i + 1 :] for _, v in g]
        places = []
        for argument, _ in group:
            target = targets[argument]
            others = [v for a, v in group if not _is_chain(v, argument)]
            if others or any(_reads(tiles, v, argument) for v in later):
                aside = tiles.aside(target)
                written.append((argument, aside, target))
                target = aside
            places.append(target)
        store_tiles(tiles, [v for _, v in group], places)
    for argument, aside, target in written:
        copy(tiles, argument, aside, target)
    return [tiles.scalar(v) for a, v in zip(arguments, values, strict=True) if not is_tile(a)]


def _size(value: SSAValue) -> int:
    total = 1
    for n in shape(value.type):
        total *= n
    return total


def _reads(tiles: Tiles, value: SSAValue, argument: SSAValue) -> bool:
    """Whether evaluating `value` now reads the buffer of `argument`."""
    if value in tiles.buffers and value is not argument:
        return tiles.buffers[value] is tiles.buffers.get(argument)
    return value is argument or _reaches(value, argument)


def copy(tiles: Tiles, argument: SSAValue, source: Buffer, target: Buffer) -> None:
    """The tile in `source` into `target`."""
    tiles.buffers[argument] = source
    store_tiles(tiles, [argument], [target])
    tiles.buffers[argument] = target
