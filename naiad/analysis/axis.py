"""What is known of index and pointer tiles along each dimension: runs that count up, runs that stay, and divisibility.

    contiguity[d]    runs of this many elements along d count up by one (pointers: by one element)
    divisibility[d]  the first element of every such run is a multiple of this (pointers: in bytes)
    constancy[d]     runs of this many elements along d are equal

All are powers of two. Scalars have one dimension of size 1. `AxisInfo.of(function)` walks the function once; loops go
to a
fixpoint. Coalescing, vector widths and pipelining read it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from naiad.ir.base import bits, element, shape
from naiad.ir.constants import SplatAttr, number
from naiad.ir.types import PointerType

__all__ = ["Axis", "AxisInfo", "Known"]

BIG = 1 << 40


def power(value: int) -> int:
    """The largest power of two that divides `value`."""
    return BIG if value == 0 else min(BIG, value & -value)


@dataclass(frozen=True)
class Axis:
    """What is known along one dimension."""

    contiguity: int = 1
    divisibility: int = 1
    constancy: int = 1

    def start_of(self, run: int, bytes_each: int = 1) -> int:
        """The divisibility of the starts of runs of `run` elements, where longer runs are cut into such."""
        return self.divisibility if self.contiguity <= run else math.gcd(self.divisibility, run * bytes_each)

    def meet(self, other: "Axis") -> "Axis":
        """What holds of both."""
        contiguity = math.gcd(self.contiguity, other.contiguity)
        divisibility = math.gcd(self.start_of(contiguity), other.start_of(contiguity))
        return Axis(contiguity, divisibility, math.gcd(self.constancy, other.constancy))


@dataclass(frozen=True)
class Known:
    """What is known of a value: an `Axis` per dimension, and the number it is everywhere, if that is known."""

    axes: tuple[Axis, ...]
    constant: int | None = None

    @property
    def divisibility(self) -> int:
        """What divides every element."""
        return min((a.start_of(1) for a in self.axes), default=1)


def sizes(type: Attribute) -> tuple[int, ...]:
    return shape(type) or (1,)


def unknown(type: Attribute) -> Known:
    """Nothing but the natural alignment of pointers."""
    return Known((Axis(),) * len(sizes(type)))


def pointee_bytes(type: Attribute) -> int:
    scalar = element(type)
    return max(1, bits(scalar.pointee) // 8) if isinstance(scalar, PointerType) else 1


Rule = Callable[[Operation, list[Known]], Known]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


@rule("arith.constant")
def constant(op: Operation, _: list[Known]) -> Known:
    value = number(op)
    dims = sizes(op.results[0].type)
    if not isinstance(value, int):
        return Known(tuple(Axis(1, 1, size if value is not None else 1) for size in dims))
    return Known(tuple(Axis(1, power(value), size) for size in dims), int(value))


@rule("tt.make_range")
def make_range(op: Operation, _: list[Known]) -> Known:
    return Known((Axis(shape(op.results[0].type)[0], power(op.properties["start"].value.data), 1),))


@rule("tt.splat")
def splat(op: Operation, inputs: list[Known]) -> Known:
    dims = sizes(op.results[0].type)
    return Known(tuple(Axis(1, inputs[0].divisibility, size) for size in dims), inputs[0].constant)


@rule("tt.expand_dims")
def expand_dims(op: Operation, inputs: list[Known]) -> Known:
    axes, at = list(inputs[0].axes), op.properties["axis"].value.data
    axes.insert(at, Axis(1, inputs[0].divisibility, 1))
    return Known(tuple(axes), inputs[0].constant)


@rule("tt.broadcast")
def broadcast(op: Operation, inputs: list[Known]) -> Known:
    pairs = zip(inputs[0].axes, sizes(op.operands[0].type), sizes(op.results[0].type), strict=True)
    axes = [Axis(1, a.start_of(1), new) if old == 1 and new > 1 else a for a, old, new in pairs]
    return Known(tuple(axes), inputs[0].constant)


@rule("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui", "tt.bitcast",
      "ttg.convert_layout", "tt.int_to_ptr", "tt.ptr_to_int")  # fmt: skip
def same(op: Operation, inputs: list[Known]) -> Known:
    if pointee_bytes(op.operands[0].type) != pointee_bytes(op.results[0].type):
        return Known(tuple(Axis(1, a.start_of(1), a.constancy) for a in inputs[0].axes))
    return inputs[0]


@rule("tt.trans")
def trans(op: Operation, inputs: list[Known]) -> Known:
    return Known(tuple(inputs[0].axes[d] for d in op.properties["order"].get_values()), inputs[0].constant)


@rule("tt.load")
def load(op: Operation, inputs: list[Known]) -> Known:
    constancy = [1 if len(sizes(op.results[0].type)) == 0 else a.constancy for a in inputs[0].axes]
    for other in inputs[1:]:
        constancy = [math.gcd(c, a.constancy) for c, a in zip(constancy, other.axes, strict=True)]
    return Known(tuple(Axis(1, 1, c) for c in constancy))


def combine(inputs: list[Known], along: Callable[[Axis, Axis], Axis], folded: int | None = None) -> Known:
    """A binary op, dimension by dimension."""
    return Known(tuple(map(along, inputs[0].axes, inputs[1].axes)), folded)


def fold(inputs: list[Known], compute: Callable[[int, int], int]) -> int | None:
    """The result on constants, or None."""
    a, b = inputs[0].constant, inputs[1].constant
    return None if a is None or b is None else compute(a, b)


@rule("arith.addi", "tt.addptr")
def add(op: Operation, inputs: list[Known]) -> Known:
    scale = pointee_bytes(op.results[0].type)

    def along(a: Axis, b: Axis) -> Axis:
        run = max(math.gcd(a.contiguity, b.constancy), math.gcd(a.constancy, b.contiguity))
        divisibility = math.gcd(a.start_of(run, scale), min(BIG, b.start_of(run) * scale))
        return Axis(run, divisibility, math.gcd(a.constancy, b.constancy))

    return combine(inputs, along, fold(inputs, lambda a, b: a + b) if op.name == "arith.addi" else None)


@rule("arith.subi")
def subtract(op: Operation, inputs: list[Known]) -> Known:
    def along(a: Axis, b: Axis) -> Axis:
        run = math.gcd(a.contiguity, b.constancy)
        return Axis(run, math.gcd(a.start_of(run), b.start_of(run)), math.gcd(a.constancy, b.constancy))

    return combine(inputs, along, fold(inputs, lambda a, b: a - b))


@rule("arith.muli")
def multiply(op: Operation, inputs: list[Known]) -> Known:
    if 1 in (inputs[0].constant, inputs[1].constant):
        return inputs[1] if inputs[0].constant == 1 else inputs[0]

    def along(a: Axis, b: Axis) -> Axis:
        return Axis(1, min(BIG, a.start_of(1) * b.start_of(1)), math.gcd(a.constancy, b.constancy))

    return combine(inputs, along, fold(inputs, lambda a, b: a * b))


@rule("arith.shli")
def shift_left(op: Operation, inputs: list[Known]) -> Known:
    by = inputs[1].constant
    factor = 1 << by if by is not None and 0 <= by < 40 else 1
    return combine(inputs, lambda a, b: Axis(1, min(BIG, a.start_of(1) * factor), math.gcd(a.constancy, b.constancy)))


@rule("arith.divsi", "arith.divui", "arith.shrui", "arith.shrsi")
def divide(op: Operation, inputs: list[Known]) -> Known:
    by = inputs[1].constant
    if by is not None and op.name.startswith("arith.shr"):
        by = 1 << by
    if by == 1:
        return inputs[0]
    exact = by is not None and by > 0 and by & (by - 1) == 0

    def along(a: Axis, b: Axis) -> Axis:
        divisor = by if exact else b.start_of(1) if not op.name.startswith("arith.shr") else 1
        runs = math.gcd(math.gcd(a.contiguity, a.divisibility), math.gcd(divisor, b.constancy))
        divisibility = max(1, a.start_of(1) // by) if by is not None and exact else 1
        return Axis(1, divisibility, max(runs, math.gcd(a.constancy, b.constancy)))

    return combine(inputs, along)


@rule("arith.remsi", "arith.remui")
def remainder(op: Operation, inputs: list[Known]) -> Known:
    def along(a: Axis, b: Axis) -> Axis:
        run = math.gcd(math.gcd(a.contiguity, a.divisibility), math.gcd(b.start_of(1), b.constancy))
        divisibility = math.gcd(a.start_of(run), b.start_of(1))
        return Axis(run, divisibility, math.gcd(a.constancy, b.constancy))

    return combine(inputs, along)


@rule("arith.andi", "arith.ori", "arith.xori", "arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui", "arith.cmpf")
def bitwise(op: Operation, inputs: list[Known]) -> Known:
    keeps = op.name in ("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui", "arith.ori", "arith.xori")

    def along(a: Axis, b: Axis) -> Axis:
        divisibility = math.gcd(a.start_of(1), b.start_of(1)) if keeps else max(a.start_of(1), b.start_of(1))
        return Axis(1, divisibility, math.gcd(a.constancy, b.constancy))

    return combine(inputs, along)


STARTS_DECIDE = {"slt", "sge", "ult", "uge"}
"""a < b is the same for a whole run of a that starts at a multiple of what divides b; mirrored for the others."""


@rule("arith.cmpi")
def compare(op: Operation, inputs: list[Known]) -> Known:
    predicate = op.properties["predicate"].data
    if predicate in ("eq", "ne"):
        return combine(inputs, lambda a, b: Axis(1, 1, math.gcd(a.constancy, b.constancy)))

    def along(a: Axis, b: Axis) -> Axis:
        run, bound = (a, b) if predicate in STARTS_DECIDE else (b, a)
        runs = math.gcd(math.gcd(run.contiguity, run.divisibility), math.gcd(bound.start_of(1), bound.constancy))
        return Axis(1, 1, max(runs, math.gcd(a.constancy, b.constancy)))

    return combine(inputs, along)


@rule("arith.select")
def select(op: Operation, inputs: list[Known]) -> Known:
    condition, a, b = inputs
    if len(condition.axes) != len(a.axes) or not shape(op.operands[0].type):
        conditions = [BIG] * len(a.axes)
    else:
        conditions = [c.constancy for c in condition.axes]
    axes = []
    for x, y, c in zip(a.axes, b.axes, conditions, strict=True):
        run = math.gcd(math.gcd(x.contiguity, y.contiguity), c)
        constancy = math.gcd(math.gcd(x.constancy, y.constancy), c)
        axes.append(Axis(run, math.gcd(x.start_of(run), y.start_of(run)), constancy))
    return Known(tuple(axes))


HINTS = ("tt.contiguity", "tt.divisibility", "tt.constancy")


def hint(attribute: Attribute | None) -> tuple[int, ...]:
    """The numbers of a hint: an integer, a splat, a list."""
    match attribute:
        case IntegerAttr():
            return (attribute.value.data,)
        case SplatAttr():
            return (int(attribute.value.data),) * sizes(attribute.type)[0]
        case DenseIntOrFPElementsAttr():
            return tuple(int(v) for v in attribute.get_values())
        case ArrayAttr():
            return tuple(a.value.data for a in attribute)
    return ()


def hinted(known: Known, attributes: dict[str, Attribute]) -> Known:
    """What the kernel's author promises (`tl.multiple_of`, divisibility of arguments) on top of what is known."""
    axes = list(known.axes)
    for name in HINTS:
        field = name.split(".")[1]
        for d, value in enumerate(hint(attributes.get(name))[: len(axes)]):
            axes[d] = replace(axes[d], **{field: max(getattr(axes[d], field), power(value))})
    return replace(known, axes=tuple(axes))


class AxisInfo:
    """What is known of each value of a function."""

    def __init__(self) -> None:
        self.known: dict[SSAValue, Known] = {}

    @classmethod
    def of(cls, function: Operation) -> "AxisInfo":
        """Walks a tt.func."""
        info = cls()
        block = function.regions[0].blocks[0]
        attributes = getattr(function, "arg_attrs", None)
        for n, argument in enumerate(block.args):
            given = attributes.data[n].data if attributes is not None else {}
            info.known[argument] = hinted(unknown(argument.type), given)
        info._block(block)
        return info

    def __getitem__(self, value: SSAValue) -> Known:
        found = self.known.get(value)
        return unknown(value.type) if found is None else found

    def vector(self, ptr: SSAValue, dim: int) -> int:
        """How many elements along `dim` one access through `ptr` may take: contiguous and aligned, 16 bytes at most."""
        axis, size = self[ptr].axes[dim], pointee_bytes(ptr.type)
        return max(1, min(axis.contiguity, axis.divisibility // size, 16 // size))

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        if op.name == "scf.for":
            self._loop(op)
        elif op.name == "scf.if":
            self._branch(op)
        elif op.regions:
            for region in op.regions:
                for block in region.blocks:
                    self._block(block)
        elif op.results and (found := RULES.get(op.name)) is not None:
            self.known[op.results[0]] = found(op, [self[o] for o in op.operands])
        if op.attributes and op.results:
            self.known[op.results[0]] = hinted(self[op.results[0]], op.attributes)

    def _loop(self, op: Operation) -> None:
        low, _, step, *firsts = op.operands
        block = op.regions[0].blocks[0]
        start = math.gcd(self[low].divisibility, self[step].divisibility)
        self.known[block.args[0]] = Known((Axis(1, start, 1),))
        assumed = [self[f] for f in firsts]
        for _ in range(8):
            self.known.update(zip(block.args[1:], assumed, strict=True))
            self._block(block)
            met = self._meet(assumed, block.last_op.operands)
            if met == assumed:
                break
            assumed = met
        else:
            assumed = [unknown(f.type) for f in firsts]
            self.known.update(zip(block.args[1:], assumed, strict=True))
            self._block(block)
        self.known.update(zip(op.results, assumed, strict=True))

    def _meet(self, known: list[Known], values: Iterable[SSAValue]) -> list[Known]:
        return [meet(a, self[v]) for a, v in zip(known, values, strict=True)]

    def _branch(self, op: Operation) -> None:
        ends = []
        for region in op.regions:
            for block in region.blocks:
                self._block(block)
                ends.append([self[v] for v in block.last_op.operands])
        if len(ends) == 2:
            self.known.update(zip(op.results, map(meet, *ends), strict=True))


def meet(a: Known, b: Known) -> Known:
    """What holds of both."""
    axes = tuple(x.meet(y) for x, y in zip(a.axes, b.axes, strict=True))
    return Known(axes, a.constant if a.constant == b.constant else None)
