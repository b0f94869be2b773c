"""How values look when a kernel is debugged: the numbers that a tile holds."""

from typing import Any

import numpy as np

from naiad.language.constexpr import constexpr
from naiad.language.tensor import tensor


def shown(value: Any) -> Any:
    """The numbers of a tensor, what a constexpr holds, else `value` itself."""
    if isinstance(value, constexpr):
        return value.value
    return numbers_of(value) if isinstance(value, tensor) else value


def numbers_of(value: tensor) -> Any:
    """A numpy array in the signedness of the tensor; pointers are unsigned."""
    if not isinstance(value.handle, np.ndarray | np.generic):
        return value.handle
    tile = np.asarray(value.handle)
    if tile.dtype.kind == "i" and (value.dtype.is_ptr() or value.dtype.is_int_unsigned()):
        return tile.view(np.dtype(f"u{tile.dtype.name}"))
    return tile
