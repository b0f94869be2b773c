"""Loop nests over a tile: which dimension runs along lanes, how many lanes, and the loops around them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from naiad.analysis.strides import WRAPPED
from naiad.backends.cpu.tiles.guard import guarded
from naiad.backends.cpu.tiles.index import Index, along
from naiad.backends.cpu.tiles.lanes import Uniform
from naiad.backends.cpu.tiles.plan import is_virtual
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.ir.base import shape

UNROLLED = 4
"""Vectors per turn of the innermost loop where a turn is short."""


CONTIGUOUS = (0, 1, WRAPPED)
"""Strides along lanes that make one access of them."""


@dataclass(frozen=True)
class Shape:
    """How a nest walks a tile: `dim` runs along `count` lanes; all other dimensions are loops, the first outermost."""

    sizes: tuple[int, ...]
    dim: int
    count: int


def plan_nest(tiles: Tiles, sizes: Sequence[int], *values: SSAValue, pointers: Sequence[SSAValue] = ()) -> Shape:
    """The dimension along which the accesses that `values` need, and those through `pointers`, are cheapest."""
    if not sizes:
        return Shape((), -1, 1)
    accesses = [a for v in values for a in _accesses(tiles, v, tuple(range(len(sizes))), set())]
    accesses += [dict(enumerate(tiles.strides.of(p))) for p in pointers]
    widest = tiles.target.vector_bytes // 4
    best, best_cost = len(sizes) - 1, float("inf")
    for dim in reversed(range(len(sizes))):
        lanes = min(widest, _power_of_two(sizes[dim]))
        cost = (1 + sum(3 if a.get(dim, 0) not in CONTIGUOUS else 1 for a in accesses)) / lanes
        if cost < best_cost * 0.99:
            best, best_cost = dim, cost
    return Shape(tuple(sizes), best, min(widest, _power_of_two(sizes[best])))


def _power_of_two(size: int) -> int:
    return size & -size


def _accesses(tiles: Tiles, value: SSAValue, dims: tuple[int | None, ...], seen: set[SSAValue]) -> Iterator[dict]:
    """For each access below `value`: its stride along each dimension of the nest. dims: the nest's, per dim of
    value."""
    if value in seen or not shape(value.type):
        return
    seen.add(value)
    if value in tiles.buffers:
        stored = tiles.buffers[value].strides
        yield {d: 1 if s == 1 else None for d, s in zip(dims, stored, strict=True) if d is not None}
        return
    op = value.owner
    if not isinstance(op, Operation) or not is_virtual(op):
        return
    if op.name == "tt.load":
        strides = tiles.strides.of(op.operands[0])
        yield {d: s for d, s in zip(dims, strides, strict=True) if d is not None}
        return
    if op.name == "tt.expand_dims":
        axis = op.properties["axis"].value.data
        dims = (*dims[:axis], *dims[axis + 1 :])
    elif op.name == "tt.broadcast":
        dims = tuple(None if n == 1 else d for n, d in zip(shape(op.operands[0].type), dims, strict=True))
    elif op.name == "tt.trans":
        order = op.properties["order"].get_values()
        dims = tuple(dims[list(order).index(d)] for d in range(len(order)))
    elif op.name in ("tt.reshape", "tt.join", "tt.split", "tt.cat"):
        return
    for operand in op.operands:
        yield from _accesses(tiles, operand, dims, seen)


Body = Callable[[Index, int], None]


def walk(tiles: Tiles, plan: Shape, body: Body, unroll: int = 1) -> None:
    """Calls `body` for the lanes at each place of the tile, inside the loops of the nest."""
    walk_rows(tiles, plan, lambda index: walk_lanes(tiles, plan, index, body, unroll))


def walk_rows(tiles: Tiles, plan: Shape, body: Callable[[list], None]) -> None:
    """Calls `body` with the index of each run along the lanes' dimension, which is 0 along that one."""
    guarded(tiles, lambda: _walk_rows(tiles, plan, body))


def _walk_rows(tiles: Tiles, plan: Shape, body: Callable[[list], None]) -> None:
    w = tiles.w
    with w.nest(), ExitStack() as loops:
        index = [Uniform(w.index(0))] * len(plan.sizes)
        for dim in range(len(plan.sizes)):
            if dim != plan.dim and plan.sizes[dim] > 1:
                index[dim] = Uniform(loops.enter_context(w.count(plan.sizes[dim])).index)
        body(index)


def walk_lanes(tiles: Tiles, plan: Shape, index: list, body: Body, unroll: int = 1) -> None:
    """The innermost loop: along the lanes' dimension."""
    w = tiles.w
    if not plan.sizes:
        body((), 1)
        return
    size, count = plan.sizes[plan.dim], plan.count
    unroll = 1 if tiles.rare else min(unroll, size // count)
    if size == count:
        bodies = [w.index(0)]
        _run(tiles, plan, index, bodies, body)
        return
    with w.count(size, count * unroll) as loop:
        _run(tiles, plan, index, [w.add(loop.index, w.index(u * count)) for u in range(unroll)], body)


def _run(tiles: Tiles, plan: Shape, index: list, starts: Sequence[SSAValue], body: Body) -> None:
    for start in starts:
        here = list(index)
        here[plan.dim] = along(tiles.w, start) if plan.count > 1 else Uniform(start)
        body(tuple(here), plan.count)


def unroll_for(tiles: Tiles, *values: SSAValue) -> int:
    """How many vectors a turn of the innermost loop should hold: fewer where one is much work."""
    cost = sum(tiles.plan.cost(v) for v in values)
    return UNROLLED if cost <= 5 else 2 if cost <= 24 else 1
