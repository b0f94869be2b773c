"""Functions that combine elements by a @jit function: reduce, associative_scan, map_elementwise; and histogram."""

from collections.abc import Sequence
from typing import Any

from naiad.language.builder import Body, Handle, builder
from naiad.language.builtin import builtin
from naiad.language.casts import cast_to
from naiad.language.compare import promoted
from naiad.language.constexpr import unwrap
from naiad.language.memory import check_mask
from naiad.language.program import arange
from naiad.language.promotion import (
    broadcast_all,
    broadcast_to_shape,
    insert_axis,
    optional_tensor,
    to_tensor,
)
from naiad.language.shape import expand_dims, ravel, wrap_axis
from naiad.language.tensor import dimensions, member, tensor
from naiad.language.types import block_of, block_type, int32


def _results(returned: Any) -> list[tensor]:
    """What a combiner gave: one value, or several in a tuple."""
    return [to_tensor(value) for value in (returned if _is_several(returned) else [returned])]


def _is_several(returned: Any) -> bool:
    return isinstance(unwrap(returned), tuple | list)


def _combiner(inputs: Sequence[tensor], combine: Any) -> Body:
    """The region of a reduction or scan: two elements of each input in, one of each out."""
    types = [value.dtype for value in inputs]

    def build(handles: Sequence[Handle]) -> list[Handle]:
        arguments = [tensor(handle, type) for handle, type in zip(handles, types * 2, strict=True)]
        combined = _results(builder().call(combine, arguments, {}))
        if len(combined) != len(types):
            raise TypeError(f"the combine function gave {len(combined)} values for {len(types)} inputs")
        return [cast_to(value, type).handle for value, type in zip(combined, types, strict=True)]

    return Body(types * 2, build)


def _as_tensors(input: Any, name: str) -> tuple[list[tensor], bool]:
    """The inputs as a list, and whether there was one that was not in a tuple."""
    single = not isinstance(input, Sequence)
    inputs = [to_tensor(value) for value in ([input] if single else input)]
    if any(dimensions(value) != dimensions(inputs[0]) for value in inputs):
        raise AssertionError(f"all {name} inputs must have the same shape")
    return inputs, single


@member
@builtin
def reduce(input: Any, axis: int | None, combine_fn: Any, keep_dims: bool = False) -> Any:
    """Combines all elements along `axis` (all of them where it is None) of a tile, or of a tuple of tiles."""
    inputs, single = _as_tensors(input, "reduction")
    rank = len(dimensions(inputs[0]))
    flat = inputs if axis is not None else [ravel(value, can_reorder=True) for value in inputs]
    along = 0 if axis is None else wrap_axis(axis, rank)
    shape = dimensions(flat[0])
    types = tuple(block_of(value.dtype, shape[:along] + shape[along + 1 :]) for value in flat)
    operands = [value.handle for value in flat]
    handles = builder().emit_region("tt.reduce", operands, types, _combiner(flat, combine_fn), axis=along)
    results = [tensor(handle, type) for handle, type in zip(handles, types, strict=True)]
    if keep_dims:
        results = [insert_axis(r, along) if axis is not None else _restored(r, rank) for r in results]
    return results[0] if single else tuple(results)


def _restored(value: tensor, rank: int) -> tensor:
    return expand_dims(value, tuple(range(rank))) if rank else value


@builtin
def _reduce_with_indices(input: tensor, axis: int | None, combine_fn: Any, keep_dims: bool = False) -> Any:
    """The value that the combiner chooses along `axis` and its index there (in the flat tile where axis is None)."""
    value = to_tensor(input)
    shape = dimensions(value)
    if axis is None:
        flat = ravel(value)
        both = reduce((flat, arange(0, dimensions(flat)[0])), 0, combine_fn)
        return tuple(_restored(v, len(shape)) for v in both) if keep_dims else both
    axis = wrap_axis(axis, len(shape))
    index = arange(0, shape[axis])
    if len(shape) > 1:
        index = broadcast_to_shape(expand_dims(index, [d for d in range(len(shape)) if d != axis]), shape)
    return reduce((value, index), axis, combine_fn, keep_dims=keep_dims)


@builtin
def _promote_bfloat16_to_float32(t: Any) -> tensor:
    return promoted(t)


@member
@builtin
def associative_scan(input: Any, axis: int, combine_fn: Any, reverse: bool = False) -> Any:
    """Running combinations along `axis`: element i combines elements 0 to i (from the end with `reverse`).

    The earlier element is always the left operand of the combiner.
    """
    inputs, single = _as_tensors(input, "scan")
    rank = len(dimensions(inputs[0]))
    along = wrap_axis(axis, rank)
    types = tuple(value.type for value in inputs)
    operands = [value.handle for value in inputs]
    body = _combiner(inputs, combine_fn)
    handles = builder().emit_region("tt.scan", operands, types, body, axis=along, reverse=bool(reverse))
    results = tuple(tensor(handle, type) for handle, type in zip(handles, types, strict=True))
    return results[0] if single else results


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: int = 1) -> Any:
    """`scalar_fn` on each element of the tiles, which are broadcast; it may branch.

    With `pack` it gets that many at a time: all of the first argument, then all of the second; its results come in the
    same order.
    """
    if not args:
        raise AssertionError("map_elementwise must have at least 1 input tensor")
    if not isinstance(pack, int) or pack < 1:
        raise AssertionError(f"pack must be 1 or more, got {pack}")
    inputs = broadcast_all(*[to_tensor(a) for a in args])
    scalars = [value.dtype for value in inputs for _ in range(pack)]
    types: list[Any] = []  # known once the body is built
    single = [True]

    def build(handles: Sequence[Handle]) -> list[Handle]:
        returned = builder().call(scalar_fn, [tensor(h, t) for h, t in zip(handles, scalars, strict=True)], {})
        single[0] = not _is_several(returned)
        results = _results(returned)
        chosen = [value.dtype for value in results[::pack]]
        if any([value.dtype for value in results[i::pack]] != chosen for i in range(pack)):
            raise AssertionError("type mismatch in unpacked results")
        types.extend(inputs[0].type.with_element_ty(type) for type in chosen)
        return [value.handle for value in results]

    operands = [value.handle for value in inputs]
    handles = builder().emit_region("tt.map_elementwise", operands, types, Body(scalars, build), pack=pack)
    results = tuple(tensor(handle, type) for handle, type in zip(handles, types, strict=True))
    return results[0] if single[0] else results


@member
@builtin
def histogram(input: tensor, num_bins: int, mask: Any = None) -> tensor:
    """How many elements (whose mask is true) of a one-dimensional integer tile equal 0, 1, ..., num_bins - 1."""
    if len(dimensions(input)) != 1:
        raise AssertionError("histogram only supports 1D input")
    if not input.dtype.is_int():
        raise AssertionError("histogram only supports integer input")
    lanes = optional_tensor(mask)
    if lanes is not None:
        lanes = broadcast_to_shape(lanes, dimensions(input))
    check_mask(lanes)
    type = block_type(int32, [num_bins])
    operands = (input.handle, None if lanes is None else lanes.handle)
    return tensor(builder().emit("tt.histogram", operands, type), type)
