"""The parameters of a compiled kernel: where each value is among the arguments of a launch, and how it is packed."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from naiad.backends.arguments import address
from naiad.backends.launch.floats import FLOATS, bfloat16, rounded
from naiad.backends.signature import Path, passed
from naiad.errors import Explanation

__all__ = ["Parameter", "parameters_of", "scratch"]

CODES = {"i1": "?7x", "i8": "b7x", "i16": "h6x", "i32": "i4x", "i64": "q", "u1": "?7x", "u8": "B7x", "u16": "H6x",
         "u32": "I4x", "u64": "Q", "fp16": "e6x", "bf16": "H6x", "fp32": "f4x", "fp64": "d"}  # fmt: skip
"""How struct packs a value into its 8 bytes."""


@dataclass(frozen=True)
class Parameter:
    """A value of the kernel: its path among the arguments, its code for struct, and how it is read.

    `method` gives what struct takes of nearly all arguments, or raises; None where the argument itself will do.
    """

    path: Path
    code: str
    read: Callable[[Any], Any]
    method: Callable[[Any], Any] | None = None

    def convert(self, args: Any) -> Any:
        """The value, as struct takes it."""
        value = args
        for step in self.path:
            value = getattr(value, step) if isinstance(step, str) else value[step]
        return self.read(value)


def pointer(argument: Any) -> int:
    """The address of a pointer argument; None is the null pointer, an int is an address."""
    if argument is None or isinstance(argument, int):
        return argument or 0
    return address(argument)


def finite(kind: str) -> Callable[[Any], float]:
    """Floats that struct can pack: what is too large for the kind is infinite."""

    def read(value: Any) -> float:
        [result] = struct.unpack(FLOATS[kind], rounded(kind, float(value)))
        return result

    return read


def wrapped(kind: str) -> Callable[[Any], Any]:
    """Integers wrap to their width, as C would."""
    bits, signed = int(kind[1:]), kind[0] == "i"

    def wrap(value: Any) -> int:
        low = int(value) & (1 << bits) - 1
        return low - (1 << bits) if signed and low >> bits - 1 else low

    return wrap


def parameter(path: Path, kind: str) -> Parameter:
    """The parameter of a type of a signature."""
    if kind[0] == "*":
        return Parameter(path, "Q", pointer, methodcaller("data_ptr"))
    if kind not in CODES:
        raise TypeError(f"a kernel cannot take an argument of type {kind}")
    if kind in ("i1", "u1"):
        return Parameter(path, CODES[kind], bool)
    if kind == "bf16":
        return Parameter(path, CODES[kind], bfloat16, bfloat16)
    return Parameter(path, CODES[kind], finite(kind) if kind.startswith("fp") else wrapped(kind))


def parameters_of(src: Any) -> Iterator[Parameter]:
    """Those of a source, in the order of the kernel's; constants have none, a descriptor has several."""
    return (parameter(path, kind) for path, kind in passed(src))


SCRATCH = 2
"""How many pointers Triton's kernels take after their arguments: to scratch memory of the grid, and of its profiler."""


def scratch(own: Sequence[Parameter], sizes: Sequence[int] | None) -> list[Parameter]:
    """The parameters, beyond ours, of code that a user put in the place of ours: null pointers to Triton's scratch.

    sizes: the bytes of all of the code's parameters; None where the code is ours. ValueError where it takes others than
    the arguments of the launch: the driver would read what is not there.
    """
    if sizes is None:
        return []
    wanted = [struct.calcsize(f"<{p.code[0]}") for p in own]
    more = sizes[len(own) :]
    if list(sizes[: len(own)]) != wanted or len(more) > SCRATCH or any(n != 8 for n in more):
        said = Explanation(
            expected=f"{len(own)} parameters of {listed(wanted)} bytes, and after them at most {SCRATCH} pointers",
            found=f"{len(sizes)} parameters of {listed(sizes)} bytes",
            advice="start from the file that TRITON_KERNEL_DUMP=1 writes for these arguments: constants, and arguments "
            "that are 1 or None, are no parameters",
        )
        reason = "the code that was put in the place of the kernel's does not take its arguments"
        raise ValueError("\n".join([reason, *said.lines()]))
    return [Parameter((), "Q", lambda args: 0) for _ in more]


def listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes)) or "no"
