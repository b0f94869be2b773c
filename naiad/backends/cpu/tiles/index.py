"""Where in a tile: one `Lanes` per dimension. Uniform parts are i64, those that differ from lane to lane are i32."""

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from naiad.backends.cpu.tiles.lanes import Affine, Lanes, Uniform, Vector, as_vector, sequence, wide
from naiad.backends.cpu.tiles.writer import Writer

Index: TypeAlias = tuple[Lanes, ...]


def uniform(*values: SSAValue) -> Index:
    """The index of one element."""
    return tuple(Uniform(v) for v in values)


def along(w: Writer, base: SSAValue) -> Affine:
    """base, base + 1, ... as the index along one dimension."""
    return sequence(w, base, i32)


def row_major(sizes: Sequence[int], inner: int = -1) -> tuple[int, ...]:
    """The distance of neighbours along each dimension, in elements. inner: the dimension whose neighbours are next to
    each other, by default the last; the others keep their order."""
    order = [*range(len(sizes))]
    order.append(order.pop(inner)) if order else None
    outer = {d: order[i + 1 :] for i, d in enumerate(order)}
    return tuple(prod(sizes[e] for e in outer[d]) for d in range(len(sizes)))


def linear(w: Writer, index: Index, strides: Sequence[int], count: int) -> Lanes:
    """The sum of index times stride."""
    parts = [_times(w, x, s, count) for x, s in zip(index, strides, strict=True) if s]
    total: Lanes = Uniform(w.index(0))
    for part in parts:
        total = add(w, total, part, count)
    return total


def add(w: Writer, a: Lanes, b: Lanes, count: int) -> Lanes:
    """a + b of two index parts."""
    if not isinstance(a, Vector) and not isinstance(b, Vector):
        (x, s), (y, t) = wide(w, a), wide(w, b)  # type: ignore[misc]
        step = w.add(s, t)
        base = w.add(x, y)
        return Uniform(base) if w.constants.get(step) == 0 else Affine(base, step, i32)
    lhs, rhs = _vector(w, a, count), _vector(w, b, count)
    return Vector(w.pure("arith.addi", (lhs, rhs), lhs.type))


def _vector(w: Writer, lanes: Lanes, count: int) -> SSAValue:
    return as_vector(w, Uniform(w.narrow(lanes.value, i32)) if isinstance(lanes, Uniform) else lanes, count)


def _times(w: Writer, lanes: Lanes, factor: int, count: int) -> Lanes:
    match lanes:
        case Uniform(value):
            return Uniform(w.mul(value, w.index(factor)))
        case Affine(base, step, type):
            return Affine(w.mul(base, w.index(factor)), w.mul(step, w.index(factor)), type)
        case Vector(value):
            return Vector(_by_constant(w, "arith.muli", value, factor, count)) if factor != 1 else lanes


def _by_constant(w: Writer, name: str, value: SSAValue, number: int, count: int) -> SSAValue:
    return w.pure(name, (value, w.splat(w.constant(number, i32), count)), value.type)


def divide(w: Writer, lanes: Lanes, size: int, count: int) -> tuple[Lanes, Lanes]:
    """(quotient, remainder) of an index part, which is never negative, by a static size."""
    if size == 1:
        return lanes, Uniform(w.index(0))
    n = w.index(size)
    match lanes:
        case Uniform(value):
            return Uniform(_divide_scalar(w, "arith.divsi", value, size)), Uniform(
                _divide_scalar(w, "arith.remsi", value, size)
            )
        case Affine(base, step, type) if (s := w.constants.get(step)) is not None:
            if s % size == 0 and w.known(base).nonnegative:
                quotient = Affine(_divide_scalar(w, "arith.divsi", base, size), w.index(int(s) // size), type)
                return quotient, Uniform(_divide_scalar(w, "arith.remsi", base, size))
            span = int(s) * (count - 1)
            room = min(w.known(base).divisor, size) if size & (size - 1) == 0 else 1
            if 0 <= span < room:
                whole = _divide_scalar(w, "arith.divsi", base, size)
                return Uniform(whole), Affine(w.sub(base, w.mul(whole, n)), step, type)
    value = as_vector(w, lanes, count)
    if size & (size - 1) == 0:
        shift = size.bit_length() - 1
        return (Vector(_by_constant(w, "arith.shrui", value, shift, count)),
                Vector(_by_constant(w, "arith.andi", value, size - 1, count)))  # fmt: skip
    return (Vector(_by_constant(w, "arith.divui", value, size, count)),
            Vector(_by_constant(w, "arith.remui", value, size, count)))  # fmt: skip


def _divide_scalar(w: Writer, name: str, value: SSAValue, size: int) -> SSAValue:
    if (known := w.constants.get(value)) is not None:
        return w.index(int(known) // size if name == "arith.divsi" else int(known) % size)
    if size & (size - 1) == 0:  # an index is never negative
        if name == "arith.remsi":
            return (
                w.index(0) if w.known(value).divisor % size == 0 else w.integer("arith.andi", value, w.index(size - 1))
            )
        return w.integer("arith.shrui", value, w.index(size.bit_length() - 1))
    return w.integer(name, value, w.index(size))


def split(w: Writer, position: Lanes, sizes: Sequence[int], count: int) -> Index:
    """The index in a tile of `sizes` of the element at `position` in row-major order."""
    parts: list[Lanes] = []
    for size in reversed(sizes[1:]):
        position, part = divide(w, position, size, count)
        parts.append(part)
    return tuple(reversed([*parts, position])) if sizes else ()
