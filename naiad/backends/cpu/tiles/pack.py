"""The right operand of a product in panels, as the register microkernel reads it."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.microkernel import DotPlan
from naiad.backends.cpu.tiles.guard import guarded
from naiad.backends.cpu.tiles.index import Index, along, uniform
from naiad.backends.cpu.tiles.lanes import Affine, Uniform, Vector, as_vector
from naiad.backends.cpu.tiles.matrices import At, Matrix, Place, batch_offset, convert, in_buffer, rows
from naiad.backends.cpu.tiles.memory import store_lanes
from naiad.backends.cpu.tiles.nest import Shape, plan_nest, walk
from naiad.backends.cpu.tiles.prefetch import prefetch_row
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.ir import ttc
from naiad.ir.base import bits, element, int_attr, shape
from naiad.ir.types import pointer

AHEAD = 16
"""Rows of B between the one that is packed and the one that is asked for: far apart in memory, they come slowly."""
VECTORS = 8
"""Registers' worth of a row of B that are packed together."""


def panels(tiles: Tiles, b: SSAValue, plan: DotPlan) -> Place:
    """B [k, n] in the panels that `plan` names; packed now."""
    *batch, k, n = shape(b.type)
    buffer = tiles.new_buffer((*batch, k, n), plan.b_type, "panels")
    if _by_columns(tiles, b, plan):
        columns = _columns(tiles, b, plan)
        for_each(
            tiles, batch, lambda at: _transpose(tiles, columns(at), in_buffer(tiles, buffer)(at).ptr, (k, n), plan)
        )
    else:
        guarded(tiles, lambda: for_each(tiles, batch, lambda at: _pack_rows(tiles, b, at, buffer.ptr, plan)))
    return in_buffer(tiles, buffer)


def for_each(tiles: Tiles, batch: Sequence[int], body) -> None:
    """Calls `body` with the leading indices (i64) of each matrix of a batch, in loops where there is one."""
    if not batch:
        body(())
        return
    with tiles.w.count(batch[0]) as loop:
        for_each(tiles, batch[1:], lambda rest: body((loop.index, *rest)))


def _by_columns(tiles: Tiles, b: SSAValue, plan: DotPlan) -> bool:
    """Whether B is contiguous along k, and its words are of a size that can be transposed."""
    *batch, k, _ = shape(b.type)
    words = bits(plan.b_type) * plan.pack in (32, 64)
    return words and k >= 8 and plan.nr >= 8 and plan_nest(tiles, shape(b.type), b).dim == len(batch)


def _columns(tiles: Tiles, b: SSAValue, plan: DotPlan) -> Place:
    """The columns of B as rows."""
    *batch, k, n = shape(b.type)
    op = b.owner
    if isinstance(op, Operation) and op.name == "tt.trans" and b not in tiles.buffers:
        order = list(op.properties["order"].get_values())
        if order == [*range(len(batch)), len(batch) + 1, len(batch)]:
            return rows(tiles, op.operands[0], plan.b_type)
    buffer = tiles.new_buffer((*batch, n, k), plan.b_type, "columns")
    count = min(k, tiles.target.vector_bytes // 4)

    def body(index: Index, lanes: int) -> None:
        value = tiles.at(b, (*index[:-2], index[-1], index[-2]), lanes)
        tiles.write(buffer, index, convert(tiles, value, plan.b_type, lanes), lanes)

    walk(tiles, Shape(buffer.sizes, len(batch) + 1, count), body, 2)
    return in_buffer(tiles, buffer)


def _transpose(tiles: Tiles, columns: Matrix, base: SSAValue, sizes: tuple[int, int], plan: DotPlan) -> None:
    """Blocks of the columns, `pack` elements as one word, transposed into panels."""
    w, (k, n) = tiles.w, sizes
    words = k // plan.pack
    word = plan.b_type if plan.pack == 1 else i32
    source, target = (p if plan.pack == 1 else w.pure("tt.bitcast", (p,), pointer(word)) for p in (columns.ptr, base))
    pitch = columns.pitch
    if plan.pack > 1:
        pitch = w.integer("arith.shrsi", pitch, w.index(plan.pack.bit_length() - 1))
    block = {"m": int_attr(plan.nr, 64), "n": int_attr(words, 64)}
    with w.count(n // plan.nr) as panel:
        row = w.mul(w.mul(panel.index, w.index(plan.nr)), pitch)
        places = [w.move(source, row), w.move(target, w.mul(panel.index, w.index(plan.nr * words)))]
        w.effect(ttc.TransposeOp(*places, pitch, w.index(plan.nr), location=w.location, **block))


def _pack_rows(tiles: Tiles, b: SSAValue, at: At, ptr: SSAValue, plan: DotPlan) -> None:
    """Lanes along n: `pack` rows of B are interleaved into a row of each of several panels, so that rows are read
    whole."""
    w = tiles.w
    *batch, k, n = shape(b.type)
    base = w.move(ptr, batch_offset(tiles, at, batch, k * n))
    width = bits(plan.b_type) if element(b.type) == plan.b_type else 32
    count = min(plan.nr, tiles.target.vector_bytes * 8 // width)
    together = 1 if tiles.rare else min(n // plan.nr, max(1, VECTORS // (plan.nr // count)))
    with w.nest(), w.count(n // plan.nr, together) as group, w.count(k // plan.pack) as row:
        for panel in range(together):
            _pack_row(tiles, b, at, base, plan, (w.add(group.index, w.index(panel)), row.index, count))


def _pack_row(
    tiles: Tiles, b: SSAValue, at: At, base: SSAValue, plan: DotPlan, where: tuple[SSAValue, SSAValue, int]
) -> None:
    """One row of one panel."""
    w, (panel, row, count) = tiles.w, where
    rows = shape(b.type)[-2] // plan.pack
    first, start = w.mul(row, w.index(plan.pack)), w.mul(panel, w.index(plan.nr))
    place = w.mul(w.add(w.mul(panel, w.index(rows)), row), w.index(plan.nr * plan.pack))
    for v in range(plan.nr // count):
        column = w.add(start, w.index(v * count))
        here = along(w, column) if count > 1 else Uniform(column)
        parts = [tiles.at(b, (*uniform(*at, w.add(first, w.index(i))), here), count) for i in range(plan.pack)]
        for i in range(0 if tiles.rare else plan.pack):
            prefetch_row(tiles, b, (*uniform(*at, w.add(first, w.index(AHEAD + i))), here), count)
        vectors = [as_vector(w, convert(tiles, p, plan.b_type, count), count) for p in parts]
        store_interleaved(tiles, w.move(base, w.add(place, w.index(v * count * plan.pack))), vectors, count)


def store_interleaved(tiles: Tiles, ptr: SSAValue, vectors: Sequence[SSAValue], count: int) -> None:
    """Lane 0 of each vector, then lane 1 of each, and so on, from `ptr` on."""
    w = tiles.w
    parts = list(vectors)
    if count == 1:
        for i, v in enumerate(parts):
            store_lanes(w, Uniform(w.move(ptr, w.index(i))), Uniform(v), None, 1)
        return
    width = count
    while len(parts) > 1:  # 1 or 2 or 4: pairs (i, i + half) are woven into one vector of twice the lanes
        half = len(parts) // 2
        weave = [x for lane in range(width) for x in (lane, width + lane)]
        parts = [w.shuffle(parts[i], parts[i + half], weave) for i in range(half)]
        width *= 2
    store_lanes(w, Affine(ptr, w.index(1), ptr.type), Vector(parts[0]), None, width)
