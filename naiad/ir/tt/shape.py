"""Ops that move elements and compute nothing: expand_dims, broadcast, reshape, trans, join, split, cat, gather."""

import math
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr, i32
from xdsl.irdl import (
    ParsePropInAttrDict,
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

from naiad.ir.base import NaiadOp, element, shape

__all__ = ["OPS", "BroadcastOp", "CatOp", "ExpandDimsOp", "GatherOp", "JoinOp", "ReshapeOp", "SplitOp", "TransOp"]


class Moves(NaiadOp):
    """An op whose result has the elements of its operand.

    `sizes` is the shape that the result must have, if one rule.
    """

    def sizes(self) -> tuple[int, ...] | None:
        return None

    def verify_(self) -> None:
        result = self.results[0].type
        if element(result) != element(self._operands[0].type):
            raise VerifyException(f"elements are {element(self._operands[0].type)}, of the result {element(result)}")
        if (wanted := self.sizes()) is not None and shape(result) != wanted:
            raise VerifyException(f"expected a result of shape {wanted}, got {shape(result)}")


@irdl_op_definition
class ExpandDimsOp(Moves):
    """A new dimension of size 1 at `axis`."""

    name = "tt.expand_dims"
    src = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(type=i32))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def sizes(self) -> tuple[int, ...]:
        sizes, axis = shape(self.src.type), self.axis.value.data
        return (*sizes[:axis], 1, *sizes[axis:])


@irdl_op_definition
class BroadcastOp(Moves):
    """Repeats along the dimensions of size 1; the rank stays."""

    name = "tt.broadcast"
    src = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def sizes(self) -> tuple[int, ...]:
        old, new = shape(self.src.type), shape(self.result.type)
        if len(old) != len(new):
            raise VerifyException(f"cannot broadcast shape {old} to {new}")
        return tuple(n if o == 1 else o for o, n in zip(old, new, strict=True))


@irdl_op_definition
class ReshapeOp(Moves):
    """The elements in row-major order under another shape; with `allow_reorder` in any order."""

    name = "tt.reshape"
    src = operand_def(TensorType)
    allow_reorder = opt_prop_def(UnitAttr)
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    WORDS: ClassVar = ("allow_reorder", "efficient_layout")

    @classmethod
    def parse(cls, parser: Parser) -> "ReshapeOp":
        value = parser.parse_unresolved_operand()
        words = {w: UnitAttr() for w in cls.WORDS if parser.parse_optional_keyword(w)}
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation("->")
        return cls(operand, results=[parser.parse_type()], attributes=attributes, **words)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.src)
        for word in self.WORDS:
            if word in self.properties:
                printer.print_string(f" {word}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        super().verify_()
        old, new = shape(self.src.type), shape(self.result.type)
        if math.prod(old) != math.prod(new):
            raise VerifyException(f"cannot reshape {old} to {new}: {math.prod(old)} and {math.prod(new)} elements")


@irdl_op_definition
class TransOp(Moves):
    """The dimensions in another order: dimension i of the result is dimension order[i] of `src`."""

    name = "tt.trans"
    src = operand_def(TensorType)
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def sizes(self) -> tuple[int, ...]:
        order, old = self.order.get_values(), shape(self.src.type)
        if sorted(order) != list(range(len(old))):
            raise VerifyException(f"order {list(order)} is no permutation of {len(old)} dimensions")
        return tuple(old[d] for d in order)


@irdl_op_definition
class JoinOp(Moves):
    """Two tensors along a new last dimension: result[..., 0] is lhs, result[..., 1] is rhs."""

    name = "tt.join"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def sizes(self) -> tuple[int, ...]:
        return (*shape(self.lhs.type), 2)

    @classmethod
    def parse(cls, parser: Parser) -> "JoinOp":
        values = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        values.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        parser.parse_punctuation("->")
        operands = [parser.resolve_operand(v, type) for v in values]
        return cls(*operands, results=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self._operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self._operands[0].type)
        printer.print_string(" -> ")
        printer.print_attribute(self.results[0].type)


@irdl_op_definition
class CatOp(Moves):
    """Two tensors end to end along the first dimension, whose elements may come in any order."""

    name = "tt.cat"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(NoMemoryEffect())

    def sizes(self) -> tuple[int, ...]:
        first, *rest = shape(self.lhs.type)
        return (first + shape(self.rhs.type)[0], *rest)

    @classmethod
    def parse(cls, parser: Parser) -> "CatOp":
        return JoinOp.parse.__func__(cls, parser)

    def print(self, printer: Printer) -> None:
        JoinOp.print(self, printer)


@irdl_op_definition
class SplitOp(NaiadOp):
    """The halves src[..., 0] and src[..., 1] of a tensor whose last dimension is 2."""

    name = "tt.split"
    src = operand_def(TensorType)
    lhs = result_def(TensorType)
    rhs = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> "SplitOp":
        value = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation("->")
        half = parser.parse_type()
        return cls(operand, results=[half, half], attributes=attributes)

    def print(self, printer: Printer) -> None:
        JoinOp.print(self, printer)

    def verify_(self) -> None:
        *rest, last = shape(self.src.type)
        if last != 2 or tuple(rest) != shape(self.lhs.type) or self.lhs.type != self.rhs.type:
            raise VerifyException(f"cannot split {self.src.type} into {self.lhs.type} and {self.rhs.type}")


@irdl_op_definition
class GatherOp(Moves):
    """result[..., i, ...] = src[..., indices[..., i, ...], ...] along `axis`; shape of the result as of `indices`."""

    name = "tt.gather"
    src = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(type=i32))
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)"

    def sizes(self) -> tuple[int, ...]:
        return shape(self.indices.type)


OPS = [ExpandDimsOp, BroadcastOp, ReshapeOp, TransOp, JoinOp, CatOp, SplitOp, GatherOp]
