"""`index // 500` and `index % 500` where no vector starts at a multiple of 500: nearly all vectors lie within a row all
the same.

Each vector of such a nest is written twice, once taking for granted that it does; the remainder of its first lane says
which of the two runs. Accesses are contiguous in the first, and one lane at a time in the second.
"""

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue

from naiad.analysis.strides import splat_value
from naiad.backends.cpu.tiles.branch import all_of, join, put_in_place, written
from naiad.backends.cpu.tiles.plan import DIVISIONS, is_tile, is_virtual
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.backends.cpu.tiles.writer import ROWS_AT_LEAST


def cross_rows(tiles: Tiles, values: Sequence[SSAValue], count: int) -> bool:
    """Whether values are computed from quotients or remainders by a constant that vectors of `count` do not divide."""
    todo, seen = [v for v in values if is_tile(v)], set()
    while todo:
        value = todo.pop()
        op = value.owner
        if value in seen or value in tiles.buffers or not isinstance(op, Operation) or not is_virtual(op):
            continue
        seen.add(value)
        if op.name in DIVISIONS:
            divisor = splat_value(op.operands[1])
            if divisor is not None and divisor % count and divisor >= ROWS_AT_LEAST * count:
                return True
        todo += [o for o in op.operands if is_tile(o)]
    return False


def by_rows(tiles: Tiles, write: Callable[[], None]) -> None:
    """Writes a vector of such a nest: as one within a row where it is one, else as any."""
    w = tiles.w
    w.rows = {}
    w.rows_level = w.depth + 1
    inside = written(tiles, write)
    rows, w.rows = w.rows, None
    if not rows:
        put_in_place(tiles, inside[0])
        return
    join(tiles, all_of(w, rows.values()), [inside, written(tiles, write)])
