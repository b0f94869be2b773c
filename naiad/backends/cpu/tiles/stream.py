"""Stores past the caches: where a launch writes more than they hold, a line that is not read first saves a third of
the traffic.

A run of whole, aligned lines that no mask cuts gets a loop of its own; which loop runs is decided as the kernel runs.
Measured on a 2-core Xeon (2 MB of L2 a core), one thread: 1.7 times as fast for 16 MB of output, 0.8 times for 4 MB.
"""

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.tiles.branch import choose
from naiad.backends.cpu.tiles.lanes import Uniform, as_scalar
from naiad.backends.cpu.tiles.nest import Body, Shape
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.ir.base import bits, element, int_attr, shape
from naiad.ir.types import pointee_of

LARGE = 8 << 20
"""Bytes that all programs of a launch write together, from which the caches are passed by."""
CHEAP = 14.0
"""Up to this cost of its values a nest is written twice."""


def can_stream(tiles: Tiles, stores: Sequence[Operation], plan: Shape) -> bool:
    """Whether the stores are contiguous along the lanes, short enough to be written twice, and their masks testable.

    Not beside atomics: on x86 an atomic does not wait for streaming stores, and a lock may guard the memory.
    """
    if not tiles.target.is_x86 or any(w.name.startswith("tt.atomic") for w in tiles.plan.writes):
        return False
    if sum(tiles.plan.cost(s.operands[1]) for s in stores) > CHEAP:
        return False
    return all(_contiguous(tiles, s, plan) and all(has_corner(tiles, m) for m in s.operands[2:]) for s in stores)


def _contiguous(tiles: Tiles, store: Operation, plan: Shape) -> bool:
    size = bits(element(store.operands[1].type))
    return size >= 8 and plan.count * size == tiles.target.vector_bytes * 8 and (
        tiles.strides.of(store.operands[0])[plan.dim] == 1
    )  # fmt: skip


def has_corner(tiles: Tiles, mask: SSAValue) -> bool:
    """Whether the mask is true everywhere if it is true at the last element: `index < limit`, or several such."""
    op = mask.owner
    if not isinstance(op, Operation):
        return False
    if op.name in ("tt.broadcast", "tt.expand_dims"):
        return has_corner(tiles, op.operands[0])
    if op.name == "arith.andi":
        return all(has_corner(tiles, o) for o in op.operands)
    if op.name != "arith.cmpi" or op.properties["predicate"].data not in ("slt", "sle"):
        return False
    rising, level = (tiles.strides.of(o) for o in op.operands)
    return all(isinstance(s, int) and s >= 0 for s in rising) and all(s == 0 for s in level)


def streaming(
    tiles: Tiles,
    stores: Sequence[Operation],
    plan: Shape,
    index: list,
    loop: Callable[[Body], None],
    body: Callable[..., None],
) -> None:
    """One run along the lanes: by streaming stores without masks where that is possible and worthwhile, else by
    `body`."""
    w = tiles.w
    last = list(index)
    last[plan.dim] = Uniform(w.index(plan.sizes[plan.dim] - 1))
    condition = large(tiles, stores)
    masks = frozenset(m for s in stores for m in s.operands[2:])
    for mask in masks:
        condition = w.pure("arith.andi", (condition, as_scalar(w, tiles.at(mask, tuple(last), 1))), i1)
    for store in stores:
        first = as_scalar(w, tiles.at(store.operands[0], tuple(index), 1))
        low = w.integer("arith.andi", w.pure("tt.ptr_to_int", (first,), i64), w.index(tiles.target.vector_bytes - 1))
        condition = w.pure("arith.andi", (condition, w.compare("eq", low, w.index(0))), i1)
    choose(
        tiles,
        condition,
        lambda: _unmasked(tiles, masks, lambda: loop(lambda i, c: body(i, c, True))),
        lambda: loop(body),
    )


def _unmasked(tiles: Tiles, masks: frozenset[SSAValue], write: Callable[[], None]) -> None:
    before, tiles.full = tiles.full, tiles.full | masks
    write()
    tiles.full = before


def large(tiles: Tiles, stores: Sequence[Operation]) -> SSAValue:
    """i1: whether the launch writes so much. Every program is taken to run the store once."""
    w = tiles.w
    written = sum(prod(shape(s.operands[0].type)) * bits(element(pointee_of(s.operands[0].type))) // 8 for s in stores)
    programs = w.index(1)
    for axis in range(3):
        size = w.pure("tt.get_num_programs", (), i32, axis=int_attr(axis))
        programs = w.mul(programs, w.widen(size))
    return w.compare("sge", programs, w.index(-(-LARGE // written)))
