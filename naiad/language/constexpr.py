"""`constexpr`: a value that is known when the kernel is compiled. Its arithmetic is Python's."""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from naiad.language.builder import Handle
from naiad.language.values import base_type, base_value


class constexpr_type(base_type):
    """The type of the one constant `value`."""

    def __init__(self, value: Any) -> None:
        self.value = unwrap(value)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, constexpr_type):
            return NotImplemented  # the type of a tuple knows that it may be that of a constant one
        return bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value}]"

    def mangle(self) -> str:
        return f"c{self.value}"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        return

    def _unflatten_ir(self, handles: Sequence[Handle], cursor: int) -> tuple["constexpr", int]:
        return constexpr(self.value), cursor


class constexpr(base_value):
    """Holds the Python object `value`: a number, a string, a dtype, a function, a tuple, None."""

    value: Any
    # The operators are made below, from a table
    __lt__: Any
    __le__: Any
    __gt__: Any
    __ge__: Any

    def __init__(self, value: Any) -> None:
        while isinstance(value, constexpr):
            value = value.value
        if type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "ndim", 1):
            value = value.item()  # np.int64(64) is 64: the language knows Python's numbers
        self.value = value
        self.type = constexpr_type(value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __hash__(self) -> int:
        return hash((self.value, self.type))

    def _flatten_ir(self, handles: list[Handle]) -> None:
        return

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __not__(self) -> "constexpr":
        return constexpr(not self.value)

    def logical_and(self, other: Any) -> "constexpr":
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> "constexpr":
        return constexpr(self.value or unwrap(other))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.value(*arguments, **keywords)

    def __getitem__(self, key: Any) -> Any:
        return self.value[unwrap(key)]


def _binary(function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[constexpr, Any], Any]:
    def method(self: constexpr, other: Any) -> Any:
        if isinstance(other, base_value) and not isinstance(other, constexpr):
            return NotImplemented  # a tensor: its own operator builds the code
        other = unwrap(other)
        return constexpr(function(other, self.value) if swapped else function(self.value, other))

    return method


def _unary(function: Callable[[Any], Any]) -> Callable[[constexpr], constexpr]:
    return lambda self: constexpr(function(self.value))


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
for _name in _ARITHMETIC:
    _function = getattr(operator, f"__{_name}__")
    setattr(constexpr, f"__{_name}__", _binary(_function, swapped=False))
    setattr(constexpr, f"__r{_name}__", _binary(_function, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(constexpr, f"__{_name}__", _binary(getattr(operator, _name), swapped=False))
for _name in ("neg", "pos", "invert"):
    setattr(constexpr, f"__{_name}__", _unary(getattr(operator, _name)))


class const:
    """An annotation of a kernel's parameter: a pointer to data that the kernel may not store to."""


def unwrap(value: Any) -> Any:
    """`value` without constexpr, also inside of lists and tuples. The language's tuples become Python's."""
    if isinstance(value, constexpr):
        return value.value
    if isinstance(value, list):
        return [unwrap(item) for item in value]
    if type(value) is tuple or getattr(value, "_is_language_tuple", False):
        return tuple(unwrap(item) for item in value)
    return value
