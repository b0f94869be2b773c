"""How many bytes of shared memory an op of ttgir needs for itself: conversions, reductions over warps, gathers,
sorts.
"""

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from naiad.ir.base import bits, element, shape
from naiad.ir.encodings import MemDescType, linear_of
from naiad.layouts import gf2
from naiad.layouts.axes import axis_bits, broadcast_target, scan_slots, transposed, warp_slots, without_axis
from naiad.layouts.convert import SharedMove, plan
from naiad.layouts.linear import Dims, LinearLayout

__all__ = ["bytes_beside", "element_bytes", "scratch_bytes", "slot_bytes", "waits"]


def element_bytes(type: Attribute) -> int:
    """The bytes of an element in shared memory; i1 takes one."""
    return max(8, bits(type)) // 8


def slot_bytes(count: int, size: int) -> int:
    """The bytes that the parts of one operand take: what follows is aligned for the widest access."""
    return -(-count * size // 16) * 16


def flat(layout: LinearLayout) -> LinearLayout:
    return LinearLayout(layout.ins, Dims((("at", layout.outs.total),)), layout.columns)


def moved(source: LinearLayout, target: LinearLayout, size: int) -> int:
    """The bytes of a move between layouts: those of the tile, if the plan goes through shared memory."""
    how = plan(flat(source), flat(target), 8 * size)
    return (1 << source.outs.total) * size if isinstance(how, SharedMove) else 0


def ends(op: Operation) -> tuple[LinearLayout, LinearLayout]:
    """The layouts between which an op moves a tile, by row-major position."""
    source, target = linear_of(op.operands[0].type), linear_of(op.results[0].type)
    if op.name == "tt.broadcast":
        target = broadcast_target(target, shape(op.operands[0].type))
    if op.name == "tt.trans":
        source = transposed(source, tuple(op.properties["order"].get_values()))
    return source, target


MOVES = ("ttg.convert_layout", "tt.reshape", "tt.expand_dims", "tt.broadcast", "tt.trans")


def renamed(op: Operation) -> int:
    return moved(*ends(op), element_bytes(op.results[0].type))


def waits(op: Operation) -> bool:
    """Whether an op with scratch memory makes all threads wait for each other; a move within warps does not."""
    if op.name not in MOVES:
        return True
    how = plan(*map(flat, ends(op)), 8 * element_bytes(op.results[0].type))
    return isinstance(how, SharedMove) and not how.within_warp


def reduce(op: Operation) -> int:
    axis, layout = op.properties["axis"].value.data, linear_of(op.operands[0].type)
    parts = 0
    if axis_bits(layout, axis, "warp"):
        count = 1 << warp_slots(layout, axis).outs.total
        parts = sum(slot_bytes(count, element_bytes(o.type)) for o in op.operands)
    moves = [
        moved(without_axis(layout, axis), linear_of(r.type), element_bytes(r.type))
        for r in op.results
        if isinstance(r.type, TensorType)
    ]
    return max([parts, *moves])


def scan(op: Operation) -> int:
    axis, layout = op.properties["axis"].value.data, linear_of(op.operands[0].type)
    if not axis_bits(layout, axis, "warp"):
        return 0
    count = 1 << scan_slots(layout, axis).outs.total
    return sum(slot_bytes(count, element_bytes(o.type)) for o in op.operands)


def joined(op: Operation) -> int:
    """Both halves of a join or a split, where they have to move."""
    pairs = op.operands if op.name == "tt.join" else op.results
    whole = op.results[0] if op.name == "tt.join" else op.operands[0]
    layout = linear_of(whole.type)
    inner = layout.project(layout.outs.names[1:])
    sizes = [moved(linear_of(p.type), inner, element_bytes(p.type)) for p in pairs]
    sizes += [moved(inner, linear_of(p.type), element_bytes(p.type)) for p in pairs]
    return 2 * prod(shape(pairs[0].type)) * element_bytes(whole.type) if any(sizes) else 0


def whole_source(op: Operation) -> int:
    return prod(shape(op.operands[0].type)) * element_bytes(op.operands[0].type)


def concatenated(op: Operation) -> int:
    """The whole tile, unless every thread holds elements of its own."""
    if all(linear_of(v.type).invertible for v in (*op.operands, *op.results)):
        return 0
    return prod(shape(op.results[0].type)) * element_bytes(op.results[0].type)


def bins(op: Operation) -> int:
    return 4 * prod(shape(op.results[0].type))


def atomic(op: Operation) -> int:
    """Threads that hold copies read the result from shared memory."""
    if not list(op.results[0].uses):
        return 0
    type = op.results[0].type
    if not isinstance(type, TensorType):
        return element_bytes(type)
    layout = linear_of(type)
    basis = gf2.Basis(layout.bases("register"))
    copies = not all([basis.add(c) for c in layout.bases("lane") + layout.bases("warp")])
    return prod(shape(type)) * element_bytes(type) if copies else 0


def memory(op: Operation) -> int:
    type = op.results[0].type
    assert isinstance(type, MemDescType)
    padding = type.encoding.data.padding
    count = prod(type.shape)
    return (count + sum(count // every * pad for every, pad in padding)) * element_bytes(element(type.tensor))


RULES: dict[str, Callable[[Operation], int]] = {
    **dict.fromkeys(MOVES, renamed), "tt.reduce": reduce, "tt.scan": scan, "tt.join": joined, "tt.split": joined,
    "tt.gather": whole_source, "tt.cat": concatenated, "ttn.flip": whole_source, "ttn.sort": whole_source,
    "ttn.topk": whole_source,
    "tt.histogram": bins, "tt.atomic_rmw": atomic, "tt.atomic_cas": atomic, "ttg.local_alloc": memory,
}  # fmt: skip


def scratch_bytes(op: Operation) -> int:
    """The bytes of shared memory that an op needs: for its result (ttg.local_alloc), or while it runs."""
    rule = RULES.get(op.name)
    return rule(op) if rule is not None else 0


def bytes_beside(function: Operation, loop: Operation) -> int:
    """Shared memory that is taken while the loop runs, besides the buffers of its loads: an upper bound.

    Those are what tiles before the loop take, operands that a turn computes, and the largest piece of scratch memory.
    """
    inside = set(loop.walk())
    kept = [o for o in function.walk() if o.name == "ttg.local_alloc" and not (o in inside and is_of_load(o))]
    return sum(map(scratch_bytes, kept)) + max(
        (scratch_bytes(o) for o in inside if o.name != "ttg.local_alloc"), default=0
    )


def is_of_load(alloc: Operation) -> bool:
    """Whether what lies in memory is what was loaded, which buffers may take the place of."""
    return bool(alloc.operands) and isinstance(maker := alloc.operands[0].owner, Operation) and maker.name == "tt.load"
