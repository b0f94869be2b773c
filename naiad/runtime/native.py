"""The native launcher for a call that Python has just made: what the arguments were, in the launcher's terms."""

import sys
from collections.abc import Callable
from typing import Any

from naiad.backends.cpu import launcher as cpu
from naiad.backends.driver import driver_for
from naiad.backends.launch.guards import Argument
from naiad.backends.launch.record import Form
from naiad.runtime.grid import normalize_grid

__all__ = ["enable", "native_launcher"]


def enable(on: bool) -> None:
    """Whether native launchers run kernels, or send every call to their fallback."""
    cpu.native_enabled(on)
    if (nvidia := sys.modules.get("naiad.backends.nvidia.launcher")) is not None:
        nvidia.native_enabled(on)


def native_launcher(
    function: Any,
    kernel: Any,
    grid: Any,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    fallback: Callable[..., Any],
) -> Callable[..., Any] | None:
    """A callable for calls like this one; None where native code has no check for an argument."""
    target = kernel.metadata.target
    if not hasattr(kernel.run, "slots"):  # a launcher from outside of naiad
        return None
    device = function.device_caches[target.backend]
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
    form = Form(given, list(keywords), kernel.run.arguments(bound), kernel, fallback)
    if target.backend == "cpu":
        return cpu.bind(kernel.module, normalize_grid(grid), given, form.keywords, form.slots, kernel, fallback)
    bind = getattr(driver_for(target), "bind", None)
    return None if bind is None else bind(kernel, normalize_grid(grid), form)


def _place(places: dict[Any, int], i: int) -> int | None:
    """The slot that the argument fills; None where it has none, or several, which only this very argument does."""
    return places.get((i,))
