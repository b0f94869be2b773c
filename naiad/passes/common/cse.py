"""cse: one op for each value. Works at any level, in one walk.

Ops are numbered by class, operands, properties and types, in nested scopes. A read is also keyed by how many writes
came before it, so that it is never merged across one. Discardable attributes do not tell ops apart: those of the first
stay.
"""

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import IsolatedFromAbove

from naiad.passes.effects import Effect, effect_of, is_terminator

__all__ = ["CommonSubexpressions", "merge_equal_ops"]


@dataclass(frozen=True)
class CommonSubexpressions(ModulePass):
    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        merge_equal_ops(op)


def merge_equal_ops(scope: Operation) -> bool:
    """Merges equal ops in `scope`; says whether there were any."""
    numbering = _Numbering()
    for region in scope.regions:
        for block in region.blocks:
            numbering.visit(block)
    return numbering.changed


class _Numbering:
    """The values that are known, a table per open scope; `epoch` counts the writes so far."""

    def __init__(self) -> None:
        self.tables: list[dict[Any, Operation]] = []
        self.epoch = 0
        self.changed = False

    def visit(self, block: Block) -> None:
        self.tables.append({})
        for op in block.ops:
            if op.regions:
                self._visit_regions(op)
            elif op.results and not is_terminator(type(op)):
                self._number(op)
            elif effect_of(op) & Effect.WRITE:
                self.epoch += 1
        self.tables.pop()

    def _visit_regions(self, op: Operation) -> None:
        effect = effect_of(op)
        writes = bool(effect & Effect.WRITE)
        outer = self.tables
        if op.has_trait(IsolatedFromAbove):
            self.tables = []
        for region in op.regions:
            self.epoch += writes  # a loop's second turn, or the other branch, sees what the body wrote
            for block in region.blocks:
                self.visit(block)
        self.tables = outer
        self.epoch += writes
        if effect == Effect.NONE and op.name in ("tt.reduce", "tt.scan"):
            self._merge(op, (op.name, tuple(op._operands), *_items(op), _body(op)))

    def _number(self, op: Operation) -> None:
        effect = effect_of(op)
        if effect & Effect.WRITE:
            self.epoch += 1
        elif "isVolatile" not in op.properties:
            epoch = self.epoch if effect & Effect.READ else -1
            self._merge(op, (type(op), op._operands, *_items(op), tuple(r._type for r in op.results), epoch))

    def _merge(self, op: Operation, key: Any) -> None:
        for table in self.tables:
            if (first := table.get(key)) is not None:
                for old, new in zip(op.results, first.results, strict=True):
                    if new.name_hint is None:
                        new.name_hint = old.name_hint
                    old.replace_all_uses_with(new)
                Rewriter.erase_op(op)
                self.changed = True
                return
        self.tables[-1][key] = op


def _items(op: Operation) -> tuple[Any, ...]:
    if len(op.properties) > 1:
        return tuple(sorted(op.properties.items(), key=lambda item: item[0]))
    return tuple(op.properties.items())


def _body(op: Operation) -> tuple[Any, ...]:
    """A region as a value: two reductions are equal if they combine alike."""
    names: dict[Any, Any] = {}
    rows: list[Any] = []
    for block in op.regions[0].blocks:
        for argument in block.args:
            names[argument] = len(names)
        for inner in block.ops:
            operands = tuple(names.get(v, v) for v in inner._operands)
            rows.append(
                (type(inner), operands, *_items(inner), tuple(r._type for r in inner.results), len(inner.regions))
            )
            if inner.regions:
                rows.append(inner)  # nested control flow is never equal to another
            for result in inner.results:
                names[result] = len(names)
    return tuple(rows)
