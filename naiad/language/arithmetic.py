"""Operators on numbers: arithmetic, division, bits. Comparison and selection are in compare.py.

Integer `//` and `%` on runtime values truncate towards zero, as in C; `/` on integers gives fp32.
"""

import warnings
from collections.abc import Callable
from typing import Any

from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.casts import cast_to
from naiad.language.promotion import (
    DIVISION,
    POINTERS,
    Allow,
    IncompatibleTypeError,
    integer_promotion,
    operands,
    scalar_constant,
    to_tensor,
)
from naiad.language.tensor import tensor
from naiad.language.types import dtype, float32, int64


def emit_like(op: str, a: tensor, b: tensor, **attributes: Any) -> tensor:
    """An elementwise op on two operands that gives the type of the first."""
    return tensor(builder().emit(op, (a.handle, b.handle), a.type, **attributes), a.type)


def by_kind(type: dtype, floating: str, signed: str, unsigned: str) -> str:
    """The op for an element type."""
    if type.is_floating():
        return floating
    if type.is_int():
        return signed if type.is_int_signed() else unsigned
    raise TypeError(f"unexpected type {type}")


def _checked(function: Callable[..., tensor], name: str, a: tensor, b: tensor, sanitize: bool) -> None:
    """With the option sanitize_overflow: asserts that the integer result, computed in 64 bits, fits the type."""
    type = a.dtype
    if not (
        sanitize and type.is_int() and type.int_bitwidth < 64 and getattr(builder().options, "sanitize_overflow", False)
    ):
        return
    from naiad.language.compare import compare
    from naiad.language.debug import device_assert

    wide = function(cast_to(a, int64), cast_to(b, int64), sanitize_overflow=False)
    fits = and_(
        compare("le", wide, scalar_constant(type.get_int_max_value(), int64)),
        compare("ge", wide, scalar_constant(type.get_int_min_value(), int64)),
    )
    device_assert(fits, f"int{type.int_bitwidth} overflow detected for operation {name}")


@builtin
def add(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """`x + y`; pointer + integer steps by elements."""
    a, b = operands(x, y, POINTERS)
    if a.dtype.is_ptr() and b.dtype.is_ptr():
        raise TypeError("cannot add pointers together")
    if b.dtype.is_ptr():
        a, b = b, a
    if a.dtype.is_ptr():
        return _step(a, b)
    _checked(add, "add", a, b, sanitize_overflow)
    return emit_like(by_kind(a.dtype, "arith.addf", "arith.addi", "arith.addi"), a, b)


def _step(pointer: tensor, offset: tensor) -> tensor:
    # tt.addptr takes its offset as signed: what is unsigned and narrower must be widened to stay positive
    if offset.dtype.is_int_unsigned() and offset.dtype.int_bitwidth < 64:
        offset = cast_to(offset, int64)
    return emit_like("tt.addptr", pointer, offset)


@builtin
def sub(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """`x - y`; pointer - integer steps back by elements."""
    a, b = operands(x, y, Allow(left_pointer=True))
    if a.dtype.is_ptr():
        return add(a, minus(b), sanitize_overflow=False)
    _checked(sub, "sub", a, b, sanitize_overflow)
    return emit_like(by_kind(a.dtype, "arith.subf", "arith.subi", "arith.subi"), a, b)


@builtin
def mul(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """`x * y`."""
    a, b = operands(x, y)
    _checked(mul, "mul", a, b, sanitize_overflow)
    return emit_like(by_kind(a.dtype, "arith.mulf", "arith.muli", "arith.muli"), a, b)


@builtin
def truediv(x: Any, y: Any) -> tensor:
    """`x / y`: fp32 where both are integers."""
    a, b = operands(x, y, DIVISION)
    if a.dtype.is_int():
        a, b = cast_to(a, float32), cast_to(b, float32)
    return emit_like("arith.divf", a, b)


@builtin
def floordiv(x: Any, y: Any) -> tensor:
    """`x // y` of integers, towards zero."""
    a, b = operands(x, y, DIVISION)
    if not a.dtype.is_int():
        raise TypeError(f"unexpected type {a.dtype}")
    return emit_like("arith.divsi" if a.dtype.is_int_signed() else "arith.divui", a, b)


@builtin
def mod(x: Any, y: Any) -> tensor:
    """`x % y` with the sign of `x`, as in C."""
    a, b = operands(x, y, DIVISION)
    return emit_like(by_kind(a.dtype, "arith.remf", "arith.remsi", "arith.remui"), a, b)


@builtin
def minus(x: Any) -> tensor:
    """`-x`."""
    value = to_tensor(x)
    if value.dtype.is_ptr():
        raise ValueError(f"wrong type argument to unary minus ({value.dtype!r})")
    if value.dtype.is_floating() and not value.dtype.is_fp8():
        return emit_like("arith.subf", scalar_constant(-0.0, value.type), value)  # from -0.0, so that -(0.0) is -0.0
    return sub(scalar_constant(0, value.type), value)


@builtin
def plus(x: Any) -> tensor:
    """`+x`."""
    return to_tensor(x)


@builtin
def invert(x: Any) -> tensor:
    """`~x` of integers and bools."""
    value = to_tensor(x)
    if value.dtype.is_ptr() or value.dtype.is_floating():
        raise ValueError(f"wrong type argument to unary invert ({value.dtype!r})")
    ones = 1 if value.dtype.is_bool() else value.dtype.get_int_max_value() if value.dtype.is_int_unsigned() else -1
    return emit_like("arith.xori", value, scalar_constant(ones, value.type))


def _integers(x: Any, y: Any) -> tuple[tensor, tensor]:
    a, b = operands(x, y)
    if not a.dtype.is_int() or not b.dtype.is_int():
        raise IncompatibleTypeError(a.dtype, b.dtype)
    common = integer_promotion(a.dtype, b.dtype)
    return cast_to(a, common), cast_to(b, common)


@builtin
def and_(x: Any, y: Any) -> tensor:
    """`x & y`."""
    return emit_like("arith.andi", *_integers(x, y))


@builtin
def or_(x: Any, y: Any) -> tensor:
    """`x | y`."""
    return emit_like("arith.ori", *_integers(x, y))


@builtin
def xor_(x: Any, y: Any) -> tensor:
    """`x ^ y`."""
    return emit_like("arith.xori", *_integers(x, y))


def _check_shift(value: Any, count: Any) -> None:
    if isinstance(value, tensor) and isinstance(count, int) and count >= value.dtype.primitive_bitwidth:
        warnings.warn(
            f"Value {count} exceeds the maximum bitwidth ({value.dtype.primitive_bitwidth}) for type '{value.dtype}'. "
            "This may result in undefined behavior.",
            stacklevel=2,
        )


@builtin
def shl(x: Any, y: Any) -> tensor:
    """`x << y`."""
    _check_shift(x, y)
    return emit_like("arith.shli", *_integers(x, y))


@builtin
def ashr(x: Any, y: Any) -> tensor:
    """`x >> y` that copies the sign."""
    return emit_like("arith.shrsi", *_integers(x, y))


@builtin
def lshr(x: Any, y: Any) -> tensor:
    """`x >> y` that brings in zeros."""
    return emit_like("arith.shrui", *_integers(x, y))


@builtin
def shr(x: Any, y: Any) -> tensor:
    """`x >> y`: the tensor among the operands, the first if both are, says whether the sign is copied."""
    _check_shift(x, y)
    decides = x if isinstance(x, tensor) else to_tensor(y)
    return ashr(x, y) if decides.dtype.is_int_signed() else lshr(x, y)
