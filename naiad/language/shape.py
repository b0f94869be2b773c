"""Functions that move elements: reshape, permute, broadcast, join, split, cat, gather, flip, indexing."""

import builtins
import math
import warnings
from collections.abc import Sequence
from typing import Any

from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.constexpr import unwrap
from naiad.language.program import static_shape
from naiad.language.promotion import broadcast_pair, broadcast_to_shape, insert_axis, to_tensor
from naiad.language.tensor import dimensions, member, tensor
from naiad.language.tuples import slice
from naiad.language.types import block_of, block_size

_range = range


def _flat(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The items of `f((1, 2))` and of `f(1, 2)`."""
    if len(arguments) == 1 and isinstance(arguments[0], Sequence):
        return builtins.tuple(arguments[0])
    return builtins.tuple(arguments)


def _tile_shape(arguments: Sequence[Any]) -> tuple[int, ...]:
    shape = static_shape(_flat(arguments))
    block_size(shape)
    return shape


def _emit(op: str, value: tensor, shape: Sequence[int], **attributes: Any) -> tensor:
    type = block_of(value.dtype, builtins.tuple(shape))
    return tensor(builder().emit(op, (value.handle,), type, **attributes), type)


def wrap_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front. Raises ValueError where there is no such axis."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise ValueError(f"invalid axis {axis}. Expected {-rank} <= axis < {rank}")
    return axis % rank


@builtin
def broadcast(input: Any, other: Any) -> builtins.tuple[tensor, tensor]:
    """Both in one shape."""
    return broadcast_pair(to_tensor(input), to_tensor(other))


@member
@builtin
def broadcast_to(input: Any, *shape: Any) -> tensor:
    """`input` stretched to `shape`: `broadcast_to(x, (32, 32))` or `broadcast_to(x, 32, 32)`."""
    return broadcast_to_shape(to_tensor(input), _tile_shape(shape))


@member
@builtin
def trans(input: tensor, *dims: Any) -> tensor:
    """Permutes the dimensions; without `dims`, swaps the last two."""
    order = _flat(dims)
    if not order:
        rank = len(dimensions(input))
        if rank < 2:
            raise ValueError("tl.trans invoked with a 0- or 1-dimensional tensor")
        order = (*_range(rank - 2), rank - 1, rank - 2)
    return permute(input, order)


@member
@builtin
def permute(input: tensor, *dims: Any) -> tensor:
    """The tile whose dimension i is dimension dims[i] of `input`."""
    order, shape = _flat(dims), dimensions(input)
    if len(shape) != len(order):
        raise ValueError("permute dims must have the same length as input shape")
    if sorted(order) != list(_range(len(order))):
        raise ValueError(f"permute dims must be a permutation of 0, 1, ..., n-1, but were {order}")
    return _emit("tt.trans", input, [shape[d] for d in order], order=order)


tensor.T = property(lambda self: trans(self))  # type: ignore[attr-defined]


@member
@builtin
def reshape(input: tensor, *shape: Any, can_reorder: bool = False) -> tensor:
    """The same elements in row-major order in another shape; in any order with `can_reorder`."""
    sizes = _tile_shape(shape)
    if not sizes:
        return unsplat(input)
    return reshape_to(input, sizes, can_reorder)


def reshape_to(input: tensor, sizes: Sequence[int], can_reorder: bool = False) -> tensor:
    if math.prod(dimensions(input)) != math.prod(sizes):
        raise ValueError("reshape() cannot change total number of elements in tensor")
    if not input.type.is_block():
        return broadcast_to_shape(input, builtins.tuple(sizes))
    return _emit("tt.reshape", input, sizes, allow_reorder=bool(can_reorder))


@member
@builtin
def view(input: tensor, *shape: Any) -> tensor:
    """Deprecated: a reshape that may reorder."""
    warnings.warn("view is deprecated, please use reshape with can_reorder being true.", stacklevel=2)
    return reshape_to(input, _tile_shape(shape), can_reorder=True)


def unsplat(value: tensor) -> tensor:
    """The only element of a tile as a scalar."""
    if not value.type.is_block():
        return value
    if math.prod(dimensions(value)) != 1:
        raise AssertionError("can only unsplat single-element tensors")
    return tensor(builder().emit("tt.unsplat", (value.handle,), value.dtype), value.dtype)


@member
@builtin
def item(input: tensor) -> tensor:
    """The only element of a tile as a scalar."""
    return unsplat(input)


@member
@builtin
def expand_dims(input: Any, axis: Any) -> tensor:
    """`input` with dimensions of size 1 at `axis` (one index or several), counted in the result."""
    value = to_tensor(input)
    axes = list(axis) if isinstance(axis, Sequence) else [axis]
    rank = len(dimensions(value)) + len(axes)
    axes = [wrap_axis(a, rank) for a in axes]
    if len(set(axes)) != len(axes):
        raise ValueError(f"expand_dims received duplicate axes, normalized axes = {axes}")
    for a in sorted(axes):
        value = insert_axis(value, a)
    return value


@member
@builtin
def unsqueeze(input: Any, dim: int) -> tensor:
    """`input` with a dimension of size 1 at `dim`."""
    return expand_dims(input, dim)


@member
@builtin
def squeeze(input: tensor, dim: int) -> tensor:
    """`input` without dimension `dim`, which has size 1."""
    shape = dimensions(input)
    dim = wrap_axis(dim, len(shape))
    if shape[dim] != 1:
        raise ValueError(f"squeeze: dimension {dim} has size {shape[dim]}, expected 1")
    return reshape(input, (*shape[:dim], *shape[dim + 1 :]))


@member
@builtin
def ravel(x: tensor, can_reorder: bool = False) -> tensor:
    """The elements as a tile of one dimension."""
    return reshape_to(x, (math.prod(dimensions(x)),), can_reorder)


@builtin
def join(a: Any, b: Any) -> tensor:
    """Stacks two tiles in a new last dimension of size 2."""
    a, b = broadcast_pair(to_tensor(a), to_tensor(b))
    scalars = not a.type.is_block()
    if scalars:
        a, b = insert_axis(a, 0), insert_axis(b, 0)
    a, b = _same_type(a, b)
    type = block_of(a.dtype, (*dimensions(a), 2))
    joined = tensor(builder().emit("tt.join", (a.handle, b.handle), type), type)
    return reshape_to(joined, (2,)) if scalars else joined


def _same_type(a: tensor, b: tensor) -> builtins.tuple[tensor, tensor]:
    if a.dtype != b.dtype:
        raise TypeError(f"both tensors must have the same dtype, got {a.dtype} and {b.dtype}")
    return a, b


@member
@builtin
def split(a: tensor) -> builtins.tuple[tensor, tensor]:
    """Undoes `join`: takes the last dimension, of size 2, apart. A tile of shape (2,) gives two scalars."""
    shape = dimensions(a)
    if not shape or shape[-1] != 2:
        raise AssertionError(f"split needs a last dimension of size 2, got shape {list(shape)}")
    if len(shape) == 1:
        halves = split(insert_axis(a, 0))
        return unsplat(halves[0]), unsplat(halves[1])
    type = block_of(a.dtype, shape[:-1])
    left, right = builder().emit("tt.split", (a.handle,), (type, type))
    return tensor(left, type), tensor(right, type)


@builtin
def interleave(a: Any, b: Any) -> tensor:
    """Elements of `a` and `b` in turn along the last dimension."""
    joined = join(a, b)
    shape = dimensions(joined)
    return joined if len(shape) == 1 else reshape_to(joined, (*shape[:-2], 2 * shape[-2]))


@builtin
def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """`input` followed by `other` along `dim`; in any order with `can_reorder` (tiles of one dimension)."""
    a, b = _same_type(input, other)
    shape = dimensions(a)
    if can_reorder:
        if len(shape) != 1 or len(dimensions(b)) != 1:
            raise AssertionError("cat with can_reorder needs tiles of one dimension")
        type = block_of(a.dtype, (shape[0] + dimensions(b)[0],))
        return tensor(builder().emit("tt.cat", (a.handle, b.handle), type), type)
    if shape != dimensions(b):
        raise ValueError(f"cat needs tiles of one shape, got {list(shape)} and {list(dimensions(b))}")
    dim = wrap_axis(dim, len(shape))
    rank = len(shape)
    stacked = permute(join(a, b), (*_range(dim), rank, *_range(dim, rank)))
    return reshape_to(stacked, (*shape[:dim], 2 * shape[dim], *shape[dim + 1 :]))


@member
@builtin
def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """The elements of `src` at `index` along `axis`; the other dimensions of both agree."""
    source, target = dimensions(src), dimensions(index)
    if not index.dtype.is_int():
        raise AssertionError("index must be an integer tensor")
    if len(source) != len(target):
        raise AssertionError("source and index tensors must have the same rank")
    if not -len(source) <= axis < len(source):
        raise AssertionError(f"gather axis {axis} must be < source rank ({len(source)})")
    axis %= len(source)
    for d, (m, n) in enumerate(zip(source, target, strict=True)):
        if d != axis and m != n:
            raise AssertionError(f"index dim {axis} must match the corresponding source dim")
    type = block_of(src.dtype, target)
    return tensor(builder().emit("tt.gather", (src.handle, index.handle), type, axis=axis), type)


@member
@builtin
def flip(x: tensor, dim: int | None = None) -> tensor:
    """`x` in reverse order along `dim` (the last where it is None)."""
    rank = len(dimensions(x))
    axis = wrap_axis(rank - 1 if dim is None else dim, rank)
    return _emit("ttn.flip", x, dimensions(x), axis=axis)


@builtin
def _index(self: tensor, key: Any) -> tensor:
    """`x[:, None]`: keeps dimensions (`:`) and adds some (`None`)."""
    value = self
    for dim, part in enumerate(key if isinstance(key, builtins.tuple | list) else [key]):
        whole = isinstance(part, slice) and part.is_whole
        whole |= isinstance(part, builtins.slice) and all(unwrap(p) is None for p in (part.start, part.stop, part.step))
        if part is None:
            value = insert_axis(value, dim)
        elif not whole:
            raise ValueError(f"unsupported tensor index: {part}")
    return value


setattr(tensor, "__getitem__", _index)  # noqa: B010  (to mypy an assignment here is a subscript)
