"""Lowering of structured control flow: tiles are carried register by register."""

from collections.abc import Sequence

from xdsl.ir import Block, Operation

from naiad.lowering.rules import Rules, lower_block
from naiad.lowering.threads import Threads, scalar_type

__all__ = ["inline", "rules"]

rules = Rules()


@rules.lower("scf.for")
def for_loop(op: Operation, e: Threads) -> None:
    low, high, step, *firsts = op.operands
    block = op.regions[0].blocks[0]
    kinds = e.flat_types(firsts)

    def body(index: str, carried: list[str]) -> list[str]:
        e.values[block.args[0]] = index
        e.bind(block.args[1:], carried)
        return inline(block, e)

    carried = list(zip(kinds, e.flatten(firsts), strict=True))
    unsigned = "unsignedCmp" in op.attributes or "unsignedCmp" in op.properties
    begin, end, by = (e.values[v] for v in (low, high, step))
    e.bind(op.results, e.loop(begin, end, by, carried, body, scalar_type(low), signed=not unsigned))


@rules.lower("scf.if")
def branch(op: Operation, e: Threads) -> None:
    condition, kinds = e.values[op.operands[0]], e.flat_types(op.results)
    bodies = [region.blocks[0] if region.blocks else None for region in op.regions]
    if len(bodies) < 2 or bodies[1] is None:
        e.when(condition, kinds, lambda: inline(bodies[0], e))
        return
    made = e.when(condition, kinds, *((lambda b=b: inline(b, e)) for b in bodies))
    e.bind(op.results, made)


@rules.lower("scf.while")
def while_loop(op: Operation, e: Threads) -> None:
    before, after = (region.blocks[0] for region in op.regions)

    def test(carried: list[str]) -> tuple[str, Sequence[str]]:
        e.bind(before.args, carried)
        lower_block(before, e, e.table)
        condition, *passed = before.last_op.operands
        return e.values[condition], e.flatten(passed)

    def body(passed: Sequence[str]) -> Sequence[str]:
        e.bind(after.args, passed)
        return inline(after, e)

    firsts = list(zip(e.flat_types(op.operands), e.flatten(op.operands), strict=True))
    e.bind(op.results, e.loop_while(firsts, test, body))


@rules.lower("tt.map_elementwise")
def map_elements(op: Operation, e: Threads) -> list[list[str]]:
    """The region once for every `pack` registers: arguments are the group of each operand in turn."""
    pack, block = op.properties["pack"].value.data, op.regions[0].blocks[0]
    columns = [e.registers(o) for o in op.operands]
    out: list[list[str]] = [[] for _ in op.results]
    for at in range(0, len(columns[0]), pack):
        given = [v for column in columns for v in column[at : at + pack]]
        e.bind(block.args, given)
        made = inline(block, e)
        for n in range(len(out)):
            out[n] += made[n * pack : (n + 1) * pack]
    return out


@rules.lower("scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return",
             "tt.return")  # fmt: skip
def end(op: Operation, e: Threads) -> None:
    """What follows the block reads the operands."""


def inline(block: Block, e: Threads) -> list[str]:
    """Writes a block and gives the operands of its terminator, flattened."""
    lower_block(block, e, e.table)
    return e.flatten(block.last_op.operands)
