"""The two roots of the language: `base_value`, what a name in a kernel may hold, and `base_type`, its type.

A value is a tree whose leaves are handles of the builder. The code generator takes values apart where they cross a
region (loops, branches, calls) with `_flatten_ir`, and makes them again from new handles with `_unflatten_ir` of the
type.
The underscored names are Triton's: classes that users derive from these implement them.
"""

from collections.abc import Sequence
from typing import Any, Self

from naiad.language.builder import Handle


class base_type:
    """The type of a value of the language."""

    def __eq__(self, other: object) -> bool:
        raise NotImplementedError(f"{type(self).__name__} must implement __eq__")

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__: Any = object.__hash__

    def _unflatten_ir(self, handles: Sequence[Handle], cursor: int) -> tuple["base_value", int]:
        """Makes a value of this type from `handles[cursor:]`; also gives the cursor behind the handles used."""
        raise NotImplementedError(f"{type(self).__name__} must implement _unflatten_ir")

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        """Appends the language type of each handle that a value of this type flattens to."""
        raise NotImplementedError(f"{type(self).__name__} must implement _flatten_ir_types")

    def mangle(self) -> str:
        """The type as a part of a function's name."""
        raise NotImplementedError(f"{type(self).__name__} must implement mangle")


class base_value:
    """A value of the language. `type` is a `base_type`."""

    type: Any

    def _flatten_ir(self, handles: list[Handle]) -> None:
        """Appends the handles of this value."""
        raise NotImplementedError(f"{type(self).__name__} must implement _flatten_ir")

    def _set_name(self, builder: Any, name: str) -> None:
        """Gives the handles a name for readers of the IR; does nothing unless a class says more."""

    def _like(self, handles: Sequence[Handle]) -> Self:
        """A value of the same type, with other handles."""
        value, used = self.type._unflatten_ir(handles, 0)
        if used != len(handles):
            raise ValueError(f"{self.type} is made of {used} handles, not {len(handles)}")
        return value


def handle_types(type: base_type) -> list[Any]:
    """The language type of each handle that a value of `type` flattens to."""
    out: list[Any] = []
    type._flatten_ir_types(None, out)
    return out


def handles_of(value: base_value) -> list[Handle]:
    """The handles of a value, in order."""
    handles: list[Handle] = []
    value._flatten_ir(handles)
    return handles
