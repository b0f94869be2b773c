"""The boundary between a kernel and the functions of the language: `@builtin`.

Triton keeps its whole language in a module of this name, so every name of `triton.language` is found here too.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from naiad.language.builder import is_building
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.function import COMPILER_KEYWORDS

F = TypeVar("F", bound=Callable[..., Any])

TRITON_BUILTIN = "__triton_builtin__"
CONSTEXPR_0 = constexpr(0)


def builtin(fn: F) -> F:
    """Makes `fn` a function of the language: called while a kernel is compiled, with constexpr taken off its arguments.

    A function that has a `_semantic` parameter is one of Triton's style: it gets its arguments as they are, and an
    object in `_semantic`.
    """
    code = fn.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    accepted = [name for name in COMPILER_KEYWORDS if name in parameters]

    @wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not is_building():
            raise ValueError(
                "Did you forget to add @triton.jit ? (`_semantic` argument must be provided outside of JIT functions.)"
            )
        for name in COMPILER_KEYWORDS:
            kwargs.pop(name, None)
        if accepted:
            return fn(*args, **kwargs, **_internals(accepted))
        return fn(*[unwrap(a) for a in args], **{name: unwrap(a) for name, a in kwargs.items()})

    setattr(wrapper, TRITON_BUILTIN, True)
    return wrapper  # type: ignore[return-value]


def is_builtin(fn: Any) -> bool:
    """Whether `fn` is a function of the language."""
    return getattr(fn, TRITON_BUILTIN, False) is True


def _internals(names: list[str]) -> dict[str, Any]:
    from naiad.language.semantic import semantic  # needs the functions that are decorated here

    return dict.fromkeys(names, semantic)


def _unwrap_if_constexpr(value: Any) -> Any:
    return unwrap(value)


def __getattr__(name: str) -> Any:
    import naiad.language as language  # it imports this module first

    if name == "_aggregate":
        return language.aggregate
    if name.startswith("__") or not hasattr(language, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(language, name)


def __dir__() -> list[str]:
    import naiad.language as language

    return sorted({*globals(), *dir(language)})
