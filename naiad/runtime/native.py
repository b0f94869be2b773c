"""The native launcher for a call that Python has just made: what the arguments were, in the launcher's terms."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from naiad.backends.cpu import launcher as cpu
from naiad.backends.driver import driver_for
from naiad.backends.launch.guards import Argument, never_changes
from naiad.backends.launch.record import Form
from naiad.grid import normalize_grid
from naiad.runtime.dependencies import Globals

__all__ = ["Call", "enable", "guarded_globals", "native_launcher"]


@dataclass(frozen=True)
class Call:
    """A call as the native launcher gets it, and what is the same at every such call.

    `names`: the parameters that `args` are for, in order. `held`: parameters and options that the call does not give.
    """

    args: tuple[Any, ...]
    keywords: Mapping[str, Any]
    names: Sequence[str]
    held: Mapping[str, Any] = field(default_factory=dict)
    stream: int | None = None


def enable(on: bool) -> None:
    """Whether native launchers run kernels, or send every call to their fallback."""
    cpu.native_enabled(on)
    if (nvidia := sys.modules.get("naiad.backends.nvidia.launcher")) is not None:
        nvidia.native_enabled(on)


def guarded_globals(used: Globals) -> list[tuple[dict[str, Any], str, Any]] | None:
    """(scope, name, object) of globals that native code can watch; None where one may change and stay the same object.

    To be asked when the values are known to be those that the kernel was compiled with.
    """
    found = [(scope, name, scope.get(name)) for (name, _), (_, scope) in used.items()]
    return found if all(never_changes(value) for _, _, value in found) else None


def native_launcher(
    function: Any, kernel: Any, grid: Any, call: Call, fallback: Callable[..., Any]
) -> Callable[..., Any] | None:
    """A callable for calls like this one; None where native code has no check for an argument."""
    target = kernel.metadata.target
    if not hasattr(kernel.run, "slots"):  # a launcher from outside of naiad
        return None
    device = function.device_caches[target.backend]
    used = guarded_globals(function.used_global_vals)
    if device.extra or used is None or any(parameter.variadic for parameter in function.params):
        return None
    bound, seen, _ = device.bind(**dict(zip(call.names, call.args, strict=False)), **call.keywords, **call.held)
    if kernel.module is None:
        return None
    places = {path: place for place, (path, _) in enumerate(kernel.run.slots)}
    writes = getattr(kernel.metadata, "writes", None) or ()
    indices = {name: i for i, name in enumerate(function.arg_names)}

    def argument(i: int | None, value: Any) -> Argument:
        if i is None:  # an option of the launch
            return Argument(value, "constexpr")
        kind, known = seen[i]
        parameter = function.params[i]
        written = parameter.name in writes
        return Argument(value, kind, known, _place(places, i), bool(parameter.annotation_type), written)

    given = [argument(indices[name], value) for name, value in zip(call.names, call.args, strict=False)]
    given += [argument(indices.get(name), value) for name, value in call.keywords.items()]
    form = Form(given, list(call.keywords), kernel.run.arguments(bound), kernel, fallback, used)
    if target.backend == "cpu":
        size = normalize_grid(grid)
        return cpu.bind(kernel.module, size, given, form.keywords, form.slots, kernel, fallback, form.globals)
    bind = getattr(driver_for(target), "bind", None)
    return None if bind is None else bind(kernel, normalize_grid(grid), form, call.stream)


def _place(places: dict[Any, int], i: int) -> int | None:
    """The slot that the argument fills; None where it has none, or several, which only this very argument does."""
    return places.get((i,))
