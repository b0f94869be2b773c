"""Values of the language in the front end: taken apart into handles, made equal in type where paths meet."""

from collections.abc import Sequence
from typing import Any

from naiad.errors import explain
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.promotion import is_number, to_tensor
from naiad.language.tensor import tensor
from naiad.language.tuples import tuple as language_tuple
from naiad.language.types import dtype
from naiad.language.values import base_value

__all__ = [
    "Mismatch",
    "as_variable",
    "describe",
    "handles_of",
    "is_constant",
    "name_handles",
    "rebuild",
    "same",
    "unify",
]


class Mismatch(TypeError):
    """Two values that one name, or one result, cannot both be."""


def handles_of(value: Any) -> list[Any]:
    """The handles of a value; a Python object has none."""
    handles: list[Any] = []
    if isinstance(value, base_value):
        value._flatten_ir(handles)
    return handles


def name_handles(value: Any, name: str, again: bool = False) -> None:
    """Gives the IR's values the names of the source, for readers. Constants get none: others use the same ones."""
    if not name.isascii() or not name.strip("_0123456789"):
        return
    for handle in handles_of(value):
        if (again or handle.name_hint is None) and getattr(handle.owner, "name", "") != "arith.constant":
            handle.name_hint = name


def rebuild(like: Any, handles: Sequence[Any]) -> Any:
    """A value of the same type as `like` with other handles."""
    return like._like(handles) if isinstance(like, base_value) and handles else like


def is_constant(value: Any) -> bool:
    """Whether the value is known while the kernel is compiled: no part of it is computed at run time."""
    return not isinstance(value, base_value) or not handles_of(value)


def same(a: Any, b: Any) -> bool:
    """Whether both are certainly one value."""
    if a is b:
        return True
    if isinstance(a, tensor) and isinstance(b, tensor):
        return a.handle is b.handle and a.type == b.type
    if type(a) is not type(b) and isinstance(a, base_value) and isinstance(b, base_value):
        return False
    if isinstance(a, base_value) and isinstance(b, base_value) and (handles_of(a) or handles_of(b)):
        first, second = handles_of(a), handles_of(b)
        return (
            a.type == b.type and len(first) == len(second) and all(x is y for x, y in zip(first, second, strict=True))
        )
    return _same_constant(unwrap(a), unwrap(b))


def _same_constant(a: Any, b: Any) -> bool:
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(_same_constant(unwrap(x), unwrap(y)) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and (a is b or (repr(a) == repr(b) if isinstance(a, float) else bool(a == b)))


def as_variable(value: Any) -> Any:
    """What a name holds after an assignment: numbers become tensors, for a loop may change them."""
    if isinstance(value, language_tuple):
        return language_tuple([as_variable(item) for item in value.values], value.type)
    plain = unwrap(value) if isinstance(value, constexpr) else value
    if is_number(plain):
        return to_tensor(plain)
    if isinstance(plain, tuple | list):
        return language_tuple([as_variable(item) for item in plain])
    return plain if plain is None or isinstance(plain, dtype) else value


def unify(a: Any, b: Any) -> tuple[Any, Any]:
    """Both in one type: equal constants stay, a number beside a tensor becomes one. Raises Mismatch."""
    if same(a, b):
        return a, a
    if isinstance(a, language_tuple) and isinstance(b, language_tuple) and len(a) == len(b) and a.fields == b.fields:
        pairs = [unify(x, y) for x, y in zip(a.values, b.values, strict=True)]
        return language_tuple([x for x, _ in pairs], a.type), language_tuple([y for _, y in pairs], b.type)
    a, b = _numbers_as_tensors(a), _numbers_as_tensors(b)
    both = isinstance(a, base_value) and isinstance(b, base_value)
    if both and type(a) is type(b) and not isinstance(a, constexpr | language_tuple) and a.type == b.type:
        return a, b
    raise explain(Mismatch(f"{describe(a)} and {describe(b)}"), expected=describe(a), found=describe(b))


def _numbers_as_tensors(value: Any) -> Any:
    plain = unwrap(value) if isinstance(value, constexpr) else value
    return to_tensor(plain) if is_number(plain) else value


def describe(value: Any) -> str:
    """A value in words of the language, for messages."""
    if isinstance(value, tensor):
        shape = f"[{', '.join(map(str, value.type.shape))}]" if value.type.is_block() else ""
        return f"{value.dtype}{shape}"
    if isinstance(value, language_tuple):
        return f"({', '.join(describe(item) for item in value.values)})"
    if isinstance(value, base_value) and not isinstance(value, constexpr):
        return str(getattr(value, "type", type(value).__name__))
    return f"constexpr {_short(unwrap(value))}" if not isinstance(value, str) else repr(value)


def _short(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else repr(value)[:60]
