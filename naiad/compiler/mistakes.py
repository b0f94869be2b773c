"""Mistakes of a kernel's author: where they are, what to say about them, tracebacks without the compiler's frames."""

import ast
import os
from types import TracebackType
from typing import TYPE_CHECKING

from naiad import knobs
from naiad.compiler import advice
from naiad.errors import CompilationError, Explanation, Place, UnsupportedLanguageConstruct, explanation_of

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator

__all__ = ["filter_traceback", "place_of", "placed", "unsupported"]

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PARSER = os.sep + "ast.py"


def place_of(g: "Generator", node: ast.AST | None) -> Place:
    """Where `node` is in the source of the function that `g` reads."""
    function, frame = g.function, g.frame
    if not isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword):
        return Place(function.src, 1, 0, 1, 0, frame.file, frame.first_line, frame.indent, function.__name__)
    end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
    if isinstance(node, ast.FunctionDef):
        end = (node.lineno, 0)
    return Place(
        function.src, node.lineno, node.col_offset, *end, frame.file, frame.first_line, frame.indent, function.__name__
    )


def unsupported(
    g: "Generator", node: ast.AST, message: str = "", todo: str = "", expected: str = "", found: str = ""
) -> UnsupportedLanguageConstruct:
    """The error for a construct that kernels do not have."""
    reason, said = advice.for_node(node)
    if message:
        said = Explanation(expected, found or advice.found_in(g, node), todo or said.advice)
    return UnsupportedLanguageConstruct(message or reason, place_of(g, node), said)


def placed(g: "Generator", node: ast.AST | None, error: Exception) -> CompilationError:
    """`error` as a CompilationError at `node`, with what can be said of it. A cause from below is kept."""
    said = explanation_of(error)
    message = f"{error}" or type(error).__name__
    if isinstance(error, KeyError | AttributeError | AssertionError) and not str(error):
        message = repr(error)
    hint = advice.for_message(message)
    explanation = Explanation(
        said.expected or hint.expected, said.found or advice.found_in(g, node), said.advice or hint.advice
    )
    made = CompilationError(message, place_of(g, node), explanation)
    made.__cause__ = error if _is_from_below(error) else None
    made.__suppress_context__ = True
    return made


def _is_from_below(error: BaseException) -> bool:
    """Whether the error was raised by the language or by the user's Python, not by the front end itself."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb is None or not tb.tb_frame.f_code.co_filename.startswith(_HERE)


def filter_traceback(error: BaseException) -> None:
    """Takes the front end's frames out of the tracebacks of `error` and its causes: the mistake is not in them."""
    if knobs.compilation.front_end_debugging:
        return
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        current.__traceback__ = _without_front_end(current.__traceback__)
        if current.__context__ is not current.__cause__ and isinstance(current, CompilationError):
            current.__context__ = None
        current = current.__cause__


def _without_front_end(tb: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while tb is not None:
        name = tb.tb_frame.f_code.co_filename
        if not name.startswith(_HERE) and not name.endswith(_PARSER):
            kept.append(tb)
        tb = tb.tb_next
    result: TracebackType | None = None
    for frame in reversed(kept):
        result = TracebackType(result, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return result
