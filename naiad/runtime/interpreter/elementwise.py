"""Rules of arith, math and the elementwise ops of tt: the table that constant folding uses too."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from naiad.ir.evaluate import CASTS, FLOAT, SIGNED, UNSIGNED, evaluate
from naiad.language.types import dtype
from naiad.runtime.interpreter.errors import NotLiftable
from naiad.runtime.interpreter.tiles import Rule, Tile, bytes_of, element_of

NAMES = (*FLOAT, *SIGNED, *UNSIGNED, *CASTS, "arith.cmpi", "arith.cmpf", "arith.select", "tt.clampf")


def _rule(name: str) -> Any:
    def rule(builder: Any, operands: Sequence[Tile], type: dtype, **attributes: Any) -> Tile:
        mode = attributes.get("predicate") or attributes.get("rounding") or attributes.get("propagateNan")
        return evaluate(name, operands, builder.element(type), mode)

    return rule


def select(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """Each element from the second operand where the first is true, else from the third."""
    condition, a, b = operands
    chosen: Tile = np.where(condition, a, b)
    return chosen.astype(builder.element(type))


def bitcast(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """The same bits in another element type."""
    (tile,) = operands
    element = element_of(type)
    if tile.dtype == element:
        return tile
    if tile.dtype.itemsize != element.itemsize or builder.element(type) != element:
        raise NotLiftable
    return np.ascontiguousarray(tile).view(element).reshape(tile.shape)


def move_pointer(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """Pointers moved by whole elements."""
    pointer, offset = operands
    return pointer + offset.astype(np.int64) * np.int64(bytes_of(type.scalar.element_ty))


def same(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """A pointer and its address are held alike."""
    return operands[0]


RULES: dict[str, Rule] = {
    **{name: _rule(name) for name in NAMES},
    "arith.select": select,
    "arith.bitcast": bitcast,
    "tt.bitcast": bitcast,
    "tt.addptr": move_pointer,
    "tt.int_to_ptr": same,
    "tt.ptr_to_int": same,
}
