"""Block pointers and tensor descriptors: memory that is read and written by blocks of a larger tensor."""

from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from naiad.ir.attributes import OneOf, keyword
from naiad.ir.base import NaiadOp, integer
from naiad.ir.tt.memory import parse_words, print_properties, print_words, take_properties
from naiad.ir.types import PointerType, TensorDescType, pointer

__all__ = ["OPS", "AdvanceOp", "DescriptorGatherOp", "DescriptorLoadOp", "DescriptorReduceOp", "DescriptorScatterOp",
           "DescriptorStoreOp", "MakeTensorDescriptorOp", "MakeTensorPtrOp"]  # fmt: skip


def _parse_values(parser: Parser) -> list[Any]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)


def _print_values(printer: Printer, values: Any) -> None:
    with printer.in_square_brackets():
        printer.print_list(values, printer.print_ssa_value)


def _parse_short(parser: Parser, kind: type) -> Attribute:
    """A type without its name, `<tensor<8x8xf16>>`, or with it."""
    if (full := parser.parse_optional_type()) is not None:
        return full
    return kind.new(kind.parse_parameters(parser))


class Blocked(NaiadOp):
    """An op on a base and `PARTS` lists of as many integers as there are dimensions."""

    PARTS: ClassVar[int] = 0

    def part(self, n: int) -> tuple[SSAValue, ...]:
        """The values of list n."""
        rank = (len(self._operands) - 1) // self.PARTS
        return tuple(self._operands[1 + n * rank : 1 + (n + 1) * rank])

    @property
    def shape(self) -> tuple[SSAValue, ...]:
        """The sizes of the whole tensor."""
        return self.part(0)

    @property
    def strides(self) -> tuple[SSAValue, ...]:
        """The distance of neighbours in elements, per dimension."""
        return self.part(1)

    def print_base(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self._operands[0])
        for n in range(self.PARTS):
            printer.print_string(", ")
            _print_values(printer, self.part(n))

    @classmethod
    def parse_base(cls, parser: Parser) -> tuple[Any, list[list[Any]]]:
        base, parts = parser.parse_unresolved_operand(), []
        for _ in range(cls.PARTS):
            parser.parse_punctuation(",")
            parts.append(_parse_values(parser))
        return base, parts


@irdl_op_definition
class MakeTensorPtrOp(Blocked):
    """A block pointer: base, then shape (i64), strides (i64) and offsets (i32), a value per dimension each.

    `order`: the dimensions, fastest first.
    """

    name = "tt.make_tensor_ptr"
    base = operand_def(PointerType)
    values = var_operand_def()
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(PointerType)
    traits = traits_def(Pure())
    PARTS: ClassVar[int] = 3

    @property
    def offsets(self) -> tuple[SSAValue, ...]:
        return self.part(2)

    @classmethod
    def parse(cls, parser: Parser) -> "MakeTensorPtrOp":
        base, parts = cls.parse_base(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result = _parse_short(parser, PointerType)
        source = pointer(result.pointee.element_type, result.space.data)
        types = (integer(64), integer(64), integer(32))
        operands = [parser.resolve_operand(v, t) for part, t in zip(parts, types, strict=True) for v in part]
        return cls(parser.resolve_operand(base, source), *operands, results=[result],
                   order=attributes.pop("order"), attributes=attributes)  # fmt: skip

    def print(self, printer: Printer) -> None:
        self.print_base(printer)
        printer.print_op_attributes({"order": self.order, **self.attributes})
        printer.print_string(" : ")
        self.result.type.print_parameters(printer)


@irdl_op_definition
class AdvanceOp(NaiadOp):
    """A block pointer moved by `offsets` (i32, one per dimension), in elements."""

    name = "tt.advance"
    ptr = operand_def(PointerType)
    offsets = var_operand_def()
    result = result_def(PointerType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> "AdvanceOp":
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        values = _parse_values(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = _parse_short(parser, PointerType)
        operands = [parser.resolve_operand(v, i32) for v in values]
        return cls(parser.resolve_operand(ptr, type), *operands, results=[type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.ptr)
        printer.print_string(", ")
        _print_values(printer, self.offsets)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        self.result.type.print_parameters(printer)


@irdl_op_definition
class MakeTensorDescriptorOp(Blocked):
    """A descriptor: base, then shape (i32) and strides (i64), one per dimension; `padding`: what lies outside."""

    name = "tt.make_tensor_descriptor"
    base = operand_def(PointerType)
    values = var_operand_def()
    padding = opt_prop_def(OneOf("padding"))
    result = result_def(TensorDescType)
    traits = traits_def(Pure())
    PARTS: ClassVar[int] = 2

    @classmethod
    def parse(cls, parser: Parser) -> "MakeTensorDescriptorOp":
        base, parts = cls.parse_base(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = _parse_short(parser, PointerType)
        parser.parse_punctuation(",")
        result = _parse_short(parser, TensorDescType)
        types = (integer(32), integer(64))
        operands = [parser.resolve_operand(v, t) for part, t in zip(parts, types, strict=True) for v in part]
        properties = take_properties(cls, attributes, ("padding",))
        return cls(
            parser.resolve_operand(base, source), *operands, results=[result], attributes=attributes, **properties
        )

    def print(self, printer: Printer) -> None:
        self.print_base(printer)
        print_properties(self, printer, ("padding",))
        printer.print_string(" : ")
        self.base.type.print_parameters(printer)
        printer.print_string(", ")
        self.result.type.print_parameters(printer)


class Indexed(NaiadOp):
    """An op on a descriptor and a block of it: operands are desc, src where it writes, then the indices.

    Text: `%desc[%i, %j], %src`; the number of indices is what is left.
    """

    WRITES: ClassVar[bool] = False

    @property
    def desc(self) -> SSAValue:
        return self._operands[0]

    @property
    def src(self) -> SSAValue:
        return self._operands[1]

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        return tuple(self._operands[1 + self.WRITES :])

    @property
    def block(self) -> TensorType:
        """The type of the blocks that the descriptor describes."""
        return self.desc.type.block

    def print_place(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.desc)
        _print_values(printer, self.indices)
        if self.WRITES:
            printer.print_string(", ")
            printer.print_ssa_value(self.src)

    @classmethod
    def parse_place(cls, parser: Parser) -> list[Any]:
        values = [parser.parse_unresolved_operand(), *_parse_values(parser)]
        if cls.WRITES:
            parser.parse_punctuation(",")
            values.insert(1, parser.parse_unresolved_operand())
        return values

    def verify_(self) -> None:
        if len(self.indices) != len(self.block.get_shape()):
            raise VerifyException(f"{len(self.indices)} indices into blocks of {self.block}")

    def print_types(self, printer: Printer, between: str, types: list[Attribute]) -> None:
        printer.print_string(" : ")
        printer.print_attribute(self.desc.type)
        printer.print_string(between)
        printer.print_list(types, printer.print_attribute)


@irdl_op_definition
class DescriptorLoadOp(Indexed):
    """The block at `indices` (i32, one per dimension); what lies outside the tensor is the descriptor's padding."""

    name = "tt.descriptor_load"
    descriptor = operand_def(TensorDescType)
    places = var_operand_def()
    cache = opt_prop_def(OneOf("cache"))
    evict = opt_prop_def(OneOf("evict"))
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> "DescriptorLoadOp":
        desc, *indices = cls.parse_place(parser)
        words = parse_words(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_punctuation("->")
        operands = [parser.resolve_operand(desc, source), *(parser.resolve_operand(v, i32) for v in indices)]
        return cls(*operands, results=[parser.parse_type()], attributes=attributes, **words)

    def print(self, printer: Printer) -> None:
        self.print_place(printer)
        print_words(self, printer)
        printer.print_op_attributes(self.attributes)
        self.print_types(printer, " -> ", [self.result.type])


class DescriptorWrite(Indexed):
    """Writes or combines a block: `[add, ]%desc[%i, %j], %src`."""

    @classmethod
    def parse(cls, parser: Parser) -> "DescriptorWrite":
        words: dict[str, Attribute] = {}
        if cls.name == "tt.descriptor_reduce":
            words["kind"] = keyword(parser.parse_identifier())
            parser.parse_punctuation(",")
        desc, src, *indices = cls.parse_place(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_punctuation(",")
        block = parser.parse_type()
        operands = [parser.resolve_operand(desc, source), parser.resolve_operand(src, block)]
        return cls(*operands, *(parser.resolve_operand(v, i32) for v in indices), attributes=attributes, **words)

    def print(self, printer: Printer) -> None:
        if (kind := self.properties.get("kind")) is not None:
            printer.print_string(f" {kind.data},")
        self.print_place(printer)
        printer.print_op_attributes(self.attributes)
        self.print_types(printer, ", ", [self.src.type])


@irdl_op_definition
class DescriptorStoreOp(DescriptorWrite):
    """Writes the block `src` at `indices`; what lies outside the tensor is not written."""

    name = "tt.descriptor_store"
    descriptor = operand_def(TensorDescType)
    value = operand_def(TensorType)
    places = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    WRITES: ClassVar[bool] = True


@irdl_op_definition
class DescriptorReduceOp(DescriptorWrite):
    """Combines the block `src` into memory, each element atomically: add, min, max, umin, umax, and, or, xor, inc, dec.

    umin and umax (naiad's own) are for integers without a sign.
    """

    name = "tt.descriptor_reduce"
    kind = prop_def(OneOf("kind"))
    descriptor = operand_def(TensorDescType)
    value = operand_def(TensorType)
    places = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    WRITES: ClassVar[bool] = True


@irdl_op_definition
class DescriptorGatherOp(NaiadOp):
    """Rows `x_offsets` (a tensor of i32) from column `y_offset` (i32) on; the descriptor's blocks have one row."""

    name = "tt.descriptor_gather"
    desc = operand_def(TensorDescType)
    x_offsets = operand_def(TensorType)
    y_offset = operand_def()
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$desc `[` $x_offsets `,` $y_offset `]` attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class DescriptorScatterOp(NaiadOp):
    """Writes the rows of `src` to rows `x_offsets`, from column `y_offset` on."""

    name = "tt.descriptor_scatter"
    desc = operand_def(TensorDescType)
    x_offsets = operand_def(TensorType)
    y_offset = operand_def()
    src = operand_def(TensorType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = ("$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type($desc) `,` type($x_offsets) "
                       "`,` type($y_offset) `,` type($src)")  # fmt: skip


OPS = [MakeTensorPtrOp, AdvanceOp, MakeTensorDescriptorOp, DescriptorLoadOp, DescriptorStoreOp, DescriptorReduceOp,
       DescriptorGatherOp, DescriptorScatterOp]  # fmt: skip
