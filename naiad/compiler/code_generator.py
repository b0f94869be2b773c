"""The front end: a @jit function and its specialisation to a module of ttir.

ast_to_ttir(kernel, ASTSource(kernel, {"x": "*fp32", "n": "i32"}, {"BLOCK": 128}), options)
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from naiad.compiler import calls, functions
from naiad.compiler.builder import IRBuilder
from naiad.compiler.calls import CALLS
from naiad.compiler.expressions import EXPRESSIONS
from naiad.compiler.generator import Unit
from naiad.compiler.mistakes import filter_traceback
from naiad.compiler.signature import ParameterError, kernel_parameters
from naiad.compiler.statements import STATEMENTS
from naiad.errors import CompilationError
from naiad.ir.base import int_attr
from naiad.language.builder import building
from naiad.language.function import Function

__all__ = ["VISITORS", "ast_to_ttir", "generate"]


VISITORS = {**EXPRESSIONS, **STATEMENTS, **CALLS}
"""What each node of Python's syntax means, but for `if`, loops and `return`, which blocks.py handles."""


def ast_to_ttir(fn: Function, src: Any, options: Any) -> ModuleOp:
    """The module of the kernel `fn` for the argument types and constants of `src`. Raises CompilationError."""
    return generate(fn, src, options)[0]


def generate(fn: Function, src: Any, options: Any) -> tuple[ModuleOp, Unit]:
    """The module, and the unit, which also holds the globals that the kernel read."""
    unit = Unit(options, VISITORS)
    unit.builder = IRBuilder(options, partial(_call, unit))
    symbol = kernel_name(fn, src)
    unit.symbols.add(symbol)
    try:
        _define(unit, fn, src, symbol)
    except CompilationError as error:
        filter_traceback(error)
        raise
    return ModuleOp([op for op in unit.functions if op is not None]), unit


def _define(unit: Unit, fn: Function, src: Any, symbol: str) -> None:
    """Reads the kernel, and all that it calls, into the unit."""
    try:
        parameters, attributes = kernel_parameters(fn, src)
    except ParameterError as error:
        assert isinstance(error.__cause__, Exception)
        raise functions.parameter_mistake(unit, fn, error.name, error.__cause__) from None
    with building(unit.builder):
        functions.define(unit, fn, symbol, parameters, True, _attributes(attributes))


def _call(unit: Unit, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A call that the language makes: of a combiner, or of a function that is written in the language."""
    assert unit.generator is not None
    return calls.call(unit.generator, function, arguments, keywords)


def kernel_name(fn: Function, src: Any) -> str:
    """The kernel's symbol: its name, or what `@jit(repr=...)` says of the specialisation."""
    name = getattr(src, "shown_name", None) or getattr(src, "name", None) or fn.__name__
    symbol = str(name).rpartition(".")[2]
    if re.fullmatch(r"[a-zA-Z_]\w*", symbol) is None:
        raise CompilationError(f"invalid function identifier: {symbol}; the last part of what @jit(repr=...) gives is "
                               "letters, digits and _")  # fmt: skip
    return symbol


def _attributes(specs: list[list[tuple[str, int]]]) -> list[dict[str, Attribute]]:
    return [{name: int_attr(value) for name, value in spec} for spec in specs]
