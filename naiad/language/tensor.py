"""`tensor`: a value with a handle of the builder. A tile where its type is a block type, else a scalar (rank 0).

Its operators are attached by operators.py, its methods by the functions that `@member` marks.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from naiad.language.builder import Handle, builder, is_building
from naiad.language.constexpr import constexpr
from naiad.language.function import Function, Method
from naiad.language.tuples import tuple as language_tuple
from naiad.language.types import dtype
from naiad.language.values import base_value

T = TypeVar("T")


class tensor(base_value):
    """`handle` belongs to the builder at work; `dtype` is the type of one element, `shape` a tuple of constexpr."""

    if TYPE_CHECKING:  # attached elsewhere, see above
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __floordiv__: Any
        __rfloordiv__: Any
        __mod__: Any
        __rmod__: Any
        __and__: Any
        __rand__: Any
        __or__: Any
        __ror__: Any
        __xor__: Any
        __rxor__: Any
        __lshift__: Any
        __rlshift__: Any
        __rshift__: Any
        __rrshift__: Any
        __lt__: Any
        __le__: Any
        __gt__: Any
        __ge__: Any
        __neg__: Any
        __pos__: Any
        __invert__: Any

    known: int | bool | None = None
    """The number that a scalar is, if a launch has fixed it and the kernel is compiled for it."""

    def __init__(self, handle: Handle, type: dtype) -> None:
        self.handle = handle
        self.type = type

    @property
    def dtype(self) -> dtype:
        return self.type.scalar

    @property
    def shape(self) -> language_tuple:
        return language_tuple(dimensions(self))

    @property
    def numel(self) -> constexpr:
        return constexpr(math.prod(dimensions(self)))

    def _flatten_ir(self, handles: list[Handle]) -> None:
        handles.append(self.handle)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, dimensions(self)))}]"

    def __repr__(self) -> str:
        """The type; in the interpreter the numbers too, which is what a debugger prints."""
        show = getattr(builder(), "show", None) if is_building() else None
        return str(self) if show is None else f"{self} {show(self)}"

    __hash__: Any = object.__hash__

    # Python asks for a number: only a builder that computes as it goes has one.
    def __bool__(self) -> bool:
        return bool(_concrete(self))

    def __index__(self) -> int:
        if not self.dtype.is_int():
            raise TypeError(f"'{self}' cannot be interpreted as an integer")
        return int(_concrete(self))

    def __int__(self) -> int:
        return int(_concrete(self))

    def __float__(self) -> float:
        return float(_concrete(self))


def dimensions(value: tensor) -> tuple[int, ...]:
    """The shape as Python ints; () for a scalar."""
    return value.type.shape if value.type.is_block() else ()


def known_number(value: Any) -> Any:
    """The number of a scalar that is known; any other value as it is."""
    return value if not isinstance(value, tensor) or value.known is None else value.known


def member(function: T) -> T:
    """Makes a function of the language a method of tensor too: `sum(x)` and `x.sum()`."""
    name = function.__name__  # type: ignore[attr-defined]
    setattr(tensor, name, Method(function) if isinstance(function, Function) else function)
    return function


def _concrete(value: tensor) -> Any:
    number: Callable[[tensor], Any] | None = getattr(builder(), "concrete", None)
    if number is None:
        raise TypeError(
            f"the value of {value} is known when the kernel runs, not while it is compiled; "
            "Python cannot use it as a bool or number here (use tl.where, or pass it as a tl.constexpr)"
        )
    return number(value)
