"""Rules of matrix products: exact products, summed in float64 and rounded once to the type of the accumulator.

`input_precision` asks for less than this where it asks for anything, so it changes nothing here.
"""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from naiad.language.types import dtype
from naiad.rounding import is_float, to_double, to_float
from naiad.runtime.interpreter.tiles import Rule, Tile, element_of

_FP4 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])
"""The values of e2m1 by their code."""
_FP8 = {"e4m3": np.dtype(ml_dtypes.float8_e4m3fn), "e5m2": np.dtype(ml_dtypes.float8_e5m2)}


def _double(tile: Tile) -> Tile:
    return to_double(tile) if is_float(tile.dtype) else tile.astype(np.float64)


def dot(builder: Any, operands: Sequence[Tile], type: dtype, **attributes: Any) -> Tile:
    """a @ b + c of tiles of two or three dimensions."""
    a, b, c = operands
    return _accumulate(_double(a) @ _double(b), c, element_of(type))


def _accumulate(product: Tile, c: Tile, element: np.dtype) -> Tile:
    if is_float(element):
        return to_float(product + to_double(c), element)
    return product.astype(np.int64).astype(element) + c  # sums of products of bytes are exact in float64


def dot_scaled(
    builder: Any,
    operands: Sequence[Tile | None],
    type: dtype,
    a_elem_type: str,
    b_elem_type: str,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    **attributes: Any,
) -> Tile:
    """(a * a_scale) @ (b * b_scale) + c; one scale for a group along K. Two e2m1 share a byte, low half first."""
    a, b, c, a_scale, b_scale = (*operands, None, None)[:5]
    lhs = _values(a, a_elem_type, axis=-1 if lhs_k_pack else -2)
    rhs = _values(b, b_elem_type, axis=-2 if rhs_k_pack else -1)
    lhs = lhs * _spread(a_scale, lhs.shape[-1])
    rhs = rhs * np.swapaxes(_spread(b_scale, rhs.shape[-2]), -1, -2)
    return _accumulate(lhs @ rhs, c, element_of(type))


def _values(tile: Tile, kind: str, axis: int) -> Tile:
    """The operand's numbers as float64."""
    if kind == "e2m1":
        codes = tile.view(np.uint8)
        return np.moveaxis(_unpacked(np.moveaxis(codes, axis, -1)), -1, axis)
    if kind in _FP8 and tile.dtype.kind == "i":
        tile = np.ascontiguousarray(tile).view(_FP8[kind])
    return _double(tile)


def _unpacked(codes: Tile) -> Tile:
    halves = np.stack([codes & 15, codes >> 4], axis=-1)
    return _FP4[halves.reshape(*codes.shape[:-1], -1)]


def _spread(scale: Tile | None, size: int) -> Tile:
    """The factor of each of `size` elements along K: powers of two (e8m0, 255 is NaN), or e4m3 numbers as they are."""
    if scale is None:
        return np.ones((1, 1))
    if is_float(scale.dtype):
        factors = to_double(scale)
    else:
        code = scale.view(np.uint8)
        factors = np.where(code == 255, np.nan, np.ldexp(1.0, code.astype(np.int32) - 127))
    return np.repeat(factors, size // scale.shape[-1], axis=-1)


RULES: dict[str, Rule] = {"tt.dot": dot, "tt.dot_scaled": dot_scaled}
