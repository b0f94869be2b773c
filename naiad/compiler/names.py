"""What a name means: a local value, a global that kernels may use, or one of Python's own functions."""

import builtins
from types import ModuleType
from typing import TYPE_CHECKING, Any

from naiad import knobs
from naiad.compiler.scope import Unavailable
from naiad.errors import explain
from naiad.language.constexpr import constexpr
from naiad.language.core import is_builtin
from naiad.language.function import Function
from naiad.language.types import dtype
from naiad.language.values import base_type, base_value

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator

__all__ = ["BUILTINS", "is_named_tuple", "lookup"]

BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name)
    for name in ("abs", "bool", "enumerate", "float", "getattr", "hasattr", "int", "isinstance", "issubclass", "len",
                 "list", "max", "min", "print", "range", "reversed", "str", "sum", "tuple", "type", "zip")
}  # fmt: skip
"""Python's functions that kernels may call; calls.py says what the calls mean."""

DEFINED = "a parameter, a name assigned before this line, or a global that is a constexpr, a @jit function or a dtype"
_MISSING = object()


def lookup(g: "Generator", name: str) -> Any:
    """The value of a name. Raises NameError, which says why there is none."""
    value = g.scope.get(name, _MISSING)
    if value is not _MISSING:
        if isinstance(value, Unavailable):
            raise explain(NameError(value.reason), expected=value.expected, found=value.found, advice=value.advice)
        return value
    value = g.globals.get(name, _MISSING)
    if value is not _MISSING:
        return _global(g, name, value)
    value = BUILTINS.get(name, _MISSING)
    if value is _MISSING:
        error = NameError(f"{name} is not defined")
        raise explain(error, expected=DEFINED, found=f"no `{name}` among them", advice=_similar(g, name))
    return value


def _global(g: "Generator", name: str, value: Any) -> Any:
    if not is_allowed(name, value) and not knobs.compilation.allow_non_constexpr_globals:
        message = (
            f"Cannot access global variable {name} in a kernel: its value may change after the kernel was compiled. "
            "Only globals that are tl.constexpr objects are read (an annotation with tl.constexpr does not make one)"
        )
        advice = (
            f"write `{name} = tl.constexpr(...)`, or pass it as an argument; "
            "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1 allows all globals"
        )
        if isinstance(getattr(value, "fn", None), Function):
            advice = f"keep the @triton.jit function under a name of its own and call that; {name} is for launches"
        raise explain(NameError(message), expected="a constexpr", found=f"{name} = {value!r:.60}", advice=advice)
    if not isinstance(value, ModuleType):
        g.unit.used_globals[name, g.function.__module__] = value
    return value


def is_allowed(name: str, value: Any) -> bool:
    """Whether a kernel may use a global of this value: what cannot change its meaning between two compilations."""
    return (
        value is None
        or isinstance(value, ModuleType | Function | constexpr | dtype | base_type)
        or name in BUILTINS
        or is_builtin(value)
        or is_constexpr_function(value)
        or is_named_tuple(value)
        or (
            isinstance(value, type) and (issubclass(value, base_value) or getattr(value, "__triton_aggregate__", False))
        )
        or str(getattr(value, "__module__", "")).startswith(("naiad.language", "triton.language"))
    )


def is_constexpr_function(value: Any) -> bool:
    """Whether it was made by @triton.constexpr_function."""
    return type(value).__name__ in ("ConstexprFunction", "BoundConstexprFunction")


def is_named_tuple(value: Any) -> bool:
    """Whether it is a class made by NamedTuple or namedtuple."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def _similar(g: "Generator", name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, [*g.scope, *g.globals, *BUILTINS], n=1)
    return f"did you mean {near[0]}?" if near else "define it before this line, or pass it as an argument"
