"""Config: one way to launch a kernel that tuning may choose."""

from collections.abc import Callable, Mapping
from typing import Any

from naiad.backends.constants import freeze

OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")


class Config:
    """Values of meta-parameters (`kwargs`) and options of the launch.

    maxnreg: most registers a thread uses (NVIDIA). pre_hook: called with all arguments by name before the kernel runs.
    ir_override: a file with IR that takes the place of a stage.
    """

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
    ) -> None:
        if not isinstance(kwargs, Mapping):
            raise TypeError(f"triton.Config: expected a dict of meta-parameters, as {{'BLOCK': 64}}, found {kwargs!r}")
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_ctas = num_ctas
        self.num_stages = num_stages
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**{"kwargs": {}, **state})  # type: ignore[misc]

    def all_kwargs(self) -> dict[str, Any]:
        """The keywords of a launch with this configuration."""
        options = {name: getattr(self, name) for name in OPTIONS}
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}

    def __str__(self) -> str:
        shown = {**self.kwargs, **{name: getattr(self, name) for name in OPTIONS[:4]}}
        return ", ".join(f"{name}: {value}" for name, value in shown.items())

    def __repr__(self) -> str:
        return f"Config({self})"

    def _identity(self) -> tuple[Any, ...]:
        """The values as keys: a constant may be a list."""
        return (*((name, freeze(value)) for name, value in self.all_kwargs().items()), self.pre_hook)

    def __hash__(self) -> int:
        return hash(self._identity())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()
