"""Ops that read and write memory: load, store, atomics."""

from typing import Any, ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, i32
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
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from naiad.ir.attributes import ENUMERATIONS, OneOf, keyword
from naiad.ir.base import NaiadOp, OptionalOperands, bool_like, element
from naiad.ir.types import PointerType, pointee_of

__all__ = ["OPS", "AtomicCasOp", "AtomicRmwOp", "LoadOp", "StoreOp"]

PADDING = ENUMERATIONS["padding"]
WORDS = {"cacheModifier": "cache", "evictionPolicy": "evict"}


def parse_words(parser: Parser) -> dict[str, Attribute]:
    """`cacheModifier = cg evictionPolicy = evict_last`, in any order; what is the default is left out."""
    found: dict[str, Attribute] = {}
    while (word := next((w for w in WORDS if parser.parse_optional_keyword(w)), None)) is not None:
        parser.parse_punctuation("=")
        if (value := parser.parse_identifier()) not in ("none", "evict_normal"):
            found[WORDS[word]] = keyword(value)
    return found


def print_words(op: NaiadOp, printer: Printer) -> None:
    for word, name in WORDS.items():
        if (value := op.properties.get(name)) is not None:
            printer.print_string(f" {word} = {value.data}")


def take_properties(op: type[NaiadOp], attributes: dict[str, Attribute], names: tuple[str, ...]) -> dict[str, Any]:
    """Moves `names` out of an attribute dictionary; padding is a number in the text and a word here."""
    found = {name: attributes.pop(name) for name in names if name in attributes}
    if isinstance(padding := found.get("padding"), IntegerAttr):
        found["padding"] = keyword(PADDING[padding.value.data - 1])
    if (volatile := found.get("isVolatile")) is not None and not volatile.value.data:
        del found["isVolatile"]
    return found


def print_properties(op: NaiadOp, printer: Printer, names: tuple[str, ...]) -> None:
    """The attribute dictionary, sorted, with some of the properties in it."""
    shown = {name: op.properties[name] for name in names if name in op.properties}
    if "padding" in shown:
        shown["padding"] = IntegerAttr(PADDING.index(shown["padding"].data) + 1, i32)
    shown |= op.attributes
    printer.print_op_attributes(dict(sorted(shown.items())))


def check_access(ptr: Attribute, value: Attribute | None, mask: Attribute | None) -> None:
    """Raises VerifyException unless value and mask have the types that the pointer asks for."""
    wanted = pointee_of(ptr)
    if value is not None and value != wanted:
        raise VerifyException(f"pointer {ptr} holds {wanted}, the value has type {value}")
    if mask is not None and mask != bool_like(wanted):
        raise VerifyException(f"expected a mask of type {bool_like(wanted)}, got {mask}")


@irdl_op_definition
class LoadOp(OptionalOperands):
    """Reads the elements that `ptr` points at; lanes whose `mask` is false give `other`, or an unspecified value.

    ptr: a pointer, a tensor of pointers, or a block pointer (`!tt.ptr<tensor<...>>`), for which `boundaryCheck` names
    the dimensions that may run over and `padding` what is there. mask: i1. other, result: the pointee. Shapes all
    alike.
    """

    name = "tt.load"
    ptr = operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    boundaryCheck = opt_prop_def(DenseArrayBase.constr(i32))
    padding = opt_prop_def(OneOf("padding"))
    cache = opt_prop_def(OneOf("cache"))
    evict = opt_prop_def(OneOf("evict"))
    isVolatile = opt_prop_def(BoolAttr)
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SLOTS: ClassVar[int] = 3
    IN_DICT: ClassVar = ("boundaryCheck", "isVolatile", "padding")

    @classmethod
    def parse(cls, parser: Parser) -> "LoadOp":
        values = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(","):
            values.append(parser.parse_unresolved_operand())
        words = parse_words(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        ptr = parser.parse_type()
        value = pointee_of(ptr)
        types = (ptr, bool_like(value), value)
        operands = [parser.resolve_operand(v, t) for v, t in zip(values, types, strict=False)]
        words |= take_properties(cls, attributes, cls.IN_DICT)
        return cls(*operands, results=[value], attributes=attributes, **words)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self._operands, printer.print_ssa_value)
        print_words(self, printer)
        print_properties(self, printer, self.IN_DICT)
        printer.print_string(" : ")
        printer.print_attribute(self._operands[0].type)

    def verify_(self) -> None:
        check_access(self.ptr.type, self.result.type, self.mask and self.mask.type)
        if self.other is not None and self.other.type != self.result.type:
            raise VerifyException(f"other has type {self.other.type}, the result {self.result.type}")


@irdl_op_definition
class StoreOp(OptionalOperands):
    """Writes `value` where `ptr` points; lanes whose `mask` is false touch no memory. Types as in `tt.load`."""

    name = "tt.store"
    ptr = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    boundaryCheck = opt_prop_def(DenseArrayBase.constr(i32))
    cache = opt_prop_def(OneOf("cache"))
    evict = opt_prop_def(OneOf("evict"))
    traits = traits_def(MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SLOTS: ClassVar[int] = 3
    IN_DICT: ClassVar = ("boundaryCheck",)

    @classmethod
    def parse(cls, parser: Parser) -> "StoreOp":
        values = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(","):
            values.append(parser.parse_unresolved_operand())
        words = parse_words(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        ptr = parser.parse_type()
        value = pointee_of(ptr)
        types = (ptr, value, bool_like(value))
        operands = [parser.resolve_operand(v, t) for v, t in zip(values, types, strict=False)]
        words |= take_properties(cls, attributes, cls.IN_DICT)
        return cls(*operands, attributes=attributes, **words)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self._operands, printer.print_ssa_value)
        print_words(self, printer)
        print_properties(self, printer, self.IN_DICT)
        printer.print_string(" : ")
        printer.print_attribute(self._operands[0].type)

    def verify_(self) -> None:
        check_access(self.ptr.type, self.value.type, self.mask and self.mask.type)


class Atomic(NaiadOp):
    """What the two atomics share: words first, then operands, then a function type."""

    WORDS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def parse(cls, parser: Parser) -> "Atomic":
        words: dict[str, Any] = {}
        for name in cls.WORDS:
            words[name] = keyword(parser.parse_identifier())
            parser.parse_punctuation(",")
        values = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(","):
            values.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = parser.resolve_operands(values, type.inputs.data, parser.pos)
        return cls(*operands, results=type.outputs.data, attributes=attributes, **words)

    def print(self, printer: Printer) -> None:
        words = ", ".join(self.properties[name].data for name in self.WORDS)
        printer.print_string(f" {words}, ")
        printer.print_list(self._operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)


@irdl_op_definition
class AtomicRmwOp(Atomic, OptionalOperands):
    """Reads, combines with `val` and writes, as one step; gives what was there. `mask`: lanes that take part."""

    name = "tt.atomic_rmw"
    atomic_rmw_op = prop_def(OneOf("atomic_rmw_op"))
    sem = prop_def(OneOf("sem"))
    scope = prop_def(OneOf("scope"))
    ptr = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    result = result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SLOTS: ClassVar[int] = 3
    WORDS: ClassVar = ("atomic_rmw_op", "sem", "scope")

    def verify_(self) -> None:
        check_access(self.ptr.type, self.val.type, self.mask and self.mask.type)


@irdl_op_definition
class AtomicCasOp(Atomic):
    """Writes `val` where `cmp` is found, compared as bits; gives what was there."""

    name = "tt.atomic_cas"
    sem = prop_def(OneOf("sem"))
    scope = prop_def(OneOf("scope"))
    ptr = operand_def()
    cmp = operand_def()
    val = operand_def()
    result = result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    WORDS: ClassVar = ("sem", "scope")

    def verify_(self) -> None:
        check_access(self.ptr.type, self.val.type, None)
        if self.cmp.type != self.val.type:
            raise VerifyException(f"compares with {self.cmp.type} and stores {self.val.type}")


def is_block_pointer(type: Attribute) -> bool:
    """Whether a type is `!tt.ptr<tensor<...>>`."""
    return isinstance(type, PointerType) and element(type.pointee) is not type.pointee


OPS = [LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp]
