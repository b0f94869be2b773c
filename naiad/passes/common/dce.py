"""dce: drops what no effect depends on, loop-carried values included. Works at any level.

A value is live if an op with an effect needs it. What a loop carries from turn to turn is needed only if the result, or
something live in the body, reads it: a carry that only feeds itself goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.base import inside
from naiad.passes.effects import is_droppable, is_terminator

__all__ = ["DeadCode", "eliminate_dead_code"]


@dataclass(frozen=True)
class DeadCode(ModulePass):
    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        eliminate_dead_code(op)


def eliminate_dead_code(scope: Operation) -> bool:
    """Drops dead ops and dead carries in `scope`; says whether there were any."""
    return _Liveness(scope).sweep()


class _Liveness:
    """Marks from the ops that must stay, backwards through operands, carries and results."""

    def __init__(self, scope: Operation) -> None:
        self.ops = inside(scope)
        self.scope = scope
        self.live: set[SSAValue] = set()
        self.kept: set[Operation] = set()
        self.work: list[SSAValue] = []
        for op in self.ops:
            if _stays(op):
                self._keep(op)
        while self.work:
            self._follow(self.work.pop())

    def _need(self, value: SSAValue) -> None:
        if value not in self.live:
            self.live.add(value)
            self.work.append(value)

    def _keep(self, op: Operation) -> None:
        """`op` stays, and so does all that it stands in."""
        while op is not self.scope and op not in self.kept:
            self.kept.add(op)
            if isinstance(op, ForOp):
                operands: Sequence[SSAValue] = op._operands[:3]
            elif isinstance(op, WhileOp):
                condition = op.before_region.block.last_op
                self._need(condition._operands[0])
                operands = ()
            else:
                operands = op._operands
            for operand in operands:
                self._need(operand)
            self._keep_terminators(op)
            op = op.parent_op()  # type: ignore[assignment]
            if op is None:
                return

    def _keep_terminators(self, op: Operation) -> None:
        """All that a region gives is needed, where the op is none of those whose results may go one by one."""
        if isinstance(op, ForOp | IfOp | WhileOp):
            return
        for region in op.regions:
            for block in region.blocks:
                if (last := block.last_op) is not None and last not in self.kept:
                    self.kept.add(last)
                    for operand in last._operands:
                        self._need(operand)

    def _follow(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, Block):
            self._follow_argument(value, owner)
            return
        self._keep(owner)
        index = value.index
        if isinstance(owner, ForOp):
            self._carry(owner, index)
        elif isinstance(owner, IfOp):
            for region in owner.regions:
                if region.blocks:
                    self._need(region.block.last_op._operands[index])
        elif isinstance(owner, WhileOp):
            self._need(owner.before_region.block.last_op._operands[index + 1])

    def _carry(self, loop: ForOp, index: int) -> None:
        self._need(loop._operands[3 + index])
        self._need(loop.body.block.last_op._operands[index])
        self._need(loop.body.block.args[index + 1])

    def _follow_argument(self, value: BlockArgument, block: Block) -> None:
        op = block.parent_op()
        if op is None:
            return
        self._keep(op)
        if isinstance(op, ForOp) and value.index:
            self._carry(op, value.index - 1)
        elif isinstance(op, WhileOp):
            if block is op.before_region.block:
                self._need(op._operands[value.index])
                self._need(op.after_region.block.last_op._operands[value.index])
            else:
                self._need(op.before_region.block.last_op._operands[value.index + 1])

    def sweep(self) -> bool:
        changed = False
        for op in reversed(self.ops):
            if op.name in ("scf.yield", "scf.condition") or op.parent is None:
                continue
            if op not in self.kept:
                _drop(op)
                changed = True
            elif isinstance(op, ForOp | IfOp | WhileOp):
                changed |= self._narrow(op)
        return changed

    def _narrow(self, op: Operation) -> bool:
        """Takes the dead positions out of a loop or a branch."""
        if isinstance(op, ForOp):
            dead = [
                n for n, r in enumerate(op.results) if r not in self.live and op.body.block.args[n + 1] not in self.live
            ]
            return _cut_for(op, dead)
        if isinstance(op, IfOp):
            return _cut_if(op, [n for n, r in enumerate(op.results) if r not in self.live])
        after = op.after_region.block
        before = op.before_region.block
        given = [n for n, r in enumerate(op.results) if r not in self.live and after.args[n] not in self.live]
        return _cut_while(op, given, [n for n, a in enumerate(before.args) if a not in self.live])


def _stays(op: Operation) -> bool:
    """Whether an op is needed for itself: it has an effect, or ends a function.

    Other terminators follow what they end.
    """
    if is_terminator(type(op)):
        parent = op.parent_op()
        return parent is None or parent.name == "tt.func"
    return not is_droppable(op)


def _drop(op: Operation) -> None:
    """Erases an op; what still uses it is a position of a yield that goes with its loop."""
    Rewriter.erase_op(op, safe_erase=False)


def _without(values: tuple, dead: list[int], offset: int = 0) -> list:
    gone = {n + offset for n in dead}
    return [v for n, v in enumerate(values) if n not in gone]


def _cut_terminator(block: Block, dead: list[int], offset: int = 0) -> None:
    last = block.last_op
    last.operands = _without(tuple(last._operands), dead, offset)


def _swap(old: Operation, new: Operation, dead: list[int]) -> None:
    """Puts `new`, which lacks the dead results, in the place of `old`."""
    old.parent.insert_op_before(new, old)
    for result, fresh in zip(_without(tuple(old.results), dead), new.results, strict=True):
        fresh.name_hint = result.name_hint
        result.replace_all_uses_with(fresh)
    Rewriter.erase_op(old, safe_erase=False)


def _rebuilt(op: Operation, operands: list[SSAValue], dead_results: list[int]) -> Operation:
    regions: list[Region] = [op.detach_region(region) for region in list(op.regions)]
    return type(op).create(
        operands=operands,
        result_types=[r.type for r in _without(tuple(op.results), dead_results)],
        attributes=dict(op.attributes),
        properties=dict(op.properties),
        location=op.location,
        regions=regions,
    )


def _erase_arguments(block: Block, dead: list[int]) -> None:
    for index in sorted(dead, reverse=True):
        block.erase_arg(block.args[index], safe_erase=False)


def _cut_for(op: ForOp, dead: list[int]) -> bool:
    if not dead:
        return False
    block = op.body.block
    _cut_terminator(block, dead)
    _erase_arguments(block, [n + 1 for n in dead])
    _swap(op, _rebuilt(op, _without(tuple(op._operands), dead, 3), dead), dead)
    return True


def _cut_if(op: IfOp, dead: list[int]) -> bool:
    if not dead:
        return False
    for region in op.regions:
        if region.blocks:
            _cut_terminator(region.block, dead)
    _swap(op, _rebuilt(op, list(op._operands), dead), dead)
    return True


def _cut_while(op: WhileOp, results: list[int], carries: list[int]) -> bool:
    """A while loop's results and its carries are two lists: what `before` passes on, and what `after` yields."""
    if not results and not carries:
        return False
    _cut_terminator(op.before_region.block, results, 1)
    _erase_arguments(op.after_region.block, results)
    _cut_terminator(op.after_region.block, carries)
    _erase_arguments(op.before_region.block, carries)
    _swap(op, _rebuilt(op, _without(tuple(op._operands), carries), results), results)
    return True
