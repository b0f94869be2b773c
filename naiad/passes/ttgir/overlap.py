"""Products of warpgroups that go on while the next turn of a loop begins.

    for ... iter_args(%acc) {                     for ... iter_args(%acc) {       %acc: still being added to
      %s = dot %q, %k                               %s = dot %q, %k
      %s1 = wait %s                        ->       %s1, %acc1 = wait %s, %acc
      ... uses %s1, %acc ...                        ... uses %s1, %acc1 ...
      %new = dot %p, %v, ...                        %new = dot %p, %v, ...
      %done = wait %new                             yield %new
      yield %done                                 }
                                                  %done = wait

What the product reads must stay as it is until the first wait of the next turn.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from naiad.ir.encodings import MemDescType
from naiad.ir.nvg import WarpGroupDotWaitOp
from naiad.passes.effects import is_speculatable

__all__ = ["Deferred", "wait_after"]

WAIT, DOT = "ttng.warp_group_dot_wait", "ttng.warp_group_dot"


@dataclass(frozen=True)
class Deferred:
    """The last wait of a loop's body may be left to the first one of the next turn. index: of the carried value."""

    first: Operation
    last: Operation
    index: int

    @staticmethod
    def of(block: Block, is_kept: Callable[[SSAValue], bool]) -> "Deferred | None":
        """`is_kept`: whether memory stays as it is for a turn."""
        waits = [op for op in block.ops if op.name == WAIT]
        if len(waits) < 2 or len(waits[-1].operands) != 1:
            return None
        dot, uses = waits[-1].operands[0].owner, list(waits[-1].results[0].uses)
        if len(uses) != 1 or uses[0].operation is not block.last_op or not isinstance(dot, Operation):
            return None
        if dot.name != DOT or dot.parent_block() is not block or len(list(dot.results[0].uses)) != 1:
            return None
        found = Deferred(waits[0], waits[-1], uses[0].index)
        memory = [o for o in dot.operands if isinstance(o.type, MemDescType)]
        return found if all(map(is_kept, memory)) and found.early(block) is not None else None

    def early(self, block: Block) -> list[Operation] | None:
        """What uses the carried value before the first wait and can go behind it; None where something cannot."""
        order = {op: n for n, op in enumerate(block.ops)}
        limit, moved = order[self.first], list[Operation]()
        work = [block.args[self.index + 1]]
        while work:
            for use in work.pop().uses:
                op = use.operation
                if op is block.last_op or op not in order:
                    return None
                if order[op] > limit or op in moved:
                    continue
                if not is_speculatable(op) or op is self.first:
                    return None
                moved.append(op)
                work += op.results
        return sorted(moved, key=order.__getitem__)

    def apply(self, block: Block) -> None:
        """Rewrites the loop's body; the loop's result is then to be waited for."""
        carried = block.args[self.index + 1]
        for op in reversed(self.early(block) or []):
            op.detach()
            block.insert_op_after(op, self.first)
        both = [*self.first.operands, carried]
        wait = WarpGroupDotWaitOp(*both, results=[v.type for v in both], location=self.first.location,
                                  pendings=IntegerAttr(0, i32))  # fmt: skip
        block.insert_op_before(wait, self.first)
        for use in list(carried.uses):
            if use.operation is not wait:
                use.operation.operands[use.index] = wait.results[-1]
        for old, new in zip(self.first.results, wait.results, strict=False):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        Rewriter.erase_op(self.first)
        self.last.results[0].replace_all_uses_with(self.last.operands[0])
        Rewriter.erase_op(self.last)


def wait_after(loop: Operation, index: int) -> None:
    """Waits behind a loop for what its result `index` is still being added to."""
    result = loop.results[index]
    wait = WarpGroupDotWaitOp(result, results=[result.type], location=loop.location, pendings=IntegerAttr(0, i32))
    loop.parent_block().insert_op_after(wait, loop)
    for use in [u for u in result.uses if u.operation is not wait]:
        use.operation.operands[use.index] = wait.results[0]
