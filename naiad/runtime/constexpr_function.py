"""`@triton.constexpr_function`: a Python function that kernels call with constants, with its source in their keys."""

import operator
from collections.abc import Callable
from typing import Any

from naiad.language.builder import is_building
from naiad.language.constexpr import constexpr
from naiad.language.constexpr_function import ConstexprFunction as LanguageFunction
from naiad.language.function import COMPILER_KEYWORDS
from naiad.runtime.jit import JITCallable

INTS = {int}


class ConstexprFunction(LanguageFunction):
    """Called on the host it is the Python function; called in a kernel, its result is a constexpr."""

    function: JITCallable

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn)
        self.function = JITCallable(fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and not is_building() and set(map(type, args)) == INTS:  # on the way to every launch
            return self.fn(*args)
        inside = is_building() or any(kwargs.get(name) is not None for name in COMPILER_KEYWORDS)
        result = super().__call__(*args, **kwargs)
        return constexpr(result) if inside else result

    @property
    def cache_key(self) -> str:
        return self.function.cache_key

    @property
    def used_global_vals(self) -> Any:
        return self.function.used_global_vals

    @property
    def src(self) -> str:
        return self.function.src

    @property
    def hash(self) -> str | None:
        return self.function.hash

    @hash.setter
    def hash(self, value: str | None) -> None:
        self.function.hash = value

    def _unsafe_update_src(self, new_src: str) -> None:
        self.function._unsafe_update_src(new_src)


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Lets kernels call `fn` at compile time: its arguments are constants there, and so is its result."""
    return ConstexprFunction(fn)


@constexpr_function
def cdiv(x: int, y: int) -> int:
    """x / y, rounded up."""
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n: int) -> int:
    """The smallest power of 2 that is not less than n; 0 for 0, as in Triton."""
    n = operator.index(n)  # of numpy's numbers, and symbolic ones
    return 1 << (n - 1).bit_length() if n > 0 else 0
