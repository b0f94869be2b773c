"""The typing rules: which type two operands meet in, how Python numbers become tensors, how shapes broadcast.

A Python number in arithmetic takes the type of the tensor it meets when its kind (bool < int < float) is not higher.
"""

import numbers
from dataclasses import dataclass
from typing import Any

from naiad.language.builder import builder
from naiad.language.casts import cast_to
from naiad.language.constexpr import constexpr
from naiad.language.tensor import dimensions, tensor
from naiad.language.types import (
    bfloat16,
    block_of,
    dtype,
    float16,
    float32,
    float64,
    int1,
    int32,
    int64,
    uint32,
    uint64,
)

_NUMBERS = (int, float, bool)
_MIN_NORMAL_FP32 = 2.0**-126
_MAX_FP32 = (2 - 2.0**-23) * 2.0**127


class IncompatibleTypeError(TypeError):
    """The operands of an operator cannot meet in one type."""

    def __init__(self, a: dtype, b: dtype) -> None:
        self.type_a, self.type_b = a, b
        self.message = f"invalid operands of type {a!r} and {b!r}"
        super().__init__(self.message)


@dataclass(frozen=True)
class Allow:
    """What an operator takes beyond two numbers of any signedness."""

    left_pointer: bool = False
    right_pointer: bool = False
    division: bool = False


NUMBERS = Allow()
DIVISION = Allow(division=True)
POINTERS = Allow(left_pointer=True, right_pointer=True)


def literal_type(value: Any) -> dtype:
    """The type of a Python number: the first of int32, uint32, int64, uint64 that holds it; fp32 in its range."""
    if isinstance(value, bool):
        return int1
    if isinstance(value, numbers.Integral):
        for type in (int32, uint32, int64, uint64):
            if type.get_int_min_value() <= int(value) <= type.get_int_max_value():
                return type
        raise ValueError(f"Nonrepresentable integer {value}.")
    magnitude = abs(float(value))
    in_range = magnitude in (0.0, float("inf")) or magnitude != magnitude or _MIN_NORMAL_FP32 <= magnitude <= _MAX_FP32
    return float32 if in_range else float64


def is_number(value: Any) -> bool:
    """Whether `value` is a Python number (or one of numpy's)."""
    return value.__class__ in _NUMBERS or (not isinstance(value, tensor) and isinstance(value, numbers.Real))


def scalar_constant(value: Any, type: dtype) -> tensor:
    """The constant `value`: a scalar, or a tile of it where `type` is a block type."""
    scalar = type.scalar
    if scalar.is_floating():
        value = float(value)
    elif scalar.is_bool():
        value = bool(value)
    else:
        value = int(value)
    return tensor(builder().constant(value, type), type)


def to_tensor(value: Any) -> tensor:
    """A tensor as it is, a Python number as a constant of its `literal_type`."""
    if isinstance(value, tensor):
        return value
    if isinstance(value, constexpr):
        return to_tensor(value.value)
    if is_number(value):
        return scalar_constant(value, literal_type(value))
    raise TypeError(f"cannot convert {value} of type {type(value)} to tensor")


def optional_tensor(value: Any) -> tensor | None:
    return None if value is None else to_tensor(value)


def integer_promotion(a: dtype, b: dtype) -> dtype:
    """The wider of two integer types; unsigned wins at the same width, as in C."""
    if a.int_signedness == b.int_signedness:
        return a if a.int_bitwidth > b.int_bitwidth else b
    unsigned, signed = (a, b) if a.is_int_unsigned() else (b, a)
    return unsigned if unsigned.int_bitwidth >= signed.int_bitwidth else signed


def arithmetic_type(a: dtype, a_is_literal: bool, b: dtype, b_is_literal: bool, division: bool) -> dtype:
    """The element type in which an operator on `a` and `b` computes. Floats narrower than fp32 divide in fp32."""
    adopted = _adopted(a, a_is_literal, b, b_is_literal)
    common = adopted or _common_type(a, b)
    if division and common.is_floating() and common.primitive_bitwidth < 32:
        return float32
    if division and common.is_int() and adopted is None and a.int_signedness != b.int_signedness:
        raise TypeError(
            f"Cannot use /, #, or % with {a!r} and {b!r} because they have different signedness;"
            "this is unlikely to result in a useful answer. Cast them to the same signedness."
        )
    return common


def _adopted(a: dtype, a_is_literal: bool, b: dtype, b_is_literal: bool) -> dtype | None:
    """The type that a literal takes from the other operand, if it does."""
    if a_is_literal == b_is_literal:
        return None
    literal, other = (a, b) if a_is_literal else (b, a)
    return other if literal.kind().value <= other.kind().value else None


def _common_type(a: dtype, b: dtype) -> dtype:
    for wide in (float64, float32, float16):
        if wide in (a, b):
            return wide
    if bfloat16 in (a, b):
        return bfloat16 if a == b else float32
    if a.is_fp8() and b.is_fp8():
        return a if a == b else float16
    if not a.is_int() or not b.is_int():
        raise TypeError(f"unexpected type {a} and {b}")
    return integer_promotion(a, b)


def _check_pointer(a: dtype, b: dtype, allowed: bool) -> None:
    if a.is_ptr() and (not allowed or (b.is_ptr() and a != b) or b.is_floating()):
        raise IncompatibleTypeError(a, b)


def _check_literal(value: Any, type: dtype) -> None:
    """A literal must fit the integer type that it takes from the other operand."""
    if value < 0 and type.is_int_unsigned():
        raise ValueError(
            "Cannot perform a binary operation between an unsigned tensor and a negative scalar. "
            "Perform a explicit cast on one of them."
        )
    if type.is_int() and not type.get_int_min_value() <= value <= type.get_int_max_value():
        raise ValueError(f"Scalar {value} is out of range for type {type}")


def _element_type(value: Any) -> dtype:
    return literal_type(value) if is_number(value) else to_tensor(value).dtype


def operands(a: Any, b: Any, allow: Allow = NUMBERS) -> tuple[tensor, tensor]:
    """Both operands of an operator in one element type (but pointers) and one shape."""
    a_type, b_type = _element_type(a), _element_type(b)
    _check_pointer(a_type, b_type, allow.left_pointer)
    _check_pointer(b_type, a_type, allow.right_pointer)
    if a_type.is_ptr() or b_type.is_ptr():
        return broadcast_pair(to_tensor(a), to_tensor(b))
    common = arithmetic_type(a_type, is_number(a), b_type, is_number(b), allow.division)
    shapes = [dimensions(value) for value in (a, b) if isinstance(value, tensor)]
    a, b = (_operand(value, common, shapes) for value in (a, b))
    return broadcast_pair(a, b)


def _operand(value: Any, type: dtype, shapes: list[tuple[int, ...]]) -> tensor:
    """A literal becomes a constant of the other operand's shape, which saves a splat."""
    if not is_number(value):
        return cast_to(to_tensor(value), type)
    _check_literal(value, type)
    return scalar_constant(value, block_of(type, shapes[0] if shapes else ()))


def splat(value: tensor, shape: tuple[int, ...]) -> tensor:
    """A scalar as a tile of `shape`."""
    if not shape:
        return value
    type = block_of(value.dtype, shape)
    return tensor(builder().emit("tt.splat", (value.handle,), type), type)


def broadcast_to_shape(value: tensor, shape: tuple[int, ...]) -> tensor:
    """Stretches the dimensions of size 1 to `shape`, which has the same rank."""
    source = dimensions(value)
    if not value.type.is_block():
        return splat(value, shape)
    if len(source) != len(shape):
        raise ValueError(f"Cannot broadcast, rank mismatch: {list(source)}, {list(shape)}")
    if source == tuple(shape):
        return value
    for i, (old, new) in enumerate(zip(source, shape, strict=True)):
        if old not in (1, new):
            raise ValueError(
                f"Cannot broadcast, the expanded size of the tensor ({new}) must match the existing size ({old}) "
                f"at non-singleton dimension {i}: {list(source)}, {list(shape)}"
            )
    type = block_of(value.dtype, shape)
    return tensor(builder().emit("tt.broadcast", (value.handle,), type), type)


def insert_axis(value: tensor, axis: int) -> tensor:
    """`value` with a dimension of size 1 before dimension `axis`."""
    shape = (*dimensions(value)[:axis], 1, *dimensions(value)[axis:])
    if not value.type.is_block():
        return splat(value, shape)
    type = block_of(value.dtype, shape)
    return tensor(builder().emit("tt.expand_dims", (value.handle,), type, axis=axis), type)


def broadcast_pair(a: tensor, b: tensor) -> tuple[tensor, tensor]:
    """Both in one shape: leading dimensions of size 1 are added, and dimensions of size 1 stretched."""
    if not (a.type.is_block() or b.type.is_block()):
        return a, b
    if not a.type.is_block():
        return splat(a, dimensions(b)), b
    if not b.type.is_block():
        return a, splat(b, dimensions(a))
    rank = max(len(dimensions(a)), len(dimensions(b)))
    while len(dimensions(a)) < rank:
        a = insert_axis(a, 0)
    while len(dimensions(b)) < rank:
        b = insert_axis(b, 0)
    shape = tuple(_common_size(i, m, n) for i, (m, n) in enumerate(zip(dimensions(a), dimensions(b), strict=True)))
    return broadcast_to_shape(a, shape), broadcast_to_shape(b, shape)


def _common_size(index: int, a: int, b: int) -> int:
    if a != b and 1 not in (a, b):
        raise ValueError(f"Cannot make_shape_compatible: incompatible dimensions at index {index}: {a} and {b}")
    return b if a == 1 else a


def broadcast_all(*values: tensor) -> list[tensor]:
    """All of them in one shape."""
    result = list(values)
    for _ in range(2):  # the second round gives the shape of the last to the first
        for i in range(1, len(result)):
            result[0], result[i] = broadcast_pair(result[0], result[i])
    return result
