"""Where tiles come from: program ids, ranges, splats, pointers."""

from xdsl.dialects.builtin import IntegerAttr, TensorType, i32
from xdsl.irdl import (
    AnyAttr,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from naiad.ir.base import NaiadOp, element, int_attr, shape
from naiad.ir.types import PointerType

__all__ = ["OPS", "AddPtrOp", "GetNumProgramsOp", "GetProgramIdOp", "MakeRangeOp", "SplatOp", "UnsplatOp"]

P = VarConstraint("P", AnyAttr())
AXES = "xyz"


class ProgramQuestion(NaiadOp):
    """An op on one axis of the grid; `axis` is 0, 1 or 2, written x, y or z."""

    @classmethod
    def parse(cls, parser: Parser) -> "ProgramQuestion":
        axis = AXES.index(parser.parse_identifier())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls(results=[parser.parse_type()], attributes=attributes, axis=int_attr(axis))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {AXES[self.axis.value.data]}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : i32")


@irdl_op_definition
class GetProgramIdOp(ProgramQuestion):
    """Which program of the grid this is, along `axis`."""

    name = "tt.get_program_id"
    axis = prop_def(IntegerAttr.constr(type=i32))
    result = result_def(i32)
    traits = traits_def(Pure())


@irdl_op_definition
class GetNumProgramsOp(ProgramQuestion):
    """How many programs the grid has along `axis`."""

    name = "tt.get_num_programs"
    axis = prop_def(IntegerAttr.constr(type=i32))
    result = result_def(i32)
    traits = traits_def(Pure())


@irdl_op_definition
class MakeRangeOp(NaiadOp):
    """start, start + 1, ... end - 1, as a tensor of rank 1."""

    name = "tt.make_range"
    start = prop_def(IntegerAttr.constr(type=i32))
    end = prop_def(IntegerAttr.constr(type=i32))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> "MakeRangeOp":
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        bounds = {name: attributes.pop(name) for name in ("start", "end") if name in attributes}
        return cls(results=[parser.parse_type()], attributes=attributes, **bounds)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes({"end": self.end, "start": self.start, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        count, sizes = self.end.value.data - self.start.value.data, shape(self.result.type)
        if (count,) != sizes:
            raise VerifyException(f"range holds {count} values, the result type has shape {sizes}")


@irdl_op_definition
class SplatOp(NaiadOp):
    """A tensor with the scalar `src` in every element."""

    name = "tt.splat"
    src = operand_def()
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def verify_(self) -> None:
        if element(self.result.type) != self.src.type:
            raise VerifyException(f"cannot splat {self.src.type} into {self.result.type}")


@irdl_op_definition
class UnsplatOp(NaiadOp):
    """The scalar of a tensor with one element."""

    name = "tt.unsplat"
    src = operand_def(TensorType)
    result = result_def()
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> "UnsplatOp":
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls(parser.resolve_operand(value, type), results=[element(type)], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.src)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)

    def verify_(self) -> None:
        if element(self.src.type) != self.result.type or self.src.type.element_count() != 1:
            raise VerifyException(f"expected a tensor with one element of {self.result.type}, got {self.src.type}")


@irdl_op_definition
class AddPtrOp(NaiadOp):
    """Moves pointers by `offset` elements of the pointee. ptr: P, scalar or tensor; offset: integers of P's shape."""

    name = "tt.addptr"
    ptr = operand_def(P)
    offset = operand_def()
    result = result_def(P)
    traits = traits_def(Pure())
    assembly_format = "$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset)"

    def verify_(self) -> None:
        if not isinstance(element(self.ptr.type), PointerType):
            raise VerifyException(f"expected a pointer or a tensor of pointers, got {self.ptr.type}")
        if shape(self.ptr.type) != shape(self.offset.type):
            raise VerifyException(f"pointer has shape {shape(self.ptr.type)}, the offset {shape(self.offset.type)}")


OPS = [GetProgramIdOp, GetNumProgramsOp, MakeRangeOp, SplatOp, UnsplatOp, AddPtrOp]
