"""Fetching ahead what the next program will read, while this one computes.

A row of a matrix is often a page of memory, past which the hardware does not look. A nest that reads a tile for the
second time finds it in the cache, and has the time to ask for the tile of the program after this one.
"""

from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.tiles.lanes import Affine, Lanes
from naiad.backends.cpu.tiles.plan import is_virtual
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.ir import ttc
from naiad.ir.base import bits, element, int_attr, shape
from naiad.ir.types import pointee_of

LINE = 64
SMALLEST, LARGEST = 2048, 128 << 10
"""Bytes of a tile: less is not worth asking for, more would push out what is in use."""


def prefetch_next(tiles: Tiles, load: Operation, ptrs: Lanes, count: int) -> None:
    """Beside a load of lanes: asks for the line that the next program loads at this place, where all that applies."""
    w = tiles.w
    if not isinstance(ptrs, Affine) or w.constants.get(ptrs.step) != 1 or not tiles.target.is_x86:
        return
    size = bits(element(pointee_of(load.operands[0].type))) // 8
    if not size or count * size < LINE or not SMALLEST <= prod(shape(load.operands[0].type)) * size <= LARGEST:
        return
    if not _is_second_nest(tiles, load) or (step := program_step(tiles, load.operands[0])) is None:
        return
    w.effect(ttc.PrefetchOp(w.move(ptrs.base, step), location=load.location))


def _is_second_nest(tiles: Tiles, load: Operation) -> bool:
    """Whether the nest being written is the second that reads the load, outside of loops."""
    if load.parent_op() is None or load.parent_op().name != "tt.func":
        return False
    nests = tiles.nests.setdefault(load, [])
    if not nests or nests[-1] != tiles.w.nests:
        nests.append(tiles.w.nests)
    return len(nests) == 2


def program_step(tiles: Tiles, pointers: SSAValue) -> SSAValue | None:
    """How many elements (i64) the tile of pointers moves from one program to the next along x; None if that is
    unknown."""
    if pointers not in tiles.steps:
        tiles.steps[pointers] = _step(tiles, pointers)
    return tiles.steps[pointers]


def _step(tiles: Tiles, value: SSAValue) -> SSAValue | None:
    """The difference of an index or pointer expression between two neighbouring programs."""
    w, op = tiles.w, value.owner
    if not isinstance(op, Operation):
        return w.index(0)  # an argument
    if op.name == "tt.get_program_id":
        return w.index(1 if op.properties["axis"] == int_attr(0) else 0)
    if op.name in ("arith.constant", "tt.make_range", "tt.get_num_programs"):
        return w.index(0)
    if op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims", "arith.extsi"):
        return _step(tiles, op.operands[0])
    if op.name in ("arith.addi", "tt.addptr"):
        parts = [_step(tiles, o) for o in op.operands]
        return None if parts[0] is None or parts[1] is None else w.add(parts[0], parts[1])
    if op.name == "arith.muli":
        return _product(tiles, *op.operands)
    if is_virtual(op) and all(_is_still(tiles, o) for o in op.operands):
        return w.index(0)
    return None


def _is_still(tiles: Tiles, value: SSAValue) -> bool:
    step = _step(tiles, value)
    return step is not None and tiles.w.constants.get(step) == 0


def _product(tiles: Tiles, a: SSAValue, b: SSAValue) -> SSAValue | None:
    """(x + dx) y - x y = dx y, where y is a scalar that stays."""
    if _is_still(tiles, a):
        a, b = b, a
    moved, factor = _step(tiles, a), _scalar_of(tiles, b)
    if moved is None or factor is None or not _is_still(tiles, b):
        return None
    return tiles.w.mul(moved, tiles.w.widen(factor))


def _scalar_of(tiles: Tiles, value: SSAValue) -> SSAValue | None:
    """The ttcir scalar that a scalar, or a splat of one, is."""
    op = value.owner
    if not shape(value.type):
        return tiles.scalars.get(value)
    if isinstance(op, Operation) and op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims"):
        return _scalar_of(tiles, op.operands[0])
    if isinstance(op, Operation) and op.name == "arith.constant":
        return tiles.w.constant(op.properties["value"].value.data, i32)
    return None
