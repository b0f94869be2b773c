"""Values of constexpr arguments as keys: `freeze` for this process's memory, `stable` for the cache on disk."""

import struct
from enum import Enum
from typing import Any

from naiad.language.constexpr import constexpr

_ATOMS = (int, str, bytes, bool, type(None), complex)


def freeze(value: Any) -> Any:
    """A hashable stand-in for a constexpr value, equal only where a kernel compiled for one serves the other.

    Python says True == 1 == 1.0 and 0.0 == -0.0; kernels differ, so the type goes in, and a float's bits.
    """
    kind = type(value)
    if kind is int or kind is str or kind is bool or value is None:
        return kind, value
    if kind is float:
        return kind, struct.pack("<d", value)
    if isinstance(value, constexpr):
        return freeze(value.value)
    if isinstance(value, tuple):
        return kind, tuple(freeze(element) for element in value)
    if isinstance(value, list | dict):
        return kind, freeze(tuple(value.items() if isinstance(value, dict) else value))
    if hasattr(value, "cache_key"):
        return kind, value.cache_key
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"a constexpr argument must be hashable, and this {kind.__name__} is not: {value!r}") from None
    return kind, value


def stable(value: Any) -> str | None:
    """Text that names a constexpr value in every process, for the disk cache's key; None if there is none such."""
    kind = type(value)
    if kind in _ATOMS:
        return repr(value)
    if kind is float:
        return value.hex()
    if isinstance(value, constexpr):
        return stable(value.value)
    if hasattr(value, "cache_key"):
        return f"{value.cache_key} {getattr(value, 'noinline', False)}"
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, Enum):
        return f"{name}.{value.name}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, tuple | list):
        parts = [stable(element) for element in value]
        return None if None in parts else f"{name}({', '.join(map(str, parts))})"
    if isinstance(value, dict):
        return stable(tuple(value.items()))
    text = repr(value)
    return None if " at 0x" in text else f"{name}:{text}"
