"""The types of the language: scalars, pointers and tiles. All are values; signedness is here, not in the IR."""

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

from naiad.language.builder import Handle
from naiad.language.constexpr import const, constexpr, constexpr_type, unwrap
from naiad.language.tuples import slice_type, tuple_type
from naiad.language.values import base_type, base_value

__all__ = ["base_type", "base_value", "block_type", "const", "constexpr", "constexpr_type", "dtype", "pointer_type"]
__all__ += ["slice_type", "tuple_type"]

TRITON_MAX_TENSOR_NUMEL = 1048576
"""The most elements that a tile may have."""

_SIGNED = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_UNSIGNED = {"int1": 1, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
_FLOATS = {  # name: (bits, bits of the mantissa, bias of the exponent)
    "fp8e4b15": (8, 3, 15),
    "fp8e4nv": (8, 3, 7),
    "fp8e4b8": (8, 3, 8),
    "fp8e5": (8, 2, 15),
    "fp8e5b16": (8, 2, 16),
    "fp16": (16, 10, 15),
    "bf16": (16, 7, 127),
    "fp32": (32, 23, 127),
    "fp64": (64, 52, 1023),
}


class dtype(base_type):
    """The type of one element: an integer, a float, or void."""

    SINT_TYPES = list(_SIGNED)
    UINT_TYPES = list(_UNSIGNED)
    FP_TYPES = list(_FLOATS)
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    name: str
    primitive_bitwidth: int
    element_ty: "dtype"  # of pointers and tiles; the next two of pointers
    address_space: int
    const: bool

    def __init__(self, name: str) -> None:
        name = unwrap(name)
        self.name = name
        if name in _SIGNED or name in _UNSIGNED:
            signed = name in _SIGNED
            self.primitive_bitwidth = self.int_bitwidth = _SIGNED[name] if signed else _UNSIGNED[name]
            self.int_signedness = dtype.SIGNEDNESS.SIGNED if signed else dtype.SIGNEDNESS.UNSIGNED
        elif name in _FLOATS:
            self.primitive_bitwidth, self.fp_mantissa_width, self.exponent_bias = _FLOATS[name]
        elif name == "void":
            self.primitive_bitwidth = 0
        else:
            raise AssertionError(f"{name!r} is not the name of a dtype")
        self.itemsize = self.primitive_bitwidth // 8

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dtype):
            return self is other or self.name == other.name
        return isinstance(other, constexpr) and self == other.value

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"triton.language.{self.codegen_name()}"

    def codegen_name(self) -> str:
        """The name of this dtype in `triton.language`: float32 for fp32."""
        if self.name.startswith("fp"):
            return "float" + self.name[2:]
        return "bfloat16" if self.name == "bf16" else self.name

    @property
    def cache_key_part(self) -> str:
        return self.name

    @property
    def scalar(self) -> "dtype":
        return self

    @staticmethod
    def is_dtype(name: str) -> bool:
        return name in _SIGNED or name in _UNSIGNED or name in _FLOATS or name == "void"

    # What kind of type
    def is_block(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    def is_void(self) -> bool:
        return self.name == "void"

    def is_int(self) -> bool:
        return self.name in _SIGNED or self.name in _UNSIGNED

    def is_int_signed(self) -> bool:
        return self.name in _SIGNED

    def is_int_unsigned(self) -> bool:
        return self.name in _UNSIGNED

    def is_bool(self) -> bool:
        return self.name == "int1"

    def is_floating(self) -> bool:
        return self.name in _FLOATS

    def is_standard_floating(self) -> bool:
        return self.name in dtype.STANDARD_FP_TYPES

    def is_fp8(self) -> bool:
        return self.name.startswith("fp8")

    def kind(self) -> "dtype.KIND":
        """bool < integer < float: a Python number of a lower or equal kind takes the type of the tile it meets."""
        if self.is_bool():
            return dtype.KIND.BOOLEAN
        if self.is_int():
            return dtype.KIND.INTEGRAL
        if self.is_floating():
            return dtype.KIND.FLOATING
        raise AssertionError(f"{self} has no kind")

    def get_int_max_value(self) -> int:
        assert self.is_int(), f"{self} is not an integer type"
        return 2 ** (self.int_bitwidth - self.is_int_signed()) - 1

    def get_int_min_value(self) -> int:
        assert self.is_int(), f"{self} is not an integer type"
        return -(2 ** (self.int_bitwidth - 1)) if self.is_int_signed() else 0

    def with_element_ty(self, element_ty: "dtype") -> "dtype":
        """This type with another element type."""
        return element_ty

    def mangle(self) -> str:
        if self.is_int():
            return f"{'i' if self.is_int_signed() else 'u'}{self.int_bitwidth}"
        return "V" if self.is_void() else self.name

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self)

    def _unflatten_ir(self, handles: Sequence[Handle], cursor: int) -> tuple[base_value, int]:
        from naiad.language.tensor import tensor  # tensor.py builds on this file

        return tensor(handles[cursor], self), cursor + 1


def _is_named(name: str) -> Any:
    return lambda self: self.name == name


for _name in (*_SIGNED, *_UNSIGNED, *_FLOATS):
    setattr(dtype, f"is_{_name}", _is_named(_name))  # is_int32, is_fp16, is_fp8e5, ...


class pointer_type(dtype):
    """A pointer to `element_ty`, which may be a tile: then it is a block pointer."""

    primitive_bitwidth = 64
    itemsize = 8

    def __init__(self, element_ty: dtype, address_space: int = 1, const: bool = False) -> None:
        element_ty = unwrap(element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`.")
        self.element_ty = element_ty
        self.address_space = unwrap(address_space)
        self.const = bool(unwrap(const))
        self.name = f"const_pointer<{element_ty}>" if self.const else f"pointer<{element_ty}>"

    def __eq__(self, other: object) -> bool:
        other = unwrap(other)
        return isinstance(other, pointer_type) and (self.element_ty, self.address_space, self.const) == (
            other.element_ty,
            other.address_space,
            other.const,
        )

    def __hash__(self) -> int:
        return hash((self.name, self.address_space))

    def __repr__(self) -> str:
        return self.name

    def is_ptr(self) -> bool:
        return True

    def is_const(self) -> bool:
        return self.const

    def mangle(self) -> str:
        return f"{'C' if self.const else 'P'}{self.element_ty.mangle()}"


class block_type(dtype):
    """A tile: `shape` elements of `element_ty`."""

    def __init__(self, element_ty: dtype, shape: Sequence[Any]) -> None:
        self.element_ty = unwrap(element_ty)
        self.shape: tuple[int, ...] = tuple(unwrap(size) for size in shape)
        if not self.shape:
            raise TypeError("0d block_type is forbidden")
        self.numel = block_size(self.shape)
        self.name = f"<{list(self.shape)}, {self.element_ty}>"

    def __eq__(self, other: object) -> bool:
        other = unwrap(other)
        return isinstance(other, block_type) and self.shape == other.shape and self.element_ty == other.element_ty

    def __hash__(self) -> int:
        return hash((self.element_ty, self.shape))

    def __repr__(self) -> str:
        return self.name

    def is_block(self) -> bool:
        return True

    def get_block_shapes(self) -> tuple[int, ...]:
        return self.shape

    def with_element_ty(self, element_ty: dtype) -> "block_type":
        return block_type(element_ty, self.shape)

    @property
    def scalar(self) -> dtype:
        return self.element_ty

    @property
    def nbytes(self) -> int:
        return self.numel * (self.element_ty.primitive_bitwidth // 8)

    def mangle(self) -> str:
        return f"{self.scalar.mangle()}S{'_'.join(map(str, self.shape))}S"


def block_size(shape: Sequence[Any]) -> int:
    """How many elements a tile of `shape` has. Raises TypeError or ValueError where no tile may have that shape."""
    for i, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(size)}]")
        if size < 1 or size & (size - 1):
            raise ValueError(f"Shape element {i} must be a power of 2")
    numel = math.prod(shape)
    if numel > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({numel}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return numel


void = dtype("void")
int1 = dtype("int1")
int8, int16, int32, int64 = (dtype(_name) for _name in _SIGNED)
uint8, uint16, uint32, uint64 = (dtype(f"uint{_bits}") for _bits in (8, 16, 32, 64))
float8e4b15, float8e4nv, float8e4b8, float8e5, float8e5b16 = (dtype(_name) for _name in list(_FLOATS)[:5])
float16, bfloat16, float32, float64 = (dtype(_name) for _name in dtype.STANDARD_FP_TYPES)
pi32_t = pointer_type(int32)


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of `bitwidth` bits: 1, 8, 16, 32 or 64."""
    bitwidth, signed = unwrap(bitwidth), unwrap(signed)
    if bitwidth == 1:
        return int1
    name = f"{'' if signed else 'u'}int{bitwidth}"
    if not dtype.is_dtype(name):
        raise ValueError(f"Unsupported bitwidth {bitwidth} and signedness {signed}")
    return dtype(name)


def block_of(element_ty: dtype, shape: Sequence[int]) -> dtype:
    """A tile of `shape`, or the scalar where the shape is empty."""
    return block_type(element_ty, shape) if len(shape) else element_ty
