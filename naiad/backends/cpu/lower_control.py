"""Structured control flow (scf) and the place of a program in its grid.

A rule for control flow lowers the regions of its op with the whole table, `e.rules`.
"""

from collections.abc import Sequence

from xdsl.ir import Block, Operation

from naiad.backends.cpu.kinds import count, kind_of, word
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules, lower_block

rules = Rules()


def run(block: Block, e: CpuEmitter, arguments: Sequence[str] = ()) -> list[str]:
    """Writes a block whose arguments stand for `arguments`; gives what its terminator passes on."""
    for argument, operand in zip(block.args, arguments, strict=True):
        e.values[argument] = operand
    lower_block(block, e, e.rules)
    last = block.last_op
    return [] if last is None else e.all(last.operands)


@rules.lower("scf.yield", "scf.condition", "tt.return")
def end(op: Operation, e: CpuEmitter) -> None:
    """The op around it reads the operands."""


@rules.lower("scf.for")
def count_up(op: Operation, e: CpuEmitter) -> list[str]:
    low, high, step, *first = e.all(op.operands)
    types = [kind_of(v).llvm for v in op.operands[3:]]
    block = op.regions[0].block
    carried = list(zip(types, first, strict=True))
    index = kind_of(op.operands[0]).llvm
    return e.loop(low, high, step, carried, lambda i, given: run(block, e, [i, *given]), type=index)


@rules.lower("scf.if")
def branch(op: Operation, e: CpuEmitter) -> list[str]:
    then, otherwise = op.regions[0], op.regions[1]
    types = [kind_of(r).llvm for r in op.results]
    second = (lambda: run(otherwise.block, e)) if otherwise.blocks else None
    return e.when(e.of(op.operands[0]), types, lambda: run(then.block, e), second)


@rules.lower("scf.while")
def repeat(op: Operation, e: CpuEmitter) -> list[str]:
    before, after = op.regions[0].block, op.regions[1].block
    carried = [(kind_of(v).llvm, e.of(v)) for v in op.operands]

    def test(given: list[str]) -> tuple[str, list[str]]:
        condition, *passed = run(before, e, given)
        return condition, passed

    return e.loop_while(carried, test, lambda passed: run(after, e, passed))


@rules.lower("scf.execute_region")
def region(op: Operation, e: CpuEmitter) -> list[str]:
    return run(op.regions[0].block, e)


@rules.lower("tt.get_program_id")
def program_id(op: Operation, e: CpuEmitter) -> str:
    return e.program[axis_of(op)]


@rules.lower("tt.get_num_programs")
def programs(op: Operation, e: CpuEmitter) -> str:
    return e.grid[axis_of(op)]


def axis_of(op: Operation) -> int:
    return count(op, "axis")


@rules.lower("llvm.intr.assume")
def assume(op: Operation, e: CpuEmitter) -> None:
    e.module.declare("void", "llvm.assume", "i1")
    e.do(f"call void @llvm.assume(i1 {e.of(op.operands[0])})")


@rules.lower("ttc.call")
def call(op: Operation, e: CpuEmitter) -> str:
    """A C function; i1 has no such type and goes as it is."""
    types = [kind_of(v).llvm for v in op.operands]
    return e.call(kind_of(op.results[0]).llvm, word(op, "symbol"), types, e.all(op.operands))
