"""What `@jit` may be written above, and what it may be told of parameters."""

import inspect
import warnings
from collections.abc import Sequence
from typing import Any

__all__ = ["check_function", "listed_parameters"]


def check_function(fn: Any) -> None:
    """TypeError where `fn` cannot be a kernel."""
    plain = inspect.unwrap(fn) if callable(fn) else fn
    if not inspect.isfunction(plain):
        below = "; write @triton.jit below the other decorators" if hasattr(fn, "run") else ""
        raise TypeError(f"@jit decorates a function that `def` makes, not {fn!r}{below}")
    takes_keywords = plain.__code__.co_flags & inspect.CO_VARKEYWORDS
    unfit = "is async" if inspect.iscoroutinefunction(plain) else "takes **keywords" if takes_keywords else ""
    if unfit:
        raise TypeError(f"{plain.__name__} {unfit}, which a kernel cannot; it has named parameters, and maybe *args")


def listed_parameters(kernel: str, names: Sequence[str], what: str, given: Any) -> list[int | str]:
    """Names and indices of parameters: of a list of them, of a single one, of none."""
    found = [given] if isinstance(given, int | str) else list(given or ())
    for entry in found:
        if entry not in names and entry not in range(len(names)):  # Triton does without it
            text = f"naiad: {what} lists {entry!r}, and {kernel} takes {', '.join(names)}"
            warnings.warn(text, UserWarning, stacklevel=5)
    return found
