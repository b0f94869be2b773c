"""`@jit(interpret=True)`, and every `@jit` under TRITON_INTERPRET=1: a kernel whose launches run its Python."""

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

from naiad import knobs
from naiad.language.function import Function
from naiad.runtime.interpreter.launch import launch
from naiad.runtime.jit import JITFunction


class InterpretedFunction(JITFunction):
    """A kernel that is interpreted wherever it is launched."""

    @cached_property
    def src(self) -> str:
        """The source; empty where there is none (exec): such a body runs as it is, by Python's rules alone."""
        try:
            return Function.src.func(self)  # type: ignore[attr-defined]
        except ValueError:
            message = f"{self.__name__} has no source: `and`, `not`, `is` and numbers in it are Python's"
            warnings.warn(message, stacklevel=4)
            return ""

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        """Runs the kernel; a warm-up has nothing to compile and does nothing."""
        kwargs["debug"] = bool(kwargs.get("debug") or self.debug or knobs.runtime.debug)
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        if not warmup:
            launch(self, grid, args, kwargs)
