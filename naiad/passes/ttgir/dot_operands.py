"""ttg-dot-operands: has operands of matrix instructions come from swizzled shared memory. ttgir to ttgir.

    %y = ttg.convert_layout %x : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #dot_a>

    becomes a ttg.local_alloc of %x and a ttg.local_load, which ldmatrix can read, and which pipelining can fill ahead of time
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.base import bits, shape
from naiad.ir.encodings import layout_of, linear_of, memdesc
from naiad.ir.ttg import ConvertLayoutOp, LocalAllocOp, LocalLoadOp
from naiad.layouts.convert import SharedMove, plan
from naiad.layouts.distributed import Blocked, DotOperand
from naiad.layouts.mma import NvidiaMma
from naiad.layouts.shared import SwizzledShared

__all__ = ["DotOperands", "swizzled_for"]

CHUNK = 16
"""Bytes that move as one: what ldmatrix reads of a row, and the widest copy."""


def swizzled_for(type: Attribute) -> SwizzledShared:
    """Shared memory in which 8 rows, a chunk of each, lie in different banks. Rows run as the layout's fastest dimension."""
    layout, sizes = layout_of(type), shape(type)
    order = layout.order if isinstance(layout, Blocked) else tuple(reversed(range(len(sizes))))
    size = max(1, bits(type) // 8)
    row = sizes[order[0]] * size
    vector = max(1, min(CHUNK // size, sizes[order[0]]))
    per_phase = max(1, 128 // row)
    phases = max(1, min(8 // per_phase, row // CHUNK)) if per_phase <= 8 else 1
    return SwizzledShared(vector, per_phase, phases, order)


@dataclass(frozen=True)
class DotOperands(ModulePass):
    name = "ttg-dot-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for convert in [o for o in op.walk() if isinstance(o, ConvertLayoutOp)]:
            if goes_through_shared(convert):
                split(convert)


def goes_through_shared(convert: Operation) -> bool:
    """Whether a conversion makes an operand of a matrix instruction and needs shared memory for it."""
    target = layout_of(convert.results[0].type)
    if not isinstance(target, DotOperand) or not isinstance(target.parent, NvidiaMma):
        return False
    source, result = linear_of(convert.operands[0].type), linear_of(convert.results[0].type)
    return isinstance(plan(source, result, bits(convert.results[0].type)), SharedMove)


def split(convert: Operation) -> None:
    """convert(x) -> local_load(local_alloc(x))"""
    source = convert.operands[0]
    kind = memdesc(source.type.element_type, shape(source.type), swizzled_for(source.type))
    alloc = LocalAllocOp(source, results=[kind], location=convert.location)
    load = LocalLoadOp(alloc.results[0], results=[convert.results[0].type], location=convert.location)
    Rewriter.replace_op(convert, [alloc, load], [load.results[0]])
