"""Atomic operations on memory. Each gives what was there before.

`sem` is "acquire", "release", "acq_rel" (the default) or "relaxed"; `scope` is "gpu" (the default), "cta" or "sys".
"""

from typing import Any

from naiad.language.arithmetic import and_, lshr
from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.casts import bitcast_to, cast_to
from naiad.language.compare import compare, not_, where
from naiad.language.memory import check_mask, in_shape_of
from naiad.language.promotion import optional_tensor, scalar_constant, to_tensor
from naiad.language.tensor import member, tensor
from naiad.language.types import bfloat16, float16, float32, float64, get_int_dtype, int1, int16, pointer_type, uint16

_SEMANTICS = ("acquire", "release", "acq_rel", "relaxed")
_SCOPES = ("gpu", "cta", "sys")


def _order(sem: str | None, scope: str | None) -> dict[str, str]:
    for value, allowed in ((sem, _SEMANTICS), (scope, _SCOPES)):
        if value and value not in allowed:
            raise ValueError(f"Memory semantic {value} not supported")
    return {"sem": sem or "acq_rel", "scope": scope or "gpu"}


def _check_pointer(pointer: Any) -> None:
    if not isinstance(pointer, tensor) or not pointer.dtype.is_ptr():
        found = repr(pointer.type) if isinstance(pointer, tensor) else type(pointer).__name__
        raise ValueError(f"Pointer argument of store instruction is {found}")
    if pointer.dtype.is_const():
        raise ValueError("Cannot store to a constant pointer")


def _check_element(pointer: tensor, name: str) -> None:
    element = pointer.dtype.element_ty
    if name != "add" and element in (float16, bfloat16):
        raise ValueError(f"atomic_{name} does not support {element}")
    if element in (int16, uint16) or element.primitive_bitwidth < 16:
        raise ValueError(f"atomic_{name} does not support {element}")
    if name in ("and", "or", "xor") and not element.is_int():
        raise TypeError(f"atomic_{name} not supported for dtype {element}")


def _arguments(pointer: Any, value: Any, mask: Any, name: str) -> tuple[tensor, tensor | None]:
    """Value and mask as the operation takes them."""
    _check_pointer(pointer)
    _check_element(pointer, name)
    lanes = optional_tensor(mask)
    check_mask(lanes)
    fitted, lanes = in_shape_of(pointer, to_tensor(value), lanes)
    return cast_to(fitted, pointer.dtype.element_ty), lanes


def _update(op: str, pointer: tensor, value: tensor, mask: tensor | None, order: dict[str, str]) -> tensor:
    lanes = None if mask is None else mask.handle
    operands = (pointer.handle, value.handle, lanes)
    return tensor(builder().emit("tt.atomic_rmw", operands, value.type, atomic_rmw_op=op, **order), value.type)


@member
@builtin
def atomic_cas(pointer: tensor, cmp: Any, val: Any, sem: str | None = None, scope: str | None = None) -> tensor:
    """Writes `val` where the memory holds `cmp`."""
    order = _order(sem, scope)
    _check_pointer(pointer)
    element = pointer.dtype.element_ty
    if element.primitive_bitwidth not in (16, 32, 64):
        raise ValueError("atomic_cas only supports elements with width {16, 32, 64}")
    expected, new = (cast_to(in_shape_of(pointer, to_tensor(v), None)[0], element) for v in (cmp, val))
    operands = (pointer.handle, expected.handle, new.handle)
    return tensor(builder().emit("tt.atomic_cas", operands, new.type, **order), new.type)


@member
@builtin
def atomic_xchg(
    pointer: tensor, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Writes `val`."""
    value, lanes = _arguments(pointer, val, mask, "xchg")
    return _update("exch", pointer, value, lanes, _order(sem, scope))


@member
@builtin
def atomic_add(pointer: tensor, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """Adds `val`."""
    value, lanes = _arguments(pointer, val, mask, "add")
    return _update("fadd" if value.dtype.is_floating() else "add", pointer, value, lanes, _order(sem, scope))


@member
@builtin
def atomic_and(pointer: tensor, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """Bitwise and."""
    return _update("and", pointer, *_arguments(pointer, val, mask, "and"), _order(sem, scope))


@member
@builtin
def atomic_or(pointer: tensor, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """Bitwise or."""
    return _update("or", pointer, *_arguments(pointer, val, mask, "or"), _order(sem, scope))


@member
@builtin
def atomic_xor(pointer: tensor, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """Bitwise exclusive or."""
    return _update("xor", pointer, *_arguments(pointer, val, mask, "xor"), _order(sem, scope))


@member
@builtin
def atomic_max(pointer: tensor, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """Keeps the larger of memory and `val`. -0.0 is above every negative number."""
    return _extremum("max", pointer, val, mask, _order(sem, scope))


@member
@builtin
def atomic_min(pointer: tensor, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """Keeps the smaller of memory and `val`."""
    return _extremum("min", pointer, val, mask, _order(sem, scope))


def _extremum(name: str, pointer: Any, val: Any, mask: Any, order: dict[str, str]) -> tensor:
    value, lanes = _arguments(pointer, val, mask, name)
    if value.dtype.is_int():
        return _update(name if value.dtype.is_int_signed() else f"u{name}", pointer, value, lanes, order)
    if value.dtype not in (float32, float64):
        raise TypeError(f"atomic_{name} not supported for dtype {value.dtype}")
    return _float_extremum(name, pointer, value, lanes, order)


def _float_extremum(name: str, pointer: tensor, value: tensor, mask: tensor | None, order: dict[str, str]) -> tensor:
    """By integer atomics, as machines have no others: the patterns of floats are ordered like signed integers where the
    operand is positive, and against the order of unsigned ones where it is negative.

    -0.0 has a sign but is no negative number: it goes as 0.0, which is right against either.
    """
    bits = value.dtype.primitive_bitwidth
    signed = bitcast_to(value, get_int_dtype(bits, signed=True))
    is_zero = compare("eq", value, scalar_constant(0.0, value.type))
    signed = where(is_zero, scalar_constant(0, signed.type), signed)
    unsigned = bitcast_to(signed, get_int_dtype(bits, signed=False))
    negative = cast_to(lshr(unsigned, bits - 1), int1)
    positive = not_(negative)
    address_space = pointer.dtype.address_space
    as_signed = bitcast_to(pointer, pointer_type(signed.dtype, address_space))
    as_unsigned = bitcast_to(pointer, pointer_type(unsigned.dtype, address_space))
    opposite = "umin" if name == "max" else "umax"
    up = _update(name, as_signed, signed, positive if mask is None else and_(mask, positive), order)
    down = _update(opposite, as_unsigned, unsigned, negative if mask is None else and_(mask, negative), order)
    return bitcast_to(where(positive, up, bitcast_to(down, signed.dtype)), value.dtype)
