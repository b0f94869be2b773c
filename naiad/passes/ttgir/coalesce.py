"""Which layout each access to global memory wants: neighbouring threads at neighbouring addresses, in the widest
vectors.

Accesses of tiles of one shape in one order share a layout, so that nothing moves between them.
"""

from dataclasses import replace

from xdsl.ir import Operation

from naiad.analysis.axis import AxisInfo
from naiad.ir.base import bits, element, shape
from naiad.layouts.distributed import Blocked, replicated
from naiad.passes.ttgir.transfer import is_tile

__all__ = ["MEMORY", "feeds_dot", "memory_layouts"]

MEMORY = ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas")
WIDEST = 32
"""Bytes of one thread in a row at most, where tiles of wide and of narrow elements share a layout."""


def order_of(axis: AxisInfo, op: Operation) -> tuple[int, ...]:
    """The dimensions of the pointer tile, the most contiguous first; of equal ones the last first."""
    axes = axis[op.operands[0]].axes
    return tuple(sorted(range(len(axes)), key=lambda d: (-axes[d].contiguity, -d)))


def pointee_bytes(op: Operation) -> int:
    return max(1, bits(element(op.operands[0].type).pointee) // 8)


def vector_of(axis: AxisInfo, op: Operation, order: tuple[int, ...], threads: int) -> int:
    """How many elements a thread takes along the fastest dimension: one vector, but no more than its share."""
    count = 1
    for size in shape(op.operands[0].type):
        count *= size
    if op.name.startswith("tt.atomic"):
        return 1
    return max(1, min(axis.vector(op.operands[0], order[0]), count // threads))


def feeds_dot(load: Operation) -> bool:
    """Whether what is loaded becomes an operand of a dot in the same turn."""
    seen: set[Operation] = set()
    work = [u.operation for u in load.results[0].uses]
    while work:
        op = work.pop()
        if op.name in ("tt.dot", "ttng.warp_group_dot"):
            return True
        if op in seen or op.name.startswith(("scf.", "tt.store")) or len(seen) > 100:
            continue
        seen.add(op)
        work += [u.operation for r in op.results for u in r.uses]
    return False


def memory_layouts(
    function: Operation, axis: AxisInfo, warps: int, lanes: int = 32, ctas: int = 1
) -> dict[Operation, Blocked]:
    """The layout of every load, store and atomic on a tile. Each CTA of a cluster loads whole what feeds a dot."""
    accesses = [op for op in function.walk() if op.name in MEMORY and is_tile(op.operands[0])]
    orders = {op: order_of(axis, op) for op in accesses}
    vectors: dict[tuple, int] = {}
    for op in accesses:
        key = shape(op.operands[0].type), orders[op]
        vectors[key] = max(vectors.get(key, 1), vector_of(axis, op, orders[op], warps * lanes))
    widest: dict[tuple, int] = {}
    for op in accesses:
        key = shape(op.operands[0].type), orders[op]
        widest[key] = max(widest.get(key, 1), pointee_bytes(op))
    out = {}
    for op in accesses:
        sizes, order = shape(op.operands[0].type), orders[op]
        per_thread = [1] * len(sizes)
        per_thread[order[0]] = min(vectors[sizes, order], max(1, WIDEST // widest[sizes, order]))
        out[op] = Blocked.default(sizes, warps, lanes, per_thread, order, ctas)
        if ctas > 1 and op.name == "tt.load" and feeds_dot(op):
            out[op] = replace(out[op], cga=replicated(len(sizes), ctas))
    return out
