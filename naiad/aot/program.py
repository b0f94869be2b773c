"""What the writers of C are told about a kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

from naiad.aot.arguments import Argument
from naiad.aot.signature import Entry

__all__ = ["Program"]


@dataclass(frozen=True)
class Program:
    """A compiled kernel as its launcher sees it.

    name: the launcher's in C. symbol: the kernel's in its code. title: a comment that says what was compiled.
    algorithm: what its variants have in common. grid: three expressions in C.
    """

    name: str
    symbol: str
    title: str
    algorithm: str
    entries: Sequence[Entry]
    arguments: Sequence[Argument]
    grid: tuple[str, ...]
