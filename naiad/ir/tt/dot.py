"""Matrix products: tt.dot, tt.dot_scaled."""

from typing import Any, ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from naiad.ir.attributes import OneOf, keyword
from naiad.ir.base import NaiadOp, OptionalOperands, shape

__all__ = ["OPS", "DotOp", "DotScaledOp"]


def check_product(op: NaiadOp) -> None:
    """Raises unless a, b, c have shapes (..., m, k), (..., k, n), (..., m, n) and the result has c's type."""
    a, b, c = (shape(v.type) for v in op._operands[:3])
    if c != (*a[:-1], b[-1]) or a[-1] != b[-2] or a[:-2] != b[:-2]:
        raise VerifyException(f"cannot multiply shapes {a} and {b} into {c}")
    if op.results[0].type != op._operands[2].type:
        raise VerifyException(f"accumulates in {op._operands[2].type}, gives {op.results[0].type}")


@irdl_op_definition
class DotOp(NaiadOp):
    """a . b + c, with leading dimensions as a batch.

    inputPrecision: how f32 operands are multiplied (ieee when absent).
    maxNumImpreciseAcc: how many f8 products may be summed in low precision (0 when absent).
    """

    name = "tt.dot"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    c = operand_def(TensorType)
    inputPrecision = opt_prop_def(OneOf("inputPrecision"))
    maxNumImpreciseAcc = opt_prop_def(IntegerAttr.constr(type=i32))
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> "DotOp":
        values = [parser.parse_unresolved_operand()]
        properties: dict[str, Any] = {}
        while parser.parse_optional_punctuation(","):
            if parser.parse_optional_keyword("inputPrecision"):
                parser.parse_punctuation("=")
                properties["inputPrecision"] = keyword(parser.parse_identifier())
            else:
                values.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        if "maxNumImpreciseAcc" in attributes:
            properties["maxNumImpreciseAcc"] = attributes.pop("maxNumImpreciseAcc")
        parser.parse_punctuation(":")
        types = [parser.parse_type()]
        parser.parse_punctuation("*")
        types.append(parser.parse_type())
        parser.parse_punctuation("->")
        types.append(parser.parse_type())
        operands = [parser.resolve_operand(v, t) for v, t in zip(values, types, strict=True)]
        return cls(*operands, results=types[2:], attributes=attributes, **properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self._operands, printer.print_ssa_value)
        if self.inputPrecision is not None and self.inputPrecision.data != "ieee":
            printer.print_string(f", inputPrecision = {self.inputPrecision.data}")
        shown = {} if self.maxNumImpreciseAcc is None else {"maxNumImpreciseAcc": self.maxNumImpreciseAcc}
        printer.print_op_attributes(dict(sorted((shown | self.attributes).items())))
        printer.print_string(" : ")
        printer.print_attribute(self.a.type)
        printer.print_string(" * ")
        printer.print_attribute(self.b.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        check_product(self)


@irdl_op_definition
class DotScaledOp(OptionalOperands):
    """scale(a) . scale(b) + c; a scale is i8 (e8m0), one per 32 elements along k.

    Operands in order: a, b, c, a_scale, b_scale. f4 (`e2m1`) comes in pairs in i8, along k where lhs_k_pack, rhs_k_pack
    say so (true when absent).
    """

    name = "tt.dot_scaled"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    c = operand_def(TensorType)
    a_scale = opt_operand_def(TensorType)
    b_scale = opt_operand_def(TensorType)
    a_elem_type = prop_def(OneOf("elem_type"))
    b_elem_type = prop_def(OneOf("elem_type"))
    fastMath = prop_def(BoolAttr)
    lhs_k_pack = opt_prop_def(BoolAttr)
    rhs_k_pack = opt_prop_def(BoolAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SLOTS: ClassVar[int] = 5
    IN_DICT: ClassVar = ("fastMath", "lhs_k_pack", "rhs_k_pack")

    @classmethod
    def parse(cls, parser: Parser) -> "DotScaledOp":
        a, a_scale = cls._parse_scaled(parser)
        parser.parse_punctuation(",")
        b, b_scale = cls._parse_scaled(parser)
        parser.parse_punctuation(",")
        c = parser.parse_unresolved_operand()
        words: dict[str, Attribute] = {}
        for side, name in (("lhs", "a_elem_type"), ("rhs", "b_elem_type")):
            parser.parse_keyword(side)
            parser.parse_punctuation("=")
            words[name] = keyword(parser.parse_identifier())
        attributes = parser.parse_optional_attr_dict()
        words |= {name: attributes.pop(name) for name in cls.IN_DICT if name in attributes}
        parser.parse_punctuation(":")
        resolved = cls._parse_side(parser, a, a_scale)
        parser.parse_punctuation("*")
        other = cls._parse_side(parser, b, b_scale)
        parser.parse_punctuation("->")
        type = parser.parse_type()
        operands = (resolved[0], other[0], parser.resolve_operand(c, type), resolved[1], other[1])
        return cls(*operands, results=[type], attributes=attributes, **words)

    @staticmethod
    def _parse_scaled(parser: Parser) -> tuple[Any, Any]:
        value = parser.parse_unresolved_operand()
        return value, parser.parse_unresolved_operand() if parser.parse_optional_keyword("scale") else None

    @staticmethod
    def _parse_side(parser: Parser, value: Any, scale: Any) -> tuple[Any, Any]:
        operand = parser.resolve_operand(value, parser.parse_type())
        if scale is None:
            return operand, None
        parser.parse_punctuation(",")
        return operand, parser.resolve_operand(scale, parser.parse_type())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        for value, scale in ((self.a, self.a_scale), (self.b, self.b_scale)):
            printer.print_ssa_value(value)
            if scale is not None:
                printer.print_string(" scale ")
                printer.print_ssa_value(scale)
            printer.print_string(", ")
        printer.print_ssa_value(self.c)
        printer.print_string(f" lhs = {self.a_elem_type.data} rhs = {self.b_elem_type.data}")
        shown = {name: self.properties[name] for name in self.IN_DICT if name in self.properties}
        printer.print_op_attributes(dict(sorted((shown | self.attributes).items())))
        printer.print_string(" : ")
        self._print_types(printer, self.a.type, self.a_scale and self.a_scale.type)
        printer.print_string(" * ")
        self._print_types(printer, self.b.type, self.b_scale and self.b_scale.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    @staticmethod
    def _print_types(printer: Printer, type: Attribute, scale: Attribute | None) -> None:
        printer.print_attribute(type)
        if scale is not None:
            printer.print_string(", ")
            printer.print_attribute(scale)

    def verify_(self) -> None:
        if self.result.type != self.c.type:
            raise VerifyException(f"accumulates in {self.c.type}, gives {self.result.type}")


OPS = [DotOp, DotScaledOp]
