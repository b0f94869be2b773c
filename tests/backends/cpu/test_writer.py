"""Where ttcir puts what is computed: as far out of the loops as it can be."""

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Block

from naiad.backends.cpu.tiles.writer import Writer
from naiad.ir.types import pointer


def depth_of_move(writer: Writer, moved, ptr) -> list[int]:
    """The levels of the moves that lead from `ptr` to `moved`, the last one first."""
    found = []
    while moved is not ptr:
        found.append(writer.depths.get(moved, 0))
        moved = moved.owner.operands[0]
    return found


def test_a_pointer_is_moved_first_by_what_changes_least():
    entry = Block(arg_types=[pointer(f32), i64])
    w = Writer(entry)
    ptr, n = entry.args
    with w.count(8) as outer, w.count(8) as inner:
        far = w.mul(outer.index, n)
        one = w.move(ptr, w.add(inner.index, far))
        two = w.move(w.move(ptr, inner.index), far)
        assert one is two and depth_of_move(w, one, ptr) == [2, 1]
        assert depth_of_move(w, w.move(w.move(ptr, inner.index), n), ptr) == [2, 0]
        assert depth_of_move(w, w.move(w.move(ptr, far), inner.index), ptr) == [2, 1]
