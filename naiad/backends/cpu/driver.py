"""Runs compiled kernels on this CPU: loads an object, packs arguments into slots, launches over a grid through ctypes.

This is the path that works everywhere; `launcher.py` is the fast one, for calls that it has seen.
"""

import ctypes
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from naiad.backends.cpu.loader import load as load_object
from naiad.backends.cpu.pool import runner
from naiad.backends.launch.floats import FLOATS, bfloat16, rounded

HEADER_SLOTS = 4  # grid x, y, z, address of the status word
KEEP_GIL_COST = 128_000.0  # scalar operations, 2 to 10 us: less is not worth threads, nor giving up the GIL
GRAIN_COST = 32_000.0  # what a thread takes at a time costs at least this much
CALL_HOLDING_GIL = getattr(ctypes, "PYFUNCTYPE", ctypes.CFUNCTYPE)(
    None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel in memory: `address` is that of void(i64 begin, i64 end, ptr slots). It lives as long as this value."""

    name: str
    address: int
    cost: float
    asserts: tuple[str, ...]
    image: object = field(repr=False, compare=False)

    def launch(self, grid: Sequence[int], arguments: bytes) -> None:
        """Runs the kernel once for each point of the grid; `arguments` are the packed slots after the first four.

        Returns when all have run. Raises RuntimeError if an assertion of the kernel failed.
        """
        x, y, z = extents(grid)
        programs = x * y * z
        if programs == 0:
            return
        status = ctypes.c_int64(0)
        header = struct.pack("<4q", x, y, z, ctypes.addressof(status))
        slots = ctypes.create_string_buffer(header + arguments, len(header) + len(arguments))
        grain = self.grain(programs)
        if grain == 0:
            CALL_HOLDING_GIL(self.address)(0, programs, ctypes.addressof(slots))
        else:
            runner().run(self.address, programs, grain, ctypes.addressof(slots))
        if status.value:
            self.failed(status.value)

    def grain(self, programs: int) -> int:
        """How many programs a thread takes at a time, at least; 0 for a launch too small to leave this thread."""
        if programs * self.cost < KEEP_GIL_COST:
            return 0
        return max(1, math.ceil(GRAIN_COST / max(self.cost, 1.0)))

    def failed(self, status: int) -> None:
        """Raises what the status word says; the words are those that code written for GPUs looks for."""
        if 0 < status <= len(self.asserts):
            raise RuntimeError(f"device-side assert triggered: {self.asserts[status - 1]}")
        raise RuntimeError(f"kernel {self.name} ended with status {status}")


def load(obj: bytes, metadata: Mapping[str, Any]) -> LoadedKernel:
    """The kernel `metadata["name"]` of an object, ready to run. LoadError if the object is damaged or not for here."""
    name = metadata["name"]
    image = load_object(obj, [name])
    cost = float(metadata.get("cost", KEEP_GIL_COST))
    return LoadedKernel(name, image.address(name), cost, tuple(metadata.get("asserts", ())), image)


def extents(grid: Sequence[int]) -> tuple[int, int, int]:
    """The grid as three sizes. ValueError for more dimensions, negative sizes, or more programs than are counted."""
    x, y, z = (*map(int, grid), 1, 1, 1)[:3]
    if not 1 <= len(grid) <= 3 or min(x, y, z) < 0 or max(x, y, z) > 0x7FFFFFFF or x * y * z > 2**62:
        raise ValueError(f"a grid is one to three sizes from 0 to 2**31 - 1, not {tuple(grid)}")
    return x, y, z


def slot(kind: str, value: Any) -> bytes:
    """The eight bytes of an argument: `kind` as in signatures ("*fp32", "i32", "fp16", ...), pointers as integers."""
    if kind.startswith("*"):
        return struct.pack("<Q", value)
    if kind in FLOATS:
        return rounded(kind, float(value))
    if kind == "bf16":
        return struct.pack("<H6x", bfloat16(float(value)))
    if kind in ("i1", "u1"):
        return struct.pack("<?7x", bool(value))
    return (int(value) & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")


def packer(kinds: Sequence[str]) -> Callable[[Sequence[Any]], bytes]:
    """A function from argument values to slots, for arguments of these kinds."""
    kinds = tuple(kinds)
    return lambda values: b"".join([slot(kind, value) for kind, value in zip(kinds, values, strict=True)])


__all__ = ["LoadedKernel", "extents", "load", "packer", "slot"]
