"""The `ttng` dialect: what NVIDIA GPUs from sm_90 on add to ttgir. wgmma on shared memory, its waits, the proxy
fence.
"""

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, i1
from xdsl.ir import Dialect
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from naiad.ir.base import NaiadOp

__all__ = ["NVG", "FenceAsyncSharedOp", "WarpGroupDotOp", "WarpGroupDotWaitOp"]


@irdl_op_definition
class WarpGroupDotOp(NaiadOp):
    """acc + a @ b by wgmma. a: shared memory or registers, b: shared memory. isAsync: the result needs a wait.

    use_acc: an i1 that says whether acc counts, or none (it does). inputPrecision: 0 tf32, 1 tf32x3, 2 ieee.
    """

    name = "ttng.warp_group_dot"
    a = operand_def()
    b = operand_def()
    c = operand_def(TensorType)
    use_acc = opt_operand_def(i1)
    inputPrecision = opt_prop_def(IntegerAttr)
    maxNumImpreciseAcc = opt_prop_def(IntegerAttr)
    isAsync = opt_prop_def(BoolAttr)
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())
    NAMES: ClassVar = ("inputPrecision", "maxNumImpreciseAcc", "isAsync")

    @classmethod
    def parse(cls, parser: Parser) -> "WarpGroupDotOp":
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        a = parser.parse_type()
        parser.parse_characters("*")
        b = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        types = [a, b, result, i1][: len(operands)]
        properties = {n: attributes.pop(n) for n in cls.NAMES if n in attributes}
        return cls(*map(parser.resolve_operand, operands, types), results=[result], attributes=attributes, **properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes({n: self.properties[n] for n in self.NAMES if n in self.properties})
        printer.print_string(" : ")
        printer.print_attribute(self.a.type)
        printer.print_string(" * ")
        printer.print_attribute(self.b.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class WarpGroupDotWaitOp(NaiadOp):
    """Waits until at most `pendings` groups of wgmma are under way; passes its operands on, so that uses come after
    it.
    """

    name = "ttng.warp_group_dot_wait"
    inputs = var_operand_def()
    pendings = prop_def(IntegerAttr)
    outputs = var_result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> "WarpGroupDotWaitOp":
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        pendings = attributes.pop("pendings")
        resolved = map(parser.resolve_operand, operands, types)
        return cls(*resolved, results=types, attributes=attributes, pendings=pendings)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_op_attributes({"pendings": self.pendings, **self.attributes})
        printer.print_string(" : ")
        printer.print_list([v.type for v in self.inputs], printer.print_attribute)


@irdl_op_definition
class FenceAsyncSharedOp(NaiadOp):
    """Makes what threads wrote to shared memory visible to wgmma and TMA."""

    name = "ttng.fence_async_shared"
    bCluster = prop_def(BoolAttr)
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"


NVG = Dialect("ttng", [WarpGroupDotOp, WarpGroupDotWaitOp, FenceAsyncSharedOp])
