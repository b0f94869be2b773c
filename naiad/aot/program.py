"""What the writers of C are told about a kernel."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from naiad.aot.arguments import Argument, prototype
from naiad.aot.signature import Entry, spelled

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

    @property
    def passed(self) -> list[Argument]:
        """The arguments that the launcher takes."""
        return [item for item in self.arguments if item.is_passed]

    def declared(self, backend: str, first: str, pointer: str = "") -> dict[str, str]:
        """What every header says of its launcher, by the names in the templates.

        first: the parameter before the arguments. pointer: what all pointers are in C. The directive is for the linker,
        which must not take kernels for variants of one because their types are the same in C, or their constants when
        they are words of a name.
        """
        types = [entry.kind for entry in self.entries if not entry.is_constant]
        constants = [spelled(entry.value) for entry in self.entries if entry.is_constant]
        hints = [item.hint for item in self.arguments]
        facts = {"backend": backend, "hints": hints, "types": types, "constants": constants}
        return {
            "title": self.title, "name": self.name, "algorithm": self.algorithm, "directive": json.dumps(facts),
            "full": prototype("", self.arguments, pointer).removeprefix(", "),
            "signature": prototype(first, self.passed, pointer),
        }  # fmt: skip
