"""tt.dot: operands where the register microkernel wants them, the accumulator in the arena, updated in place.

A is read by rows, B out of panels (`pack.py`), or by rows as well where A lies in the arena: one operand with rows
far apart does not matter, two do.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.microkernel import DotPlan, dot_plan
from naiad.backends.cpu.tiles.branch import choose
from naiad.backends.cpu.tiles.matrices import Matrix, batch_offset, lying, rows
from naiad.backends.cpu.tiles.pack import for_each, panels
from naiad.backends.cpu.tiles.store import store_tiles
from naiad.backends.cpu.tiles.tiles import Buffer, Tiles
from naiad.ir import ttc
from naiad.ir.base import bits, element, int_attr, shape

GAP = 64
"""Bytes after each row of a sum whose rows are a multiple of CONFLICT bytes apart."""
CONFLICT = 1024


def lower_dot(tiles: Tiles, op: Operation) -> None:
    """Puts the product plus the accumulator into a buffer."""
    a, b, c = op.operands
    *batch, m, k = shape(a.type)
    n, result = shape(b.type)[-1], op.results[0]
    plan = dot_plan(tiles.target, m, n, k, element(a.type), element(b.type), element(result.type))
    out = accumulator(tiles, op)
    if not is_zero(c) and tiles.buffers.get(c) is not out:
        store_tiles(tiles, [c], [out])
    tiles.buffers[result] = out
    lefts = rows(tiles, a, plan.a_type)

    def product(at: Sequence[SSAValue], right: Matrix, packed: bool) -> None:
        place = tiles.w.move(out.ptr, batch_offset(tiles, at, batch, m * n))
        multiply(tiles, op, {"m": m, "n": n, "k": k, "ldc": out.pitch or n}, (lefts(at), right, place), packed)

    def packed() -> None:
        rights = panels(tiles, b, plan)
        for_each(tiles, batch, lambda at: product(at, rights(at), True))

    if batch or not reads_rows(tiles, a, plan) or (found := lying(tiles, b, plan.b_type)) is None:
        packed()
    elif found[1] is None:
        product((), found[0](()), False)
    else:

        def by_rows() -> tuple[()]:
            product((), found[0](()), False)
            return ()

        choose(tiles, found[1], by_rows, packed)


def multiply(
    tiles: Tiles, op: Operation, sizes: dict[str, int], places: tuple[Matrix, Matrix, SSAValue], packed: bool
) -> None:
    """The microkernel on matrices in memory."""
    left, right, out = places
    flags = {name: UnitAttr() for name, on in (("packed", packed), ("zero", is_zero(op.operands[2]))) if on}
    extents = {name: int_attr(size, 64) for name, size in sizes.items()}
    fresh = [tiles.fresh[op]] if op in tiles.fresh else []
    tiles.w.effect(
        ttc.DotOp(left.ptr, right.ptr, out, left.pitch, right.pitch, *fresh, location=op.location, **extents, **flags)
    )


def reads_rows(tiles: Tiles, a: SSAValue, plan: DotPlan) -> bool:
    """Whether the microkernel takes a B with rows apart without loss: a plain one, when A is close together."""
    return plan.method == "fma" and plan.pack == 1 and a in tiles.buffers


def is_zero(value: SSAValue) -> bool:
    """Whether a tile is a splat of 0."""
    op = value.owner
    if not isinstance(op, Operation):
        return False
    if op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape"):
        return is_zero(op.operands[0])
    return op.name == "arith.constant" and op.properties["value"].value.data == 0


def accumulator(tiles: Tiles, op: Operation) -> Buffer:
    """Where the sum is kept: the loop's own buffer, that of a sum that nothing else reads, or a new one."""
    c, result = op.operands[2], op.results[0]
    if result in tiles.in_place:
        return tiles.in_place[result]
    held = tiles.buffers.get(c)
    is_made_here = isinstance(c.owner, Operation) and c.owner.parent is op.parent
    fits = held is not None and held.pitch is not None and held.type == element(result.type)
    if held is not None and fits and is_made_here and c.has_one_use():
        return held
    gap = sum_gap(tiles, result)
    return tiles.rows_apart(result, gap) if gap else tiles.buffer_for(result)


def begins_at_zero(tiles: Tiles, loop: Operation, number: int) -> Operation | None:
    """The product whose sum from 0 the loop carries as its tile `number`, where the microkernel can begin one; None if
    it is none, or if anything else looks at it on the way."""
    init, argument = loop.operands[3 + number], loop.regions[0].block.args[1 + number]
    last = loop.regions[0].block.last_op
    assert last is not None
    product = last.operands[number].owner
    if not isinstance(product, Operation) or product.name != "tt.dot" or product.parent is not last.parent:
        return None
    if product.operands[2] is not argument or not argument.has_one_use() or not product.results[0].has_one_use():
        return None
    return product if is_zero(init) and len(shape(init.type)) == 2 and on_tiles(tiles, product) else None


def on_tiles(tiles: Tiles, op: Operation) -> bool:
    """Whether tile registers make the product."""
    (*_, m, k), n, kinds = shape(op.operands[0].type), shape(op.results[0].type)[-1], [*op.operands[:2], op.results[0]]
    return dot_plan(tiles.target, m, n, k, *(element(v.type) for v in kinds)).method == "amx"


def sum_gap(tiles: Tiles, value: SSAValue) -> int:
    """Elements to leave free after each row of a product: rows a multiple of CONFLICT apart are in a few sets of the
    first cache, and a tile register reads 16 of them."""
    op = value.owner
    if not isinstance(op, Operation) or op.name != "tt.dot" or len(shape(value.type)) != 2:
        return 0
    size = bits(element(value.type)) // 8
    return GAP // size if shape(value.type)[1] * size % CONFLICT == 0 and on_tiles(tiles, op) else 0
