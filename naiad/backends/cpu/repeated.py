"""Launches by `kernel.run`, as torch's Inductor makes them: from the second one over a grid through native code."""

from collections.abc import Callable, Sequence
from typing import Any

from naiad import knobs
from naiad.backends.cpu.driver import LoadedKernel
from naiad.backends.launch.guards import Argument

Grid = tuple[int, int, int]
MAX_GRIDS = 256
"""A kernel for dynamic sizes sees many grids; past this, what was made for them is dropped."""


class Repeated:
    """What one kernel's launches over each grid go to: (function, callable), both None after the first of them.

    kinds: the type in the signature of each parameter. places: where a parameter's value is among the slots.
    """

    def __init__(self, kinds: Sequence[Any], places: dict[int, int], slots: Callable[[tuple[Any, ...]], bytes]) -> None:
        self.kinds, self.places, self.slots = kinds, places, slots
        self.by_grid: dict[Grid, tuple[Any, Any]] = {}

    def served(self, grid: Grid, function: Any, args: tuple[Any, ...]) -> None:
        """Notes a launch that went through Python, and makes the way for the next if it was not the first."""
        if grid not in self.by_grid:
            if len(self.by_grid) >= MAX_GRIDS:
                self.by_grid.clear()
            self.by_grid[grid] = None, None
        else:
            self.by_grid[grid] = function, self._native(grid, function, args) or self._python(grid, function)

    def _python(self, grid: Grid, function: Any) -> Callable[..., None]:
        return lambda *args: function(grid, self.slots(args))

    def _native(self, grid: Grid, function: Any, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """A native launcher for calls with such arguments; it sends others through Python."""
        kernel = getattr(function, "__self__", None)
        if not isinstance(kernel, LoadedKernel) or not knobs.naiad.native_launch or len(args) != len(self.kinds):
            return None
        from naiad.backends.cpu.launcher import bind

        given = [Argument(value, kind if i in self.places else "constexpr", None, self.places.get(i), True)
                 for i, (value, kind) in enumerate(zip(args, self.kinds, strict=True))]  # fmt: skip
        return bind(kernel, grid, given, (), self.slots(args), None, self._python(grid, function))
