"""A generated kernel as a tree of statements, each of which has a number and can be dropped."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from naiad.tools.fuzz.values import Argument


@dataclass
class Statement:
    """A line, or a line with a body (`for`, `if`) and perhaps an else."""

    number: int
    text: str
    body: "list[Statement] | None" = None
    orelse: "list[Statement] | None" = None

    def lines(self, indent: int, dropped: Collection[int]) -> list[str]:
        if self.number in dropped:
            return []
        found = [" " * indent + self.text]
        if self.body is not None:
            found += _block(self.body, indent + 4, dropped)
        if self.orelse is not None:
            found += [" " * indent + "else:", *_block(self.orelse, indent + 4, dropped)]
        return found


def _block(statements: Sequence[Statement], indent: int, dropped: Collection[int]) -> list[str]:
    inside = [line for statement in statements for line in statement.lines(indent, dropped)]
    return inside or [" " * indent + "pass"]


HELPERS = """
@jit
def larger_first(a, i, b, j):
    take = (a > b) | ((a == b) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@jit
def affine(a, b, c, d):
    return a * c, b * c + d


@jit
def mix(a, b: tl.constexpr):
    if b > 2:
        a = a ^ (a << 1)
    return a + b
"""


@dataclass
class Program:
    """A kernel with its arguments and its grid."""

    seed: int
    grid: int
    statements: list[Statement] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)

    def source(self, dropped: Collection[int] = ()) -> str:
        """The text of a module that defines `kernel`; it expects `jit` and `tl`."""
        names = ", ".join(argument.name for argument in self.arguments)
        body = _block(self.statements, 4, dropped)
        used = "\n".join(body)
        helpers = HELPERS if any(name in used for name in ("larger_first", "affine", "mix(")) else ""
        return f"{helpers}\n\n@jit\ndef kernel({names}):\n{used}\n".lstrip("\n")

    def numbers(self) -> list[int]:
        """The numbers of all statements, the outer ones first."""
        found: list[int] = []
        level = list(self.statements)
        while level:
            found += [statement.number for statement in level]
            level = [child for s in level for child in (*(s.body or ()), *(s.orelse or ()))]
        return found
