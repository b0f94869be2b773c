"""Block pointers: a pointer to a tile in a larger tensor, with shape, strides and offsets."""

from collections.abc import Sequence
from typing import Any

from naiad.language.builder import Handle, builder
from naiad.language.builtin import builtin, must_use_result
from naiad.language.casts import cast_to
from naiad.language.promotion import scalar_constant
from naiad.language.shape import unsplat
from naiad.language.tensor import member, tensor
from naiad.language.types import block_type, dtype, int1, int8, int32, int64, pointer_type


def is_block_pointer(value: Any) -> bool:
    """Whether `value` is a pointer to a tile."""
    return isinstance(value, tensor) and value.type.is_ptr() and value.type.element_ty.is_block()


def listed(value: Any) -> list[Any]:
    """A sequence as a list; anything else as a list of one."""
    return list(value) if isinstance(value, Sequence) else [value]


def checked_dimensions(boundary_check: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """The dimensions in `boundary_check` of a load or store, in order."""
    dims = listed(boundary_check)
    for dim in dims:
        if not isinstance(dim, int) or not 0 <= dim < len(shape):
            raise AssertionError(f"boundary_check names dimension {dim}, the block has {len(shape)}")
    if len(dims) != len(set(dims)):
        raise AssertionError("Duplicate dimension in `boundary_check`")
    return tuple(sorted(dims))


def scalar_of(value: Any, type: dtype) -> tensor:
    """A size, stride or offset as a scalar of `type`: int64, or int32 that does not cut."""
    if isinstance(value, int):
        bits = type.int_bitwidth
        if not type.get_int_min_value() <= value <= type.get_int_max_value():
            what = "shape/strides" if bits == 64 else "offsets/block_shape"
            raise AssertionError(
                f"Block pointers only support {bits} bit `{what}`, got a value {value} which is out of the range"
            )
        return scalar_constant(value, type)
    if not isinstance(value, tensor):
        raise AssertionError(f"Unsupported element type in shape/strides/offsets: {value.__class__}")
    if value.numel != 1:
        raise AssertionError("Expected a scalar in shape/strides/offsets")
    if not value.dtype.is_int():
        raise AssertionError("Expected an integer scalar type in shape/strides/offsets")
    if type.int_bitwidth < 64 and value.dtype.int_bitwidth == 64:
        raise AssertionError(
            "Block pointers only support 32 bit `offsets/block_shape`, "
            "add a `.to(tl.int32)` or use regular indexing for 64 bit support"
        )
    return cast_to(unsplat(value), type)


def handles_of(values: Any, type: dtype) -> list[Handle]:
    return [scalar_of(value, type).handle for value in listed(values)]


@builtin
def make_block_ptr(base: tensor, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any) -> tensor:
    """A pointer to the block of `block_shape` at `offsets` in the tensor of `shape` and `strides` at `base`.

    `order` lists the dimensions from the fastest in memory to the slowest.
    """
    sizes, steps, starts = handles_of(shape, int64), handles_of(strides, int64), handles_of(offsets, int32)
    if not isinstance(base, tensor) or not base.type.is_ptr() or base.type.element_ty.is_block():
        raise ValueError("Expected `base` to be a pointer type (but not a block pointer type or others)")
    if base.type.element_ty == int1:
        base = cast_to(base, pointer_type(int8, base.type.address_space))
    block, order = listed(block_shape), listed(order)
    if not all(isinstance(size, int) and -(2**31) <= size < 2**31 for size in block):
        raise AssertionError("Expected a list of constant integers (`int32_t` range) in `block_shape`")
    if sorted(order) != list(range(len(order))):
        raise AssertionError("Expected a permutation of (0, 1, ..., len(order)-1) in order")
    if any(len(block) != len(given) for given in (sizes, steps, starts, order)):
        raise AssertionError("Expected shape/strides/offsets/block_shape to have the same length")
    type = pointer_type(block_type(base.type.element_ty, block), base.type.address_space, base.type.const)
    operands = (base.handle, *sizes, *steps, *starts)
    return tensor(builder().emit("tt.make_tensor_ptr", operands, type, order=tuple(order)), type)


@must_use_result(
    "Note that tl.advance does not have any side effects. To move the block pointer, you need to assign the result of "
    "tl.advance to a variable."
)
@member
@builtin
def advance(base: tensor, offsets: Any) -> tensor:
    """The block pointer `base` moved by `offsets` elements, one for each dimension."""
    if not is_block_pointer(base):
        raise ValueError("Expected `base` to be a block pointer (made by `make_block_ptr`)")
    starts = handles_of(offsets, int32)
    if len(starts) != len(base.type.element_ty.shape):
        raise AssertionError(f"expected {len(base.type.element_ty.shape)} offsets, but got {len(starts)}")
    return tensor(builder().emit("tt.advance", (base.handle, *starts), base.type), base.type)
