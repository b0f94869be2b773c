"""Launches on a GPU: through Python, and natively for calls like one that Python has served.

Both ask the driver's cuLaunchKernelEx, with the arguments in 8-byte slots and an array of pointers to these.
"""

import ctypes
import functools
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from naiad.backends.cpu.system import has_native_launcher
from naiad.backends.launch.call_code import launcher_text
from naiad.backends.launch.guards import Place
from naiad.backends.launch.record import RECORD_OFFSET, Code, Form, Run, load_code, new_launcher
from naiad.backends.nvidia import launcher_code
from naiad.backends.nvidia.launcher_code import Word
from naiad.backends.nvidia.libcuda import check, cuda, current_context
from naiad.backends.nvidia.parameters import parameters_of, scratch
from naiad.backends.signature import Path

__all__ = ["NvidiaLauncher", "bind", "native_enabled"]

CONFIG = "7I4xQQI4x"
"""CUlaunchConfig: sizes of grid and block, shared memory, stream, attributes, their number. Source: cuda.h 12."""
CONFIG_BYTES = struct.calcsize("<" + CONFIG)
CLUSTER, SPREAD, COOPERATIVE, OVERLAP = 4, 5, 2, 6
"""CUlaunchAttributeID: size of a cluster, how clusters are placed, cooperative grid, programmatic dependent launch."""
NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT


class NvidiaLauncher:
    """Launches one kernel, with all of its parameters' arguments in order."""

    def __init__(self, src: Any, metadata: Any) -> None:
        own = list(parameters_of(src))
        self.parameters = [*own, *scratch(own, getattr(metadata, "parameters", None))]
        self.slots: list[tuple[Path, str]] = [(p.path, p.code) for p in self.parameters]
        codes = "".join(p.code for p in self.parameters)
        self.pack = struct.Struct("<" + codes).pack
        self.fill = struct.Struct(f"<{CONFIG}{codes}").pack_into
        plain = all(len(p.path) == 1 for p in self.parameters)
        self.quick = [(int(p.path[0]), p.method) for p in self.parameters] if plain else None
        self.threads, self.shared = 32 * metadata.num_warps, metadata.shared
        self.attributes = b"".join(attributes(metadata))
        self.ctas = getattr(metadata, "num_ctas", 1)
        self.kept = ctypes.create_string_buffer(self.attributes, max(1, len(self.attributes)))
        self.last = (ctypes.addressof(self.kept), len(self.attributes) // ATTRIBUTE_BYTES)
        self.frames: list[Frame] = []
        self.context = current_context()
        entry = cuda().cuLaunchKernelEx
        self.entry = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(ctypes.cast(entry, ctypes.c_void_p).value)

    def values(self, args: Sequence[Any]) -> list[Any]:
        """What struct packs for the arguments."""
        return [p.convert(args) for p in self.parameters]

    def arguments(self, args: Sequence[Any]) -> bytes:
        """The slots."""
        return self.pack(*self.values(args))

    def prepare(self, memory: Any, x: int, y: int, z: int, stream: int, args: Sequence[Any]) -> None:
        """Writes configuration and arguments: as they are, and if one is unusual (None, too large), with care."""
        head = (x * self.ctas, y, z, self.threads, 1, 1, self.shared, stream, *self.last)
        if self.quick is not None:
            try:
                self.fill(memory, 0, *head, *[m(args[i]) if m else args[i] for i, m in self.quick])
                return
            except (struct.error, OverflowError, AttributeError, TypeError):
                pass
        self.fill(memory, 0, *head, *self.values(args))

    def __call__(
        self, x: int, y: int, z: int, stream: int, function: Any, packed: Any, metadata: Any, enter: Any, leave: Any,
        *args: Any,
    ) -> None:  # fmt: skip
        if x * y * z == 0:
            return
        if enter:
            enter(metadata)
        try:  # one of its own for every thread that is here
            frame = self.frames.pop()
        except IndexError:
            frame = Frame(len(self.parameters))
        try:
            self.prepare(frame.memory, x, y, z, stream, args)
            code = self.entry(frame.config, function, frame.pointers, None)
            if code == NO_CONTEXT and not current_context():  # the first launch of a thread
                check(cuda().cuCtxSetCurrent(ctypes.c_void_p(self.context)))
                code = self.entry(frame.config, function, frame.pointers, None)
        finally:
            self.frames.append(frame)
        if code:
            check(code)
        if leave:
            leave(metadata)


class Frame:
    """What the driver reads during a launch: the configuration, the slots, and the pointers to them."""

    __slots__ = ("config", "memory", "pointers")

    def __init__(self, count: int) -> None:
        size = CONFIG_BYTES + 8 * count
        self.memory = ctypes.create_string_buffer(size + 8 * count)
        self.config = ctypes.addressof(self.memory)
        self.pointers = self.config + size
        slots = [self.config + CONFIG_BYTES + 8 * n for n in range(count)]
        struct.pack_into(f"<{count}Q", self.memory, size, *slots)


ATTRIBUTE_BYTES = 72


def attributes(metadata: Any) -> Iterator[bytes]:
    """The CUlaunchAttributes that the kernel's options ask for. Source: cuda.h 12."""
    wanted: list[tuple[int, tuple[int, ...]]] = []
    if getattr(metadata, "launch_pdl", False):
        wanted.append((OVERLAP, (1,)))
    if getattr(metadata, "launch_cooperative_grid", False):
        wanted.append((COOPERATIVE, (1,)))
    if (ctas := getattr(metadata, "num_ctas", 1)) > 1:
        wanted += [(CLUSTER, (ctas, 1, 1)), (SPREAD, (1,))]
    for which, words in wanted:
        yield struct.pack(f"<I4x{len(words)}I", which, *words).ljust(ATTRIBUTE_BYTES, b"\0")


def bind(
    launcher: NvidiaLauncher,
    function: int,
    grid: Sequence[int],
    device: int,
    stream: Callable[[int], int] | int,
    form: Form,
) -> Callable[..., Any] | None:
    """The native launcher for calls of a form on the current device of this thread; None where there is none.

    `stream`: the one to launch on, or what gives a device's current one. `function` is the kernel's, loaded into this
    thread's context.
    """
    code = native_code() if 0 not in grid else None
    if code is None:
        return None
    x, y, z = (*grid, 1, 1)[:3]
    sizes = (x * launcher.ctas, y, z, launcher.threads, 1, 1, launcher.shared)
    config = struct.pack("<" + CONFIG, *sizes, 0, 0, launcher.last[1])
    words = dict(enumerate(struct.unpack(f"<{CONFIG_BYTES // 8}Q", config), Word.CONFIG_AT)) | {
        Word.FUNCTION: function, Word.CONTEXT: current_context(),
        Word.STREAM: 0 if isinstance(stream, int) else id(stream),
        Word.DEVICE: stream if isinstance(stream, int) else id(device),
    }  # fmt: skip
    run = Run(
        Place("cuda", device, 0), words, check, (launcher, stream, device), launcher.attributes, Word.ATTRIBUTES_AT
    )
    return new_launcher(code, form, run)


def native_enabled(on: bool) -> None:
    """Whether native launchers run kernels, or send every call to their fallback."""
    if native_code.cache_info().currsize and (code := native_code()) is not None:
        code.enabled.value = int(on)


@functools.cache
def native_code() -> Code | None:
    """The launcher's code in memory; None where the platform has none."""
    if not has_native_launcher():
        return None
    run = launcher_code.RUN.replace("CONFIG_AT", str(Word.CONFIG_AT.value))
    text = launcher_text(launcher_code.DECLARATIONS, run, Word, RECORD_OFFSET)
    names = ("cuCtxGetCurrent", "cuLaunchKernelEx")
    return load_code(text, {name: ctypes.cast(cuda()[name], ctypes.c_void_p).value or 0 for name in names})
