"""Rules of the ops that order elements: sort, topk, flip. NaN is above every number."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from naiad.language.types import dtype
from naiad.rounding import is_float, to_double
from naiad.runtime.interpreter.tiles import Tile


def _order(tile: Tile, axis: int, descending: bool, signed: bool) -> Tile:
    """The indices along `axis` that put the tile in order; equal elements stay in order."""
    keys = tile.astype(np.uint8) if tile.dtype.kind == "b" else tile
    if is_float(tile.dtype):
        keys = to_double(tile)
    elif not signed and tile.dtype.kind == "i":
        keys = tile.view(np.dtype(f"u{tile.dtype.name}"))
    if not descending:
        return np.argsort(keys, axis=axis, kind="stable")
    backward = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return keys.shape[axis] - 1 - np.flip(backward, axis)


def sort(builder: Any, operands: Sequence[Tile], type: dtype, axis: int, descending: bool, signed: bool = True) -> Tile:
    """The elements in order along `axis`."""
    (tile,) = operands
    return np.take_along_axis(tile, _order(tile, axis, descending, signed), axis)


def topk(builder: Any, operands: Sequence[Tile], type: dtype, k: int, descending: bool, signed: bool = True) -> Tile:
    """The k largest along the last axis, in order (the smallest, where the order is ascending)."""
    (tile,) = operands
    return np.take_along_axis(tile, _order(tile, -1, descending, signed)[..., :k], -1)


def flip(builder: Any, operands: Sequence[Tile], type: dtype, axis: int) -> Tile:
    """The elements along `axis` from last to first."""
    return np.flip(operands[0], axis)


RULES = {"ttn.sort": sort, "ttn.topk": topk, "ttn.flip": flip}
