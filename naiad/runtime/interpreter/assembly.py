"""Inline assembly: compiled for the CPU that interprets, as a kernel that does nothing else, and run on the tiles."""

from collections.abc import Sequence
from functools import cache
from typing import Any, no_type_check

import numpy as np

import naiad.language as tl
from naiad.errors import CompilationError, InterpreterError
from naiad.language.types import dtype
from naiad.runtime.interpreter.errors import NotLiftable
from naiad.runtime.interpreter.tiles import Rule, Tile, element_of


@no_type_check
def piece(inputs, outputs, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr, TYPES: tl.constexpr, PURE: tl.constexpr,
          PACK: tl.constexpr, N: tl.constexpr):  # fmt: skip
    """The kernel; a tile of each array."""
    at = tl.arange(0, N)
    values = ()
    for n in tl.static_range(len(inputs)):
        values = (*values, tl.load(inputs[n] + at))
    results = tl.inline_asm_elementwise(TEXT, CONSTRAINTS, values, dtype=TYPES, is_pure=PURE, pack=PACK)
    for n in tl.static_range(len(outputs)):
        tl.store(outputs[n] + at, results[n])


@cache
def _compiled() -> Any:
    from naiad.runtime.jit import jit

    return jit(interpret=False)(piece)


def inline_assembly(
    builder: Any, operands: Sequence[Tile], type: Sequence[dtype], *, asm_string: str, constraints: str, pure: bool,
    packed_element: int,
) -> list[Tile]:  # fmt: skip
    """A tile for each type of `type`."""
    if builder._lifts:
        raise NotLiftable
    shape = np.shape(operands[0]) if operands else ()
    count = max(1, int(np.prod(shape)))
    size = 1 << (count - 1).bit_length()
    inputs = tuple(np.resize(np.ravel(tile), size) for tile in operands)
    outputs = tuple(np.empty(size, element_of(t)) for t in type)
    types = tuple(t.scalar for t in type)
    try:
        _compiled()[(1,)](inputs, outputs, asm_string, constraints, types, pure, packed_element, size)
    except CompilationError as error:
        said = "\n".join((*error.explanation.lines(), error.reason()))
        raise InterpreterError(f"inline assembly, which is compiled and run on this machine\n{said}") from None
    return [np.array(out[:count].reshape(shape)) for out in outputs]


RULES: dict[str, Rule] = {"tt.elementwise_inline_asm": inline_assembly}
