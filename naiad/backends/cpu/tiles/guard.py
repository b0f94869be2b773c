"""A nest written twice: once taking for granted what is likely of some scalars, once without; a test of them chooses.

`(start + arange) % N` is contiguous if start is a multiple of the vector and so is N, and start is not negative:
often true, but hard to prove.
"""

from collections.abc import Callable
from functools import reduce

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region, SSAValue

from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.backends.cpu.tiles.writer import Guard, Writer


def guarded(tiles: Tiles, write: Callable[[], None]) -> None:
    """Calls `write` with signs taken for granted; if that made a difference, again without, in the other branch."""
    w = tiles.w
    if w.guards is not None:
        write()
        return
    block, w.guards = Block(), {}
    _into(tiles, block, write)
    guards, w.guards = w.guards, None
    if not guards:
        for op in list(block.ops):
            op.detach()
            w.effect(op)
        return
    condition = reduce(lambda a, b: w.pure("arith.andi", (a, b), i1), [_test(w, g) for g in guards])
    other = Block()
    with tiles.seldom():
        _into(tiles, other, write)
    for b in (block, other):
        b.add_op(scf.YieldOp())
    w.effect(scf.IfOp(condition, [], Region(block), Region(other)))


def _test(w: Writer, guard: Guard) -> SSAValue:
    zero = w.constant(0, guard.value.type)
    if guard.divisor == 0:
        return w.compare("sge", guard.value, zero)
    rest = w.integer("arith.andi", guard.value, w.constant(guard.divisor - 1, guard.value.type))
    return w.compare("eq", rest, zero)


def _into(tiles: Tiles, block: Block, write: Callable[[], None]) -> None:
    w = tiles.w
    with w.inside(block, speculative=True):
        floor, w.floor = w.floor, w.depth
        write()
        w.floor = floor


__all__ = ["guarded"]
