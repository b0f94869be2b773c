"""The rewrite drivers: rules to a fixpoint, with locations kept and an end in sight.

`simplify` is the fast one: rules are functions, found by the class of the op, and run off a worklist. `rewrite` runs
xDSL's patterns.

    RULES = Rules()

    @RULES.on(AddPtrOp)
    def add_nothing(op, rewriter):
        '''addptr(p, 0) -> p'''
        if number(op.offset) == 0:
            rewriter.replace(op, op.ptr)
"""

from collections.abc import Callable, Iterable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import Rewriter as Surgeon
from xdsl.transforms.dead_code_elimination import region_dce

from naiad.ir.base import inside
from naiad.passes.effects import is_dead

__all__ = ["Rewriter", "Rules", "rewrite", "simplify"]

Rule = Callable[..., object]
"""A function of an op of the class that it was given for, and the Rewriter."""
ROUNDS = 30
"""Rewrites allowed for each op that there was: two rules that undo each other end here."""


class Rules(dict[type[Operation], list[Rule]]):
    """Rules by the class of op that they look at, tried in the order in which they were given."""

    def on(self, *ops: type[Operation]) -> Callable[[Rule], Rule]:
        """Adds the decorated function for each of `ops`."""

        def add(rule: Rule) -> Rule:
            for op in ops:
                self.setdefault(op, []).append(rule)
            return rule

        return add

    def __add__(self, other: "Rules") -> "Rules":
        both = Rules({op: list(rules) for op, rules in self.items()})
        for op, rules in other.items():
            both.setdefault(op, []).extend(rules)
        return both


class Rewriter:
    """What a rule may do at the op that it was given. New ops stand before it and get its location."""

    def __init__(self) -> None:
        self.work: list[Operation] = []
        self.waiting: set[Operation] = set()
        self.op: Operation
        self.changed = False

    def push(self, op: Operation) -> None:
        """Has the rules look at `op` (again)."""
        if op not in self.waiting:
            self.waiting.add(op)
            self.work.append(op)

    def insert(self, *ops: Operation, before: Operation | None = None) -> SSAValue:
        """Puts ops before the current one (or another); gives the first result of the last."""
        anchor = before or self.op
        for op in ops:
            if op.location is UNKNOWN_LOC:
                op.location = self.op.location
            anchor.parent.insert_op_before(op, anchor)
            self.push(op)
        self.changed = True
        return ops[-1].results[0]

    def replace(self, op: Operation, *values: SSAValue) -> None:
        """Every use of the op's results becomes a use of `values`; the op goes."""
        for old, new in zip(op.results, values, strict=True):
            self.replace_value(old, new)
        self.erase(op)

    def replace_value(self, old: SSAValue, new: SSAValue) -> None:
        for use in tuple(old.uses):
            self.push(use.operation)
        if new.name_hint is None and old.name_hint is not None:
            new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
        self.changed = True

    def replace_by(self, old: Operation, *new: Operation) -> SSAValue:
        """Puts the new ops in the place of the old one, whose results the last of them gives."""
        self.insert(*new, before=old)
        values = new[-1].results
        self.replace(old, *values)
        return values[0]

    def modified(self, op: Operation) -> None:
        """Says that a rule has changed `op` in place."""
        self.push(op)
        for result in op.results:
            for use in result.uses:
                self.push(use.operation)
        self.changed = True

    def set_operands(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Gives `op` other operands; what made the old ones is looked at again."""
        before = op._operands
        op.operands = list(values)
        for value in before:
            if isinstance(value.owner, Operation):
                self.push(value.owner)
        self.modified(op)

    def erase(self, op: Operation) -> None:
        """Removes an op without uses; what only it used is looked at again."""
        for operand in op.operands:
            if isinstance(operand.owner, Operation):
                self.push(operand.owner)
        for region in op.regions:
            for inner in region.walk():
                self.waiting.discard(inner)
        self.waiting.discard(op)
        Surgeon.erase_op(op)
        self.changed = True

    def inline_block(self, block: Block, op: Operation, arguments: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
        """Moves the ops of a block before `op`; gives what its terminator, which goes, passed on."""
        for old, new in zip(block.args, arguments, strict=True):
            self.replace_value(old, new)
        last = block.last_op
        given = tuple(last.operands)
        self.erase(last)
        for inner in list(block.ops):
            inner.detach()
            op.parent.insert_op_before(inner, op)
            self.push(inner)
        return given


def simplify(scope: ModuleOp | Operation, rules: Rules) -> bool:
    """Applies `rules` to all ops in `scope` until none has anything to say, and drops dead ops; whether it changed.

    Raises RuntimeError after ROUNDS rewrites for each op that there was.
    """
    rewriter = Rewriter()
    ops = inside(scope)
    rewriter.work = ops[::-1]
    rewriter.waiting = set(ops)
    budget = ROUNDS * (len(ops) + 10)
    any_change = False
    while rewriter.work:
        op = rewriter.work.pop()
        if op not in rewriter.waiting:
            continue
        rewriter.waiting.discard(op)
        rewriter.changed = False
        _visit(op, rewriter, rules)
        if rewriter.changed:
            any_change = True
            if (budget := budget - 1) < 0:
                raise RuntimeError(f"rewriting does not settle, last at {op.name}: two rules may undo each other")
    return any_change


def _visit(op: Operation, rewriter: Rewriter, rules: Rules) -> None:
    if op.parent is None:
        return
    if is_dead(op):
        rewriter.erase(op)
        return
    rewriter.op = op
    for rule in rules.get(type(op), ()):
        rule(op, rewriter)
        if rewriter.changed:
            return


class Settled(GreedyRewritePatternApplier):
    """Remembers the location of the op it looks at, and counts rewrites down."""

    def __init__(self, patterns: list[RewritePattern], ctx: Context | None, budget: int):
        super().__init__(patterns, ctx, folding_enabled=ctx is not None)
        self.location, self.budget = UNKNOWN_LOC, budget

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        self.location = op.location
        super().match_and_rewrite(op, rewriter)
        self.budget -= rewriter.has_done_action
        if self.budget < 0:
            raise RuntimeError(f"rewriting does not settle, last at {op.name}: two patterns may undo each other")

    def stamp(self, op: Operation) -> None:
        if op.location is UNKNOWN_LOC:
            op.location = self.location


def rewrite(module: ModuleOp, *patterns: RewritePattern, ctx: Context | None = None, rounds: int = ROUNDS) -> bool:
    """Applies xDSL's folds (with `ctx`) and patterns until nothing changes; new ops get the location of the op matched.

    Returns whether anything changed. Raises RuntimeError after `rounds` rewrites for each op there was.
    """
    applier = Settled(list(patterns), ctx, rounds * sum(1 for _ in module.walk()))
    listener = PatternRewriterListener(operation_insertion_handler=[applier.stamp])
    return PatternRewriteWalker(applier, post_walk_func=region_dce, listener=listener).rewrite_module(module)


def functions(module: ModuleOp) -> Iterable[Operation]:
    """The tt.func of a module."""
    return [op for op in module.body.block.ops if op.name == "tt.func"]
