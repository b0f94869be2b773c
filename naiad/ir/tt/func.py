"""Functions of ttir: tt.func, tt.return, tt.call."""

from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttr,
    FunctionType,
    LocationAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Region
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from naiad.ir.base import NaiadOp

__all__ = ["OPS", "CallOp", "FuncOp", "ReturnOp", "function"]


@irdl_op_definition
class FuncOp(NaiadOp):
    """A kernel (public) or a function that kernels call (private). `arg_attrs`: a dictionary per argument.

    tt.divisibility, tt.contiguity: what is known of the argument's value. `noinline` is an attribute.
    """

    name = "tt.func"
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    body: Region = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())
    RESERVED: ClassVar = ("sym_name", "function_type", "sym_visibility", "arg_attrs")

    @property
    def is_public(self) -> bool:
        return self.sym_visibility is None or self.sym_visibility.data == "public"

    @classmethod
    def parse(cls, parser: Parser) -> "FuncOp":
        visibility = parser.parse_optional_visibility_keyword()
        name, ins, outs, body, extra, arg_attrs, _ = parse_func_op_like(parser, reserved_attr_names=cls.RESERVED)
        given = {"sym_name": StringAttr(name), "function_type": FunctionType.from_lists(ins, outs),
                 "sym_visibility": visibility, "arg_attrs": arg_attrs}  # fmt: skip
        attributes = dict(extra.data) if extra else {}
        return cls(regions=[body], attributes=attributes, **{k: v for k, v in given.items() if v is not None})

    def print(self, printer: Printer) -> None:
        if self.sym_visibility:
            printer.print_string(f" {self.sym_visibility.data}")
        print_func_op_like(printer, self.sym_name, self.function_type, self.body, self.attributes,
                           arg_attrs=self.arg_attrs, reserved_attr_names=self.RESERVED)  # fmt: skip

    def verify_(self) -> None:
        if not self.body.blocks:
            return
        found, wanted = tuple(a.type for a in self.body.blocks[0].args), self.function_type.inputs.data
        if found != wanted:
            raise VerifyException(f"@{self.sym_name.data}: arguments have types {found}, the function type {wanted}")


def function(
    name: str,
    inputs: list[Attribute],
    outputs: list[Attribute],
    body: Region,
    public: bool,
    arg_attrs: list[dict[str, Attribute]] | None = None,
    location: LocationAttr | None = None,
    attributes: dict[str, Attribute] | None = None,
) -> FuncOp:
    """A tt.func from plain lists."""
    given = {} if arg_attrs is None else {"arg_attrs": ArrayAttr([DictionaryAttr(a) for a in arg_attrs])}
    return FuncOp(
        regions=[body],
        location=location,
        attributes=attributes,
        sym_name=StringAttr(name),
        function_type=FunctionType.from_lists(inputs, outputs),
        sym_visibility=StringAttr("public" if public else "private"),
        **given,
    )


@irdl_op_definition
class ReturnOp(NaiadOp):
    """Ends a function; its operands are the function's results."""

    name = "tt.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"


@irdl_op_definition
class CallOp(NaiadOp):
    """Calls the tt.func `callee` of the same module."""

    name = "tt.call"
    callee = prop_def(FlatSymbolRefAttr)
    arguments = var_operand_def()
    res = var_result_def()

    @property
    def symbol(self) -> str:
        return self.callee.root_reference.data

    @classmethod
    def parse(cls, parser: Parser) -> "CallOp":
        callee = SymbolRefAttr(parser.parse_symbol_name().data)
        values = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands(values, type.inputs.data, parser.pos)
        return cls(*operands, results=type.outputs.data, attributes=attributes, callee=callee)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.symbol)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)


OPS = [FuncOp, ReturnOp, CallOp]
