"""How layouts pass through ops: from an operand to the result, and from the result to an operand.

`result_layout` and `operand_layout` are each other's inverse where an op only renames indices; None where a layout says
nothing about the other side.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from naiad.ir.base import bits, shape
from naiad.layouts.axes import transposed
from naiad.layouts.distributed import Blocked, Distributed, DotOperand, Linear, Slice
from naiad.layouts.linear import LinearLayout
from naiad.layouts.mma import NvidiaMma

__all__ = ["DERIVED", "is_elementwise", "is_tile", "operand_layout", "result_layout", "with_pair"]

PREFIXES = ("arith.", "math.")
ELEMENTWISE = frozenset({
    "tt.addptr", "tt.bitcast", "tt.fp_to_fp", "tt.clampf", "tt.mulhiui", "tt.precise_sqrt", "tt.precise_divf",
    "tt.int_to_ptr", "tt.ptr_to_int", "tt.elementwise_inline_asm", "tt.extern_elementwise", "tt.map_elementwise",
})  # fmt: skip
SAME = frozenset({"tt.broadcast", "tt.scan", "ttn.sort", "ttn.flip"})
DERIVED = frozenset({"tt.reduce", "tt.trans", "tt.reshape", "tt.split", "tt.join"})
"""The result's layout follows from the operand's, and cannot be chosen."""


def is_tile(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def is_elementwise(op: Operation) -> bool:
    """Whether operands and results have one layout because the op works on each element alone."""
    return (op.name.startswith(PREFIXES) and op.name != "arith.constant") or op.name in ELEMENTWISE


def permuted(layout: Distributed, order: Sequence[int], sizes: tuple[int, ...]) -> Distributed:
    """The layout of the tile whose dimension i is dimension order[i] of a tile of `sizes`."""
    if isinstance(layout, Blocked):
        inverse = [order.index(d) for d in range(len(order))]
        fields = (layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta)
        size, threads, warps = (tuple(field[d] for d in order) for field in fields)
        cga = tuple(tuple(step[d] for d in order) for step in layout.cga)
        return Blocked(size, threads, warps, tuple(inverse[d] for d in layout.order), cga)
    return Linear.of(transposed(layout.linear(sizes), tuple(order)))


def reshaped(layout: Distributed, source: tuple[int, ...], target: tuple[int, ...]) -> Distributed:
    """The layout of the same tile, row-major, with other dimensions."""
    linear = layout.linear(source)
    outs = {f"dim{d}": target[d] for d in reversed(range(len(target)))}
    return Linear.of(LinearLayout(linear.ins, linear.reshape(outs).outs, linear.columns))


def with_pair(layout: Blocked) -> Blocked:
    """The layout of two tiles joined along a new last dimension: the pair lies in one thread."""
    rank = len(layout.order)
    return Blocked((*layout.size_per_thread, 2), (*layout.threads_per_warp, 1), (*layout.warps_per_cta, 1),
                   (rank, *layout.order), tuple((*step, 0) for step in layout.cga))  # fmt: skip


def without_pair(layout: Distributed) -> Distributed | None:
    """The layout of each of two joined tiles."""
    if not isinstance(layout, Blocked) or layout.size_per_thread[-1] != 2 or layout.threads_per_warp[-1] != 1:
        return None
    if layout.warps_per_cta[-1] != 1 or any(step[-1] for step in layout.cga):
        return None
    last = len(layout.order) - 1
    return Blocked(layout.size_per_thread[:-1], layout.threads_per_warp[:-1], layout.warps_per_cta[:-1],
                   tuple(d for d in layout.order if d != last), tuple(step[:-1] for step in layout.cga))  # fmt: skip


def result_layout(op: Operation, operand: int, layout: Distributed) -> Distributed | None:
    """The layout of the results when operand number `operand` has `layout`."""
    if is_elementwise(op) or op.name in SAME:
        return layout
    match op.name:
        case "tt.expand_dims":
            return (
                layout.parent if isinstance(layout, Slice) and layout.dim == op.properties["axis"].value.data else None
            )
        case "tt.reduce":
            return Slice(op.properties["axis"].value.data, layout)
        case "tt.trans":
            return permuted(layout, list(op.properties["order"].get_values()), shape(op.operands[0].type))
        case "tt.reshape":
            return reshaped(layout, shape(op.operands[0].type), shape(op.results[0].type))
        case "tt.gather":
            return layout if operand == 1 else None
        case "tt.join":
            return with_pair(layout) if isinstance(layout, Blocked) else None
        case "tt.split":
            return without_pair(layout)
    return None


def operand_layout(op: Operation, operand: int, layout: Distributed) -> Distributed | None:
    """The layout that operand number `operand` must have when the results have `layout`; None if any will do."""
    if is_elementwise(op) or op.name in SAME:
        return layout
    match op.name:
        case "tt.expand_dims":
            return Slice(op.properties["axis"].value.data, layout)
        case "tt.reduce":
            fits = isinstance(layout, Slice) and layout.dim == op.properties["axis"].value.data
            return layout.parent if fits else None
        case "tt.trans":
            order = list(op.properties["order"].get_values())
            inverse = [order.index(d) for d in range(len(order))]
            return permuted(layout, inverse, shape(op.results[0].type))
        case "tt.reshape":
            return reshaped(layout, shape(op.results[0].type), shape(op.operands[0].type))
        case "tt.dot":
            if operand == 2:
                return layout
            if isinstance(layout, NvidiaMma) and layout.is_hopper:
                return None  # shared memory takes a tile in any layout
            return DotOperand(operand, layout, k_width(op, operand, layout))
        case "tt.gather":
            return layout if operand == 1 else None
        case "tt.load" | "tt.atomic_rmw" | "tt.atomic_cas" | "tt.cat":
            return layout
        case "tt.join":
            return without_pair(layout)
        case "tt.split":
            return with_pair(layout) if isinstance(layout, Blocked) else None
    return None


def k_width(op: Operation, operand: int, layout: Distributed) -> int:
    """How many elements along k lie together: a register's worth for matrix instructions, nothing to say otherwise."""
    if isinstance(layout, Blocked):
        return 0
    return max(1, 32 // bits(op.operands[operand].type))
