"""A nest written twice: once taking scalars of unknown sign for nonnegative, once as it is without; a test chooses.

`(start + arange) % N` is contiguous if start is a multiple of the vector, N is, and start is not negative; the last is often
true but hard to prove.
"""

from collections.abc import Callable
from functools import reduce

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region

from naiad.backends.cpu.tiles.tiles import Tiles


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
    signs = [w.compare("sge", g, w.constant(0, g.type)) for g in guards]
    condition = reduce(lambda a, b: w.pure("arith.andi", (a, b), i1), signs)
    other = Block()
    _into(tiles, other, write)
    for b in (block, other):
        b.add_op(scf.YieldOp())
    w.effect(scf.IfOp(condition, [], Region(block), Region(other)))


def _into(tiles: Tiles, block: Block, write: Callable[[], None]) -> None:
    w = tiles.w
    with w.inside(block, speculative=True):
        floor, w.floor = w.floor, w.depth
        write()
        w.floor = floor


__all__ = ["guarded"]
