"""Rules of the ops that order elements: sort, topk, flip. NaN is above every number, +0.0 above -0.0."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from naiad.language.types import dtype
from naiad.rounding import is_float, to_double
from naiad.runtime.interpreter.tiles import Rule, Tile


def _keys(tile: Tile, signed: bool) -> Tile:
    """Integers that are ordered as the elements should be."""
    if is_float(tile.dtype):
        bits = to_double(tile).view(np.int64)
        ordered = np.where(
            bits < 0, bits ^ np.int64(2**63 - 1), bits
        )  # the larger a negative number's bits, the smaller it is
        return np.where(np.isnan(to_double(tile)), np.int64(2**63 - 1), ordered)
    if tile.dtype.kind == "b":
        return tile.astype(np.uint8)
    return tile if signed else tile.view(np.dtype(f"u{tile.dtype.name}"))


def _order(tile: Tile, axis: int, descending: bool, signed: bool) -> Tile:
    """The indices along `axis` that put the tile in order; equal elements stay in order."""
    keys = _keys(tile, signed)
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


RULES: dict[str, Rule] = {"ttn.sort": sort, "ttn.topk": topk, "ttn.flip": flip}
