"""A nest written twice: once taking for granted what is likely of some scalars, once without; a test of them chooses.

`(start + arange) % N` is contiguous if start is a multiple of the vector and so is N, and start is not negative:
often true, but hard to prove.
"""

from collections.abc import Callable

from xdsl.ir import SSAValue

from naiad.backends.cpu.tiles.branch import all_of, join, put_in_place, written
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.backends.cpu.tiles.writer import Guard, Writer


def guarded(tiles: Tiles, write: Callable[[], None]) -> None:
    """Calls `write` with signs taken for granted; if that made a difference, again without, in the other branch."""
    w = tiles.w
    if w.guards is not None:
        write()
        return
    w.guards = {}
    likely = written(tiles, write)
    guards, w.guards = w.guards, None
    if not guards:
        put_in_place(tiles, likely[0])
        return
    condition = all_of(w, [_test(w, guard) for guard in guards])
    with tiles.seldom():
        other = written(tiles, write)
    join(tiles, condition, [likely, other])


def _test(w: Writer, guard: Guard) -> SSAValue:
    zero = w.constant(0, guard.value.type)
    if guard.divisor == 0:
        return w.compare("sge", guard.value, zero)
    rest = w.integer("arith.andi", guard.value, w.constant(guard.divisor - 1, guard.value.type))
    return w.compare("eq", rest, zero)
