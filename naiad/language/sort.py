"""Sorting along one dimension: sort, topk, bitonic_merge."""

from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.shape import permute, wrap_axis
from naiad.language.tensor import dimensions, member, tensor
from naiad.language.types import block_of


def _axis(x: tensor, dim: int | None) -> int:
    rank = len(dimensions(x))
    return wrap_axis(rank - 1 if dim is None else dim, rank)


@member
@builtin
def sort(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """`x` sorted along `dim` (the last where it is None)."""
    axis, signed = _axis(x, dim), x.dtype.is_int_signed()
    attributes = {"axis": axis, "descending": bool(descending), "signed": signed}
    return tensor(builder().emit("ttn.sort", (x.handle,), x.type, **attributes), x.type)


@member
@builtin
def topk(x: tensor, k: int, dim: int | None = None, descending: bool = True) -> tensor:
    """The `k` largest along `dim`, in descending order; the smallest, ascending, if `descending` is false."""
    axis, rank = _axis(x, dim), len(dimensions(x))
    if not isinstance(k, int) or not 1 <= k <= dimensions(x)[axis]:
        raise ValueError(f"topk: k must be between 1 and {dimensions(x)[axis]}, got {k}")
    last_first = [d for d in range(rank) if d != axis] + [axis]
    moved = x if axis == rank - 1 else permute(x, last_first)
    type = block_of(x.dtype, (*dimensions(moved)[:-1], k))
    attributes = {"k": k, "descending": bool(descending), "signed": x.dtype.is_int_signed()}
    best = tensor(builder().emit("ttn.topk", (moved.handle,), type, **attributes), type)
    return best if axis == rank - 1 else permute(best, [last_first.index(d) for d in range(rank)])


@member
@builtin
def bitonic_merge(x: tensor, dim: int | None = None, descending: bool = False) -> tensor:
    """Sorts a tile that rises and then falls (or the other way round) along `dim`. Any sort does that."""
    return sort(x, dim, descending)
