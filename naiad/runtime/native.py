"""The native launcher for a call that Python has just made: what the arguments were, in the launcher's terms."""

from collections.abc import Callable
from typing import Any

from naiad.backends.cpu.launcher import Argument, bind
from naiad.backends.cpu.launcher import native_enabled as enable
from naiad.runtime.grid import normalize_grid

__all__ = ["enable", "native_launcher"]


def native_launcher(
    function: Any,
    kernel: Any,
    grid: Any,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    fallback: Callable[..., Any],
) -> Callable[..., Any] | None:
    """A callable for calls like this one; None where native code has no check for an argument."""
    device = function.device_caches["cpu"]
    bound, seen, _ = device.bind(*args, **keywords)
    if any(parameter.variadic for parameter in function.params) or kernel.module is None:
        return None
    places = {path: place for place, (path, _) in enumerate(kernel.run.slots)}
    indices = {name: i for i, name in enumerate(function.arg_names)}

    def argument(i: int | None, value: Any) -> Argument:
        if i is None:  # an option of the launch
            return Argument(value, "constexpr")
        kind, known = seen[i]
        return Argument(value, kind, known, _place(places, i), bool(function.params[i].annotation_type))

    given = [argument(i, value) for i, value in enumerate(args)]
    given += [argument(indices.get(name), value) for name, value in keywords.items()]
    return bind(
        kernel.module, normalize_grid(grid), given, list(keywords), kernel.run.arguments(bound), kernel, fallback
    )


def _place(places: dict[Any, int], i: int) -> int | None:
    """The slot that the argument fills; None where it has none, or several, which only this very argument does."""
    return places.get((i,))
