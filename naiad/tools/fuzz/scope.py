"""Where the generator is in a kernel: the values that it may use there, and the statements written so far."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from naiad.tools.fuzz.program import Program, Statement
from naiad.tools.fuzz.values import Argument, Value, is_sane

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
MOST = 2048
"""The most elements of a generated tile."""


class Scope:
    """`statement(scope)` adds a random statement, for the bodies of loops and branches."""

    def __init__(self, program: Program, rng: random.Random, statement: "Callable[[Scope], None]") -> None:
        self.program, self.random, self.statement = program, rng, statement
        self.values: list[Value] = []
        self.depth = 0
        self._into = program.statements
        self._names = 0
        self._numbers = 0

    def write(self, text: str) -> Statement:
        """Adds a statement."""
        self._numbers += 1
        made = Statement(self._numbers, text)
        self._into.append(made)
        return made

    def name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def define(
        self, text: str, dtype: str, shape: tuple[int, ...], bound: float = 0.0, error: float = 0.0, most: int = MOST
    ) -> Value | None:
        """`name = text`, unless the value would be too large, or a float without meaning."""
        value = Value("", dtype, shape, bound, error)
        if value.size > most or (value.is_float and not is_sane(dtype, bound, error)):
            return None
        value = Value(self.name(), dtype, shape, bound, error)
        self.write(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def argument(self, dtype: str, **what: object) -> Argument:
        """One more argument of the kernel."""
        made = Argument(f"a{len(self.program.arguments)}", dtype, **what)  # type: ignore[arg-type]
        self.program.arguments.append(made)
        return made

    def pick(self, wanted: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A random value of the wanted kind; late ones are likelier."""
        found = [value for value in self.values if wanted(value)]
        if not found:
            return None
        return self.random.choices(found, range(1, len(found) + 1))[0]

    def partner(self, value: Value, wanted: Callable[[Value], bool]) -> Value | None:
        """A value of the wanted kind that broadcasts with `value`."""
        return self.pick(lambda other: wanted(other) and common_shape(value.shape, other.shape) is not None)

    @contextmanager
    def inside(self, body: list[Statement]) -> Iterator[None]:
        """Writes into `body`; what is defined there is not known behind it."""
        outside, values = self._into, list(self.values)
        self._into = body
        self.depth += 1
        yield
        self._into, self.values = outside, values
        self.depth -= 1


def common_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape in which two values meet, or None."""
    rank = max(len(a), len(b))
    if not a or not b:
        return a or b
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
        return None
    return tuple(max(m, n) for m, n in zip(a, b, strict=True))
