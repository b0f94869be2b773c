"""Ops that combine elements by a region (reduce, scan), apply one (map_elementwise), or count (histogram)."""

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, i32
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from naiad.ir.base import NaiadOp, OptionalOperands, bool_like, element, shape

__all__ = ["OPS", "HistogramOp", "MapElementwiseOp", "MapElementwiseReturnOp", "ReduceOp", "ReduceReturnOp", "ScanOp",
           "ScanReturnOp"]  # fmt: skip


def check_combine(op: NaiadOp) -> None:
    """Raises unless the region takes each operand's element twice and the operands have one shape."""
    elements = [element(v.type) for v in op._operands]
    if len({shape(v.type) for v in op._operands}) != 1:
        raise VerifyException("operands must have one shape")
    found = [a.type for a in op.regions[0].block.args]
    if found != elements * 2:
        raise VerifyException(f"the region must take {elements * 2}, it takes {found}")
    given = [v.type for v in op.regions[0].block.last_op._operands]
    if given != elements:
        raise VerifyException(f"the region must give {elements}, it gives {given}")


@irdl_op_definition
class ReduceOp(NaiadOp):
    """Combines all elements along `axis` by the region, in any order; the dimension goes, of rank 1 a scalar is left.

    The region takes the accumulators, then the elements: for srcs x, i its block has (x0, i0, x1, i1).
    """

    name = "tt.reduce"
    srcs = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(type=i32))
    res = var_result_def()
    combine = region_def("single_block")
    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_combine(self)
        axis, sizes = self.axis.value.data, shape(self.srcs[0].type)
        if not 0 <= axis < len(sizes):
            raise VerifyException(f"axis {axis} of a tensor of shape {sizes}")
        for r in self.res:
            if shape(r.type) != sizes[:axis] + sizes[axis + 1 :]:
                raise VerifyException(f"reduces shape {sizes} along {axis} to {shape(r.type)}")


@irdl_op_definition
class ReduceReturnOp(NaiadOp):
    """What the region of tt.reduce gives."""

    name = "tt.reduce.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "$values attr-dict `:` type($values)"


@irdl_op_definition
class ScanOp(NaiadOp):
    """result[i] combines elements 0 to i along `axis`, in order; from the end with `reverse`.

    Region as in tt.reduce.
    """

    name = "tt.scan"
    srcs = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(type=i32))
    reverse = prop_def(BoolAttr)
    res = var_result_def(TensorType)
    combine = region_def("single_block")
    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_combine(self)
        if [r.type for r in self.res] != [s.type for s in self.srcs]:
            raise VerifyException("results must have the types of the operands")


@irdl_op_definition
class ScanReturnOp(NaiadOp):
    """What the region of tt.scan gives."""

    name = "tt.scan.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "$values attr-dict `:` type($values)"


@irdl_op_definition
class MapElementwiseOp(NaiadOp):
    """Runs the region once per `pack` elements of the operands; it may branch, per element."""

    name = "tt.map_elementwise"
    srcs = var_operand_def(TensorType)
    pack = prop_def(IntegerAttr.constr(type=i32))
    res = var_result_def(TensorType)
    body = region_def()
    traits = traits_def(RecursiveMemoryEffect())


@irdl_op_definition
class MapElementwiseReturnOp(NaiadOp):
    """What the region of tt.map_elementwise gives."""

    name = "tt.map_elementwise.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"


@irdl_op_definition
class HistogramOp(OptionalOperands):
    """How many elements of `src` (where `mask`) are 0, 1, ... n - 1, for a result of n elements."""

    name = "tt.histogram"
    src = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    SLOTS: ClassVar[int] = 2

    @classmethod
    def parse(cls, parser: Parser) -> "HistogramOp":
        values = [parser.parse_unresolved_operand()]
        if parser.parse_optional_punctuation(","):
            values.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operands = [parser.resolve_operand(v, t) for v, t in zip(values, (type, bool_like(type)), strict=False)]
        parser.parse_punctuation("->")
        return cls(*operands, results=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self._operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self._operands[0].type)
        printer.print_string(" -> ")
        printer.print_attribute(self.results[0].type)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)


OPS = [ReduceOp, ReduceReturnOp, ScanOp, ScanReturnOp, MapElementwiseOp, MapElementwiseReturnOp, HistogramOp]
