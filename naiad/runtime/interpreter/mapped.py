"""Which addresses exist: so that a wrong pointer in an interpreted kernel is an error, not the end of the process."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from naiad.errors import InterpreterError

LOWEST, HIGHEST = 1 << 16, 1 << 47
"""User memory lies between these addresses on 64-bit machines."""


@dataclass(frozen=True)
class Buffer:
    """The memory of one argument: its name, first byte and size."""

    name: str
    start: int
    size: int

    def __str__(self) -> str:
        return f"{self.name} is {self.size} bytes at {self.start:#x}"


@dataclass
class Buffers:
    """The arguments' memory, and what else the process has mapped (asked for when a pointer leaves the arguments)."""

    known: list[Buffer] = field(default_factory=list)

    def check(self, addresses: Any, size: int, action: str) -> None:
        """Raises InterpreterError unless `size` bytes at each address are mapped. `action`: load from, store to, ..."""
        if not addresses.size:
            return
        first, last = int(addresses.min()), int(addresses.max()) + size
        if any(buffer.start <= first and last <= buffer.start + buffer.size for buffer in self.known):
            return
        bad = addresses[~_are_mapped(addresses, size)]
        if bad.size:
            known = "; ".join(map(str, self.known)) or "no argument is a pointer"
            raise InterpreterError(
                f"{action} an address outside of memory: {int(bad.flat[0]):#x} "
                f"({bad.size} of {addresses.size} lanes); {known}"
            )


def _are_mapped(addresses: Any, size: int) -> Any:
    plausible = (addresses >= LOWEST) & (addresses <= HIGHEST - size)
    starts, ends = _regions()
    if not len(starts):
        return plausible
    index = np.searchsorted(starts, addresses, side="right") - 1
    return plausible & (index >= 0) & (addresses + size <= ends[index])


def _regions() -> tuple[Any, Any]:
    """Starts and ends of the process's readable memory, neighbours joined; empty where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return np.array([], np.int64), np.array([], np.int64)
    regions: list[list[int]] = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access = line.split()[:2]
        start, end = (int(part, 16) for part in span.split("-"))
        if access[0] != "r" or end > HIGHEST:
            continue
        if regions and regions[-1][1] == start:
            regions[-1][1] = end
        else:
            regions.append([start, end])
    return _columns(regions)


def _columns(regions: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    table = np.array(regions, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
