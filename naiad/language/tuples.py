"""The tuple of the language, its type, and slices: what `(a, b)`, a named tuple and `x[i:j]` are inside of a kernel."""

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from naiad.language.builder import Handle
from naiad.language.constexpr import constexpr, constexpr_type, unwrap
from naiad.language.values import base_type, base_value


class tuple_type(base_type):
    """The types of the items, and their names where the tuple is a named one."""

    def __init__(self, types: Sequence[Any], fields: Sequence[str] | None = None) -> None:
        self.types = list(types)
        self.fields = list(fields) if fields else [""] * len(self.types)

    @property
    def name(self) -> str:
        return "[" + ",".join(f"{field}:{type}" for field, type in zip(self.fields, self.types, strict=True)) + "]"

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, index: int) -> Any:
        return self.types[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, constexpr_type) and isinstance(other.value, builtins.tuple | list):
            other = as_value(other.value).type  # `(1, 2)` as one constant is a tuple of constants
        return isinstance(other, tuple_type) and self.types == other.types and self.fields == other.fields

    def __hash__(self) -> int:
        return hash((builtins.tuple(self.types), builtins.tuple(self.fields)))

    def mangle(self) -> str:
        return "T" + "_".join(type.mangle() for type in self.types) + "T"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for type in self.types:
            if not isinstance(type, constexpr):
                type._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: Sequence[Handle], cursor: int) -> "builtins.tuple[tuple, int]":
        values = []
        for type in self.types:
            value, cursor = type._unflatten_ir(handles, cursor)
            values.append(value)
        return tuple(values, self), cursor


class tuple(base_value):
    """Items that are values of the language (Python objects are constexpr); named fields are attributes."""

    _is_language_tuple = True

    def __init__(self, args: Sequence[Any], type: Any = None) -> None:
        self.values = [as_value(item) for item in args]
        fields = type.fields if isinstance(type, tuple_type) else getattr(args, "_fields", None)
        self.fields: list[str] = list(fields) if fields else [""] * len(self.values)

    @property
    def type(self) -> tuple_type:
        return tuple_type([item.type for item in self.values], self.fields)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("fields", ())
        if name in fields:
            return self.values[fields.index(name)]
        raise AttributeError(f"tuple has no field '{name}'")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, builtins.slice | slice):
            return tuple(self.values[builtins.slice(unwrap(index.start), unwrap(index.stop), unwrap(index.step))])
        index = unwrap(index)
        if not isinstance(index, int):
            raise TypeError(f"the index of a tuple must be known when the kernel is compiled, got {index}")
        return self.values[index]

    def _setitem(self, index: Any, value: Any) -> None:
        self.values[unwrap(index)] = as_value(value)

    def __add__(self, other: Any) -> "tuple":
        return tuple(self.values + tuple(_items(other)).values)

    def __radd__(self, other: Any) -> "tuple":
        return tuple(tuple(_items(other)).values + self.values)

    def __mul__(self, times: Any) -> "tuple":
        return tuple(self.values * unwrap(times))

    def __eq__(self, other: object) -> Any:
        items = _items(other)
        is_tuple = isinstance(items, tuple | builtins.tuple | list)
        return constexpr(is_tuple and _same(self.values, tuple(items).values))

    def __ne__(self, other: object) -> Any:
        return constexpr(not self == other)

    def __hash__(self) -> int:
        return hash(builtins.tuple(self.values))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return str([str(item) for item in self.values])

    def __repr__(self) -> str:
        return f"({', '.join(repr(item) for item in self.values)})"

    def _flatten_ir(self, handles: list[Handle]) -> None:
        for item in self.values:
            item._flatten_ir(handles)


class slice_type(base_type):
    """The type of a slice; it has no handles."""

    name = "slice_type"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, slice_type)

    def __hash__(self) -> int:
        return hash("slice_type")


class slice:
    """`start:stop:step` as an index."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step
        self.type = slice_type()

    @property
    def is_whole(self) -> bool:
        """Whether it is a bare `:`."""
        return unwrap(self.start) is None and unwrap(self.stop) is None and unwrap(self.step) is None


def as_value(item: Any) -> Any:
    """`item` as a value of the language: Python's tuples become the language's, other Python objects constexpr."""
    if isinstance(item, base_value):
        return item
    return tuple(item) if isinstance(item, builtins.tuple | list) else constexpr(item)


def type_of(value: Any) -> base_type:
    """The type of a value of the language or of a Python object."""
    return value.type if isinstance(value, base_value) else constexpr_type(value)


def _items(value: Any) -> Any:
    return value.value if isinstance(value, constexpr) else value


def _same(a: list[Any], b: list[Any]) -> bool:
    """Equal items: constants by value, everything else by identity."""

    def same(x: Any, y: Any) -> bool:
        constant = isinstance(x, constexpr | tuple) and isinstance(y, constexpr | tuple)
        return bool(x == y) if constant else x is y

    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
