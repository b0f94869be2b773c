"""The names that travel round a loop, as handles: arguments of its blocks, what the body yields, results."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from naiad.compiler.mistakes import place_of
from naiad.compiler.scope import Scope, Unavailable, assigned_names
from naiad.compiler.values import Mismatch, describe, handles_of, name_handles, rebuild, same, unify
from naiad.errors import CompilationError, Explanation
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.promotion import is_number, to_tensor

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator

__all__ = ["Carried", "Kept", "carried_names", "leave_scope"]


@dataclass(frozen=True)
class Kept:
    """The handles that really travel; `places`: the number of the result for each handle of the names, or None."""

    initial: list[SSAValue]
    yielded: list[SSAValue]
    tested: list[SSAValue]
    places: list[int | None]


def carried_names(g: "Generator", node: ast.AST, promoted: frozenset[str], without: str = "") -> list[str]:
    """The names with a run-time value before the loop that the loop may assign, and those in `promoted`."""
    return [
        name
        for name in g.scope
        if name in assigned_names(node) and name != without and (name in promoted or handles_of(g.scope[name]))
    ]


class Carried:
    """The names that may travel, with their values before the loop."""

    def __init__(self, g: "Generator", names: Sequence[str]) -> None:
        self.values = {name: _as_tensor(g.scope[name]) for name in names}
        self.handles: list[SSAValue] = [h for value in self.values.values() for h in handles_of(value)]

    @property
    def types(self) -> list[Attribute]:
        return [handle.type for handle in self.handles]

    def enter(self, g: "Generator", before: Scope, arguments: Iterable[SSAValue]) -> None:
        """Starts a block of the loop: a new scope, in which the names are the block's arguments."""
        g.scope = {**before, **self._rebuilt(list(arguments))}
        for name in self.values:
            name_handles(g.scope[name], name, again=True)

    def _rebuilt(self, handles: list[SSAValue]) -> Scope:
        scope: Scope = {}
        cursor = 0
        for name, value in self.values.items():
            count = len(handles_of(value))
            scope[name] = rebuild(value, handles[cursor : cursor + count])
            cursor += count
        return scope

    def current(self, g: "Generator", node: ast.AST) -> list[SSAValue]:
        """The handles of the names as they are now. Raises where a name changed its type."""
        handles: list[SSAValue] = []
        for name, initial in self.values.items():
            now = g.scope.get(name)
            if isinstance(now, Unavailable):
                raise _changed(g, node, name, initial, now.reason, now.advice)
            try:
                _, fitting = unify(initial, now)
            except Mismatch:
                raise _changed(g, node, name, initial, describe(now), "") from None
            if len(found := handles_of(fitting)) != len(handles_of(initial)):
                raise _changed(g, node, name, initial, describe(now), "")
            handles += found
        return handles

    def changed_constants(self, g: "Generator", node: ast.AST, before: Scope, without: str = "") -> frozenset[str]:
        """Names that were numbers known at compile time and that the body assigned: they must travel too."""
        changed = set()
        for name in assigned_names(node):
            old = before.get(name)
            if name in self.values or name == without or name not in before or isinstance(old, Unavailable):
                continue
            new = g.scope.get(name)
            if new is old or same(old, new):
                continue
            if not is_number(unwrap(old)):
                raise _changed(
                    g, node, name, old, describe(new), "only numbers and tensors can change from one round to the next"
                )
            changed.add(name)
        return frozenset(changed)

    def settle(
        self, g: "Generator", node: ast.AST, arguments: Sequence[Sequence[SSAValue]], tested: Sequence[SSAValue] = ()
    ) -> Kept:
        """Takes back the arguments that nothing changes: their uses become uses of the value before the loop."""
        yielded = self.current(g, node)
        tested = list(tested) or list(arguments[-1])
        columns = [list(block_arguments) for block_arguments in arguments]
        own = columns[0]
        unchanged = [y is columns[-1][i] and (len(columns) == 1 or tested[i] is own[i]) for i, y in enumerate(yielded)]
        replaced = {column[i]: self.handles[i] for column in columns for i, still in enumerate(unchanged) if still}
        for argument, initial in replaced.items():
            argument.replace_all_uses_with(initial)
            if isinstance(argument, BlockArgument):
                argument.block.erase_arg(argument)
        keep = [i for i, still in enumerate(unchanged) if not still]
        places: list[int | None] = [None] * len(yielded)
        for place, i in enumerate(keep):
            places[i] = place
        return Kept(
            [self.handles[i] for i in keep],
            [replaced.get(yielded[i], yielded[i]) for i in keep],
            [replaced.get(tested[i], tested[i]) for i in keep],
            places,
        )

    def results(self, kept: Kept, results: Sequence[SSAValue]) -> Scope:
        """The names after the loop; one that did not change is not among them."""
        handles = [self.handles[i] if p is None else results[p] for i, p in enumerate(kept.places)]
        new = self._rebuilt(handles)
        return {n: v for n, v in new.items() if not same(v, self.values[n])}

    @staticmethod
    def discard(*blocks: Block) -> None:
        """Forgets a body that was read with too few names travelling."""
        for block in blocks:
            for op in list(block.ops):
                op.drop_all_references()


def _as_tensor(value: Any) -> Any:
    return to_tensor(value) if isinstance(value, constexpr) and is_number(value.value) else value


def leave_scope(g: "Generator", node: ast.AST, before: Scope, results: Scope, variable: str = "") -> None:
    """The scope behind the loop: names that only the loop assigned say so when they are read."""
    start = getattr(node, "lineno", 0)
    inside = {
        name: Unavailable(
            f"{name} is not defined: it is first assigned inside the loop at line {start}",
            f"assign {name} before the loop, with the type that it has in it",
            f"a value of {name} even where the loop never runs",
            f"an assignment at line {line}, in the loop only" if (line := _line(node, name)) else "none",
        )
        for name in g.scope
        if name not in before
    }
    if variable:
        inside[variable] = Unavailable(
            f"{variable} is not defined: it is the variable of the loop at line {start}, which has ended",
            "carry its value in another name",
            "a name that has a value here",
            "the variable of a loop that may have run no round",
        )
    g.scope = {**before, **inside, **results}
    for name, value in results.items():
        name_handles(value, name, again=True)


def _line(node: ast.AST, name: str) -> int:
    """The line of the first assignment of `name` below `node`."""
    return next((n.lineno for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name), 0)


def _changed(g: "Generator", node: ast.AST, name: str, initial: Any, now: str, advice: str) -> CompilationError:
    """The place is that of the last assignment in the loop."""
    stores = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    return CompilationError(
        f"Loop-carried variable {name} has initial type {describe(initial)} but is re-assigned to {now} in loop! "
        "Please make sure that the type stays consistent.",
        place_of(g, stores[-1] if stores else node),
        Explanation(
            describe(initial),
            now,
            advice or f"give {name} its type before the loop: {name} = {name}.to(...), or tl.zeros(...)",
        ),
    )
