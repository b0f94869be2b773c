"""How the block of a block pointer or a descriptor is read and written with a tile of pointers and a mask."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, LocationAttr, TensorType, f32, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from naiad.ir.attributes import keyword
from naiad.ir.base import bits, element, int_attr, shape, tensor
from naiad.ir.constants import constant, number
from naiad.ir.registry import OPS

__all__ = ["ALIGNMENT", "Access", "Maker", "Parts"]

ALIGNMENT = 16
"""Bytes that divide the address of a descriptor's tensor, and the steps between its rows."""


@dataclass(frozen=True)
class Parts:
    """A block pointer or a descriptor as scalars. shape, strides, offsets are i64, one per dimension; padding is an i1.

    offsets: of a block pointer. padding, rounds: of a descriptor, true for NaN; for f32 rounded to tf32 when read.
    """

    base: SSAValue
    shape: Sequence[SSAValue]
    strides: Sequence[SSAValue]
    offsets: Sequence[SSAValue]
    padding: SSAValue | None
    rounds: SSAValue | None = None

    @property
    def step(self) -> int:
        """What divides every stride but the last, in elements: those of a descriptor are multiples of 16 bytes."""
        if self.padding is None:
            return 1
        return max(1, ALIGNMENT * 8 // max(8, bits(self.base.type.pointee)))

    def flat(self) -> list[SSAValue]:
        last = [flag for flag in (self.padding, self.rounds) if flag is not None]
        return [self.base, *self.shape, *self.strides, *self.offsets, *last]

    @staticmethod
    def of(type: Attribute, values: Sequence[SSAValue]) -> "Parts":
        """The parts from their flat list."""
        if type.name == "tt.tensordesc":
            rank = len(shape(type.block))
            return Parts(values[0], values[1 : 1 + rank], values[1 + rank : 1 + 2 * rank], (), *values[-2:])
        rank = len(shape(type.pointee))
        sizes, strides, offsets = (values[1 + n * rank : 1 + (n + 1) * rank] for n in range(3))
        return Parts(values[0], sizes, strides, offsets, None)


@dataclass
class Maker:
    """Makes ops before `anchor`, at its place, and none where a constant does."""

    anchor: Operation
    location: LocationAttr

    def insert(self, op: Operation) -> SSAValue:
        self.anchor.parent.insert_op_before(op, self.anchor)
        return op.results[0] if op.results else None  # type: ignore[return-value]

    def op(self, name: str, type: Attribute, *operands: SSAValue | None, **properties: Any) -> SSAValue:
        return self.insert(OPS[name](*operands, results=[type], location=self.location, **properties))

    def constant(self, value: int | float | bool, type: Attribute) -> SSAValue:
        return self.insert(constant(value, type, self.location))

    def splat(self, value: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
        return self.op("tt.splat", tensor(value.type, sizes), value)

    def placed(self, value: SSAValue, dim: int, rank: int) -> SSAValue:
        """A tile of rank 1 along dimension `dim` of rank `rank`: the others have size 1."""
        for axis in range(rank):
            if axis != dim:
                sizes = shape(value.type)
                type_ = tensor(element(value.type), (*sizes[:axis], 1, *sizes[axis:]))
                value = self.op("tt.expand_dims", type_, value, axis=int_attr(axis))
        return value

    def repeated(self, value: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
        if shape(value.type) == sizes:
            return value
        return self.op("tt.broadcast", tensor(element(value.type), sizes), value)

    def reshaped(self, value: SSAValue, type: Attribute) -> SSAValue:
        return value if value.type == type else self.op("tt.reshape", type, value)

    def both(self, a: SSAValue | None, b: SSAValue | None) -> SSAValue | None:
        """The and of two masks, of which either may be missing."""
        if a is None or b is None:
            return b if a is None else a
        return self.op("arith.andi", a.type, a, b)


@dataclass
class Access:
    """A tile of pointers `ptr`, and the `mask` of those inside of the tensor (None: all of them)."""

    make: Maker
    parts: Parts
    ptr: SSAValue
    mask: SSAValue | None
    sizes: tuple[int, ...] = field(default=())

    @staticmethod
    def block(
        make: Maker, parts: Parts, tile: Attribute, offsets: Sequence[SSAValue], checked: Sequence[int]
    ) -> "Access":
        """The block at `offsets` (i64); the dimensions in `checked` may run over."""
        sizes = shape(tile)
        ranges = [make.op("tt.make_range", tensor(i32, (n,)), start=int_attr(0), end=int_attr(n)) for n in sizes]
        ptr = make.splat(_start(make, parts, offsets), sizes)
        mask = None
        for dim, steps in enumerate(ranges):
            ptr = _moved(make, ptr, steps, parts, dim)
            if dim in checked:
                inside = _inside(make, steps, offsets[dim], parts.shape[dim])
                mask = make.both(mask, make.repeated(make.placed(inside, dim, len(sizes)), sizes))
        return Access(make, parts, ptr, mask, sizes)

    @staticmethod
    def rows(make: Maker, parts: Parts, tile: Attribute, rows: SSAValue, column: SSAValue) -> "Access":
        """Rows `rows` (a tile of i32), columns from `column` (i32) on."""
        sizes = shape(tile)
        start = make.op("arith.extsi", i64, column)
        base = _start(make, parts, (make.constant(0, i64), start))
        columns = make.op("tt.make_range", tensor(i32, sizes[1:]), start=int_attr(0), end=int_attr(sizes[1]))
        ptr = _moved(make, make.splat(base, sizes), rows, parts, 0)
        ptr = _moved(make, ptr, columns, parts, 1)
        mask = make.repeated(make.placed(_rows_inside(make, rows, parts.shape[0]), 0, 2), sizes)
        inside = _inside(make, columns, start, parts.shape[1])
        return Access(make, parts, ptr, make.both(mask, make.repeated(make.placed(inside, 1, 2), sizes)), sizes)

    def load(self, op: Operation, nan: SSAValue | bool | None) -> SSAValue:
        """Reads the tile. nan: what is outside (false for zero, true for NaN, or an i1 value that says so; None.

        Anything).
        """
        type_ = tensor(element(self.parts.base.type.pointee), self.sizes)
        other = None if self.mask is None or nan is None else self._padding(nan, type_)
        hints = _hints(op, "cache", "evict", "isVolatile")
        loaded = self.make.op("tt.load", type_, self.ptr, self.mask, other, **hints)
        rounds = self.parts.rounds
        if rounds is None or number(rounds) == 0 or element(type_) != f32:
            return loaded
        rounded = _as_tf32(self.make, loaded)
        return rounded if number(rounds) else self.make.op("arith.select", type_, rounds, rounded, loaded)

    def _padding(self, nan: SSAValue | bool, type_: Attribute) -> SSAValue:
        known = nan if isinstance(nan, bool) else number(nan)
        is_float = isinstance(element(type_), AnyFloat)
        if known is not None or not is_float:
            return self.make.constant(math.nan if known and is_float else 0, type_)
        scalar = element(type_)
        values = self.make.constant(math.nan, scalar), self.make.constant(0.0, scalar)
        return self.make.splat(self.make.op("arith.select", scalar, nan, *values), self.sizes)

    def store(self, op: Operation, value: SSAValue) -> None:
        hints = _hints(op, "cache", "evict")
        self.make.insert(OPS["tt.store"](self.ptr, value, self.mask, location=self.make.location, **hints))

    def reduce(self, kind: str, value: SSAValue) -> None:
        """Combines the tile into memory atomically."""
        is_float = isinstance(element(value.type), AnyFloat)
        word = f"f{kind}" if is_float and kind in ("add", "min", "max") else kind
        words = {"atomic_rmw_op": keyword(word), "sem": keyword("relaxed"), "scope": keyword("gpu")}
        self.make.op("tt.atomic_rmw", value.type, self.ptr, value, self.mask, **words)


def _as_tf32(make: Maker, value: SSAValue) -> SSAValue:
    """f32 with 10 bits of mantissa, to nearest even; infinities and NaN stay."""
    type_ = tensor(i32, shape(value.type))

    def const(number: int) -> SSAValue:
        return make.constant(number, type_)

    bits = make.op("tt.bitcast", type_, value)
    odd = make.op("arith.andi", type_, make.op("arith.shrui", type_, bits, const(13)), const(1))
    moved = make.op("arith.addi", type_, bits, make.op("arith.addi", type_, odd, const(0xFFF)))
    rounded = make.op("arith.andi", type_, moved, const(-0x2000))
    exponent = make.op("arith.andi", type_, bits, const(0x7F800000))
    special = make.op("arith.cmpi", tensor(i1, shape(type_)), exponent, const(0x7F800000), predicate=keyword("eq"))
    return make.op("tt.bitcast", value.type, make.op("arith.select", type_, special, bits, rounded))


def _hints(op: Operation, *names: str) -> dict[str, Attribute]:
    return {name: op.properties[name] for name in names if name in op.properties}


def _start(make: Maker, parts: Parts, offsets: Sequence[SSAValue]) -> SSAValue:
    """The pointer to the element at `offsets`. Rows of a descriptor start at multiples of 16 bytes."""
    *outer, (inner, step) = zip(offsets, parts.strides, strict=True)
    moves = [make.op("arith.muli", i64, offset, stride) for offset, stride in outer if number(offset) != 0]
    described = parts.padding is not None
    if not moves and described and isinstance(parts.base.owner, Operation):
        moves = [make.constant(0, i64)]
    base = parts.base
    if moves:
        row = reduce(lambda a, b: make.op("arith.addi", i64, a, b), moves)
        base = promised(make.op("tt.addptr", base.type, base, row), ALIGNMENT if described else 1)
    if number(inner) != 0:
        base = make.op("tt.addptr", base.type, base, make.op("arith.muli", i64, inner, step))
    return base


def promised(value: SSAValue, divisor: int) -> SSAValue:
    """The value, with a note that `divisor` divides it everywhere (pointers: in bytes)."""
    if divisor > 1 and isinstance(value.owner, Operation):
        rank = max(1, len(shape(value.type)))
        value.owner.attributes["tt.divisibility"] = DenseIntOrFPElementsAttr.from_list(
            TensorType(i32, [rank]), [divisor] * rank
        )
    return value


def _moved(make: Maker, ptr: SSAValue, steps: SSAValue, parts: Parts, dim: int) -> SSAValue:
    """Pointers moved along one dimension by steps * stride; the product is i64 unless the stride is 1."""
    sizes, stride = shape(ptr.type), parts.strides[dim]
    if number(stride) != 1:
        wide = make.op("arith.extsi", tensor(i64, shape(steps.type)), steps)
        steps = make.op("arith.muli", wide.type, wide, make.splat(stride, shape(wide.type)))
        steps = promised(steps, parts.step if dim < len(sizes) - 1 else 1)
    offset = make.repeated(make.placed(steps, dim, len(sizes)), sizes)
    return make.op("tt.addptr", ptr.type, ptr, offset)


def _inside(make: Maker, steps: SSAValue, offset: SSAValue, extent: SSAValue) -> SSAValue:
    """Which of 0, 1, ... n - 1 (`steps`) are inside when moved by `offset`: -offset <= step < extent - offset.

    Both bounds are clamped to 0 ... n, so that the tile compares in i32.
    """
    (count,) = shape(steps.type)
    limit = _bound(make, make.op("arith.subi", i64, extent, offset), count)
    mask = make.op("arith.cmpi", tensor(i1, (count,)), steps, make.splat(limit, (count,)), predicate=keyword("slt"))
    known = number(offset)
    if known is not None and known >= 0:
        return mask
    low = _bound(make, make.op("arith.subi", i64, make.constant(0, i64), offset), count)
    above = make.op("arith.cmpi", mask.type, steps, make.splat(low, (count,)), predicate=keyword("sge"))
    return make.op("arith.andi", mask.type, mask, above)


def _bound(make: Maker, value: SSAValue, count: int) -> SSAValue:
    low = make.op("arith.maxsi", i64, value, make.constant(0, i64))
    return make.op("arith.trunci", i32, make.op("arith.minsi", i64, low, make.constant(count, i64)))


def _rows_inside(make: Maker, rows: SSAValue, extent: SSAValue) -> SSAValue:
    (count,) = shape(rows.type)
    wide = make.op("arith.extsi", tensor(i64, (count,)), rows)
    mask = tensor(i1, (count,))
    below = make.op("arith.cmpi", mask, wide, make.splat(extent, (count,)), predicate=keyword("slt"))
    zero = make.constant(0, wide.type)
    return make.op("arith.andi", mask, below, make.op("arith.cmpi", mask, wide, zero, predicate=keyword("sge")))
