"""ttg-remove-conversions: drops conversions that do nothing and joins those that follow each other. ttgir to ttgir."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from naiad.ir.constants import ConstantOp, SplatAttr
from naiad.ir.ttg import ConvertLayoutOp
from naiad.passes.driver import Rewriter, Rules, simplify

__all__ = ["RemoveConversions"]

RULES = Rules()


@RULES.on(ConvertLayoutOp)
def identity(op: Operation, rewriter: Rewriter) -> None:
    """convert(x, layout of x) -> x"""
    if op.operands[0].type == op.results[0].type:
        rewriter.replace(op, op.operands[0])


@RULES.on(ConvertLayoutOp)
def merge(op: Operation, rewriter: Rewriter) -> None:
    """convert(convert(x, A), B) -> convert(x, B)"""
    inner = op.operands[0].owner
    if isinstance(inner, ConvertLayoutOp):
        rewriter.replace_by(op, ConvertLayoutOp(inner.operands[0], results=[op.results[0].type]))


@RULES.on(ConvertLayoutOp)
def of_constant(op: Operation, rewriter: Rewriter) -> None:
    """convert(dense<c>, B) -> dense<c> in B"""
    inner = op.operands[0].owner
    if isinstance(inner, ConstantOp) and isinstance(value := inner.properties["value"], SplatAttr):
        type = op.results[0].type
        rewriter.replace_by(op, ConstantOp(results=[type], value=SplatAttr(value.scalar, type)))


@dataclass(frozen=True)
class RemoveConversions(ModulePass):
    name = "ttg-remove-conversions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        simplify(op, RULES)
