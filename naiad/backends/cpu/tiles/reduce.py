"""tt.reduce: along the lanes with several accumulators and one step across them, or down another dimension lane by
lane."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from xdsl.dialects.builtin import AnyFloat, StringAttr, i1
from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.tiles.branch import choose
from naiad.backends.cpu.tiles.combine import Combine, Values, evaluate_all, highest, lanes, lowest
from naiad.backends.cpu.tiles.index import Index, along
from naiad.backends.cpu.tiles.lanes import Uniform
from naiad.backends.cpu.tiles.nest import Shape, plan_nest, walk
from naiad.backends.cpu.tiles.tiles import Buffer, Tiles
from naiad.ir.attributes import keyword
from naiad.ir.base import element, like, shape

ACCUMULATORS = 4
"""Independent chains along the lanes' dimension: enough to hide the latency of an addition."""
STRAIGHT = 8
"""Up to so many vectors are combined without a loop."""
COSTLY = 10.0
EXTREMES = {"maxnumf": "ogt", "minnumf": "olt"}


Reader = Callable[[SSAValue], Values]
"""Position (i64) along the reduced dimension -> the vectors there."""


@dataclass(frozen=True)
class Run:
    """Positions 0, step, 2*step, ... below `size`; each gives vectors of `count` lanes. `chains`: sums at a time."""

    size: int
    step: int
    count: int
    chains: int


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
    run = Run(plan.sizes[plan.dim], plan.count, plan.count, chains_for(tiles, sources))
    if combine.kind in EXTREMES and run.size // run.step > STRAIGHT and isinstance(element(sources[0].type), AnyFloat):
        return extreme(tiles, run, combine, read)
    return across(tiles, accumulate(tiles, run, combine, read), combine, plan.count)


def extreme(tiles: Tiles, run: Run, combine: Combine, read: Reader) -> Values:
    """maxnum and minnum: what compares greater stays, one instruction a vector, since no sum is ever NaN.

    Only where nothing was greater than the start the sources may all be NaN; then they are gone through again as
    defined.
    """
    w, predicate = tiles.w, EXTREMES[combine.kind or ""]
    type = combine.block.args[0].type
    least = w.constant(lowest(type) if predicate == "ogt" else highest(type), type)
    ordered = keyword(predicate)

    def better(values: Values, new: Values) -> Values:
        mask = w.pure("arith.cmpf", (new[0], values[0]), like(new[0].type, i1), predicate=ordered)
        return [w.pure("arith.select", (mask, new[0], values[0]), new[0].type)]

    vectors = accumulate_with(tiles, run, better, [w.splat(least, run.count)], read)
    [found] = across(tiles, vectors, combine, run.count)
    none = w.pure("arith.cmpf", (found, least), i1, predicate=keyword("oeq"))

    def again() -> Values:
        with tiles.seldom():
            return across(tiles, accumulate(tiles, replace(run, chains=1), combine, read), combine, run.count)

    return list(choose(tiles, none, again, lambda: [found]))


def chains_for(tiles: Tiles, sources: Sequence[SSAValue]) -> int:
    """Costly values take so long that two chains hide the latency of an addition."""
    if tiles.rare:
        return 1
    return ACCUMULATORS if sum(tiles.plan.cost(s) for s in sources) < COSTLY else ACCUMULATORS // 2


def _down(
    tiles: Tiles, plan: Shape, axis: int, sources: Sequence[SSAValue], combine: Combine, buffers: Sequence[Buffer]
) -> None:
    """Lanes along another dimension: each is its own reduction, down the reduced one."""
    columns = tuple(1 if d == axis else n for d, n in enumerate(plan.sizes))

    def body(index: Index, count: int) -> None:
        read = _reader(tiles, Shape(plan.sizes, plan.dim, count), list(index), axis, sources)
        run = Run(plan.sizes[axis], 1, count, chains_for(tiles, sources))
        total = accumulate(tiles, run, combine, read)
        for buffer, value in zip(buffers, total, strict=True):
            tiles.write(buffer, (*index[:axis], *index[axis + 1 :]), lanes(value), count)

    walk(tiles, Shape(columns, plan.dim, plan.count), body)


def _reader(tiles: Tiles, plan: Shape, index: list, axis: int, sources: Sequence[SSAValue]) -> Reader:
    def read(position: SSAValue) -> Values:
        here = list(index)
        here[axis] = along(tiles.w, position) if axis == plan.dim and plan.count > 1 else Uniform(position)
        return evaluate_all(tiles, sources, tuple(here), plan.count)

    return read


def accumulate(tiles: Tiles, run: Run, combine: Combine, read: Reader) -> Values:
    """All vectors of a run combined lane by lane."""
    w, turns = tiles.w, run.size // run.step
    step: Step = lambda a, b: combine.apply(tiles, a, b, run.count)  # noqa: E731
    if turns <= (STRAIGHT if combine.kind else ACCUMULATORS):
        return _tree([read(w.index(i * run.step)) for i in range(turns)], step)
    return accumulate_with(tiles, run, step, combine.neutral(tiles, run.count), read)


Step = Callable[[Values, Values], Values]


def accumulate_with(tiles: Tiles, run: Run, step: Step, neutral: Values | None, read: Reader) -> Values:
    """The loop over a run with several chains; they begin with `neutral`, or with the first vectors."""
    w = tiles.w
    chains = run.chains if run.size // run.step % run.chains == 0 else 1
    begin = [neutral or read(w.index(i * run.step)) for i in range(chains)]
    start = 0 if neutral else chains * run.step
    width = len(begin[0])
    with w.loop(w.index(start), w.index(run.size), w.index(chains * run.step), list(chain(*begin))) as loop:
        state = [list(loop.carried[i * width : (i + 1) * width]) for i in range(chains)]
        new = [step(state[i], read(w.add(loop.index, w.index(i * run.step)))) for i in range(chains)]
        loop.next = list(chain(*new))
    return _tree([list(loop.results[i * width : (i + 1) * width]) for i in range(chains)], step)


def _tree(parts: list[Values], step: Step) -> Values:
    """Neighbours combined, then neighbours of those."""
    while len(parts) > 1:
        pairs = [step(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
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
