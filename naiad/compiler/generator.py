"""The state of the front end: a Unit per module, a Generator per function being read. The visitors say what nodes mean.

A visitor is a function of the generator and a node; `code_generator.py` joins their tables. A mistake is an exception
raised anywhere below `visit`: the builder's `node` is then still the innermost one, and says where it happened.
"""

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from xdsl.ir import Operation

from naiad.compiler.builder import Frame, IRBuilder
from naiad.compiler.mistakes import unsupported
from naiad.compiler.scope import Scope
from naiad.language.function import Function

__all__ = ["Generator", "Specialization", "Unit", "Visitor"]

Visitor: TypeAlias = Callable[["Generator", Any], Any]


@dataclass
class Specialization:
    """A private function of the module: `result` is a value whose type the call's result has."""

    symbol: str
    result: Any = None
    done: bool = False


@dataclass
class Unit:
    """One module while it is made."""

    options: Any
    visitors: dict[type[ast.AST], Visitor]
    builder: IRBuilder = field(init=False)
    functions: list[Operation | None] = field(default_factory=list)
    specializations: dict[Any, Specialization] = field(default_factory=dict)
    symbols: set[str] = field(default_factory=set)
    used_globals: dict[tuple[str, str], Any] = field(default_factory=dict)
    generator: "Generator | None" = None


class Generator:
    """Reads one function. `scope` is what names mean now; `loops` are the runtime loops around the statement."""

    def __init__(self, unit: Unit, function: Function, frame: Frame) -> None:
        self.unit = unit
        self.builder = unit.builder
        self.function = function
        self.frame = frame
        self.scope: Scope = {}
        self.loops: list[ast.stmt] = []
        self.constexpr_names: dict[str, ast.AST] = {}
        """Names annotated with tl.constexpr, and the statement that did."""
        self.called: tuple[ast.Call, list[Any], dict[str, Any]] | None = None
        """The last call whose arguments were evaluated, for messages."""
        self._visitors = unit.visitors

    @cached_property
    def globals(self) -> dict[str, Any]:
        """The names from outside the function: of its module, and of functions around it."""
        fn = inspect.unwrap(self.function.fn)
        cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False)
        captured = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
        return {**fn.__globals__, **captured} if captured else fn.__globals__

    def visit(self, node: ast.AST) -> Any:
        """The value of an expression, or the effect of a statement."""
        visitor = self._visitors.get(node.__class__)
        builder = self.builder
        before, builder.node = builder.node, node
        if visitor is None:
            raise unsupported(self, node)
        value = visitor(self, node)
        builder.node = before
        return value


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that is assigned later
        return False
