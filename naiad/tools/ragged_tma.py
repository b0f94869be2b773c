"""Descriptors of concatenated pieces of unequal length: a block never reaches outside of its piece.

A ragged descriptor has two more dimensions in front. Their strides cancel what the offset in the ragged dimension adds
(addresses wrap at 2**64), so that the bounds check of that dimension, which is huge, cuts the block off at the piece's
end: row 2**30 - length + r of it is row r of the piece, and rows from 2**30 on are outside.
"""

# mypy: ignore-errors
# (kernels: their types are the language's)
from collections.abc import Sequence
from typing import Any

import naiad.language as tl
from naiad.runtime.jit import jit
from naiad.tools.tensor_descriptor import TensorDescriptor

MOST_ROWS = 2**30
EXTENT = 0x7FFF0000


def create_ragged_descriptor(T: Any, block_shape: Sequence[int], ragged_dim: int = 0) -> TensorDescriptor:
    """The ragged descriptor of a tensor of 2 or 3 dimensions, whose pieces follow each other along `ragged_dim`."""
    rank = len(T.shape)
    ragged_dim += rank if ragged_dim < 0 else 0
    assert 0 <= ragged_dim < rank - 1, "last dimension cannot be ragged"
    assert rank <= 3, "read-write ragged descriptors must have at most 3 dimensions"
    assert len(block_shape) == rank, "block shape must have same length as tensor shape"
    assert T.shape[ragged_dim] <= MOST_ROWS, "number of rows may not exceed 2**30"
    stride = T.stride(ragged_dim)
    shape = [MOST_ROWS if i == ragged_dim else T.shape[i] for i in range(rank)]
    strides = [2**34 - stride, stride, *(T.stride(i) for i in range(rank))]
    return TensorDescriptor(T, [EXTENT, EXTENT, *shape], strides, [1, 1, *block_shape])


@jit
def to_ragged_indices(batch_offset, batch_size, row):
    """The three indices that stand for `row` of the piece at `batch_offset` with `batch_size` rows."""
    most: tl.constexpr = 1073741824
    return most, batch_offset + batch_size, most - batch_size + row


@jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):
    """The block at `coords` of a piece; what is outside of the piece reads as zero."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "TMA must be a read-write ragged descriptor")
    c0, c1, c2 = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    data = TMA.load([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :])  # noqa: RUF005 (tl.tuple)
    return tl.reshape(data, data.shape[2:])


@jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Writes a block at `coords` of a piece; what is outside of the piece is not written."""
    c0, c1, c2 = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    data = tl.reshape(data, [1, 1] + data.shape)  # noqa: RUF005
    TMA.store([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :], data)  # noqa: RUF005


@jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds a block atomically at `coords` of a piece; what is outside of the piece is left alone."""
    c0, c1, c2 = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    data = tl.reshape(data, [1, 1] + data.shape)  # noqa: RUF005
    TMA.atomic_add([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1 :], data)  # noqa: RUF005
