"""Where a program stands in the grid, and how tiles begin: program_id, num_programs, arange, full."""

from collections.abc import Sequence
from typing import Any

from naiad.errors import explain
from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.casts import cast_to, check_fp8
from naiad.language.promotion import scalar_constant, splat
from naiad.language.tensor import known_number, tensor
from naiad.language.types import block_of, block_type, dtype, int32

_TYPE = dtype  # `dtype` is the name of a parameter below


def _grid(name: str, op: str, axis: Any) -> tensor:
    axis = known_number(axis)
    if axis not in (0, 1, 2):
        raise ValueError(f"{name} axis must be 0, 1, or 2 but got {axis}")
    return tensor(builder().emit(op, (), int32, axis=int(axis)), int32)


@builtin
def program_id(axis: int) -> tensor:
    """The index of this program along `axis` (0, 1 or 2) of the grid, as int32."""
    return _grid("program_id", "tt.get_program_id", axis)


@builtin
def num_programs(axis: int) -> tensor:
    """The size of the grid along `axis` (0, 1 or 2), as int32."""
    return _grid("num_programs", "tt.get_num_programs", axis)


@builtin
def arange(start: int, end: int) -> tensor:
    """The int32 tile start, start + 1, ..., end - 1. How many they are is a power of two."""
    start, end = known_number(start), known_number(end)
    if not isinstance(start, int) or not isinstance(end, int):
        error = ValueError("arange's arguments must be of type tl.constexpr")
        if isinstance(start, tensor) or isinstance(end, tensor):
            raise error
        advice = "pass an int: n // 2 instead of n / 2, or triton.cdiv"
        raise explain(error, expected="an int known when the kernel is compiled", advice=advice)
    if start >> 32 or end >> 32:
        raise ValueError("arange must fit in int32")
    if end <= start:
        raise ValueError("arange's end argument must be greater than the start argument")
    size = end - start
    if size & (size - 1):
        raise ValueError("arange's range must be a power of 2")
    type = block_type(int32, [size])
    return tensor(builder().emit("tt.make_range", (), type, start=start, end=end), type)


@builtin
def full(shape: Any, value: Any, dtype: dtype) -> tensor:
    """A tile of `shape` with `value`, a number or a scalar, everywhere."""
    if not isinstance(dtype, _TYPE):
        raise ValueError("dtype must be specified when value is not a tensor")
    sizes = static_shape(shape)
    if dtype.is_fp8():
        check_fp8(dtype)
    if not isinstance(value, tensor):
        return scalar_constant(value, block_of(dtype, sizes))
    if value.numel != 1:
        raise AssertionError("only accepts size-1 tensor")
    if value.type.is_block():
        from naiad.language.shape import unsplat  # shape.py builds on this file

        value = unsplat(value)
    return splat(cast_to(value, dtype), sizes)


def static_shape(shape: Any) -> tuple[int, ...]:
    """A shape that is known when the kernel is compiled, as ints."""
    sizes = tuple(map(known_number, shape)) if isinstance(shape, Sequence) else (known_number(shape),)
    for i, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(size)}]")
    return sizes
