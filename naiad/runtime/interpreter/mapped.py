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
    """The memory of one argument: its name, first byte and size, and whether it may be written."""

    name: str
    start: int
    size: int
    is_writable: bool = True

    def __str__(self) -> str:
        return f"{self.name} is {self.size} bytes at {self.start:#x}"


READ = "load from"
"""The action that changes nothing."""


@dataclass
class Buffers:
    """The arguments' memory, and what else the process has mapped (asked for when a pointer leaves the arguments)."""

    known: list[Buffer] = field(default_factory=list)

    def check(self, addresses: Any, size: int, action: str) -> None:
        """Raises InterpreterError unless `size` bytes at each address are mapped. `action`: load from, store to, ..."""
        if not addresses.size:
            return
        first, last = int(addresses.min()), int(addresses.max()) + size
        holders = [b for b in self.known if b.start <= first and last <= b.start + b.size]
        if holders:
            locked = [] if action == READ else [b.name for b in holders if not b.is_writable]
            if len(locked) == len(holders):
                raise InterpreterError(f"{action} {locked[0]}, an array that is read-only; pass {locked[0]}.copy()")
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
