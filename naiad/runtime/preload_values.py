"""Values of constants as JSON and back, for specialisations that another process compiles.

Numbers, texts and None are themselves and a tuple is a list; all else is an object of one key, the sort of the value.
Classes and functions are found again by the name of their module and their own.
"""

import dataclasses
import importlib
from collections.abc import Callable
from enum import Enum
from typing import Any

from naiad.language import types
from naiad.language.constexpr import constexpr
from naiad.language.function import Function
from naiad.language.types import dtype


def encode(value: Any) -> Any:
    """The value for JSON. What has no form there becomes one that `decode` refuses, with its text."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is tuple:
        return [encode(element) for element in value]
    for known, sort, write in _FORMS:
        if isinstance(value, known):
            return {sort: write(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"namedtuple": [_name(kind), *map(encode, value)]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return {"dataclass": [_name(kind), {name: encode(getattr(value, name)) for name in fields}]}
    if kind.__name__ == "dtype" and kind.__module__ == "torch":
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, type) or callable(value):
        return {"object": _name(value)}
    return {"unknown": repr(value)}


def _name(found: Any) -> str:
    return f"{found.__module__}:{getattr(found, '__qualname__', type(found).__qualname__)}"


_FORMS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (constexpr, "constexpr", lambda value: encode(value.value)),
    (dtype, "dtype", str),
    (Function, "jit_function", _name),
    (Enum, "enum", lambda value: [_name(type(value)), value.name]),
    (list, "list", lambda value: [encode(element) for element in value]),
    (dict, "dict", lambda value: [[encode(key), encode(element)] for key, element in value.items()]),
    (bytes, "bytes", bytes.hex),
    (complex, "complex", lambda value: [value.real, value.imag]),
)


def decode(value: Any) -> Any:
    """What `encode` was given. RuntimeError where it cannot be made here."""
    if isinstance(value, list):
        return tuple(decode(element) for element in value)
    if not isinstance(value, dict):
        return value
    ((sort, inner),) = value.items()
    if sort == "unknown" or sort not in _READ:
        raise RuntimeError(f"a constant of this specialisation has no form outside of its process: {inner}")
    return _READ[sort](inner)


def _named(name: str) -> Any:
    """What has this name: `module:qualified.name`."""
    module, _, path = name.partition(":")
    try:
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise RuntimeError(f"Unable to resolve {name} for preload: {error}") from None
    return found


def _dtype(name: str) -> dtype:
    """The language's own object, which kernels may compare by identity."""
    return next((own for own in vars(types).values() if isinstance(own, dtype) and str(own) == name), dtype(name))


def _torch(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _function(name: str) -> Any:
    """The @jit function of this name, among those of this process, or in its module."""
    from naiad.runtime.jit import JITFunction

    for function in list(JITFunction._alive):
        if _name(function) == name:
            return function
    try:
        return _named(name)
    except RuntimeError:
        raise RuntimeError(f"Unable to resolve JITFunction {name} for preload") from None


_READ: dict[str, Callable[[Any], Any]] = {
    "constexpr": lambda inner: constexpr(decode(inner)),
    "dtype": _dtype,
    "jit_function": _function,
    "enum": lambda inner: _named(inner[0])[inner[1]],
    "list": lambda inner: [decode(element) for element in inner],
    "dict": lambda inner: {decode(key): decode(element) for key, element in inner},
    "bytes": bytes.fromhex,
    "complex": lambda inner: complex(*inner),
    "namedtuple": lambda inner: _named(inner[0])._make(map(decode, inner[1:])),
    "dataclass": lambda inner: _named(inner[0])(**{name: decode(part) for name, part in inner[1].items()}),
    "torch": _torch,
    "object": _named,
}
