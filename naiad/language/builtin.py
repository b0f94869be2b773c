"""What a function of the language is made with: `@builtin`, `@must_use_result`, and taking off constexpr."""

from collections.abc import Callable
from typing import Any

from naiad.language.constexpr import unwrap
from naiad.language.core import builtin, is_builtin

__all__ = ["builtin", "is_builtin", "must_use_result", "unwrap"]


def must_use_result(x: Any, s: Any = True) -> Any:
    """A decorator, with or without a text for the error: the result of the function must be used."""
    if isinstance(x, str):
        message = x
        decorate: Callable[[Any], Any] = lambda fn: must_use_result(fn, message)  # noqa: E731
        return decorate
    x._must_use_result = s
    return x
