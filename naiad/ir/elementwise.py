"""The elementwise ops of `arith` and `math`, and those of `tt`: one row an op.

A row says the op's name, what its operands and result may be, and how its text looks. The IR class, its verifier,
parser and printer come from the row; what it computes stands under its name in `ir/evaluate.py`, for constant folding
and the interpreter alike. Every op works on a scalar, a tensor (with any encoding) and a vector.

    Row("arith.addi", 2, INTEGER)                                       # T, T -> T
    Row("arith.sitofp", 1, INTEGER, Form.CAST, FLOAT)                   # %x : i32 to f32
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, TensorType, i1
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrConstraint,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from naiad.ir import evaluate as numeric
from naiad.ir.attributes import KeywordAttr, OneOf, keyword
from naiad.ir.base import NaiadOp, bits, element, like, shape
from naiad.ir.constants import numpy_type
from naiad.ir.types import PointerType

__all__ = ["ELEMENTWISE", "ROWS", "Elementwise", "Form", "Row", "compute", "mode_of"]

INTEGER = (IntegerType, IndexType)
FLOAT = (AnyFloat,)
NUMBER = (IntegerType, IndexType, AnyFloat)
POINTER = (PointerType,)
ANY = (Attribute,)


@dataclass(frozen=True)
class Of(AttrConstraint):
    """A scalar of one of the type classes, or a tensor or vector of it."""

    kinds: tuple[Any, ...]

    def verify(self, attr: Attribute, constraint_context: Any) -> None:
        if not isinstance(element(attr), self.kinds):
            wanted = " or ".join(getattr(k, "__name__", "a float") for k in self.kinds)
            raise VerifyException(f"expected {wanted}, or a tensor of it, got {attr}")

    def mapping_type_vars(self, type_var_mapping: Any) -> "Of":
        return self


class Form(Enum):
    """How an elementwise op is written."""

    SAME = "%a, %b : T"
    COMPARE = "slt, %a, %b : T"
    SELECT = "%c, %a, %b : C, T"
    CAST = "%a : S to T"
    ARROW = "%a : S -> T"
    ROUND = "%a, rounding = rtne : S -> T"
    CLAMP = "%x, %low, %high, propagateNan = none : T"


@dataclass(frozen=True)
class Row:
    """One elementwise op. `result`: what the result may be where it is not the operands' type.

    width: "wider", "narrower" or "equal": how a cast's result compares to its operand, checked where given.
    may_trap: not run where the program would not run it (divisions).
    """

    name: str
    arity: int
    operands: tuple[Any, ...]
    form: Form = Form.SAME
    result: tuple[Any, ...] = ANY
    width: str = ""
    may_trap: bool = False


class Elementwise(NaiadOp):
    """An op on each element alone. `ROW` is its row of the table, `FIELDS` the names of its operands."""

    @classmethod
    def parse(cls, parser: Parser) -> "Elementwise":
        return PARSERS[cls.ROW.form](cls, parser)

    def print(self, printer: Printer) -> None:
        PRINTERS[self.ROW.form](self, printer)

    def verify_(self) -> None:
        result = self.results[0].type
        for operand in self._operands:
            if shape(operand.type) != shape(result) and not (self.ROW.form is Form.SELECT and operand.type == i1):
                raise VerifyException(f"operand has shape {shape(operand.type)}, the result {shape(result)}")
            _check_encoding(operand.type, result)
        _check_width(self.ROW.width, self._operands[0].type, result)


def _check_encoding(source: Attribute, result: Attribute) -> None:
    both = isinstance(source, TensorType) and isinstance(result, TensorType)
    if both and source.encoding != result.encoding:
        raise VerifyException(f"operand has type {source}, the result {result}: another encoding")


def _check_width(rule: str, source: Attribute, result: Attribute) -> None:
    if rule == "wider" and not bits(source) < bits(result):
        raise VerifyException(f"{result} must be wider than {source}")
    if rule == "narrower" and not bits(source) > bits(result):
        raise VerifyException(f"{result} must be narrower than {source}")
    if rule == "equal" and bits(source) != bits(result):
        raise VerifyException(f"{result} must be as wide as {source}")


def compute(op: Operation, operands: Sequence[np.ndarray]) -> np.ndarray:
    """What an elementwise op gives for numpy operands."""
    return numeric.evaluate(op.name, operands, numpy_type(op.results[0].type), mode_of(op))


def mode_of(op: Operation) -> str | None:
    """The predicate, rounding or NaN rule of an elementwise op, as a word."""
    for name in ("predicate", "rounding", "propagateNan"):
        if isinstance(word := op.properties.get(name), KeywordAttr):
            return word.data
    return None


# ---- text ----------------------------------------------------------------------------------------------------------


def _print_tail(op: Elementwise, printer: Printer, *types: Attribute, between: str = ", ") -> None:
    if op.attributes:
        printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    for n, type in enumerate(types):
        if n:
            printer.print_string(between)
        printer.print_attribute(type)


def _print_operands(op: Elementwise, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list(op._operands, printer.print_ssa_value)


def _print_same(op: Elementwise, printer: Printer) -> None:
    _print_operands(op, printer)
    _print_tail(op, printer, op.results[0].type)


def _print_compare(op: Elementwise, printer: Printer) -> None:
    printer.print_string(f" {op.predicate.data}, ")
    printer.print_list(op._operands, printer.print_ssa_value)
    _print_tail(op, printer, op._operands[0].type)


def _print_select(op: Elementwise, printer: Printer) -> None:
    _print_operands(op, printer)
    condition = op._operands[0].type
    types = [op.results[0].type] if condition == i1 else [condition, op.results[0].type]
    _print_tail(op, printer, *types)


def _print_cast(op: Elementwise, printer: Printer) -> None:
    _print_operands(op, printer)
    between = " to " if op.ROW.form is Form.CAST else " -> "
    if (rounding := op.properties.get("rounding")) is not None:
        printer.print_string(f", rounding = {rounding.data}")
    _print_tail(op, printer, op._operands[0].type, op.results[0].type, between=between)


def _print_clamp(op: Elementwise, printer: Printer) -> None:
    _print_operands(op, printer)
    printer.print_string(f", propagateNan = {op.propagateNan.data}")
    _print_tail(op, printer, op.results[0].type)


def _operands(parser: Parser, count: int) -> list[Any]:
    values = [parser.parse_unresolved_operand()]
    while len(values) < count:
        parser.parse_punctuation(",")
        values.append(parser.parse_unresolved_operand())
    return values


def _attributes(parser: Parser) -> dict[str, Attribute]:
    """The attribute dictionary; `overflow<nsw>` and `fastmath<fast>`, which promise things, are read and dropped."""
    for word in ("overflow", "fastmath"):
        if parser.parse_optional_keyword(word):
            parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_identifier)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    return attributes


def _parse_same(cls: type[Elementwise], parser: Parser) -> Elementwise:
    values = _operands(parser, cls.ROW.arity)
    attributes = _attributes(parser)
    type = parser.parse_type()
    return cls(*(parser.resolve_operand(v, type) for v in values), results=[type], attributes=attributes)


def _parse_compare(cls: type[Elementwise], parser: Parser) -> Elementwise:
    predicate = keyword(parser.parse_identifier())
    parser.parse_punctuation(",")
    values = _operands(parser, 2)
    attributes = _attributes(parser)
    type = parser.parse_type()
    operands = [parser.resolve_operand(v, type) for v in values]
    return cls(*operands, results=[like(type, i1)], attributes=attributes, predicate=predicate)


def _parse_select(cls: type[Elementwise], parser: Parser) -> Elementwise:
    values = _operands(parser, 3)
    attributes = _attributes(parser)
    first = parser.parse_type()
    type = parser.parse_type() if parser.parse_optional_punctuation(",") else first
    condition = first if type is not first else i1
    types = (condition, type, type)
    operands = [parser.resolve_operand(v, t) for v, t in zip(values, types, strict=True)]
    return cls(*operands, results=[type], attributes=attributes)


def _parse_cast(cls: type[Elementwise], parser: Parser) -> Elementwise:
    [value] = _operands(parser, 1)
    properties: dict[str, Attribute] = {}
    if cls.ROW.form is Form.ROUND and parser.parse_optional_punctuation(","):
        parser.parse_keyword("rounding")
        parser.parse_punctuation("=")
        properties["rounding"] = keyword(parser.parse_identifier())
    attributes = _attributes(parser)
    source = parser.parse_type()
    parser.parse_characters("to" if cls.ROW.form is Form.CAST else "->")
    operand = parser.resolve_operand(value, source)
    return cls(operand, results=[parser.parse_type()], attributes=attributes, **properties)


def _parse_clamp(cls: type[Elementwise], parser: Parser) -> Elementwise:
    values = _operands(parser, 3)
    parser.parse_punctuation(",")
    parser.parse_keyword("propagateNan")
    parser.parse_punctuation("=")
    rule = keyword(parser.parse_identifier())
    attributes = _attributes(parser)
    type = parser.parse_type()
    operands = [parser.resolve_operand(v, type) for v in values]
    return cls(*operands, results=[type], attributes=attributes, propagateNan=rule)


PRINTERS = {Form.SAME: _print_same, Form.COMPARE: _print_compare, Form.SELECT: _print_select, Form.CAST: _print_cast,
            Form.ARROW: _print_cast, Form.ROUND: _print_cast, Form.CLAMP: _print_clamp}  # fmt: skip
PARSERS = {Form.SAME: _parse_same, Form.COMPARE: _parse_compare, Form.SELECT: _parse_select, Form.CAST: _parse_cast,
           Form.ARROW: _parse_cast, Form.ROUND: _parse_cast, Form.CLAMP: _parse_clamp}  # fmt: skip

# ---- classes from rows ---------------------------------------------------------------------------------------------

NAMES = {1: ("src",), 2: ("lhs", "rhs"), 3: ("a", "b", "c")}


def _fields(row: Row) -> dict[str, Any]:
    """The declarations of a row's operands, result and properties."""
    T = VarConstraint("T", Of(row.operands))
    if row.form is Form.COMPARE:
        predicate = OneOf("float_predicate" if row.name == "arith.cmpf" else "integer_predicate")
        return {"lhs": operand_def(T), "rhs": operand_def(T), "result": result_def(Of((IntegerType,))),
                "predicate": prop_def(predicate)}  # fmt: skip
    if row.form is Form.SELECT:
        return {"condition": operand_def(Of((IntegerType,))), "true_value": operand_def(T),
                "false_value": operand_def(T), "result": result_def(T)}  # fmt: skip
    if row.form in (Form.CAST, Form.ARROW, Form.ROUND):
        fields = {"src": operand_def(Of(row.operands)), "result": result_def(Of(row.result))}
        return fields | ({"rounding": opt_prop_def(OneOf("rounding"))} if row.form is Form.ROUND else {})
    names = ("x", "low", "high") if row.form is Form.CLAMP else NAMES[row.arity]
    fields = {name: operand_def(T) for name in names} | {"result": result_def(T)}
    return fields | ({"propagateNan": prop_def(OneOf("propagateNan"))} if row.form is Form.CLAMP else {})


def _class(row: Row) -> type[Elementwise]:
    words = row.name.split(".")[1].split("_")
    effects = traits_def(NoMemoryEffect() if row.may_trap else Pure())
    op: Any = irdl_op_definition(
        type("".join(w[0].upper() + w[1:] for w in words) + "Op", (Elementwise,),
             {"name": row.name, "traits": effects, "__module__": __name__, **_fields(row)})
    )  # fmt: skip
    op.ROW = row  # after the decorator: IRDL refuses plain data in the class body
    return op


def _rows(dialect: str, names: str, arity: int, kinds: tuple, **more: Any) -> tuple[Row, ...]:
    return tuple(Row(f"{dialect}.{name}", arity, kinds, **more) for name in names.split())


ROWS = (
    *_rows("arith", "addi subi muli andi ori xori shli shrsi shrui maxsi maxui minsi minui", 2, INTEGER),
    *_rows("arith", "divsi divui remsi remui floordivsi ceildivsi ceildivui", 2, INTEGER, may_trap=True),
    *_rows("arith", "addf subf mulf divf remf maxnumf minnumf maximumf minimumf", 2, FLOAT),
    *_rows("arith", "negf", 1, FLOAT),
    Row("arith.cmpi", 2, (IntegerType, IndexType, PointerType), Form.COMPARE),
    Row("arith.cmpf", 2, FLOAT, Form.COMPARE),
    Row("arith.select", 3, ANY, Form.SELECT),
    *_rows("arith", "extsi extui", 1, INTEGER, form=Form.CAST, result=INTEGER, width="wider"),
    Row("arith.trunci", 1, INTEGER, Form.CAST, INTEGER, "narrower"),
    *_rows("arith", "index_cast index_castui", 1, INTEGER, form=Form.CAST, result=INTEGER),
    *_rows("arith", "sitofp uitofp", 1, INTEGER, form=Form.CAST, result=FLOAT),
    *_rows("arith", "fptosi fptoui", 1, FLOAT, form=Form.CAST, result=INTEGER),
    Row("arith.extf", 1, FLOAT, Form.CAST, FLOAT, "wider"),
    Row("arith.truncf", 1, FLOAT, Form.CAST, FLOAT, "narrower"),
    Row("arith.bitcast", 1, NUMBER, Form.CAST, NUMBER, "equal"),
    *_rows("math", "exp exp2 log log2 log10 log1p expm1 sin cos tan tanh sinh cosh asin acos atan sqrt rsqrt cbrt erf "
           "floor ceil trunc roundeven absf", 1, FLOAT),
    *_rows("math", "atan2 powf copysign", 2, FLOAT),
    Row("math.fma", 3, FLOAT),
    Row("math.absi", 1, INTEGER),
    Row("tt.mulhiui", 2, INTEGER),
    Row("tt.precise_sqrt", 1, FLOAT),
    Row("tt.precise_divf", 2, FLOAT),
    Row("tt.clampf", 3, FLOAT, Form.CLAMP),
    Row("tt.fp_to_fp", 1, FLOAT, Form.ROUND, FLOAT),
    Row("tt.bitcast", 1, ANY, Form.ARROW, ANY, "equal"),
    Row("tt.int_to_ptr", 1, INTEGER, Form.ARROW, POINTER),
    Row("tt.ptr_to_int", 1, POINTER, Form.ARROW, INTEGER),
)  # fmt: skip
ELEMENTWISE: dict[str, type[Elementwise]] = {row.name: _class(row) for row in ROWS}
"""Every elementwise op by its name."""

AddIOp, MulIOp, CmpIOp, SelectOp = (ELEMENTWISE[f"arith.{n}"] for n in ("addi", "muli", "cmpi", "select"))
