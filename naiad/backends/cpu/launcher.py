"""Native launchers of the CPU: kernels that have run once run again in well under 1 us.

`native_enabled(False)` sends every call to its fallback, for as long as something wants to see each launch (hooks).
"""

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

from naiad.backends.cpu import launcher_code
from naiad.backends.cpu.driver import HEADER_SLOTS, LoadedKernel, extents
from naiad.backends.cpu.launcher_code import Word
from naiad.backends.cpu.pool import runner
from naiad.backends.cpu.system import has_native_launcher
from naiad.backends.launch.call_code import launcher_text
from naiad.backends.launch.guards import Argument, Place
from naiad.backends.launch.record import RECORD_OFFSET, Code, Form, Run, load_code, new_launcher, retire

PLACE = Place("cpu", None, HEADER_SLOTS)


def bind(
    kernel: LoadedKernel,
    grid: Sequence[int],
    arguments: Sequence[Argument],
    keywords: Sequence[str],
    slots: bytes,
    handle: Any,
    fallback: Callable[..., Any],
    globals: Sequence[tuple[dict[str, Any], str, Any]] = (),
) -> Callable[..., Any] | None:
    """The native launcher for calls like this one; None where there is none for such arguments, or on this platform.

    `slots` are all of the kernel's after the header; the rest is as a Form says. A failed assertion raises.
    """
    code = native_code()
    if code is None:
        return None
    x, y, z = extents(grid)
    words = {Word.KERNEL: kernel.address, Word.PROGRAMS: x * y * z, Word.GRAIN: kernel.grain(x * y * z)}
    form = Form(arguments, keywords, struct.pack("<4q", x, y, z, 0) + slots, handle, fallback, globals)
    return new_launcher(code, form, Run(PLACE, words, functools.partial(LoadedKernel.failed, kernel), (kernel,)))


def forwarder(fallback: Callable[..., Any]) -> Callable[..., Any] | None:
    """A native launcher that runs nothing and sends every call to its fallback; None where the platform has none."""
    code = native_code()
    if code is None:
        return None
    launcher = new_launcher(code, Form((), (), b"", None, fallback), Run(PLACE, {}, functools.partial(print), ()))
    if launcher is not None:
        retire(launcher)
    return launcher


def native_enabled(on: bool) -> None:
    """Whether native launchers run kernels, or send every call to their fallback."""
    if (code := native_code()) is not None:
        code.enabled.value = int(on)


@functools.cache
def native_code() -> Code | None:
    """The launcher's code in memory; None where the platform has none."""
    if not has_native_launcher():
        return None
    text = launcher_text(launcher_code.DECLARATIONS, launcher_code.RUN, Word, RECORD_OFFSET)
    return load_code(text, {"naiad_pool_run": runner().address})


__all__ = ["Argument", "bind", "native_code", "native_enabled"]
