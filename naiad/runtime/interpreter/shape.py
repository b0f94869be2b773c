"""Rules of the ops that rearrange tiles without computing."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from naiad.language.types import dtype
from naiad.runtime.interpreter.tiles import Rule, Tile, shape_of


def expand_dims(builder: Any, operands: Sequence[Tile], type: dtype, axis: int) -> Tile:
    """One more dimension, of size 1, at `axis`."""
    return np.expand_dims(operands[0], axis)


def broadcast(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """Dimensions of size 1 repeated."""
    return np.broadcast_to(operands[0], shape_of(type))


def reshape(builder: Any, operands: Sequence[Tile], type: dtype, **attributes: Any) -> Tile:
    """The same elements in row-major order in another shape, also where the compiler may reorder them."""
    return np.reshape(operands[0], shape_of(type))


def transpose(builder: Any, operands: Sequence[Tile], type: dtype, order: Sequence[int]) -> Tile:
    """Dimension i of the result is dimension order[i]."""
    return np.transpose(operands[0], order)


def join(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """Two tiles side by side in a new last dimension of size 2."""
    return np.stack(operands, axis=-1)


def split(builder: Any, operands: Sequence[Tile], type: Any) -> tuple[Tile, Tile]:
    """The two tiles of a last dimension of size 2."""
    return operands[0][..., 0], operands[0][..., 1]


def concatenate(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """Both tiles one after the other; the compiler may order the elements differently."""
    return np.concatenate(operands, axis=0)


def gather(builder: Any, operands: Sequence[Tile], type: dtype, axis: int, **attributes: Any) -> Tile:
    """Elements of the first operand by their index along `axis`. An index outside gives the nearest element."""
    source, indices = operands
    unsigned = indices.view(np.dtype(f"u{indices.dtype.name}"))
    inside = np.minimum(unsigned, source.shape[axis] - 1).astype(np.int64)
    return np.take_along_axis(source, inside, axis)


def histogram(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """How often each of 0, 1, ... occurs among the elements whose mask is true; others are not counted."""
    source, mask = (*operands, None)[:2]
    (bins,) = shape_of(type)
    counted = (source >= 0) & (source < bins)
    counted = counted if mask is None else counted & mask
    return np.bincount(source[counted], minlength=bins).astype(np.int32)


RULES: dict[str, Rule] = {
    "tt.expand_dims": expand_dims,
    "tt.broadcast": broadcast,
    "tt.reshape": reshape,
    "tt.trans": transpose,
    "tt.join": join,
    "tt.split": split,
    "tt.cat": concatenate,
    "tt.gather": gather,
    "tt.histogram": histogram,
}
