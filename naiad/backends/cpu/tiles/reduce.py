"""tt.reduce: along the lanes with several accumulators and one step across them, or down another dimension lane by lane."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.tiles.combine import Combine, Values, evaluate_all, lanes
from naiad.backends.cpu.tiles.index import Index, along
from naiad.backends.cpu.tiles.lanes import Uniform
from naiad.backends.cpu.tiles.nest import Shape, plan_nest, walk
from naiad.backends.cpu.tiles.tiles import Buffer, Tiles
from naiad.ir.base import element, shape

ACCUMULATORS = 4
"""Independent chains along the lanes' dimension: enough to hide the latency of an addition."""
STRAIGHT = 8
"""Up to so many vectors are combined without a loop."""


def lower_reduce(tiles: Tiles, op: Operation) -> None:
    """Puts the results into buffers, or into scalars where nothing but the reduced dimension was there."""
    axis = op.properties["axis"].value.data
    sources = list(op.operands)
    sizes = shape(sources[0].type)
    combine = Combine(op.regions[0].block)
    plan = plan_nest(tiles, sizes, *sources)
    kept = sizes[:axis] + sizes[axis + 1 :]
    if not kept:
        lower_to_scalars(tiles, op, sources, combine, plan)
        return
    buffers = [tiles.buffer_for(r) for r in op.results]
    step = _along_lanes if plan.dim == axis else _down
    step(tiles, plan, axis, sources, combine, buffers)
    tiles.buffers.update(zip(op.results, buffers, strict=True))


def lower_to_scalars(tiles: Tiles, op: Operation, sources: Sequence[SSAValue], combine: Combine, plan: Shape) -> None:
    """A tile of one dimension: the results are scalars."""
    with tiles.w.nest():
        result = reduce_lanes(tiles, plan, [Uniform(tiles.w.index(0))], sources, combine)
    tiles.scalars.update(zip(op.results, result, strict=True))


def _along_lanes(
    tiles: Tiles, plan: Shape, axis: int, sources: Sequence[SSAValue], combine: Combine, buffers: Sequence[Buffer]
) -> None:
    """A loop over all other dimensions; each turn gives a scalar."""
    rows = tuple(1 if d == axis else n for d, n in enumerate(plan.sizes))

    def body(index: Index, count: int) -> None:
        result = reduce_lanes(tiles, plan, list(index), sources, combine)
        for buffer, value in zip(buffers, result, strict=True):
            tiles.write(buffer, (*index[:axis], *index[axis + 1 :]), Uniform(value), 1)

    walk(tiles, Shape(rows, axis, 1), body)


def reduce_lanes(tiles: Tiles, plan: Shape, index: list, sources: Sequence[SSAValue], combine: Combine) -> Values:
    """The scalars that a run along the lanes' dimension combines to."""
    read = _reader(tiles, plan, index, plan.dim, sources)
    total = accumulate(tiles, Run(plan.sizes[plan.dim], plan.count, plan.count), combine, read)
    return across(tiles, total, combine, plan.count)


def _down(
    tiles: Tiles, plan: Shape, axis: int, sources: Sequence[SSAValue], combine: Combine, buffers: Sequence[Buffer]
) -> None:
    """Lanes along another dimension: each is its own reduction, down the reduced one."""
    columns = tuple(1 if d == axis else n for d, n in enumerate(plan.sizes))

    def body(index: Index, count: int) -> None:
        read = _reader(tiles, Shape(plan.sizes, plan.dim, count), list(index), axis, sources)
        total = accumulate(tiles, Run(plan.sizes[axis], 1, count), combine, read)
        for buffer, value in zip(buffers, total, strict=True):
            tiles.write(buffer, (*index[:axis], *index[axis + 1 :]), lanes(value), count)

    walk(tiles, Shape(columns, plan.dim, plan.count), body)


Reader = Callable[[SSAValue], Values]
"""Position (i64) along the reduced dimension -> the vectors there."""


def _reader(tiles: Tiles, plan: Shape, index: list, axis: int, sources: Sequence[SSAValue]) -> Reader:
    def read(position: SSAValue) -> Values:
        here = list(index)
        here[axis] = along(tiles.w, position) if axis == plan.dim and plan.count > 1 else Uniform(position)
        return evaluate_all(tiles, sources, tuple(here), plan.count)

    return read


@dataclass(frozen=True)
class Run:
    """Positions 0, step, 2*step, ... below `size`; each gives vectors of `count` lanes."""

    size: int
    step: int
    count: int


def accumulate(tiles: Tiles, run: Run, combine: Combine, read: Reader) -> Values:
    """All vectors of a run combined lane by lane."""
    w, turns = tiles.w, run.size // run.step
    if turns <= (STRAIGHT if combine.kind else ACCUMULATORS):
        return _tree(tiles, [read(w.index(i * run.step)) for i in range(turns)], combine, run.count)
    chains = ACCUMULATORS if turns % ACCUMULATORS == 0 else 1
    neutral = combine.neutral(tiles, run.count)
    begin = [neutral or read(w.index(i * run.step)) for i in range(chains)]
    start = 0 if neutral else chains * run.step
    width = len(begin[0])
    with w.loop(w.index(start), w.index(run.size), w.index(chains * run.step), sum(begin, [])) as loop:
        state = [list(loop.carried[i * width : (i + 1) * width]) for i in range(chains)]
        new = [combine.apply(tiles, state[i], read(w.add(loop.index, w.index(i * run.step))), run.count)
               for i in range(chains)]  # fmt: skip
        loop.next = sum(new, [])
    results = [list(loop.results[i * width : (i + 1) * width]) for i in range(chains)]
    return _tree(tiles, results, combine, run.count)


def _tree(tiles: Tiles, parts: list[Values], combine: Combine, count: int) -> Values:
    """Neighbours combined, then neighbours of those."""
    while len(parts) > 1:
        pairs = [combine.apply(tiles, a, b, count) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + (parts[-1:] if len(parts) % 2 else [])
    return parts[0]


def across(tiles: Tiles, vectors: Values, combine: Combine, count: int) -> Values:
    """The lanes of each vector combined into scalars."""
    w = tiles.w
    if count > 1 and combine.kind:
        kind = StringAttr(combine.kind)
        return [w.pure("ttc.reduce", (v,), element(v.type), kind=kind) for v in vectors]
    while count > 1:
        count //= 2
        if count == 1:
            halves = [[w.extract(v, lane) for v in vectors] for lane in (0, 1)]
        else:
            low, high = range(count), range(count, 2 * count)
            halves = [[w.shuffle(v, v, list(lanes)) for v in vectors] for lanes in (low, high)]
        vectors = combine.apply(tiles, halves[0], halves[1], count)
    return vectors
