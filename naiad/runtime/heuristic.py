"""Heuristics: meta-parameters that functions of the other arguments compute at each launch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from naiad.runtime.jit import KernelInterface
from naiad.runtime.launcher import launch
from naiad.runtime.tuning.mistakes import checked_kernel, noted


class Heuristics(KernelInterface):
    """A kernel, some of whose parameters are computed: `values` is name to function of the arguments by name."""

    def __init__(
        self, fn: Any, arg_names: Sequence[str], values: Mapping[str, Callable[[dict[str, Any]], Any]]
    ) -> None:
        self.fn = fn
        self.values = values
        self.arg_names = arg_names

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Launches with the computed values."""
        return launch(self.fn, args, self.computed(args, kwargs))

    def computed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The keywords with the computed values among them; one may read those before it."""
        named = dict(zip(self.arg_names, args, strict=False))
        for name, compute in self.values.items():
            try:
                kwargs[name] = compute({**named, **kwargs})
            except Exception as error:
                given = ", ".join({**named, **kwargs})
                noted(error, f"in the heuristic for {name}, which is called with a dict of {given}")
                raise
        return kwargs


def heuristics(values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Computes parameters of a @jit function: `{"BLOCK": lambda args: next_power_of_2(args["n"])}`."""
    if not isinstance(values, Mapping) or not all(map(callable, values.values())):
        raise TypeError(f"heuristics: expected a dict of functions of the arguments, found {values!r}")
    return lambda fn: Heuristics(checked_kernel(fn, "heuristics"), fn.arg_names, values)
