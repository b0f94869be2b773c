"""Where the operands of a product lie: in memory already, row after row, or in the arena after a copy.

A load is read in place if its rows are contiguous. What a mask or a remainder might spoil is tested as the kernel
runs; the copy is then the other branch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, i64
from xdsl.ir import Attribute, Operation, SSAValue

from naiad.analysis.strides import WRAPPED
from naiad.backends.cpu.tiles.branch import all_of, choose
from naiad.backends.cpu.tiles.index import Index, uniform
from naiad.backends.cpu.tiles.lanes import Lanes, as_scalar, elementwise
from naiad.backends.cpu.tiles.nest import plan_nest, walk
from naiad.backends.cpu.tiles.stream import has_corner
from naiad.backends.cpu.tiles.tiles import Buffer, Tiles
from naiad.ir.base import bits, element, shape


@dataclass(frozen=True)
class Matrix:
    """Its first element, and the distance of its rows in elements (i64)."""

    ptr: SSAValue
    pitch: SSAValue


At: TypeAlias = Sequence[SSAValue]
"""The leading indices (i64) of one matrix of a batch."""
Place: TypeAlias = Callable[[At], Matrix]


def batch_offset(tiles: Tiles, at: At, batch: Sequence[int], matrix: int) -> SSAValue:
    """Elements before the matrix `at` of a batch of matrices of that many elements."""
    w, total = tiles.w, tiles.w.index(0)
    for d, i in enumerate(at):
        total = w.add(total, w.mul(i, w.index(prod(batch[d + 1 :]) * matrix)))
    return total


def in_buffer(tiles: Tiles, buffer: Buffer) -> Place:
    *batch, m, k = buffer.sizes
    return lambda at: Matrix(tiles.w.move(buffer.ptr, batch_offset(tiles, at, batch, m * k)), tiles.w.index(k))


def rows(tiles: Tiles, tile: SSAValue, type: Attribute) -> Place:
    """The tile with contiguous rows of `type`; what must be copied is copied now."""
    found = lying(tiles, tile, type)
    if found is not None and found[1] is None:
        return found[0]
    buffer = tiles.new_buffer(shape(tile.type), type, "rows")
    if found is None:
        copy(tiles, tile, buffer)
        return in_buffer(tiles, buffer)
    place, condition = found
    assert condition is not None
    pitch = tiles.w.index(buffer.sizes[-1])

    def copied() -> Sequence[SSAValue]:
        copy(tiles, tile, buffer)
        return buffer.ptr, pitch

    chosen = choose(tiles, condition, lambda: _parts(place(())), copied)
    return lambda at: Matrix(*chosen)


def _parts(matrix: Matrix) -> tuple[SSAValue, SSAValue]:
    return matrix.ptr, matrix.pitch


def copy(tiles: Tiles, tile: SSAValue, buffer: Buffer) -> None:
    """The tile into the buffer, as elements of its type; whole registers of them where none is converted."""
    plan = plan_nest(tiles, buffer.sizes, tile)
    if element(tile.type) == buffer.type:
        lanes = min(tiles.target.lanes(bits(buffer.type)), plan.sizes[plan.dim])
        plan = replace(plan, count=max(plan.count, lanes))

    def body(index: Index, count: int) -> None:
        tiles.write(buffer, index, convert(tiles, tiles.at(tile, index, count), buffer.type, count), count)

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


def lying(tiles: Tiles, tile: SSAValue, type: Attribute) -> tuple[Place, SSAValue | None] | None:
    """Where the tile lies with contiguous rows of `type`, and the condition (i1) on which it does; None: it does
    not."""
    if element(tile.type) != type:
        return None
    if (buffer := tiles.buffers.get(tile)) is not None:
        return (in_buffer(tiles, buffer), None) if buffer.is_row_major else None
    load = tile.owner
    if not isinstance(load, Operation) or load.name != "tt.load":
        return None
    pointers, mask = load.operands[0], load.mask
    *batch, m, k = shape(tile.type)
    *_, down, along = tiles.strides.of(pointers)
    if (k > 1 and along != 1) or (m > 1 and down is None):
        return None
    needs = [] if mask is None or mask in tiles.full else [mask]
    if (needs or down == WRAPPED) and (batch or not all(has_corner(tiles, x) for x in needs)):
        return None
    return _load_place(tiles, pointers, m, k), _condition(tiles, pointers, needs, m, k, down == WRAPPED)


def _load_place(tiles: Tiles, pointers: SSAValue, m: int, k: int) -> Place:
    w = tiles.w

    def place(at: At) -> Matrix:
        first = _pointer(tiles, pointers, at, 0)
        return Matrix(first, w.index(k) if m == 1 else _distance(tiles, first, _pointer(tiles, pointers, at, 1)))

    return place


def _pointer(tiles: Tiles, pointers: SSAValue, at: At, row: int) -> SSAValue:
    w = tiles.w
    with w.nest():
        return as_scalar(w, tiles.at(pointers, uniform(*at, w.index(row), w.index(0)), 1))


def _distance(tiles: Tiles, first: SSAValue, second: SSAValue) -> SSAValue:
    """second - first in elements."""
    w = tiles.w
    size = max(bits(first.type.pointee) // 8, 1)
    ends = [w.pure("tt.ptr_to_int", (p,), i64) for p in (second, first)]
    return w.integer("arith.shrsi", w.sub(*ends), w.index(size.bit_length() - 1))


def _condition(
    tiles: Tiles, pointers: SSAValue, masks: Sequence[SSAValue], m: int, k: int, wrapped: bool
) -> SSAValue | None:
    """No mask cuts the tile, and no remainder starts again within its rows."""
    w, found = tiles.w, []
    with w.nest():
        last = uniform(w.index(m - 1), w.index(k - 1))
        found += [as_scalar(w, tiles.at(mask, last, 1)) for mask in masks]
    if wrapped and m > 1:
        ends = [_pointer(tiles, pointers, (), row) for row in (0, 1, m - 1)]
        step, whole = _distance(tiles, ends[0], ends[1]), _distance(tiles, ends[0], ends[2])
        found.append(w.compare("eq", whole, w.mul(step, w.index(m - 1))))
    return all_of(w, found) if found else None
