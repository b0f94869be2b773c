"""Functions of C's math library, called for each element through ctypes, and what has to be rounded in a direction."""

import ctypes
import ctypes.util
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from naiad.errors import InterpreterError
from naiad.language.types import dtype
from naiad.runtime.interpreter.directed import directed
from naiad.runtime.interpreter.tiles import Rule, Tile

_C_TYPES = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int32, "int64": ctypes.c_int64}


@cache
def _function(symbol: str, result: str, arguments: tuple[str, ...]) -> Callable[..., Any]:
    found = getattr(ctypes.CDLL(ctypes.util.find_library("m")), symbol, None)
    if found is None or result not in _C_TYPES or not set(arguments) <= set(_C_TYPES):
        raise InterpreterError(f"the interpreter cannot call the external function {symbol}; run this kernel compiled")
    found.restype, found.argtypes = _C_TYPES[result], [_C_TYPES[a] for a in arguments]
    return found


def external(builder: Any, operands: Sequence[Tile], type: dtype, *, symbol: str, **attributes: Any) -> Tile:
    """`symbol` of libm on each element. Of a function of floats (sinf) that of doubles, rounded once."""
    if symbol == "naiad_nanoseconds":
        return np.int64(time.monotonic_ns())
    if (exactly := directed(symbol)) is not None:
        return exactly(*operands)
    element, types = builder.element(type), [tile.dtype.name for tile in operands]
    if symbol.endswith("f") and "float32" in (element.name, *types):
        symbol, types = symbol[:-1], ["float64" if name == "float32" else name for name in types]
    computed = np.dtype(np.float64) if element == np.float32 else element
    function = _function(symbol, computed.name, tuple(types))
    return np.asarray(np.vectorize(function, otypes=[computed])(*operands)).astype(element)


RULES: dict[str, Rule] = {"tt.extern_elementwise": external}
