"""Code that runs where a condition holds, as the kernel runs."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region, SSAValue

from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.backends.cpu.tiles.writer import Writer

Write = Callable[[], Sequence[SSAValue] | None]
"""Writes a branch; gives the values that it leaves."""


def written(tiles: Tiles, write: Write) -> tuple[Block, Sequence[SSAValue]]:
    """What `write` writes, in a block of its own that no load leaves, and the values that it gives."""
    w, block = tiles.w, Block()
    with w.inside(block, speculative=True):
        floor, w.floor = w.floor, w.depth
        values = write() or ()
        w.floor = floor
    return block, values


def put_in_place(tiles: Tiles, block: Block) -> None:
    """What was written aside goes on here after all, without a branch."""
    for op in list(block.ops):
        op.detach()
        tiles.w.effect(op)


def all_of(w: Writer, conditions: Iterable[SSAValue]) -> SSAValue:
    """Whether all hold; there is at least one."""
    return reduce(lambda a, b: w.pure("arith.andi", (a, b), i1), conditions)


def choose(tiles: Tiles, condition: SSAValue, then: Write, otherwise: Write = lambda: None) -> Sequence[SSAValue]:
    """What `then` gives where the condition holds, what `otherwise` gives where it does not."""
    branches = [written(tiles, write) for write in (then, otherwise)]
    return join(tiles, condition, branches)


def join(tiles: Tiles, condition: SSAValue, branches: Sequence[tuple[Block, Sequence[SSAValue]]]) -> Sequence[SSAValue]:
    """The op that runs one of two written blocks; its results."""
    for block, values in branches:
        block.add_op(scf.YieldOp(*values))
    types = [v.type for v in branches[0][1]]
    return tiles.w.effect(scf.IfOp(condition, types, *(Region(block) for block, _ in branches))).results
