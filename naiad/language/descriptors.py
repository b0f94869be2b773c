"""Tensor descriptors: a tensor in memory with its shape and strides, read and written by blocks of one shape.

What is outside of the tensor reads as zero (or NaN, as the descriptor says) and is not written.
"""

from collections.abc import Sequence
from typing import Any

from naiad.language.block_pointers import handles_of, listed, scalar_of
from naiad.language.builder import Handle, builder
from naiad.language.builtin import builtin
from naiad.language.casts import cast_to
from naiad.language.memory import padding_word
from naiad.language.program import static_shape
from naiad.language.promotion import broadcast_to_shape, to_tensor
from naiad.language.tensor import dimensions, tensor
from naiad.language.tuples import tuple as language_tuple
from naiad.language.tuples import tuple_type
from naiad.language.types import (
    bfloat16,
    block_type,
    dtype,
    float16,
    float32,
    int32,
    int64,
    pointer_type,
    uint32,
    uint64,
)
from naiad.language.values import base_type, base_value

_ADDED = (uint32, int32, uint64, float32, float16, bfloat16)
_COMPARED = (uint32, int32, uint64, int64, float16, bfloat16)
_BITWISE = (uint32, int32, uint64, int64)


class tensor_descriptor_base_type(base_type):
    """A descriptor whose shape and strides are not known to the kernel."""

    def __init__(self, block_type: block_type) -> None:
        self.block_type = block_type

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.block_type == other.block_type

    def __hash__(self) -> int:
        return hash(("tensor_descriptor", self.block_type))

    def __str__(self) -> str:
        return f"tensor_descriptor<{self.block_type}>"

    __repr__ = __str__

    def mangle(self) -> str:
        return f"TD{self.block_type.mangle()}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(self)

    def _unflatten_ir(self, handles: Sequence[Handle], cursor: int) -> tuple[base_value, int]:
        return tensor_descriptor_base(handles[cursor], self.block_type), cursor + 1


class tensor_descriptor_type(tensor_descriptor_base_type):
    """A descriptor with its shape and strides, which are values of the kernel too."""

    def __init__(self, block_type: block_type, shape_type: tuple_type, strides_type: tuple_type) -> None:
        super().__init__(block_type)
        self.shape_type, self.strides_type = shape_type, strides_type

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, tensor_descriptor_type)
            and self.block_type == other.block_type
            and (self.shape_type, self.strides_type) == (other.shape_type, other.strides_type)
        )

    __hash__ = tensor_descriptor_base_type.__hash__

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        out.append(tensor_descriptor_base_type(self.block_type))
        self.shape_type._flatten_ir_types(builder, out)
        self.strides_type._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: Sequence[Handle], cursor: int) -> tuple[base_value, int]:
        handle = handles[cursor]
        shape, cursor = self.shape_type._unflatten_ir(handles, cursor + 1)
        strides, cursor = self.strides_type._unflatten_ir(handles, cursor)
        return tensor_descriptor(handle, shape.values, strides.values, self.block_type), cursor


class tensor_descriptor_base(base_value):
    """Reads and writes blocks of `block_shape` elements of `dtype`."""

    def __init__(self, handle: Handle, block_type: block_type) -> None:
        self.handle = handle
        self.type = tensor_descriptor_base_type(block_type)

    def _flatten_ir(self, handles: list[Handle]) -> None:
        handles.append(self.handle)

    @property
    def block_type(self) -> block_type:
        return self.type.block_type

    @property
    def block_shape(self) -> language_tuple:
        return language_tuple(self.block_type.shape)

    @property
    def dtype(self) -> dtype:
        return self.block_type.element_ty

    def __str__(self) -> str:
        return str(self.type)

    @builtin
    def load(self, offsets: Any) -> tensor:
        """The block that starts at element `offsets`."""
        operands = (self.handle, *_offsets(self, offsets))
        return tensor(builder().emit("tt.descriptor_load", operands, self.block_type), self.block_type)

    @builtin
    def store(self, offsets: Any, value: Any) -> None:
        """Writes `value`, cast to the descriptor's type, to the block that starts at element `offsets`."""
        written = cast_to(_block_value(self, value), self.dtype)
        builder().emit("tt.descriptor_store", (self.handle, written.handle, *_offsets(self, offsets)))

    @builtin
    def atomic_add(self, offsets: Any, value: Any) -> None:
        """Adds `value` to a block in memory. The atomic methods give nothing back."""
        _reduce(self, "add", offsets, value, _ADDED)

    @builtin
    def atomic_min(self, offsets: Any, value: Any) -> None:
        _check_16_bit_extremum(self.dtype)
        _reduce(self, "min", offsets, value, _COMPARED)

    @builtin
    def atomic_max(self, offsets: Any, value: Any) -> None:
        _check_16_bit_extremum(self.dtype)
        _reduce(self, "max", offsets, value, _COMPARED)

    @builtin
    def atomic_and(self, offsets: Any, value: Any) -> None:
        _reduce(self, "and", offsets, value, _BITWISE)

    @builtin
    def atomic_or(self, offsets: Any, value: Any) -> None:
        _reduce(self, "or", offsets, value, _BITWISE)

    @builtin
    def atomic_xor(self, offsets: Any, value: Any) -> None:
        _reduce(self, "xor", offsets, value, _BITWISE)

    @builtin
    def gather(self, *args: Any) -> tensor:
        """`gather(rows, column)`: a tile of the rows whose indices are in `rows`, from `column` on."""
        if len(args) != 2:
            raise AssertionError(f"descriptor gather only supports 2D indexing, but got {len(args)}")
        rows, column = args
        _check_rows(self, rows, "gather")
        type = block_type(self.dtype, [dimensions(rows)[0], self.block_type.shape[1]])
        operands = (self.handle, rows.handle, scalar_of(column, int32).handle)
        return tensor(builder().emit("tt.descriptor_gather", operands, type), type)

    @builtin
    def scatter(self, value: tensor, *args: Any) -> None:
        """`scatter(value, rows, column)`: writes the rows of `value` to the rows whose indices are in `rows`."""
        if len(args) != 2:
            raise AssertionError(f"descriptor scatter only supports 2D indexing, but got {len(args)}")
        rows, column = args
        _check_rows(self, rows, "scatter")
        written = cast_to(value, self.dtype)
        operands = (self.handle, rows.handle, scalar_of(column, int32).handle, written.handle)
        builder().emit("tt.descriptor_scatter", operands)


class tensor_descriptor(tensor_descriptor_base):
    """A descriptor that also has `shape` and `strides`."""

    def __init__(self, handle: Handle, shape: Sequence[Any], strides: Sequence[Any], block_type: block_type) -> None:
        super().__init__(handle, block_type)
        self.shape, self.strides = language_tuple(shape), language_tuple(strides)
        self.type = tensor_descriptor_type(block_type, self.shape.type, self.strides.type)

    def _flatten_ir(self, handles: list[Handle]) -> None:
        handles.append(self.handle)
        self.shape._flatten_ir(handles)
        self.strides._flatten_ir(handles)


def _offsets(descriptor: tensor_descriptor_base, offsets: Any) -> list[Handle]:
    rank = len(descriptor.block_type.shape)
    starts = listed(offsets)
    if len(starts) != rank:
        raise AssertionError(f"expected {rank} offsets, but got {len(starts)}")
    return handles_of(starts, int32)


def _block_value(descriptor: tensor_descriptor_base, value: Any) -> tensor:
    block = to_tensor(value)
    if not block.type.is_block():
        block = broadcast_to_shape(block, descriptor.block_type.shape)
    if dimensions(block) != descriptor.block_type.shape:
        raise AssertionError(
            f"value has shape {list(dimensions(block))}, the descriptor's block {list(descriptor.block_type.shape)}"
        )
    return block


def _reduce(descriptor: tensor_descriptor_base, kind: str, offsets: Any, value: Any, allowed: Sequence[dtype]) -> None:
    block = _block_value(descriptor, value)
    if descriptor.dtype not in allowed:
        raise AssertionError("Unsupported dtype")
    if kind in ("min", "max") and descriptor.dtype.is_int_unsigned():
        kind = f"u{kind}"
    operands = (descriptor.handle, cast_to(block, descriptor.dtype).handle, *_offsets(descriptor, offsets))
    builder().emit("tt.descriptor_reduce", operands, kind=kind)


def _check_16_bit_extremum(type: dtype) -> None:
    """Only hardware that has descriptors takes these: elsewhere these are atomics of 16 bits, which Triton refuses."""
    from naiad.language.target_info import current_target

    target = current_target()
    native = target is None or (target.backend == "cuda" and target.arch >= 90)
    if type in (float16, bfloat16) and not native:
        raise AssertionError("16-bit float types require native tma support")


def _check_rows(descriptor: tensor_descriptor_base, rows: Any, name: str) -> None:
    shape = list(descriptor.block_type.shape)
    if len(shape) != 2:
        raise AssertionError(f"descriptor must be 2D, but got {shape}")
    if shape[0] != 1:
        raise AssertionError(f"descriptor block must have 1 row, but got {shape}")
    if not isinstance(rows, tensor) or len(dimensions(rows)) != 1:
        raise AssertionError(f"x offsets must be 1D, but got {rows}")
    if dimensions(rows)[0] < 8:
        raise AssertionError(f"descriptor {name} must have at least 8 rows, but got {list(dimensions(rows))}")
    least = 32 // descriptor.dtype.primitive_bitwidth * 8
    if shape[1] < least:
        raise AssertionError(
            f"descriptor {name} of {descriptor.dtype} must have at least {least} columns, but got {shape[1]}"
        )


@builtin
def load_tensor_descriptor(desc: tensor_descriptor_base, offsets: Any) -> tensor:
    """`desc.load(offsets)`."""
    return desc.load(offsets)


@builtin
def store_tensor_descriptor(desc: tensor_descriptor_base, offsets: Any, value: Any) -> None:
    """`desc.store(offsets, value)`."""
    desc.store(offsets, value)


def _known(value: Any) -> Any:
    """The number that a value certainly is (an argument may have been folded into the kernel); else the value."""
    if not isinstance(value, tensor):
        return value
    if hasattr(builder(), "concrete"):
        return int(value)
    number = builder().known(value.handle)
    return value if number is None else number


@builtin
def make_tensor_descriptor(
    base: tensor, shape: Any, strides: Any, block_shape: Any, padding_option: str = "zero"
) -> tensor_descriptor:
    """A descriptor of the tensor of `shape` and `strides` (in elements; the last is 1) at `base`, 16-byte aligned."""
    shape, strides, block = listed(shape), listed(strides), static_shape(block_shape)
    _check_extents(base, shape, strides, block)
    type = block_type(base.type.element_ty, block)
    padding = padding_word(padding_option)
    if type.element_ty.is_int() and padding == "nan":
        raise ValueError("Padding option `nan` is not supported for integer blocks")
    sizes = [_size(size) for size in shape]
    steps = [scalar_of(step, int64) for step in strides]
    result = tensor_descriptor(None, sizes, steps, type)
    operands = (base.handle, *(size.handle for size in sizes), *(step.handle for step in steps))
    attributes = {"padding": padding} if padding else {}
    described = tensor_descriptor_base_type(type)
    result.handle = builder().emit("tt.make_tensor_descriptor", operands, described, **attributes)
    return result


def _size(size: Any) -> tensor:
    """A size of the tensor as int32; one of 64 bits is cut to it, for no tensor has more than 2**31 rows."""
    if isinstance(size, tensor) and size.dtype.is_int() and not size.type.is_block():
        return cast_to(size, int32)
    return scalar_of(size, int32)


def _check_extents(base: Any, shape: Sequence[Any], strides: Sequence[Any], block: Sequence[int]) -> None:
    rank = len(shape)
    if not 1 <= rank <= 5:
        raise ValueError(f"Expected 1 <= ndim <= 5 but got {rank} dimensions")
    if len(strides) != rank:
        raise ValueError(f"Expected {rank} strides but got {len(strides)}")
    if len(block) != rank:
        raise ValueError(f"Expected block_shape to have {rank} dimensions but got {len(block)}")
    if not isinstance(base, tensor) or not isinstance(base.type, pointer_type):
        raise ValueError(f"Expected `base` to be a pointer, got {base}")
    width = base.type.element_ty.primitive_bitwidth // 8
    if block[-1] * width < 16:
        raise ValueError(
            "Descriptor block shape must have at least 16 bytes in the last dimension, "
            f"but got {block[-1]} * {width} = {block[-1] * width} bytes"
        )
    if _known(strides[-1]) != 1:
        raise ValueError(f"Tensor descriptor last dim must be 1 but got {strides[-1]}")
