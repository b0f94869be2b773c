"""tt.dot: operands where the register microkernel wants them, the accumulator in the arena, updated in place.

A is read where it lies if its rows are contiguous and no mask guards it, else copied row by row. B is packed into panels; a
B that is contiguous along k is transposed block by block on the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import AnyFloat, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from naiad.backends.cpu.microkernel import DotPlan, dot_plan
from naiad.backends.cpu.tiles.guard import guarded
from naiad.backends.cpu.tiles.index import Index, along, uniform
from naiad.backends.cpu.tiles.lanes import Affine, Lanes, Uniform, Vector, as_vector, elementwise
from naiad.backends.cpu.tiles.memory import store_lanes
from naiad.backends.cpu.tiles.nest import Shape, plan_nest, walk
from naiad.backends.cpu.tiles.store import store_tiles
from naiad.backends.cpu.tiles.tiles import Buffer, Tiles
from naiad.ir import ttc
from naiad.ir.base import bits, element, int_attr, shape
from naiad.ir.types import pointer


@dataclass(frozen=True)
class Operand:
    """A matrix in memory: its first element, and the distance of its rows in elements (i64)."""

    ptr: SSAValue
    pitch: SSAValue


def lower_dot(tiles: Tiles, op: Operation) -> None:
    """Puts the product plus the accumulator into a buffer."""
    a, b, c = op.operands
    *batch, m, k = shape(a.type)
    n = shape(b.type)[-1]
    result = op.results[0]
    plan = dot_plan(tiles.target, m, n, k, element(a.type), element(b.type), element(result.type))
    out = accumulator(tiles, op)
    zero = is_zero(c)
    if not zero and tiles.buffers.get(c) is not out:
        store_tiles(tiles, [c], [out])
    tiles.buffers[result] = out
    lefts, rights = rows(tiles, a, plan.a_type), panels(tiles, b, plan)
    w = tiles.w
    flags = {name: UnitAttr() for name, on in (("packed", True), ("zero", zero)) if on}
    sizes = {"m": int_attr(m, 64), "n": int_attr(n, 64), "k": int_attr(k, 64)}

    def product(at: Sequence[SSAValue]) -> None:
        left, right = lefts(at), rights(at)
        place = w.move(out.ptr, _offset(tiles, at, batch, m * n))
        w.effect(ttc.DotOp(left.ptr, right.ptr, place, left.pitch, right.pitch, location=op.location, **sizes, **flags))

    for_each(tiles, batch, product)


def for_each(tiles: Tiles, batch: Sequence[int], body) -> None:
    """Calls `body` with the leading indices (i64) of each matrix of a batch, in loops where there is one."""
    if not batch:
        body(())
        return
    with tiles.w.count(batch[0]) as loop:
        for_each(tiles, batch[1:], lambda rest: body((loop.index, *rest)))


def _offset(tiles: Tiles, at: Sequence[SSAValue], batch: Sequence[int], matrix: int) -> SSAValue:
    w, total = tiles.w, tiles.w.index(0)
    for d, i in enumerate(at):
        total = w.add(total, w.mul(i, w.index(prod(batch[d + 1 :]) * matrix)))
    return total


def is_zero(value: SSAValue) -> bool:
    """Whether a tile is a splat of 0."""
    op = value.owner
    if not isinstance(op, Operation):
        return False
    if op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape"):
        return is_zero(op.operands[0])
    return op.name == "arith.constant" and op.properties["value"].value.data == 0  # type: ignore[attr-defined]


def accumulator(tiles: Tiles, op: Operation) -> Buffer:
    """Where the sum is kept: the loop's own buffer, that of a sum that nothing else reads, or a new one."""
    c, result = op.operands[2], op.results[0]
    if result in tiles.in_place:
        return tiles.in_place[result]
    if c in tiles.buffers and isinstance(c.owner, Operation) and c.owner.parent is op.parent and c.has_one_use():
        if tiles.buffers[c].type == element(result.type):
            return tiles.buffers[c]
    return tiles.buffer_for(result)


# ---- A -----------------------------------------------------------------------------------------------------------------


def rows(tiles: Tiles, a: SSAValue, type: Attribute):
    """A function of the batch indices that gives A with contiguous rows of `type`; copies now what must be copied."""
    if (direct := _in_place(tiles, a, type)) is not None:
        return direct
    *batch, m, k = shape(a.type)
    buffer = tiles.new_buffer((*batch, m, k), type, "a")
    _convert_into(tiles, a, buffer)
    return lambda at: Operand(tiles.w.move(buffer.ptr, _offset(tiles, at, batch, m * k)), tiles.w.index(k))


def _convert_into(tiles: Tiles, value: SSAValue, buffer: Buffer) -> None:
    """The tile as elements of the buffer's type."""
    plan = plan_nest(tiles, buffer.sizes, value)

    def body(index: Index, count: int) -> None:
        tiles.write(buffer, index, convert(tiles, tiles.at(value, index, count), buffer.type, count), count)

    walk(tiles, plan, body, 2)


def convert(tiles: Tiles, lanes: Lanes, type: Attribute, count: int) -> Lanes:
    """The same numbers in a wider type (f16 as f32, ...)."""
    source = lanes.type
    if source == type:
        return lanes
    name = "arith.extf" if isinstance(source, AnyFloat) else "arith.extsi"
    if isinstance(source, AnyFloat) and bits(source) == 8:
        name = "tt.fp_to_fp"
    return elementwise(tiles.w, name, [lanes], [type], count, {})[0]


def _in_place(tiles: Tiles, a: SSAValue, type: Attribute):
    """A where it lies already, with unit stride along k and no mask; None if it must be copied."""
    w = tiles.w
    if element(a.type) != type:
        return None
    *batch, m, k = shape(a.type)
    if (buffer := tiles.buffers.get(a)) is not None:
        return lambda at: Operand(w.move(buffer.ptr, _offset(tiles, at, batch, m * k)), w.index(k))
    op = a.owner
    if not (isinstance(op, Operation) and op.name == "tt.load" and op.mask is None):  # type: ignore[attr-defined]
        return None
    strides = tiles.strides.of(op.operands[0])
    if (k > 1 and strides[-1] != 1) or (m > 1 and strides[-2] is None):
        return None
    pointers = op.operands[0]

    def where(at: Sequence[SSAValue]) -> Operand:
        zero = w.index(0)
        with w.nest():
            first = tiles.at(pointers, uniform(*at, zero, zero), 1).value
            if m == 1:
                return Operand(first, w.index(k))
            second = tiles.at(pointers, uniform(*at, w.index(1), zero), 1).value
            return Operand(first, _distance(tiles, first, second))

    return where


def _distance(tiles: Tiles, first: SSAValue, second: SSAValue) -> SSAValue:
    """second - first in elements."""
    from xdsl.dialects.builtin import i64

    w = tiles.w
    size = max(bits(first.type.pointee) // 8, 1)
    ends = [w.pure("tt.ptr_to_int", (p,), i64) for p in (second, first)]
    return w.integer("arith.shrsi", w.sub(*ends), w.index(size.bit_length() - 1))


# ---- B -----------------------------------------------------------------------------------------------------------------


def panels(tiles: Tiles, b: SSAValue, plan: DotPlan):
    """A function of the batch indices that gives B in the panels that `plan` names; packs it now."""
    *batch, k, n = shape(b.type)
    buffer = tiles.new_buffer((*batch, k, n), plan.b_type, "b")
    for_each(tiles, batch, lambda at: _pack(tiles, b, at, buffer, plan))
    return lambda at: Operand(tiles.w.move(buffer.ptr, _offset(tiles, at, batch, k * n)), tiles.w.index(n))


def _pack(tiles: Tiles, b: SSAValue, at: Sequence[SSAValue], buffer: Buffer, plan: DotPlan) -> None:
    *batch, k, n = shape(b.type)
    base = tiles.w.move(buffer.ptr, _offset(tiles, at, batch, k * n))
    nest = plan_nest(tiles, shape(b.type), b)
    transposable = bits(plan.b_type) * plan.pack in (32, 64)
    if nest.dim == len(batch) and k >= 8 and plan.nr >= 8 and transposable:
        _pack_columns(tiles, b, at, base, plan)
    else:
        guarded(tiles, lambda: _pack_rows(tiles, b, at, base, plan))


def _pack_rows(tiles: Tiles, b: SSAValue, at: Sequence[SSAValue], base: SSAValue, plan: DotPlan) -> None:
    """Lanes along n: `pack` rows of B are interleaved into each row of a panel."""
    w = tiles.w
    k, n = shape(b.type)[-2:]
    count = min(plan.nr, tiles.target.vector_bytes // 4)
    with w.nest(), w.count(n // plan.nr) as panel, w.count(k // plan.pack) as row:
        first = w.mul(row.index, w.index(plan.pack))
        start = w.mul(panel.index, w.index(plan.nr))
        place = w.mul(w.add(w.mul(panel.index, w.index(k // plan.pack)), row.index), w.index(plan.nr * plan.pack))
        for v in range(plan.nr // count):
            column = w.add(start, w.index(v * count))
            here = along(w, column) if count > 1 else Uniform(column)
            parts = [tiles.at(b, (*uniform(*at, w.add(first, w.index(i))), here), count) for i in range(plan.pack)]
            vectors = [as_vector(w, convert(tiles, p, plan.b_type, count), count) for p in parts]
            target = w.move(base, w.add(place, w.index(v * count * plan.pack)))
            store_interleaved(tiles, target, vectors, count)


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


def _pack_columns(tiles: Tiles, b: SSAValue, at: Sequence[SSAValue], base: SSAValue, plan: DotPlan) -> None:
    """B is contiguous along k: rows of its transpose, then blocks transposed into panels, `pack` elements as one word."""
    w = tiles.w
    k, n = shape(b.type)[-2:]
    columns = tiles.new_buffer((n, k), plan.b_type, "b_columns")
    count = min(k, tiles.target.vector_bytes // 4)

    def body(index: Index, lanes: int) -> None:
        value = tiles.at(b, (*uniform(*at), index[1], index[0]), lanes)
        tiles.write(columns, index, convert(tiles, value, plan.b_type, lanes), lanes)

    walk(tiles, Shape((n, k), 1, count), body, 2)
    words = k // plan.pack
    word = plan.b_type if plan.pack == 1 else i32
    source, target = ((p if plan.pack == 1 else w.pure("tt.bitcast", (p,), pointer(word))) for p in (columns.ptr, base))
    sizes = {"m": int_attr(plan.nr, 64), "n": int_attr(words, 64)}
    with w.count(n // plan.nr) as panel:
        offset = w.mul(panel.index, w.index(plan.nr * words))
        places = [w.move(source, offset), w.move(target, offset)]
        w.effect(ttc.TransposeOp(*places, w.index(words), w.index(plan.nr), location=w.location, **sizes))
