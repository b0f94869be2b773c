"""Stores, and tiles that are put into memory: a nest that evaluates all values at an index, then writes them.

Neighbouring stores of one shape share a nest. All are evaluated before any is written, as the program reads.
"""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.tiles.index import Index
from naiad.backends.cpu.tiles.memory import store_lanes
from naiad.backends.cpu.tiles.nest import plan_nest, unroll_for, walk, walk_lanes, walk_rows
from naiad.backends.cpu.tiles.prefetch import prefetch_beside
from naiad.backends.cpu.tiles.stream import can_stream, streaming
from naiad.backends.cpu.tiles.tiles import Buffer, Tiles
from naiad.backends.cpu.tiles.wraps import by_rows, cross_rows
from naiad.ir.base import shape


def lower_stores(tiles: Tiles, stores: Sequence[Operation]) -> None:
    """tt.store ops whose pointers have one shape."""
    sizes = shape(stores[0].operands[0].type)
    values = [o for s in stores for o in s.operands[1:]]
    pointers = [s.operands[0] for s in stores]
    plan = plan_nest(tiles, sizes, *values, pointers=pointers)

    def write(index: Index, count: int, stream: bool = False) -> None:
        ready = [[tiles.at(o, index, count) for o in store.operands] for store in stores]
        for store, (ptr, value, *mask) in zip(stores, ready, strict=True):
            tiles.w.location = store.location
            guard = mask[0] if mask and store.operands[2] not in tiles.full else None
            store_lanes(tiles.w, ptr, value, guard, count, stream)
        prefetch_beside(tiles, index, sizes, count)

    if cross_rows(tiles, [*values, *pointers], plan.count):
        walk(tiles, plan, lambda index, count: by_rows(tiles, lambda: write(index, count)))
        return
    unroll = unroll_for(tiles, *values)
    if not can_stream(tiles, stores, plan):
        walk(tiles, plan, write, unroll)
        return

    def row(index: list) -> None:
        streaming(tiles, stores, plan, index, lambda b: walk_lanes(tiles, plan, index, b, unroll), write)

    walk_rows(tiles, plan, row)


def store_tiles(tiles: Tiles, values: Sequence[SSAValue], buffers: Sequence[Buffer]) -> None:
    """Evaluates tiles of one shape and writes each into its buffer."""
    plan = plan_nest(tiles, buffers[0].sizes, *values)

    def write(index: Index, count: int) -> None:
        ready = [tiles.at(v, index, count) for v in values]
        for buffer, lanes in zip(buffers, ready, strict=True):
            tiles.write(buffer, index, lanes, count)

    if cross_rows(tiles, values, plan.count):
        walk(tiles, plan, lambda index, count: by_rows(tiles, lambda: write(index, count)))
    else:
        walk(tiles, plan, write, unroll_for(tiles, *values))


def stored(tiles: Tiles, value: SSAValue) -> Buffer:
    """The buffer in which a tile lies; it is put into one now if it has none."""
    if (buffer := tiles.buffers.get(value)) is None:
        buffer = tiles.buffer_for(value)
        store_tiles(tiles, [value], [buffer])
        tiles.buffers[value] = buffer
    return buffer
