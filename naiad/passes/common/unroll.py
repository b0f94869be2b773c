"""unroll: repeats the body of a loop as often as its `tt.loop_unroll_factor` says. Reads ttir, leaves ttir.

A loop whose number of turns is not known to be a multiple of the factor is followed by one for what is left over.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.base import int_attr
from naiad.ir.constants import constant, number
from naiad.ir.elementwise import ELEMENTWISE
from naiad.passes.common.canonicalize import Canonicalize
from naiad.passes.common.fold import trip_count

__all__ = ["Unroll"]

FACTOR = "tt.loop_unroll_factor"


@dataclass(frozen=True)
class Unroll(ModulePass):
    name = "unroll"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = False
        for loop in [o for o in op.walk() if isinstance(o, ForOp) and FACTOR in o.attributes][::-1]:
            factor = loop.attributes.pop(FACTOR).value.data
            if factor > 1:
                _unroll(loop, factor)
                changed = True
        if changed:
            Canonicalize().apply(ctx, op)


def _unroll(loop: ForOp, factor: int) -> None:
    trips = trip_count(loop)
    if trips is not None and trips % factor == 0:
        main, end = loop, None
    else:
        end = _end_of_main(loop, factor)
        main = loop
        _leftover(loop, end)
        main.operands[1] = end
    step = _insert(main, "arith.muli", main.step, _number(main, factor))
    _repeat_body(main, factor)
    main.operands[2] = step


def _number(loop: ForOp, value: int) -> SSAValue:
    op = constant(value, loop.lb.type, loop.location)
    loop.parent.insert_op_before(op, loop)
    return op.results[0]


def _insert(loop: ForOp, name: str, *operands: SSAValue) -> SSAValue:
    op = ELEMENTWISE[name](*operands, results=[loop.lb.type], location=loop.location)
    loop.parent.insert_op_before(op, loop)
    return op.results[0]


def _end_of_main(loop: ForOp, factor: int) -> SSAValue:
    """lb + (turns - turns % factor) * step, where turns is 0 for bounds that do not rise."""
    distance = _insert(loop, "arith.subi", loop.ub, loop.lb)
    distance = _insert(loop, "arith.maxsi", distance, _number(loop, 0))
    if number(loop.step) != 1:
        less = _insert(loop, "arith.subi", loop.step, _number(loop, 1))
        distance = _insert(loop, "arith.divui", _insert(loop, "arith.addi", distance, less), loop.step)
    rest = _insert(loop, "arith.remui", distance, _number(loop, factor))
    whole = _insert(loop, "arith.muli", _insert(loop, "arith.subi", distance, rest), loop.step)
    return _insert(loop, "arith.addi", loop.lb, whole)


def _leftover(loop: ForOp, start: SSAValue) -> None:
    """A copy of the loop behind it, from `start` on, which starts from what the main loop gives.

    It is not pipelined.
    """
    rest = loop.clone()
    rest.attributes["tt.num_stages"] = int_attr(1)
    loop.parent.insert_op_after(rest, loop)
    for old, new in zip(loop.results, rest.results, strict=True):
        old.replace_all_uses_with(new)
    rest.operands = [start, loop.ub, loop.step, *loop.results]


def _repeat_body(loop: ForOp, factor: int) -> None:
    """Appends factor - 1 copies of the body, each on the counter and the carried values of the one before."""
    block = loop.body.block
    original = Region()
    loop.body.clone_into(original)
    counter: SSAValue = block.args[0]
    for _ in range(factor - 1):
        last = block.last_op
        given = tuple(last._operands)
        Rewriter.erase_op(last)
        step = ELEMENTWISE["arith.addi"](counter, loop.step, results=[counter.type], location=loop.location)
        block.add_op(step)
        counter = step.results[0]
        _append_copy(block, original.block, (counter, *given))


def _append_copy(block: Block, source: Block, arguments: tuple[SSAValue, ...]) -> None:
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, arguments, strict=True))
    for op in source.ops:
        copy: Operation = op.clone(values)
        block.add_op(copy)
