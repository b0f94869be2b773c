"""Conversions between element types: `cast`, `.to`, and `bitcast`. All round to nearest even unless told otherwise."""

from typing import Any

from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.tensor import member, tensor
from naiad.language.types import (
    block_of,
    dtype,
    float8e4b15,
    float16,
    float32,
    int1,
    int8,
    int64,
    uint8,
    uint16,
)

_ROUNDING = ("rtne", "rtz")
_TYPE = dtype  # `dtype` is the name of a parameter below


@member
@builtin
def cast(input: Any, dtype: dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False) -> tensor:
    """`input` in another element type. `bitcast` keeps the bits; `fp_downcast_rounding` is 'rtne' or 'rtz'."""
    from naiad.language.promotion import to_tensor  # promotion.py builds on this file

    if not isinstance(dtype, _TYPE):
        raise TypeError(f"dtype must be a type of triton.language, got {dtype!r}")
    value = to_tensor(input)
    return bitcast_to(value, dtype) if bitcast else cast_to(value, dtype, fp_downcast_rounding)


tensor.to = cast  # type: ignore[attr-defined]


def _emit(op: str, value: tensor, element: dtype, **attributes: Any) -> tensor:
    type = value.type.with_element_ty(element)
    return tensor(builder().emit(op, (value.handle,), type, **attributes), type)


def _retype(value: tensor, element: dtype) -> tensor:
    """The same bits under another signedness: no op, the IR is signless."""
    return tensor(value.handle, value.type.with_element_ty(element))


def bitcast_to(value: tensor, type: dtype) -> tensor:
    """The bits of `value` as elements of `type`, which has the same width."""
    source, target = value.dtype, type.scalar
    if source == target:
        return value
    if source.is_ptr() or target.is_ptr():
        return cast_to(value, target)
    if source.primitive_bitwidth != target.primitive_bitwidth:
        raise ValueError(
            f"Cannot bitcast data-type of size {source.primitive_bitwidth} to "
            f"data-type of size {target.primitive_bitwidth}"
        )
    if source.is_int() and target.is_int():
        return _retype(value, target)
    for element in (source, target):
        if element.is_fp8():
            check_fp8(element)
    return _emit("tt.bitcast", value, target)


def cast_to(value: tensor, type: dtype, rounding: str | None = None) -> tensor:
    """`value` with elements of `type`: numbers keep their value as far as the type can hold it."""
    source, target = value.dtype, type.scalar
    if source == target:
        return value
    rounding = _checked_rounding(source, target, rounding)
    if source.is_ptr() or target.is_ptr():
        return _cast_pointer(value, target)
    for element in (source, target):
        if element.is_fp8():
            check_fp8(element)
    if target.is_bool():
        return _nonzero(value)
    if source.is_floating() and target.is_floating():
        return _cast_float(value, target, rounding)
    if source.is_int() and target.is_int():
        return _cast_int(value, target)
    if source.is_floating():
        wide = value if source.name in ("fp32", "fp64") else cast_to(value, float32)
        return _emit("arith.fptosi" if target.is_int_signed() else "arith.fptoui", wide, target)
    if target.is_fp8():
        return cast_to(cast_to(value, float32), target)
    return _emit("arith.sitofp" if source.is_int_signed() else "arith.uitofp", value, target)


def _checked_rounding(source: dtype, target: dtype, rounding: str | None) -> str | None:
    """'rtne' where nothing is said and a float gets narrower; None where no rounding mode applies."""
    if rounding is not None and rounding not in _ROUNDING:
        raise ValueError(f"Invalid rounding mode: {rounding}. Supported rounding modes are 'rtne' and 'rtz'.")
    both = source.is_floating() and target.is_floating()
    if both and target.primitive_bitwidth < source.primitive_bitwidth:
        return rounding or "rtne"
    if rounding is not None:
        raise ValueError(
            "fp_downcast_rounding should be set only for truncating fp conversions. "
            f"Source scalar type is {source} and destination type is {target}"
        )
    return None


def check_fp8(type: dtype) -> None:
    supported = getattr(builder().options, "supported_fp8_dtypes", None)
    if supported is not None and type.name not in supported:
        raise ValueError(
            f"type {type} not supported in this architecture. The supported fp8 dtypes are {tuple(supported)}"
        )


def _nonzero(value: tensor) -> tensor:
    from naiad.language.promotion import scalar_constant

    if value.dtype.is_floating() and value.dtype.name not in ("fp32", "fp64"):
        value = cast_to(value, float32)
    zero = scalar_constant(0, value.type)
    op, predicate = ("arith.cmpf", "une") if value.dtype.is_floating() else ("arith.cmpi", "ne")
    type = value.type.with_element_ty(int1)
    return tensor(builder().emit(op, (value.handle, zero.handle), type, predicate=predicate), type)


def _cast_int(value: tensor, target: dtype) -> tensor:
    source = value.dtype
    if source.int_bitwidth == target.int_bitwidth:
        return _retype(value, target)
    if source.int_bitwidth > target.int_bitwidth:
        return _emit("arith.trunci", value, target)
    return _emit("arith.extsi" if source.is_int_signed() else "arith.extui", value, target)


def _cast_float(value: tensor, target: dtype, rounding: str | None) -> tensor:
    source = value.dtype
    if float8e4b15 in (source, target):
        return _cast_fp8e4b15(value, target)
    if source.is_fp8() or target.is_fp8() or rounding == "rtz":
        return _emit("tt.fp_to_fp", value, target, **({"rounding": rounding} if rounding else {}))
    if source.primitive_bitwidth == 16 and target != float32:
        return cast_to(cast_to(value, float32), target)
    narrower = source.primitive_bitwidth > target.primitive_bitwidth
    return _emit("arith.truncf" if narrower else "arith.extf", value, target)


def _cast_fp8e4b15(value: tensor, target: dtype) -> tensor:
    """fp8e4b15 is fp16 without the top bit of the exponent and with three bits of mantissa, so shifts convert it.

    It has neither infinities nor NaN: what is too large becomes 1.75, the largest that Triton makes.
    """
    from naiad.language import arithmetic as a
    from naiad.language.compare import minimum

    if value.dtype == float8e4b15:
        bits = cast_to(bitcast_to(value, uint8), uint16)
        half = a.or_(a.shl(a.and_(bits, 0x80), 8), a.shl(a.and_(bits, 0x7F), 7))
        return cast_to(bitcast_to(half, float16), target)
    bits = bitcast_to(cast_to(value, float16), uint16)
    magnitude = minimum(a.and_(bits, 0x7FFF), 0x3F00)
    odd = a.and_(a.lshr(magnitude, 7), 1)
    rounded = a.lshr(a.add(a.add(magnitude, 63, sanitize_overflow=False), odd, sanitize_overflow=False), 7)
    sign = a.lshr(a.and_(bits, 0x8000), 8)
    return bitcast_to(cast_to(a.or_(rounded, sign), uint8), target)


def _cast_pointer(value: tensor, target: dtype) -> tensor:
    source = value.dtype
    if source.is_ptr() and target.is_ptr():
        return _emit("tt.bitcast", value, target)
    if source.is_ptr() and target.is_int():
        if target.int_bitwidth == 64:
            return _emit("tt.ptr_to_int", value, target)
        if target.is_bool():
            return _nonzero(_emit("tt.ptr_to_int", value, int64))
    if source.is_int() and target.is_ptr():
        return _emit("tt.int_to_ptr", cast_to(value, int64), target)
    raise TypeError(f"cannot cast {value} to {block_of(target, ())}")


def stored_type(element: dtype) -> dtype:
    """How elements lie in memory: an int1 takes a byte."""
    return int8 if element == int1 else element
