"""tt.scan: in a vector by log2(lanes) shifted steps, from vector to vector by the last lane; or down a dimension.

The earlier element is always the left operand of the combine function, which need not commute.
"""

from collections.abc import Callable

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.tiles.combine import Combine, Values, evaluate_all, lanes
from naiad.backends.cpu.tiles.index import Index, along
from naiad.backends.cpu.tiles.lanes import Uniform, lanes_type
from naiad.backends.cpu.tiles.nest import Shape, plan_nest, walk
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.backends.cpu.tiles.writer import Writer
from naiad.ir.attributes import attribute
from naiad.ir.base import shape
from naiad.ir.registry import OPS

VECTORS = 4
"""Vectors per turn along the lanes: their inner scans overlap, one combine a turn stays on the critical path."""


def lower_scan(tiles: Tiles, op: Operation) -> None:
    """Puts the results into buffers."""
    axis, reverse = op.properties["axis"].value.data, bool(op.properties["reverse"].value.data)
    sources, sizes = list(op.operands), shape(op.operands[0].type)
    combine = Combine(op.regions[0].block)
    plan = plan_nest(tiles, sizes, *sources)
    buffers = [tiles.buffer_for(r) for r in op.results]
    steps = tuple(1 if d == axis else n for d, n in enumerate(sizes))
    inner = plan.dim == axis

    def at(index: Index, position: SSAValue, count: int) -> Index:
        here = along(tiles.w, position) if inner and count > 1 else Uniform(position)
        return (*index[:axis], here, *index[axis + 1 :])

    def body(index: Index, count: int) -> None:
        def read(position: SSAValue) -> Values:
            return evaluate_all(tiles, sources, at(index, position, width), width)

        def write(position: SSAValue, values: Values) -> None:
            for buffer, value in zip(buffers, values, strict=True):
                tiles.write(buffer, at(index, position, width), lanes(value), width)

        width = plan.count if inner else count
        scan = _along_lanes if inner and width > 1 else _down
        scan(tiles, combine, sizes[axis], width, reverse, read, write)

    walk(tiles, Shape(steps, plan.dim, 1 if inner else plan.count), body)
    tiles.buffers.update(zip(op.results, buffers, strict=True))


Read = Callable[[SSAValue], Values]
Write = Callable[[SSAValue, Values], None]


def _place(w: Writer, step: SSAValue, last: int, reverse: bool) -> SSAValue:
    """The position of the scan's `step`-th element."""
    return w.sub(w.index(last), step) if reverse else step


def _down(tiles: Tiles, combine: Combine, size: int, count: int, reverse: bool, read: Read, write: Write) -> None:
    """One element after the other; each lane is its own scan."""
    w = tiles.w
    first = _place(w, w.index(0), size - 1, reverse)
    begin = read(first)
    write(first, begin)
    with w.loop(w.index(1), w.index(size), w.index(1), begin) as loop:
        place = _place(w, loop.index, size - 1, reverse)
        loop.next = combine.apply(tiles, list(loop.carried), read(place), count)
        write(place, list(loop.next))


def _along_lanes(
    tiles: Tiles, combine: Combine, size: int, count: int, reverse: bool, read: Read, write: Write
) -> None:
    """Vectors in the order of the scan, several a turn; the carry is the total so far, in every lane."""
    w = tiles.w
    vectors = min(VECTORS, size // count)

    def turn(step: SSAValue, carry: Values | None) -> Values:
        places = [_place(w, w.add(step, w.index(i * count)), size - count, reverse) for i in range(vectors)]
        parts = [_within(tiles, combine, _reversed(w, read(p), count, reverse), count) for p in places]
        prefix: Values | None = None
        for place, part in zip(places, parts, strict=True):
            done = combine.apply(tiles, prefix, part, count) if prefix else part
            write(place, _reversed(w, combine.apply(tiles, carry, done, count) if carry else done, count, reverse))
            prefix = [w.shuffle(v, v, [count - 1] * count) for v in done]
        assert prefix
        return combine.apply(tiles, carry, prefix, count) if carry else prefix

    begin = turn(w.index(0), None)
    if size > vectors * count:
        with w.loop(w.index(vectors * count), w.index(size), w.index(vectors * count), begin) as loop:
            loop.next = turn(loop.index, list(loop.carried))


def _reversed(w: Writer, values: Values, count: int, reverse: bool) -> Values:
    return [w.shuffle(v, v, list(reversed(range(count)))) for v in values] if reverse else values


def _within(tiles: Tiles, combine: Combine, values: Values, count: int) -> Values:
    """The inclusive scan of the lanes of one vector."""
    w, distance, neutral = tiles.w, 1, combine.neutral(tiles, count)
    while distance < count:
        if neutral:  # what comes in from the left changes nothing
            shifted = [i - distance if i >= distance else count + i for i in range(count)]
            left = [w.shuffle(v, n, shifted) for v, n in zip(values, neutral, strict=True)]
            values = combine.apply(tiles, left, values, count)
        else:
            left = [w.shuffle(v, v, [max(i - distance, 0) for i in range(count)]) for v in values]
            combined = combine.apply(tiles, left, values, count)
            inside = _at_least(w, distance, count)
            values = [w.pure("arith.select", (inside, c, v), v.type) for c, v in zip(combined, values, strict=True)]
        distance *= 2
    return values


def _at_least(w: Writer, distance: int, count: int) -> SSAValue:
    predicate = attribute(OPS["arith.cmpi"], "predicate", "uge")
    operands = (w.iota(i32, count), w.splat(w.constant(distance, i32), count))
    return w.pure("arith.cmpi", operands, lanes_type(i1, count), predicate=predicate)
