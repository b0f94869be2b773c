"""NumpyBuilder: the builder that computes. What `language` emits is found in RULES and done at once, on numpy tiles.

One builder runs one program of the grid at a time; `program` and `grid` say which.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from naiad.backends.base import Options
from naiad.errors import InterpreterError
from naiad.language.builder import Body
from naiad.language.types import dtype
from naiad.runtime.interpreter import (
    assembly,
    atomics,
    debug,
    descriptors,
    dot,
    elementwise,
    external,
    make,
    memory,
    reduce,
    shape,
    sort,
)
from naiad.runtime.interpreter.errors import NotOneNumber
from naiad.runtime.interpreter.mapped import Buffers
from naiad.runtime.interpreter.show import numbers_of
from naiad.runtime.interpreter.tiles import LIFTED, Rule, Tile, element_of, filled, shape_of

RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **external.RULES,
    **assembly.RULES,
    **make.RULES,
    **shape.RULES,
    **memory.RULES,
    **descriptors.RULES,
    **atomics.RULES,
    **dot.RULES,
    **sort.RULES,
    **debug.RULES,
}
REGION_RULES: dict[str, Rule] = reduce.RULES


@dataclass(frozen=True)
class InterpreterOptions(Options):
    """What the language asks of a backend's options."""

    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4nv", "fp8e4b15", "fp8e4b8", "fp8e5", "fp8e5b16")
    arch: str | None = "interpreter"
    backend_name: str = "interpreter"


class NumpyBuilder:
    """Implements `naiad.language.builder.Builder`."""

    def __init__(self, grid: tuple[int, int, int], options: Any, buffers: Buffers, call: Callable[..., Any]) -> None:
        self.grid, self.options, self.buffers = grid, options, buffers
        self.program = (0, 0, 0)
        self._call = call
        self._lifts = False

    def emit(self, op: str, operands: Sequence[Any], type: Any = None, **attributes: Any) -> Any:
        rule = RULES.get(op)
        if rule is None:
            raise InterpreterError(f"the interpreter has no rule for {op}; run this kernel compiled")
        return rule(self, operands, type, **attributes)

    def emit_region(self, op: str, operands: Sequence[Any], type: Any, body: Body, **attributes: Any) -> Any:
        return REGION_RULES[op](self, operands, type, body, **attributes)

    def constant(self, value: int | float | bool, type: dtype) -> Tile:
        return self.held(filled(value, element_of(type), shape_of(type)))

    def known(self, handle: Any) -> int | float | bool | None:
        """The number that a scalar is; signless."""
        tile = np.asarray(handle)
        return tile.item() if tile.ndim == 0 and tile.dtype.kind in "bif" else None

    def call(self, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        return self._call(function, arguments, keywords)

    def annotate(self, handle: Any, name: str, value: Any) -> None:
        """Promises to the compiler (tl.multiple_of, ...) change nothing here."""

    def concrete(self, value: Any) -> Any:
        """The number that a scalar, or a tile of one element, holds. Raises NotOneNumber for other tiles."""
        tile = np.asarray(value.handle)
        if tile.size != 1:
            raise NotOneNumber(
                f"a tile of shape {list(tile.shape)} is not one number; use tl.where, or reduce it first"
            )
        number = tile.reshape(()).item() if tile.dtype.kind in "bif" else float(tile.reshape(()))
        return number % 2**value.dtype.primitive_bitwidth if value.dtype.is_int_unsigned() else number

    def show(self, value: Any) -> Any:
        """What a tensor holds, for a debugger."""
        return numbers_of(value)

    def element(self, type: dtype) -> np.dtype:
        """The numpy dtype in which a value of `type` is held here and now."""
        element = element_of(type)
        return LIFTED.get(element, element) if self._lifts else element

    def held(self, tile: Tile) -> Tile:
        """The tile in the element type in which it is held here and now."""
        return tile.astype(LIFTED[tile.dtype]) if self._lifts and tile.dtype in LIFTED else tile

    @contextmanager
    def lifting(self) -> Iterator[None]:
        """While the block runs 16-bit floats are held in 32 bits, so that a sum of them is rounded at its end only."""
        before, self._lifts = self._lifts, True
        try:
            yield
        finally:
            self._lifts = before
