"""tt-split-dots: products of f32 as several products of fewer bits, on matrix units. ttir to ttir.

    tt.dot %a, %b, %c, inputPrecision = tf32x3

    becomes  a1 b1 + (a1 b2 + a2 b1),  a1 = a rounded to tf32, a2 = a - a1, and b alike

bf16x3 does the same in bf16, bf16x6 with three parts of each: about as precise as f32. The small products come first.
Where an element is infinite, the rest of it is not a number: what is not a number among the small products counts as 0.
Tiles that no matrix instruction takes are left to be multiplied in f32.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, bf16, f32, i1, i32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.attributes import keyword
from naiad.ir.base import element, like, shape
from naiad.ir.constants import number
from naiad.ir.tt.dot import DotOp
from naiad.passes.ttir.accesses import Maker

__all__ = ["SplitDots"]

PRODUCTS = {
    "tf32x3": ((1, 0), (0, 1)),
    "bf16x3": ((1, 0), (0, 1)),
    "bf16x6": ((1, 1), (2, 0), (0, 2), (1, 0), (0, 1)),
}
"""The small products of a precision: which part of a by which of b."""


@dataclass(frozen=True)
class SplitDots(ModulePass):
    """rounding: assembly that rounds f32 to tf32, $0 from $1."""

    name = "tt-split-dots"
    rounding: str = "cvt.rna.tf32.f32 $0, $1;"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, DotOp) and is_split(inner):
                split(inner, self.rounding)


def is_split(dot: DotOp) -> bool:
    """Whether a dot asks for it and fills a matrix instruction."""
    precision = dot.inputPrecision.data if dot.inputPrecision is not None else "ieee"
    if precision not in PRODUCTS or any(element(v.type) != f32 for v in dot.operands):
        return False
    *_, m, n = shape(dot.result.type)
    return m >= 16 and n >= 8 and shape(dot.a.type)[-1] >= (8 if precision == "tf32x3" else 16)


def split(dot: DotOp, rounding: str) -> None:
    make, precision = Maker(dot, dot.location), dot.inputPrecision.data
    count = 1 + max(i for pair in PRODUCTS[precision] for i in pair)
    if precision == "tf32x3":
        word, (a, b) = keyword("tf32"), (in_tf32(make, v, rounding) for v in (dot.a, dot.b))
    else:
        word, (a, b) = keyword("ieee"), (in_bf16(make, v, count) for v in (dot.a, dot.b))

    def product(i: int, j: int, c: SSAValue) -> SSAValue:
        return make.op("tt.dot", c.type, a[i], b[j], c, inputPrecision=word)

    total = make.constant(0.0, dot.c.type)
    for i, j in PRODUCTS[precision]:
        total = product(i, j, total)
    total = without_nan(make, total)
    if number(dot.c) != 0:
        total = make.op("arith.addf", total.type, total, dot.c)
    total = product(0, 0, total)
    total.name_hint = dot.result.name_hint
    dot.result.replace_all_uses_with(total)
    Rewriter.erase_op(dot)


def without_nan(make: Maker, value: SSAValue) -> SSAValue:
    is_nan = make.op("arith.cmpf", like(value.type, i1), value, value, predicate=keyword("uno"))
    return make.op("arith.select", value.type, is_nan, make.constant(0.0, value.type), value)


def in_tf32(make: Maker, value: SSAValue, rounding: str) -> list[SSAValue]:
    """Two numbers of 11 bits that add up to the value nearly: a matrix unit cuts what is longer."""
    first = make.op(
        "tt.elementwise_inline_asm", value.type, value, asm_string=StringAttr(rounding), constraints=StringAttr("=f,f"),
        pure=IntegerAttr(1, i1), packed_element=IntegerAttr(1, i32),
    )  # fmt: skip
    return [first, make.op("arith.subf", value.type, value, first)]


def in_bf16(make: Maker, value: SSAValue, count: int) -> list[SSAValue]:
    """`count` numbers of bf16 that add up to the value nearly."""
    type, parts = like(value.type, bf16), list[SSAValue]()
    for at in range(count):
        parts.append(make.op("arith.truncf", type, value))
        if at < count - 1:
            value = make.op("arith.subf", value.type, value, make.op("arith.extf", value.type, parts[-1]))
    return parts
