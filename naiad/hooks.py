"""What knobs hold beside variables: chains of hooks, and the times that a listener of compilations is told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from naiad.environment import changed


class HookChain:
    """Functions called one after the other with the same arguments; false while it is empty."""

    def __init__(self, reversed: bool = False) -> None:
        self.calls: list[Callable[..., Any]] = []
        self.reversed = reversed

    def add(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"a hook is a function, and {function!r} is none")
        if function not in self.calls:
            self.calls.append(function)
            changed()

    def remove(self, function: Callable[..., Any]) -> None:
        if function in self.calls:
            self.calls.remove(function)
            changed()

    def __bool__(self) -> bool:
        return bool(self.calls)

    def __call__(self, *args: Any, **keywords: Any) -> None:
        for call in self.calls[::-1] if self.reversed else list(self.calls):
            call(*args, **keywords)


@dataclass(frozen=True)
class CompileTimes:
    """How long a compilation took, in microseconds: making the IR, each stage in order, writing the cache."""

    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int

    @property
    def total_lowering(self) -> int:
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self) -> int:
        return self.ir_initialization + self.total_lowering + self.store_results
