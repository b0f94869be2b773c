"""Rules of the ops that make tiles out of little: program ids, ranges, splats."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from naiad.language.types import dtype
from naiad.runtime.interpreter.tiles import Rule, Tile, element_of, filled, shape_of


def program_id(builder: Any, operands: Sequence[Tile], type: dtype, axis: int) -> Tile:
    """The position in the grid of the program that runs."""
    return np.int32(builder.program[axis])


def num_programs(builder: Any, operands: Sequence[Tile], type: dtype, axis: int) -> Tile:
    """The size of the grid."""
    return np.int32(builder.grid[axis])


def make_range(builder: Any, operands: Sequence[Tile], type: dtype, start: int, end: int) -> Tile:
    """start, start + 1, ... end - 1."""
    return np.arange(start, end, dtype=np.int32)


def splat(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """A scalar everywhere."""
    return np.broadcast_to(operands[0], shape_of(type))


def unsplat(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """The scalar that a tile of one element holds."""
    return operands[0].reshape(())


def poison(builder: Any, operands: Sequence[Tile], type: dtype) -> Tile:
    """A value that nobody may use: zeros."""
    return filled(0, element_of(type), shape_of(type))


RULES: dict[str, Rule] = {
    "tt.get_program_id": program_id,
    "tt.get_num_programs": num_programs,
    "tt.make_range": make_range,
    "tt.splat": splat,
    "tt.unsplat": unsplat,
    "ub.poison": poison,
}
