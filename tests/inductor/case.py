"""A case: a function or module that torch.compile is given, its arguments, and what to hold the result against.

Needs neither torch nor naiad: the tests list the cases by reading `cases/`, and only the worker imports them.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Program:
    """What is compiled, and how it is compared."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    train: bool = False
    """The gradients of all that requires them are compared too."""
    dynamic: bool | None = False
    config: dict[str, Any] = field(default_factory=dict)
    """Settings of torch._inductor.config."""
    more: tuple[tuple[Any, ...], ...] = ()
    """Further arguments to call the same compiled function with."""
    check: Callable[[Any, Callable[..., Any]], None] | None = None
    """Looks at (result, compiled function) itself instead of comparing with eager: for random numbers."""
    exact: bool = True
    """Whether the program means the same in float64; if not, eager is what is compared with."""
    kernels: int = 1
    """naiad compiles at least as many."""


REGISTRY: dict[str, Callable[[], Program]] = {}


def case(*, slow: bool = True) -> Callable[[Callable[[], Program]], Callable[[], Program]]:
    """Registers a function that makes a program; `slow` ones run under the marker of that name."""

    def register(make: Callable[[], Program]) -> Callable[[], Program]:
        REGISTRY[f"{make.__module__.rpartition('.')[2]}.{make.__name__}"] = make
        return make

    return register


def names() -> Iterator[tuple[str, bool]]:
    """(name, slow) of each case, from the source."""
    for path in sorted(CASES.glob("[a-z]*.py")):
        for node in ast.parse(path.read_text()).body:
            for call in getattr(node, "decorator_list", ()):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "case":
                    yield f"{path.stem}.{node.name}", ast.unparse(call) != "case(slow=False)"
