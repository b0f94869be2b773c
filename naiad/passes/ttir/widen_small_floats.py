"""tt-widen-small-floats: arithmetic on 8-bit floats is done in f32 and rounded. ttir to ttir.

arith.addf %x, %y : f8E4M3FN   ->   fp_to_fp (arith.addf (fp_to_fp %x), (fp_to_fp %y) : f32)
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.attributes import keyword
from naiad.ir.base import element, like
from naiad.passes.ttir.accesses import Maker

__all__ = ["WidenSmallFloats"]

PREFIXES = ("arith.", "math.", "tt.precise_", "tt.clampf")
BITS = frozenset({
    "arith.constant", "arith.select", "arith.bitcast", "arith.negf", "math.absf", "arith.extf", "arith.truncf",
    "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui",
})  # fmt: skip
"""Ops that read bits, or convert themselves."""


@dataclass(frozen=True)
class WidenSmallFloats(ModulePass):
    name = "tt-widen-small-floats"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if inner.name.startswith(PREFIXES) and inner.name not in BITS and any(map(is_small, types_of(inner))):
                widen(inner)


def types_of(op: Operation) -> list[Attribute]:
    return [v.type for v in (*op.operands, *op.results)]


def is_small(type: Attribute) -> bool:
    return element(type).name.startswith("f8E")


def widen(op: Operation) -> None:
    make = Maker(op, op.location)

    def wide(value: SSAValue) -> SSAValue:
        return make.op("tt.fp_to_fp", like(value.type, f32), value) if is_small(value.type) else value

    types = [like(r.type, f32) if is_small(r.type) else r.type for r in op.results]
    made = type(op).create(operands=[wide(o) for o in op.operands], result_types=types, properties=dict(op.properties),
                           attributes=dict(op.attributes), location=op.location)  # fmt: skip
    op.parent_block().insert_op_before(made, op)
    results = [
        make.op("tt.fp_to_fp", old.type, new, rounding=keyword("rtne")) if is_small(old.type) else new
        for old, new in zip(op.results, made.results, strict=True)
    ]
    Rewriter.replace_op(op, [], results)
