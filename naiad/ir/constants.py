"""Constants: `arith.constant`, and the splat `dense<1.0> : tensor<4xf32>` held as one number.

xDSL's dense attribute keeps every element and reads `dense<0xFF800000>` as an integer; this one keeps the scalar and
survives the text, infinities and NaN included.
"""

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    TensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from naiad.ir.base import NaiadOp, element
from naiad.ir.evaluate import DTYPES

__all__ = ["ConstantOp", "SplatAttr", "constant", "number", "numpy_type", "value_attribute"]

Number = int | float | bool
Scalar = IntegerAttr | FloatAttr


@irdl_attr_definition
class SplatAttr(ParametrizedAttribute):
    """One number in every element. `scalar`: the element as an attribute; `value.data`.

    Its number, as in a scalar's.
    """

    name = "naiad.splat"
    scalar: Attribute
    type: Attribute

    @property
    def value(self) -> Any:
        return self.scalar.value

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        print_dense(printer, self)
        printer.print_string(">")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("dense")
            splat = parse_dense(parser)
        return [splat.scalar, splat.type]


@cache
def numpy_type(type: Attribute) -> np.dtype:
    """The numpy type that holds the elements of an IR type; pointers are held as i64."""
    scalar = element(type)
    if isinstance(scalar, IntegerType):
        return DTYPES[f"i{scalar.width.data}"]
    return DTYPES.get(scalar.name, DTYPES["i64"])


def value_attribute(value: Number, type: Attribute) -> Scalar | SplatAttr:
    """The attribute of `value` in `type`: a scalar's own, or a splat for tensors and vectors."""
    scalar_type = element(type)
    if isinstance(scalar_type, IntegerType):
        scalar: Scalar = IntegerAttr(int(value), scalar_type, truncate_bits=True)
    elif isinstance(scalar_type, IndexType):
        scalar = IntegerAttr(int(value), scalar_type)
    else:
        assert isinstance(scalar_type, AnyFloat)
        scalar = FloatAttr(_rounded(float(value), scalar_type), scalar_type)
    return scalar if scalar_type is type else SplatAttr(scalar, type)


def _rounded(value: float, type: Attribute) -> float:
    return float(np.float64(value).astype(numpy_type(type)))


@irdl_op_definition
class ConstantOp(NaiadOp):
    """A number, or a tensor or vector with one number everywhere."""

    name = "arith.constant"
    value = prop_def()
    result = result_def()
    traits = traits_def(Pure(), ConstantLike())

    @classmethod
    def parse(cls, parser: Parser) -> "ConstantOp":
        attributes = parser.parse_optional_attr_dict()
        value = _parse_value(parser)
        return cls(results=[value.type], attributes=attributes, value=value)

    def print(self, printer: Printer) -> None:
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        print_value(printer, self.value)

    def verify_(self) -> None:
        if self.value.type != self.result.type:
            raise VerifyException(f"value has type {self.value.type}, the result {self.result.type}")


def constant(value: Number, type: Attribute, location: LocationAttr | None = None) -> ConstantOp:
    """An `arith.constant` of `type`, scalar, tensor or vector; integers keep their low bits, floats are rounded."""
    return ConstantOp(results=[type], location=location, value=value_attribute(value, type))


def number(value: SSAValue | Operation | Block | Attribute) -> Number | None:
    """The number that a value is known to be everywhere (i1 gives a bool), or None. Takes an attribute too."""
    if isinstance(value, SSAValue):
        value = value.owner
    if isinstance(value, ConstantOp):
        value = value.properties["value"]
    if isinstance(value, SplatAttr):
        value = value.scalar
    if isinstance(value, IntegerAttr):
        return bool(value.value.data) if value.type == i1 else value.value.data
    return value.value.data if isinstance(value, FloatAttr) else None


# ---- text ----------------------------------------------------------------------------------------------------------


def print_value(printer: Printer, value: Attribute) -> None:
    """The value of a constant and its type, as MLIR prints it."""
    if isinstance(value, SplatAttr):
        print_dense(printer, value)
    elif isinstance(value, Scalar):
        printer.print_string(scalar_text(value))
        if value.type != i1:
            printer.print_string(" : ")
            printer.print_attribute(value.type)
    else:
        printer.print_attribute(value)


def print_dense(printer: Printer, value: SplatAttr) -> None:
    printer.print_string(f"dense<{scalar_text(value.scalar)}> : ")
    printer.print_attribute(value.type)


def scalar_text(value: Scalar) -> str:
    """`true`, `-3`, `1.000000e+00`, and hexadecimal bits for infinities and NaN."""
    if isinstance(value, FloatAttr):
        return float_text(value.value.data, numpy_type(value.type))
    return str(bool(value.value.data)).lower() if value.type == i1 else str(value.value.data)


def float_text(value: float, type: np.dtype) -> str:
    """The shortest of 6, 9 and 17 digits that reads back the same in `type`."""
    exact = np.float64(value).astype(type)
    if not np.isfinite(exact.astype(np.float64)):
        return f"0x{int.from_bytes(exact.tobytes(), 'little'):0{2 * type.itemsize}X}"
    for digits in (6, 9):
        text = f"{value:.{digits}e}"
        if np.float64(text).astype(type) == exact:
            return text
    return f"{value:.17e}"


def _parse_value(parser: Parser) -> Attribute:
    if parser.parse_optional_keyword("dense"):
        return parse_dense(parser)
    if (flag := parser.parse_optional_boolean()) is not None:
        return IntegerAttr(flag, i1)
    literal = _literal(parser)
    parser.parse_punctuation(":")
    return _from_literal(parser, literal, parser.parse_type())


def parse_dense(parser: AttrParser) -> Attribute:
    """What follows the word `dense`: a splat as ours, a list of elements as xDSL's attribute."""
    parser.parse_characters("<")
    if parser._current_token.kind in (MLIRTokenKind.L_SQUARE, MLIRTokenKind.STRING_LIT):
        return _parse_elements(parser)
    flag = parser.parse_optional_boolean()
    literal = ("true" if flag else "false") if flag is not None else _literal(parser)
    parser.parse_characters(">")
    parser.parse_punctuation(":")
    type = parser.parse_type()
    if not isinstance(type, TensorType | VectorType):
        parser.raise_error(f"expected a tensor or vector type, got {type}")
    return SplatAttr(_from_literal(parser, literal, type.element_type), type)


def _parse_elements(parser: AttrParser) -> DenseIntOrFPElementsAttr:
    values: Sequence[Any] = parser._parse_tensor_literal()[0]
    parser.parse_characters(">")
    parser.parse_punctuation(":")
    type: Any = parser.parse_type()
    return DenseIntOrFPElementsAttr.from_list(type, [v.value for v in values])


def _literal(parser: AttrParser) -> str:
    """The text of a number; xDSL's own reader forgets whether it was written in hexadecimal."""
    sign = "-" if parser.parse_optional_punctuation("-") else ""
    token = parser._current_token
    if token.kind not in (MLIRTokenKind.INTEGER_LIT, MLIRTokenKind.FLOAT_LIT):
        parser.raise_error("expected a number")
    parser._consume_token()
    return sign + token.text


def _from_literal(parser: AttrParser, text: str, type: Attribute) -> Scalar:
    if isinstance(type, IntegerType | IndexType):
        value = {"true": 1, "false": 0}.get(text)
        return IntegerAttr(int(text, 0) if value is None else value, type)
    if not isinstance(type, AnyFloat):
        parser.raise_error(f"expected the type of a number, got {type}")
    if "0x" not in text.lower():
        return FloatAttr(float(text), type)
    dtype = numpy_type(type)
    bits = struct.pack("<Q", int(text, 16))[: dtype.itemsize]
    return FloatAttr(float(np.frombuffer(bits, dtype)[0].astype(np.float64)), type)
