"""What a loop carries from turn to turn, for scf.for and scf.while alike, and how to have it carry more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.scf import ForOp, WhileOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

__all__ = ["Carrier", "add_carries", "carriers"]


@dataclass(frozen=True)
class Carrier:
    """One carried value.

    What it starts from, its name in the body's `block`, and what the body gives for the next turn.
    """

    index: int
    start: SSAValue
    argument: SSAValue
    given: SSAValue
    block: Block


def carriers(loop: Operation, index: int) -> Carrier | None:
    """The carried value of result `index`; None for a while loop whose condition does not just pass it on."""
    if isinstance(loop, ForOp):
        block = loop.body.block
        last = block.last_op
        return Carrier(index, loop._operands[3 + index], block.args[1 + index], last._operands[index], block)
    if not isinstance(loop, WhileOp) or len(loop.results) != len(loop._operands):
        return None
    before, after = loop.before_region.block, loop.after_region.block
    if before.last_op._operands[1 + index] is not before.args[index]:
        return None
    given = after.last_op._operands[index]
    return Carrier(index, loop._operands[index], after.args[index], given, after)


Totals = Callable[[list[SSAValue]], list[SSAValue]]
Tile = Callable[[list[SSAValue], Operation], SSAValue]


def add_carries(loop: Operation, carrier: Carrier, starts: Sequence[SSAValue], totals: Totals, tile: Tile) -> Operation:
    """Has `loop` carry `starts` too, and makes the tile of `carrier` from them wherever it is used; gives the new loop.

    totals: what the new values are after a turn. tile: the tile from them, made before an op. The old carry gives
    itself.
    """
    bodies = [loop.body.block] if isinstance(loop, ForOp) else [loop.before_region.block, loop.after_region.block]
    offset = 1 if isinstance(loop, ForOp) else 0
    arguments: list[SSAValue] = []
    for block in bodies:
        arguments = [block.insert_arg(v.type, len(block.args)) for v in starts]
        old = block.args[offset + carrier.index]
        if old.first_use is not None:
            uses = list(old.uses)
            made = tile(arguments, block.first_op)
            for use in uses:
                if not (use.operation.name == "scf.condition" and use.operation.parent is block):
                    use.operation.operands[use.index] = made
        if block is not bodies[-1]:
            _extend(block, arguments)
    body = bodies[-1]
    given = totals(arguments)
    last = body.last_op
    values = list(last._operands)
    values[carrier.index] = body.args[offset + carrier.index]
    last.operands = [*values, *given]
    return _replaced(loop, carrier, starts, tile)


def _extend(block: Block, values: Sequence[SSAValue]) -> None:
    last = block.last_op
    last.operands = [*last._operands, *values]


def _replaced(loop: Operation, carrier: Carrier, starts: Sequence[SSAValue], tile: Tile) -> Operation:
    """The loop again, with the new operands and results."""
    following = loop.next_op
    new = type(loop).create(
        operands=[*loop._operands, *starts],
        result_types=[*(r.type for r in loop.results), *(v.type for v in starts)],
        regions=[loop.detach_region(region) for region in list(loop.regions)],
        attributes=dict(loop.attributes),
        properties=dict(loop.properties),
        location=loop.location,
    )
    loop.parent.insert_op_before(new, loop)
    for n, old in enumerate(loop.results):
        value: SSAValue = new.results[n]
        if n == carrier.index and old.first_use is not None:
            value = tile(list(new.results[-len(starts) :]), following)
        value.name_hint = old.name_hint
        old.replace_all_uses_with(value)
    Rewriter.erase_op(loop)
    return new
