"""How the interpreter holds values: numpy arrays, one element type each.

Integers are signless (int8 to int64, bool for int1), pointers are addresses in int64, fp8e4b15 is its bits in int8; the
other floats are numpy's and ml_dtypes'. A scalar is an array of rank 0. Block pointers and descriptors are objects.
"""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from naiad.language.types import dtype
from naiad.rounding import to_float

Tile = Any
"""A numpy array or a numpy scalar."""
Rule = Callable[..., Any]
"""Computes one op: `rule(builder, operands, type, **attributes)` gives a handle, a tuple of them, or None."""

_ELEMENTS: dict[str, np.dtype] = {
    "int1": np.dtype(bool),
    **{f"{sign}int{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64) for sign in ("", "u")},
    "fp16": np.dtype(np.float16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp8e4b8": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "fp8e5b16": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "fp8e4b15": np.dtype(np.int8),
}
LIFTED = {np.dtype(np.float16): np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16): np.dtype(np.float32)}
"""In what the 16-bit floats are held inside of a reduction or a scan."""


def element_of(type: dtype) -> np.dtype:
    """The numpy dtype of the elements of a language type."""
    scalar = type.scalar
    return np.dtype(np.int64) if scalar.is_ptr() else _ELEMENTS[scalar.name]


def shape_of(type: dtype) -> tuple[int, ...]:
    """The shape of a tile; () of a scalar."""
    return tuple(type.shape) if type.is_block() else ()  # type: ignore[attr-defined]


def bytes_of(type: dtype) -> int:
    """How many bytes an element takes in memory; an int1 takes one."""
    return max(1, type.scalar.primitive_bitwidth // 8)


def filled(value: int | float | bool, element: np.dtype, shape: tuple[int, ...] = ()) -> Tile:
    """A tile with `value`, rounded or wrapped to the element type, everywhere."""
    return np.broadcast_to(scalar(value, element), shape)


def scalar(value: int | float | bool, element: np.dtype) -> Tile:
    """One number in an element type: floats rounded once, integers modulo their width."""

    if element.kind == "b":
        return np.array(bool(value))
    if element.kind == "i":
        return np.array(int(value) & (2 ** (8 * element.itemsize) - 1), f"u{element.name}").view(element)
    return to_float(np.array(float(value), np.float64), element)
