"""What a tile holds at an index that runs along lanes: one value, an arithmetic sequence, or a vector.

Addresses and masks are built from `arange`; keeping them as (base, step) is how contiguous access is recognised.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from naiad.backends.cpu.tiles.facts import Facts
from naiad.backends.cpu.tiles.writer import Writer
from naiad.ir.attributes import attribute
from naiad.ir.base import bits, vector
from naiad.ir.registry import OPS
from naiad.ir.types import PointerType

LARGE_FACTOR = 1 << 20
"""Products with a constant of this size are taken for hashing, where the wrap-around of i32 is meant."""


DIVISOR_RANGE = 30
"""A divisor between 2^-30 and 2^30 is simple: see `backends/cpu/lower_divide.py`."""


@dataclass(frozen=True)
class Uniform:
    """The same scalar in every lane."""

    value: SSAValue

    def __hash__(self) -> int:  # as with all lanes: that of the value, not that of everything in it
        return id(self.value)

    @property
    def type(self) -> Attribute:
        return self.value.type


@dataclass(frozen=True)
class Affine:
    """base + lane * step. base: i64 or a scalar pointer; step: i64, in elements for a pointer.

    `type` is the scalar type that the program gave it (i32, i64, a pointer). Integer sequences are kept in 64 bits:
    equal to the program's value modulo its width, and to the value itself as long as index arithmetic does not
    overflow.
    """

    base: SSAValue
    step: SSAValue
    type: Attribute

    def __hash__(self) -> int:
        return id(self.base) ^ id(self.step)


@dataclass(frozen=True)
class Vector:
    """One value per lane."""

    value: SSAValue

    def __hash__(self) -> int:
        return id(self.value)

    @property
    def type(self) -> Attribute:
        return self.value.type.element_type


Lanes: TypeAlias = Uniform | Affine | Vector


def sequence(w: Writer, base: SSAValue, type: Attribute = i64, step: int = 1) -> Affine:
    """base, base + step, ..."""
    return Affine(base, w.index(step), type)


def as_vector(w: Writer, lanes: Lanes, count: int) -> SSAValue:
    """The lanes as a vector value; for one lane as a scalar."""
    match lanes:
        case Vector(value):
            return value
        case Uniform(value):
            return value if count == 1 else w.splat(value, count)
        case Affine(base, step, type) if isinstance(type, PointerType):
            if count == 1:
                return base
            offsets = w.pure("arith.muli", (w.iota(i64, count), w.splat(step, count)), w.iota(i64, count).type)
            offsets = w.iota(i64, count) if w.constants.get(step) == 1 else offsets
            pointers = w.splat(base, count)
            return w.pure("tt.addptr", (pointers, offsets), pointers.type)
        case Affine(base, step, type):
            start = w.narrow(base, type)
            if count == 1:
                return start
            ramp = w.iota(type, count)
            if w.constants.get(step) != 1:
                ramp = w.pure("arith.muli", (ramp, w.splat(w.narrow(step, type), count)), ramp.type)
            return w.pure("arith.addi", (w.splat(start, count), ramp), ramp.type)


def as_scalar(w: Writer, lanes: Lanes) -> SSAValue:
    """Lane 0."""
    match lanes:
        case Uniform(value):
            return value
        case Affine(base, _, type):
            return base if isinstance(type, PointerType) else w.narrow(base, type)
        case Vector(value):
            return w.extract(value, 0)


def is_index(type: Attribute) -> bool:
    """Whether sequences of the type are kept as such."""
    return isinstance(type, PointerType) or type in (i32, i64)


def wide(w: Writer, lanes: Lanes) -> tuple[SSAValue, SSAValue] | None:
    """(base, step) in 64 bits of an integer that is uniform or a sequence."""
    match lanes:
        case Uniform(value) if isinstance(value.type, IntegerType):
            return w.widen(value), w.index(0)
        case Affine(base, step, type) if not isinstance(type, PointerType):
            return base, step
    return None


def _settle(w: Writer, base: SSAValue, step: SSAValue, type: Attribute) -> Lanes:
    """A sequence, or a uniform value where the step is 0."""
    if w.constants.get(step) == 0:
        return Uniform(base if isinstance(type, PointerType) else w.narrow(base, type))
    return Affine(base, step, type)


def affine(w: Writer, name: str, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    """The op on sequences where its result is uniform or a sequence again; None where it is not.

    Only called where at least one operand is a sequence.
    """
    if not is_index(type) or (rule := RULES.get(name)) is None:
        return None
    return rule(w, operands, type, count)


def _pairs(w: Writer, operands: list[Lanes]) -> list[tuple[SSAValue, SSAValue]] | None:
    pairs = [wide(w, o) for o in operands]
    return None if None in pairs else pairs  # type: ignore[return-value]


def _add(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    if (pairs := _pairs(w, operands)) is None:
        return None
    (a, s), (b, t) = pairs
    return _settle(w, w.add(a, b), w.add(s, t), type)


def _sub(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    if (pairs := _pairs(w, operands)) is None:
        return None
    (a, s), (b, t) = pairs
    return _settle(w, w.sub(a, b), w.sub(s, t), type)


def _mul(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    if (pairs := _pairs(w, operands)) is None:
        return None
    (a, s), (b, t) = pairs
    if w.constants.get(s) == 0:
        (a, s), (b, t) = (b, t), (a, s)
    factor = w.constants.get(b)
    if w.constants.get(t) != 0 or (factor is not None and abs(factor) >= LARGE_FACTOR):
        return None
    return _settle(w, w.mul(a, b), w.mul(s, b), type)


def _shift_left(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    amount = operands[1]
    shift = w.constants.get(amount.value) if isinstance(amount, Uniform) else None
    if shift is None or not 0 <= shift < 20:
        return None
    return _mul(w, [operands[0], Uniform(w.index(1 << int(shift)))], type, count)


def _resize(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    [source] = operands
    return Affine(source.base, source.step, type) if isinstance(source, Affine) and is_index(source.type) else None


def _zero_extend(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    [source] = operands
    if isinstance(source, Affine) and w.known(source.base).nonnegative and (w.constants.get(source.step) or -1) > 0:
        return _resize(w, operands, type, count)
    return None


def _move(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    ptr, offset = operands
    if isinstance(ptr, Vector) or (pair := wide(w, offset)) is None:
        return None
    base, step = pair
    if isinstance(ptr, Uniform):
        return _settle(w, w.move(ptr.value, base), step, type)
    return _settle(w, w.move(ptr.base, base), w.add(ptr.step, step), type)


def _retype_pointer(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    [source] = operands
    if not (isinstance(source, Affine) and isinstance(type, PointerType) and isinstance(source.type, PointerType)):
        return None
    if max(bits(type.pointee), 8) != max(bits(source.type.pointee), 8):
        return None
    return Affine(w.pure("tt.bitcast", (source.base,), type), source.step, type)


def _aligned(w: Writer, operands: list[Lanes], count: int) -> tuple[SSAValue, SSAValue] | None:
    """(base, divisor), in the program's own width, where the lanes b, b+1, ... start at a multiple of the lane count,
    and the divisor is one."""
    source, divisor = operands
    if not isinstance(source, Affine) or w.constants.get(source.step) != 1 or not isinstance(divisor, Uniform):
        return None
    if w.known(source.base).divisor % count or not w.take_nonnegative(source.base):
        return None
    if not w.take_multiple(divisor.value, count):
        return None
    return w.narrow(source.base, source.type), divisor.value


def _remainder(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    if (found := _within_row(w, operands, count)) is not None:
        return Affine(w.early("arith.remsi", *found), w.index(1), type)
    if (found := _aligned(w, operands, count)) is None:
        return None
    return Affine(w.widen(w.integer("arith.remsi", *found)), w.index(1), type)


def _quotient(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
    if (found := _within_row(w, operands, count) or _aligned(w, operands, count)) is None:
        return None
    return Uniform(w.narrow(w.integer("arith.divsi", *found), type))


def _unsigned(rule: Callable[..., Lanes | None]) -> Callable[..., Lanes | None]:
    """The rule for numbers without a sign, where the divisor is one with a sign as well."""

    def either(w: Writer, operands: list[Lanes], type: Attribute, count: int) -> Lanes | None:
        divisor = operands[1]
        fits = isinstance(divisor, Uniform) and w.take_nonnegative(divisor.value)
        return rule(w, operands, type, count) if fits else None

    return either


def _within_row(w: Writer, operands: list[Lanes], count: int) -> tuple[SSAValue, SSAValue] | None:
    """(base, divisor) where the lanes b, b+1, ... may be taken to have one quotient, though not all vectors have."""
    source, divisor = operands
    if not isinstance(source, Affine) or w.constants.get(source.step) != 1 or not isinstance(divisor, Uniform):
        return None
    wide_divisor = w.widen(divisor.value)
    if w.known(wide_divisor).divisor % count == 0 or not w.take_within_row(source.base, wide_divisor, count):
        return None
    return (source.base, wide_divisor) if w.take_nonnegative(source.base) else None


RULES = {
    "arith.addi": _add,
    "arith.subi": _sub,
    "arith.muli": _mul,
    "arith.shli": _shift_left,
    "arith.extsi": _resize,
    "arith.trunci": _resize,
    "arith.extui": _zero_extend,
    "arith.remsi": _remainder,
    "arith.remui": _unsigned(_remainder),
    "arith.divsi": _quotient,
    "arith.divui": _unsigned(_quotient),
    "tt.addptr": _move,
    "tt.bitcast": _retype_pointer,
}


def elementwise(
    w: Writer, name: str, operands: list[Lanes], types: list[Attribute], count: int, properties: dict[str, Attribute]
) -> tuple[Lanes, ...]:
    """An elementwise op on lanes. types: the scalar types of its results."""
    if all(isinstance(o, Uniform) for o in operands):
        values = [o.value for o in operands if isinstance(o, Uniform)]
        return tuple(Uniform(v) for v in scalar_op(w, name, values, types, properties))
    is_sequence = len(types) == 1 and any(isinstance(o, Affine) for o in operands)
    if is_sequence and (result := affine(w, name, operands, types[0], count)) is not None:
        return (result,)
    if name == "arith.cmpi" and (mask := compared_with_limit(w, operands, count, properties)) is not None:
        return (mask,)
    if name in ("arith.divf", "tt.precise_divf") and (quotient := divided_by_one(w, operands, count)) is not None:
        return (quotient,)
    values = [as_vector(w, o, count) for o in operands]
    made = w.pure_many(name, values, [lanes_type(t, count) for t in types], properties)
    return tuple(Vector(v) if count > 1 else Uniform(v) for v in made)


def compared_with_limit(w: Writer, operands: list[Lanes], count: int, properties: dict[str, Attribute]) -> Lanes | None:
    """base + lane < limit as lane < limit - base: a constant ramp against one scalar, which neighbouring vectors
    share."""
    ramp, limit = operands
    predicate = properties["predicate"].data
    if predicate not in ("slt", "sge", "sle", "sgt") or count == 1:
        return None
    if not (isinstance(ramp, Affine) and isinstance(limit, Uniform)) or w.constants.get(ramp.step) != 1:
        return None
    root, near = w.offsets.get(ramp.base, (ramp.base, 0))
    least = 0 if predicate in ("slt", "sge") else -1
    room = w.sub(w.widen(limit.value), root)
    room = w.integer("arith.minsi", w.integer("arith.maxsi", room, w.index(least)), w.index((1 << 31) - 1))
    lanes = w.iota(i32, count)
    if near:
        lanes = w.pure("arith.addi", (lanes, w.splat(w.constant(near, i32), count)), lanes.type)
    operands_ = (lanes, w.splat(w.narrow(room, i32), count))
    return Vector(w.pure("arith.cmpi", operands_, vector(i1, count), **properties))


def divided_by_one(w: Writer, operands: list[Lanes], count: int) -> Lanes | None:
    """A vector over a scalar: with the reciprocal at hand, which is made outside of the loop, it needs no division."""
    source, divisor = operands
    if count == 1 or not isinstance(source, Vector) or not isinstance(divisor, Uniform) or divisor.type != f32:
        return None
    d = divisor.value
    reciprocal = w.pure("arith.divf", (w.constant(1.0, f32), d), f32)
    size = w.pure("math.absf", (d,), f32)
    bounds = (("oge", 2.0**-DIVISOR_RANGE), ("ole", 2.0**DIVISOR_RANGE))
    named = [(attribute(OPS["arith.cmpf"], "predicate", word), limit) for word, limit in bounds]
    inside = [w.pure("arith.cmpf", (size, w.constant(limit, f32)), i1, predicate=p) for p, limit in named]
    simple = w.pure("arith.andi", inside, i1)
    return Vector(w.pure("ttc.divide", (source.value, d, reciprocal, simple), source.value.type))


def lanes_type(type: Attribute, count: int) -> Attribute:
    """The type of `count` lanes: a vector, or the scalar type for one."""
    return vector(type, count) if count > 1 else type


def scalar_op(
    w: Writer, name: str, values: list[SSAValue], types: list[Attribute], properties: dict[str, Attribute]
) -> tuple[SSAValue, ...]:
    """An op on scalars, with what is known of integer results recorded."""
    if len(values) == 2 and name.startswith("arith.") and values[0].type in (i32, i64) and values[0].type == types[0]:
        return (w.integer(name, *values),)
    result = w.pure_many(name, values, types, properties)
    if name in ("arith.extsi", "arith.trunci") and result[0] not in w.facts and values[0].type != i1:
        known = w.known(values[0])
        w.facts[result[0]] = known if name == "arith.extsi" else Facts(known.divisor, frozenset(result))
    return result
