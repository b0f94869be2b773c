"""Statements in order, and how a list of them ends: by falling off its end, or by `return` on all or some of its paths.

Control flow of ttir is structured, so a `return` under a runtime condition puts the rest of the statements into the
other branch (branches.py). The constant parts, `if` on constexpr and unrolled loops, are spliced into the list.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from naiad.compiler import branches, loops, statements
from naiad.compiler.branches import FELL, Exit
from naiad.compiler.mistakes import unsupported
from naiad.language.constexpr import constexpr

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator

__all__ = ["Bind", "Step", "run"]


@dataclass(frozen=True)
class Bind:
    """A step of an unrolled loop: its variable takes a value."""

    target: ast.expr
    value: Any


Step: TypeAlias = ast.stmt | Bind

RETURN_IN_LOOP = "Cannot have `return` statements inside `while` or `for` statements in triton."


def run(g: "Generator", steps: Sequence[Step], last: bool = False) -> Exit | None:
    """Evaluates the steps. None where control falls off their end; `last`: that end is the end of the function."""
    i = 0
    while i < len(steps):
        step = steps[i]
        i += 1
        if isinstance(step, ast.If):
            ending = _if(g, step, steps[i:], last)
        elif isinstance(step, ast.For | ast.While):
            ending = _loop(g, step)
        elif isinstance(step, ast.Return):
            return _return(g, step)
        elif isinstance(step, Bind):
            statements.assign(g, step.target, step.value)
            continue
        else:
            g.visit(step)
            continue
        if isinstance(ending, list):
            steps, i = [*ending, *steps[i:]], 0
        elif ending is not None and (ending.flag is None or ending.done):
            return ending
        elif ending is not None:
            return branches.guarded(g, step, ending, steps[i:], last)
    return Exit(FELL, None) if last else None


def _if(g: "Generator", node: ast.If, rest: Sequence[Step], last: bool) -> Exit | list[Step] | None:
    builder = g.builder
    before, builder.node = builder.node, node
    condition = branches.condition_of(g, node.test)
    if isinstance(condition, bool):
        builder.node = before
        return list(node.body if condition else node.orelse)
    ending = branches.runtime_if(g, node, condition, rest, last)
    builder.node = before
    return ending


def _loop(g: "Generator", node: ast.For | ast.While) -> list[Step] | None:
    builder = g.builder
    before, builder.node = builder.node, node
    if node.orelse:
        raise unsupported(g, node.orelse[0], "`else` of a loop is not supported.", "put it after the loop")
    steps: list[Step] | None = None
    if isinstance(node, ast.While):
        loops.while_loop(g, node)
    elif (items := loops.for_loop(g, node)) is not None:
        steps = []
        for item in items:
            steps += (Bind(node.target, item), *node.body)
    builder.node = before
    return steps


def _return(g: "Generator", node: ast.Return) -> Exit:
    builder = g.builder
    before, builder.node = builder.node, node
    if g.loops:
        todo = "carry the result in a variable and return it after the loop"
        line = g.loops[-1].lineno
        raise unsupported(g, node, RETURN_IN_LOOP, todo, "`return` outside of loops", f"one in the loop at line {line}")
    value = g.visit(node.value) if node.value is not None else None
    if isinstance(value, constexpr) and value.value is None:
        value = None
    builder.node = before
    return Exit(value, node)
