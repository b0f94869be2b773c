"""Runtime `if` and the conditional expression: two blocks, and one scf.if that gives what differs between them.

Each side has its block, its scope and its way to end. Where they meet, names that differ become results of the scf.if.
A side that returned has no names any more; if the other goes on, a flag says at run time which it was, and the
function's result travels with it.
"""

import ast
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Region

from naiad.compiler import blocks
from naiad.compiler.known import as_known
from naiad.compiler.mistakes import place_of, unsupported
from naiad.compiler.scope import Scope, Unavailable
from naiad.compiler.values import Mismatch, describe, handles_of, rebuild, same, unify
from naiad.errors import CompilationError, Explanation, explanation_of
from naiad.language.constexpr import unwrap
from naiad.language.tensor import tensor
from naiad.language.types import int1

if TYPE_CHECKING:
    from naiad.compiler.blocks import Step
    from naiad.compiler.generator import Generator

__all__ = ["FELL", "Exit", "condition_of", "guarded", "if_expression", "runtime_if", "truth"]


class _Fell:
    """The result of a path that reaches the end of a function without `return`."""


FELL = _Fell()


@dataclass(frozen=True)
class Exit:
    """A way to end by `return`: with `value`, at `node`. With a flag, only where the flag (i1) is true at run time.

    `done`: nothing is left to do on the other paths either.
    """

    value: Any
    node: ast.AST | None
    flag: Any = None
    done: bool = False


@dataclass
class Side:
    """One branch: its block, the scope at its end, and its exit (None: it goes on)."""

    block: Block
    scope: Scope
    exit: Exit | None = None

    @property
    def returned(self) -> bool:
        return self.exit is not None and self.exit.flag is None


@dataclass
class Columns:
    """The results of an scf.if while it is made: a pair of handles for each; None is a value nobody looks at."""

    pairs: list[tuple[Any, Any]] = field(default_factory=list)

    def add(self, ours: Sequence[Any] | None, theirs: Sequence[Any] | None) -> slice:
        """Adds a value's handles on both sides; gives the place of its results."""
        start, count = len(self.pairs), len(ours if ours is not None else theirs or ())
        nothing = [None] * count
        self.pairs += zip(ours if ours is not None else nothing, theirs if theirs is not None else nothing, strict=True)
        return slice(start, start + count)


# ---- conditions ----------------------------------------------------------------------------------------------------


def condition_of(g: "Generator", test: ast.expr) -> bool | tensor:
    """A condition: Python's bool where it is known now, else a scalar of int1."""
    value = as_known(g.visit(test))
    if isinstance(value, tensor):
        return truth(g, value, test)
    plain = unwrap(value)
    if type(plain) not in (bool, int, type(None)):
        message = "`if` conditionals can only accept values of type {bool, int, NoneType}, not objects of type "
        todo = "compare it: `x is not None`, `x != 0`"
        raise unsupported(
            g, g.builder.node or test, message + type(plain).__name__, todo, "a condition", describe(value)
        )
    return bool(plain)


def truth(g: "Generator", value: tensor, test: ast.expr) -> tensor:
    """A runtime value as a scalar of int1."""
    if value.type.is_block():
        if value.type.numel != 1:
            raise unsupported(
                g,
                g.builder.node or test,
                "Boolean value of Tensor with more than one value is ambiguous",
                "reduce it first, for example tl.max(x.to(tl.int32), axis=0) != 0, or use tl.where",
                "a scalar condition",
                describe(value),
            )
        text = ast.unparse(test)
        message = "If conditional called with multidimensional Tensor instead of scalar; please use"
        warnings.warn(f'{message} "if ({text}).item()" instead', stacklevel=2)
        value = tensor(g.builder.emit("tt.unsplat", (value.handle,), value.type.scalar), value.type.scalar)
    return value if value.type == int1 else value.to(int1)  # type: ignore[attr-defined]


# ---- the statement -------------------------------------------------------------------------------------------------


def runtime_if(g: "Generator", node: ast.If, condition: tensor, rest: Sequence["Step"], last: bool) -> Exit | None:
    """One scf.if. Where exactly one branch returned, `rest` is evaluated at the end of the other."""
    before = g.scope
    then, other = _side(g, before, node.body), _side(g, before, node.orelse)
    consumed = then.returned or other.returned
    if then.returned and not other.returned:
        _extend(g, node, other, rest, last)
    elif other.returned and not then.returned:
        _extend(g, node, then, rest, last)
    g.scope = before
    return _join(g, node, condition.handle, then, other, consumed)


def guarded(g: "Generator", node: ast.AST, ending: Exit, rest: Sequence["Step"], last: bool) -> Exit | None:
    """Evaluates `rest` where the flag of `ending` is false."""
    if not rest and not last:
        return ending
    before = g.scope
    left = Side(Block(), before, Exit(ending.value, ending.node))
    going = _side(g, before, rest, last)
    g.scope = before
    return _join(g, node, ending.flag, left, going, consumed=True)


def _side(g: "Generator", before: Scope, steps: Sequence["Step"], last: bool = False) -> Side:
    side = Side(Block(), dict(before))
    _evaluate(g, side, steps, last)
    return side


def _evaluate(g: "Generator", side: Side, steps: Sequence["Step"], last: bool) -> None:
    outside, g.builder.block, g.scope = g.builder.block, side.block, side.scope
    side.exit = blocks.run(g, steps, last)
    side.scope, g.builder.block = g.scope, outside


def _extend(g: "Generator", node: ast.AST, side: Side, rest: Sequence["Step"], last: bool) -> None:
    """Goes on with `rest` at the end of a side that did not return on all paths."""
    if side.exit is None:
        _evaluate(g, side, rest, last)
        return
    outside, g.builder.block, g.scope = g.builder.block, side.block, side.scope
    side.exit = guarded(g, node, side.exit, rest, last)
    side.scope, g.builder.block = g.scope, outside


# ---- where the sides meet ------------------------------------------------------------------------------------------


def _join(g: "Generator", node: ast.AST, condition: Any, then: Side, other: Side, consumed: bool) -> Exit | None:
    """Makes the scf.if of two finished sides; g.scope becomes the scope behind it. Gives how the two end together."""
    columns = Columns()
    merged = {} if then.returned and other.returned else _merge_names(g, node, then, other, columns)
    ending, places = _merge_exits(g, then, other, columns)
    results = _emit(g, condition, then.block, other.block, columns)
    for name, (value, place) in merged.items():
        g.scope[name] = value if place is None else rebuild(value, results[place])
    if ending is None:
        return None
    flag = results[places[0]][0] if places[0] is not None else None
    return Exit(rebuild(ending.value, results[places[1]]), ending.node, flag, consumed and flag is not None)


def _merge_names(
    g: "Generator", node: ast.AST, then: Side, other: Side, columns: Columns
) -> dict[str, tuple[Any, slice | None]]:
    """For each name that a side changed: a value and the place of its handles among the results."""
    merged: dict[str, tuple[Any, slice | None]] = {}
    missing = Unavailable("")
    g.scope = dict(g.scope)
    for name in {**then.scope, **other.scope}:
        a, b = then.scope.get(name, missing), other.scope.get(name, missing)
        if a is b and (a is not missing) and g.scope.get(name) is a:
            continue
        if then.returned or other.returned:
            merged[name] = _one_side(b if then.returned else a, then.returned, columns)
        elif isinstance(a, Unavailable) or isinstance(b, Unavailable):
            merged[name] = (_undefined(name, node, a, b, missing), None)
        elif same(a, b):
            merged[name] = (a, None)
        else:
            merged[name] = _both_sides(name, node, a, b, columns)
    return merged


def _one_side(value: Any, is_else: bool, columns: Columns) -> tuple[Any, slice | None]:
    handles = handles_of(value)
    return (value, columns.add(*((None, handles) if is_else else (handles, None)))) if handles else (value, None)


def _both_sides(name: str, node: ast.AST, a: Any, b: Any, columns: Columns) -> tuple[Any, slice | None]:
    try:
        a, b = unify(a, b)
    except Mismatch:
        reason = f"Mismatched type for {name} between then block ({describe(a)}) and else block ({describe(b)})"
        todo = "give it one type in both branches, or use another name"
        return Unavailable(reason, todo, f"one type of {name}", f"{describe(a)} and {describe(b)}"), None
    return a, columns.add(handles_of(a), handles_of(b))


def _undefined(name: str, node: ast.AST, a: Any, b: Any, missing: Unavailable) -> Unavailable:
    for each in (a, b):
        if isinstance(each, Unavailable) and each is not missing:
            return each
    line = getattr(node, "lineno", 0)
    return Unavailable(
        f"{name} is not defined: only one branch of the `if` at line {line} assigns it",
        f"assign {name} before the `if`, or in both branches",
        f"a value of {name} on both paths",
        f"one on one path of the `if` at line {line}",
    )


def _merge_exits(
    g: "Generator", then: Side, other: Side, columns: Columns
) -> tuple[Exit | None, tuple[slice | None, slice]]:
    """The exit of both sides together, with the places of its flag and of its value among the results."""
    ours, theirs = then.exit, other.exit
    if ours is None and theirs is None:
        return None, (None, slice(0))
    flag = None
    if not (then.returned and other.returned):
        flag = columns.add([_flag(g, ours)], [_flag(g, theirs)])
    a = ours.value if ours is not None else FELL
    b = theirs.value if theirs is not None else FELL
    node = next((e.node for e in (theirs, ours) if e is not None and e.node is not None), None)
    if a is FELL or b is FELL:
        value = b if a is FELL else a
        handles = handles_of(value)
        return Exit(value, node), (flag, columns.add(*((None, handles) if a is FELL else (handles, None))))
    try:
        a, b = unify(a, b)
    except Mismatch:
        raise _inconsistent(g, ours, theirs) from None
    return Exit(a, node), (flag, columns.add(handles_of(a), handles_of(b)))


def _flag(g: "Generator", ending: Exit | None) -> Any:
    if ending is not None and ending.flag is not None:
        return ending.flag
    return g.builder.constant(ending is not None, int1)


def _inconsistent(g: "Generator", ours: Exit | None, theirs: Exit | None) -> CompilationError:
    """The place is the function's, for no single `return` is to blame; the lines are told."""
    assert ours is not None and theirs is not None
    found = ", ".join(f"{_result(e.value)} at line {getattr(e.node, 'lineno', '?')}" for e in (ours, theirs))
    return CompilationError(
        f"Return type mismatch: {_result(ours.value)} and {_result(theirs.value)}",
        place_of(g, g.function.parse().body[0]),
        Explanation("the same type from every `return`", found, "cast or reshape the values to one type"),
    )


def _result(value: Any) -> str:
    return "void" if value is None else describe(value)


def _emit(g: "Generator", condition: Any, then: Block, other: Block, columns: Columns) -> Sequence[Any]:
    """Ends the two blocks and makes the scf.if; gives its results."""
    builder = g.builder
    outside = builder.block
    types = [(a if a is not None else b).type for a, b in columns.pairs]
    for column, block in enumerate((then, other)):
        builder.block = block
        handles = [p[column] if p[column] is not None else builder.poison(p[1 - column]) for p in columns.pairs]
        if column == 0 or handles or block.first_op is not None:
            builder.add("scf.yield", handles)
    builder.block = outside
    otherwise = Region(other) if other.first_op is not None else Region()
    return builder.add("scf.if", (condition,), types, (Region(then), otherwise)).results


# ---- the expression ------------------------------------------------------------------------------------------------


def if_expression(g: "Generator", node: ast.IfExp) -> Any:
    """`a if condition else b`; both are evaluated where the condition is known only at run time."""
    condition = condition_of(g, node.test)
    if isinstance(condition, bool):
        return g.visit(node.body if condition else node.orelse)
    then, ours = _branch_value(g, node.body)
    other, theirs = _branch_value(g, node.orelse)
    try:
        a, b = unify(ours, theirs)
    except Mismatch as error:
        message = (
            f"Ternary expression with dynamic condition has inconsistent types {describe(ours)} and {describe(theirs)}"
        )
        said = replace(explanation_of(error), advice="give both sides one type and shape, for example with .to(...)")
        raise CompilationError(message, place_of(g, node), said) from None
    columns = Columns()
    columns.add(handles_of(a), handles_of(b))
    return rebuild(a, list(_emit(g, condition.handle, then, other, columns)))


def _branch_value(g: "Generator", node: ast.expr) -> tuple[Block, Any]:
    outside, g.builder.block = g.builder.block, Block()
    value = g.visit(node)
    block, g.builder.block = g.builder.block, outside
    return block, value
