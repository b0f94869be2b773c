"""Printing, assertions, assumptions, barriers, and code from outside: inline assembly and library functions."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, StringAttr, i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from naiad.ir.base import NaiadOp, element

__all__ = ["OPS", "AssertOp", "AssumeOp", "BarrierOp", "ElementwiseInlineAsmOp", "ExternElementwiseOp", "PoisonOp",
           "PrintOp"]  # fmt: skip


@irdl_op_definition
class PrintOp(NaiadOp):
    """Prints `prefix` and each element of each operand; `isSigned`: one 0 or 1 per operand."""

    name = "tt.print"
    prefix = prop_def(StringAttr)
    hex = prop_def(BoolAttr)
    isSigned = prop_def(DenseArrayBase.constr(i32))
    values = var_operand_def()
    traits = traits_def(MemoryWriteEffect())
    IN_DICT: ClassVar = ("hex", "isSigned")

    @classmethod
    def parse(cls, parser: Parser) -> "PrintOp":
        prefix = StringAttr(parser.parse_str_literal())
        attributes = parser.parse_optional_attr_dict()
        properties = {name: attributes.pop(name) for name in cls.IN_DICT}
        operands: Sequence[SSAValue] = ()
        if parser.parse_optional_punctuation(":"):
            values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            operands = parser.resolve_operands(values, types, parser.pos)
        return cls(*operands, prefix=prefix, attributes=attributes, **properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.prefix.data)
        printer.print_op_attributes({"hex": self.hex, "isSigned": self.isSigned, **self.attributes})
        if self._operands:
            printer.print_string(" : ")
            printer.print_list(self._operands, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list([v.type for v in self._operands], printer.print_attribute)


@irdl_op_definition
class AssertOp(NaiadOp):
    """The launch fails with `message` where an element of `condition` (i1) is false."""

    name = "tt.assert"
    condition = operand_def()
    message = prop_def(StringAttr)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition `,` $message attr-dict `:` type($condition)"

    def verify_(self) -> None:
        if element(self.condition.type) != i1:
            raise VerifyException(f"expected a condition of i1, got {self.condition.type}")


@irdl_op_definition
class AssumeOp(NaiadOp):
    """The program promises that `condition` is true; analyses may use it."""

    name = "llvm.intr.assume"
    condition = operand_def(i1)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition attr-dict `:` type($condition)"


@irdl_op_definition
class BarrierOp(NaiadOp):
    """All threads of the program get here, and see each other's writes, before any goes on."""

    name = "gpu.barrier"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class PoisonOp(NaiadOp):
    """A value that nothing may depend on: what a variable holds where the program has not set it."""

    name = "ub.poison"
    result = result_def()
    traits = traits_def(Pure(), ConstantLike())
    assembly_format = "attr-dict `:` type($result)"


class Foreign(NaiadOp):
    """Code from outside on each element. `pure`: whether it may be dropped, repeated and moved."""

    @property
    def is_pure(self) -> bool:
        return bool(self.pure.value.data)


@irdl_op_definition
class ElementwiseInlineAsmOp(Foreign):
    """Assembly on `packed_element` elements at a time, one result per output constraint."""

    name = "tt.elementwise_inline_asm"
    asm_string = prop_def(StringAttr)
    constraints = prop_def(StringAttr)
    pure = prop_def(BoolAttr)
    packed_element = prop_def(IntegerAttr.constr(type=i32))
    args = var_operand_def()
    res = var_result_def()
    IN_DICT: ClassVar = ("constraints", "packed_element", "pure")

    @classmethod
    def parse(cls, parser: Parser) -> "ElementwiseInlineAsmOp":
        text = StringAttr(parser.parse_str_literal())
        attributes = parser.parse_optional_attr_dict()
        properties = {name: attributes.pop(name) for name in cls.IN_DICT}
        operands: Sequence[SSAValue] = ()
        if not parser.parse_optional_punctuation("->"):
            values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            operands = parser.resolve_operands(values, types, parser.pos)
            parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls(*operands, results=results, attributes=attributes, asm_string=text, **properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.asm_string.data)
        shown = {name: self.properties[name] for name in self.IN_DICT}
        printer.print_op_attributes(dict(sorted((shown | self.attributes).items())))
        if self._operands:
            printer.print_string(" ")
            printer.print_list(self._operands, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list([v.type for v in self._operands], printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_list([r.type for r in self.results], printer.print_attribute)


@irdl_op_definition
class ExternElementwiseOp(Foreign):
    """The function `symbol` of a device library, on each element."""

    name = "tt.extern_elementwise"
    libname = prop_def(StringAttr)
    libpath = prop_def(StringAttr)
    symbol = prop_def(StringAttr)
    pure = prop_def(BoolAttr)
    srcs = var_operand_def()
    result = result_def()
    IN_DICT: ClassVar = ("libname", "libpath", "pure", "symbol")

    @classmethod
    def parse(cls, parser: Parser) -> "ExternElementwiseOp":
        values = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        properties = {name: attributes.pop(name) for name in cls.IN_DICT}
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands(values, type.inputs.data, parser.pos)
        return cls(*operands, results=type.outputs.data, attributes=attributes, **properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self._operands, printer.print_ssa_value)
        shown = {name: self.properties[name] for name in self.IN_DICT}
        printer.print_op_attributes(dict(sorted((shown | self.attributes).items())))
        printer.print_string(" : ")
        printer.print_operation_type(self)


OPS = [PrintOp, AssertOp, AssumeOp, BarrierOp, PoisonOp, ElementwiseInlineAsmOp, ExternElementwiseOp]
