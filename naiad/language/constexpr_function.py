"""`@constexpr_function`: a plain Python function that a kernel may call on values known when it is compiled."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

from naiad.language.constexpr import unwrap
from naiad.language.function import COMPILER_KEYWORDS, Function


class ConstexprFunction:
    """Calls `fn` with constexpr taken off its arguments. `function` has its source, part of a kernel's key."""

    __triton_builtin__ = True

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.function = Function(fn)
        update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for name in COMPILER_KEYWORDS:
            kwargs.pop(name, None)
        return self.fn(*[unwrap(a) for a in args], **{name: unwrap(a) for name, a in kwargs.items()})

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else BoundConstexprFunction(self, instance)


@dataclass(frozen=True)
class BoundConstexprFunction:
    """A constexpr function as a method of `instance`."""

    function: ConstexprFunction
    instance: Any
    __triton_builtin__ = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.instance, *args, **kwargs)


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Makes a Python function callable in kernels, on constexpr arguments; its result is a constexpr there."""
    return ConstexprFunction(fn)
