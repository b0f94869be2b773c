"""The library that is written in the language itself: sums, extrema, scans, softmax, zeros. Sorting is in sort.py.

max and min skip NaN (a NaN comes out where there is nothing else), argmax and argmin too: the index is that of the
extreme number, the first of equals with `tie_break_left`. bf16 and narrow types are compared and summed in 32 bits.
"""

from typing import Any

from naiad.language import core, math
from naiad.language.compare import maximum, minimum
from naiad.language.constexpr_function import constexpr_function
from naiad.language.function import library
from naiad.language.reduce import _promote_bfloat16_to_float32, _reduce_with_indices, associative_scan, reduce
from naiad.language.tensor import member
from naiad.language.types import float32, int32, uint32


@member
@library
def cdiv(x, div):
    """`x / div` rounded up, of positive integers."""
    return (x + (div - 1)) // div


@member
@library
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + math.exp(-x))


@member
@library
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    """exp(x) / sum(exp(x)) along `dim` (0 where it is None), without overflow."""
    if dim is None:
        axis: core.constexpr = 0
    else:
        axis: core.constexpr = dim
    numerator = math.exp(x - max(x, axis, keep_dims=keep_dims))
    return math.fdiv(numerator, sum(numerator, axis, keep_dims=keep_dims), ieee_rounding)


@library
def swizzle2d(i, j, size_i, size_j, size_g):
    """Where (i, j) of a row-major grid goes when it is walked in groups of `size_g` rows, by columns in a group."""
    linear = i * size_j + j
    in_group = size_g * size_j
    first_row = linear // in_group * size_g
    rows = minimum(size_i - first_row, size_g)  # the last group may have fewer
    linear = linear % in_group
    return first_row + linear % rows, linear // rows


@library
def zeros(shape, dtype):
    """A tile of `shape` of zeros."""
    return core.full(shape, 0, dtype)


@library
def zeros_like(input):
    """A tile of zeros with the shape and dtype of `input`."""
    return zeros(input.shape, input.dtype)


@constexpr_function
def _log2(i):
    """The logarithm of a power of two."""
    return i.bit_length() - 1


@constexpr_function
def _is_power_of_two(i):
    return i > 0 and i & (i - 1) == 0


# Reductions


@constexpr_function
def _wide_type(dtype):
    """The type that narrow numbers are compared in; None for those that have 32 bits or more."""
    if dtype.primitive_bitwidth >= 32:
        return None
    if dtype.is_floating():
        return float32
    if not dtype.is_int():
        raise AssertionError("Expecting input to be integer type")
    return int32


@constexpr_function
def _sum_type(dtype, wanted):
    """The type that a sum is computed in; None for that of the input."""
    if wanted is not None or not dtype.is_int() or dtype.int_bitwidth >= 32:
        return wanted
    return int32 if dtype.is_int_signed() else uint32


@library
def _sum_combine(a, b):
    return a + b


@library
def _prod_combine(a, b):
    return a * b


@library
def _xor_combine(a, b):
    return a ^ b


@library
def _or_combine(a, b):
    return a | b


@library
def _elementwise_max(a, b):
    return maximum(a, b)


@library
def _elementwise_min(a, b):
    return minimum(a, b)


# A NaN loses against any number, on either side (`x != x`: x is NaN), so the order of combination does not matter.


@library
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    both = (value1 != value1) & (value2 != value2)
    tie = ((value1 == value2) | both) & (index1 < index2)
    first = (value1 > value2) | ((value2 != value2) & (value1 == value1)) | tie
    return core.where(first, value1, value2), core.where(first, index1, index2)


@library
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    first = (value1 > value2) | (value2 != value2)
    return core.where(first, value1, value2), core.where(first, index1, index2)


@library
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    both = (value1 != value1) & (value2 != value2)
    tie = ((value1 == value2) | both) & (index1 < index2)
    first = (value1 < value2) | ((value2 != value2) & (value1 == value1)) | tie
    return core.where(first, value1, value2), core.where(first, index1, index2)


@library
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    first = (value1 < value2) | (value2 != value2)
    return core.where(first, value1, value2), core.where(first, index1, index2)


@member
@library
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The largest element along `axis` (of all where it is None); with `return_indices` also where it is."""
    input = _promote_bfloat16_to_float32(input)
    if return_indices:
        if return_indices_tie_break_left:
            return _reduce_with_indices(input, axis, _argmax_combine_tie_break_left, keep_dims=keep_dims)
        else:
            return _reduce_with_indices(input, axis, _argmax_combine_tie_break_fast, keep_dims=keep_dims)
    else:
        wide: core.constexpr = _wide_type(input.dtype)
        if wide is not None:
            input = input.to(wide)
        return reduce(input, axis, _elementwise_max, keep_dims=keep_dims)


@member
@library
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    """The index of the largest element along `axis`."""
    _, index = max(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


@member
@library
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The smallest element along `axis` (of all where it is None); with `return_indices` also where it is."""
    input = _promote_bfloat16_to_float32(input)
    if return_indices:
        if return_indices_tie_break_left:
            return _reduce_with_indices(input, axis, _argmin_combine_tie_break_left, keep_dims=keep_dims)
        else:
            return _reduce_with_indices(input, axis, _argmin_combine_tie_break_fast, keep_dims=keep_dims)
    else:
        wide: core.constexpr = _wide_type(input.dtype)
        if wide is not None:
            input = input.to(wide)
        return reduce(input, axis, _elementwise_min, keep_dims=keep_dims)


@member
@library
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    """The index of the smallest element along `axis`."""
    _, index = min(input, axis, return_indices=True, return_indices_tie_break_left=tie_break_left, keep_dims=keep_dims)
    return index


@member
@library
def sum(input, axis=None, keep_dims=False, dtype: core.constexpr = None):  # type: ignore[assignment]
    """The sum along `axis` (of all elements where it is None), in `dtype`; integers of less than 32 bits in 32 bits."""
    wide: core.constexpr = _sum_type(input.dtype, dtype)
    if wide is not None:
        input = input.to(wide)
    return reduce(input, axis, _sum_combine, keep_dims=keep_dims)


@member
@library
def xor_sum(input, axis=None, keep_dims=False):
    """The exclusive or of the elements along `axis`."""
    core.static_assert(input.type.scalar.is_int(), "xor_sum only supported for integers")
    return reduce(input, axis, _xor_combine, keep_dims=keep_dims)


@member
@library
def reduce_or(input, axis, keep_dims=False):
    """The bitwise or of the elements along `axis`."""
    core.static_assert(input.type.scalar.is_int(), "reduce_or only supported for integers")
    return reduce(input, axis, _or_combine, keep_dims=keep_dims)


# Scans


@member
@library
def cumsum(input, axis=0, reverse=False, dtype: core.constexpr = None):  # type: ignore[assignment]
    """Running sums along `axis`, from the end with `reverse`; types as in `sum`, bf16 in fp32."""
    input = _promote_bfloat16_to_float32(input)
    wide: core.constexpr = _sum_type(input.dtype, dtype)
    if wide is not None:
        input = input.to(wide)
    return associative_scan(input, axis, _sum_combine, reverse)


@member
@library
def cumprod(input, axis=0, reverse=False):
    """Running products along `axis`, from the end with `reverse`; bf16 in fp32."""
    input = _promote_bfloat16_to_float32(input)
    return associative_scan(input, axis, _prod_combine, reverse)


def __getattr__(name: str) -> Any:
    """What Triton keeps here and naiad elsewhere: sorting and reshaping."""
    import naiad.language as language  # it imports this module

    if name not in ("bitonic_merge", "flip", "interleave", "ravel", "sort", "topk"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(language, name)
