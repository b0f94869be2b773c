"""Fetching ahead what the next program will read, while this one computes.

A row of a matrix is often a page of memory, past which the hardware does not look. A nest that reads a tile for the
second time finds it in the cache, and has the time to ask for the tile of the program after this one.
"""

from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.tiles.index import Index, uniform
from naiad.backends.cpu.tiles.lanes import Affine, Lanes, as_scalar
from naiad.backends.cpu.tiles.plan import is_virtual
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.ir import ttc
from naiad.ir.base import bits, element, int_attr, shape
from naiad.ir.types import pointee_of

LINE = 64
SMALLEST, LARGEST = 2048, 128 << 10
"""Bytes of a tile: less is not worth asking for, more would push out what is in use."""


def prefetch_next(tiles: Tiles, load: Operation, ptrs: Lanes, count: int) -> None:
    """Beside a load of lanes: asks for what the next program loads here, if this is the second nest that reads it."""
    if not _is_fetchable(tiles, load, ptrs, count):
        return
    nests = tiles.nests.setdefault(load, [])
    if not nests or nests[-1] != tiles.w.nests:
        nests.append(tiles.w.nests)
    if len(nests) == 2:
        _fetch(tiles, load, ptrs)


def prefetch_beside(tiles: Tiles, index: Index, sizes: tuple[int, ...], count: int) -> None:
    """Beside a store of lanes: the same for tiles that one nest has read, and this one does not."""
    for load, nests in tiles.nests.items():
        if shape(load.operands[0].type) == sizes and len(nests) == 1 and nests[0] != tiles.w.nests:
            ptrs = tiles.at(load.operands[0], index, count)
            if _is_fetchable(tiles, load, ptrs, count):
                _fetch(tiles, load, ptrs)


def _is_fetchable(tiles: Tiles, load: Operation, ptrs: Lanes, count: int) -> bool:
    """Whether whole lines of a tile of moderate size are read outside of loops, in a row."""
    around = load.parent_op()
    if around is None or around.name != "tt.func" or not is_run(tiles, ptrs):
        return False
    size = bits(element(pointee_of(load.operands[0].type))) // 8
    return count * size >= LINE and SMALLEST <= prod(shape(load.operands[0].type)) * size <= LARGEST


def is_run(tiles: Tiles, ptrs: Lanes) -> bool:
    """Whether the pointers follow each other, on a CPU where asking for a line is an instruction."""
    return isinstance(ptrs, Affine) and tiles.w.constants.get(ptrs.step) == 1 and tiles.target.is_x86


def _fetch(tiles: Tiles, load: Operation, ptrs: Lanes) -> None:
    if isinstance(ptrs, Affine) and (step := program_step(tiles, load.operands[0])) is not None:
        tiles.w.effect(ttc.PrefetchOp(tiles.w.move(ptrs.base, step), location=load.location))


def prefetch_row(tiles: Tiles, tile: SSAValue, index: Index, count: int) -> None:
    """Asks for the lanes at `index` of a tile that is loaded as it is read; an index past its end does no harm."""
    load = tile.owner
    if tile in tiles.buffers or not isinstance(load, Operation) or load.name != "tt.load":
        return
    ptrs = tiles.at(load.operands[0], index, count)
    if isinstance(ptrs, Affine) and is_run(tiles, ptrs):
        tiles.w.effect(ttc.PrefetchOp(ptrs.base, location=load.location))


def next_run(tiles: Tiles, tile: SSAValue, index: Index, count: int) -> SSAValue | None:
    """Where the next program's tile begins, of a tile of one dimension whose lanes at `index` are being read; whoever
    asks fetches it. None where that is not known."""
    load = tile.owner
    if tile in tiles.buffers or not isinstance(load, Operation) or load.name != "tt.load" or len(index) != 1:
        return None
    if not _is_fetchable(tiles, load, tiles.at(load.operands[0], index, count), count):
        return None
    if (step := program_step(tiles, load.operands[0])) is None:
        return None
    tiles.nests.setdefault(load, []).extend((0, 0))  # nobody else needs to
    first = tiles.at(load.operands[0], uniform(tiles.w.index(0)), 1)
    return tiles.w.move(as_scalar(tiles.w, first), step)


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
