"""ttgir: tensors dealt to threads by layouts, and shared memory between them.

%s = ttg.local_alloc %x : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
%y = ttg.local_load %s : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #dot_a>
"""

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, TensorType, i1, i32
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from naiad.ir.attributes import OneOf, keyword
from naiad.ir.base import NaiadOp, element, like, segments, shape
from naiad.ir.encodings import ATTRIBUTES, AsyncTokenType, MemDescType
from naiad.ir.types import pointee_of

__all__ = ["TTG", "AsyncCommitGroupOp", "AsyncCopyOp", "AsyncWaitOp", "ConvertLayoutOp", "LocalAllocOp",
           "LocalDeallocOp", "LocalLoadOp", "LocalStoreOp", "MemDescIndexOp", "MemDescSubsliceOp", "MemDescTransOp",
           "async_copy"]  # fmt: skip

TOKEN = AsyncTokenType()


@irdl_op_definition
class ConvertLayoutOp(NaiadOp, HasFolderInterface):
    """The same tensor, dealt to threads another way. src, result: one shape and element type, any encodings."""

    name = "ttg.convert_layout"
    src = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def fold(self) -> tuple[SSAValue] | None:
        return (self.src,) if self.src.type == self.result.type else None

    def verify_(self) -> None:
        if shape(self.src.type) != shape(self.result.type):
            raise VerifyException(f"cannot convert {self.src.type} to {self.result.type}: the shapes differ")
        if element(self.src.type) != element(self.result.type):
            raise VerifyException(f"cannot convert {self.src.type} to {self.result.type}: the element types differ")


@irdl_op_definition
class LocalAllocOp(NaiadOp):
    """Shared memory for a tensor, holding `src` if given."""

    name = "ttg.local_alloc"
    src = opt_operand_def(TensorType)
    result = result_def(MemDescType)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> "LocalAllocOp":
        src = parser.parse_optional_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        operands = [parser.resolve_operand(src, type.inputs.data[0])] if src else []
        return cls(*operands, results=type.outputs.data, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.src is not None:
            printer.print_string(" ")
            printer.print_ssa_value(self.src)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)


@irdl_op_definition
class LocalDeallocOp(NaiadOp):
    """The end of the life of shared memory."""

    name = "ttg.local_dealloc"
    src = operand_def(MemDescType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$src attr-dict `:` type($src)"


@irdl_op_definition
class LocalLoadOp(NaiadOp):
    """Shared memory read into registers; `token` orders it after the copy that fills it."""

    name = "ttg.local_load"
    src = operand_def(MemDescType)
    token = opt_operand_def(AsyncTokenType)
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())

    @classmethod
    def parse(cls, parser: Parser) -> "LocalLoadOp":
        src = parser.parse_unresolved_operand()
        token = parse_keyed(parser, "token")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        src_type = parser.parse_type()
        parser.parse_punctuation("->")
        operands = [parser.resolve_operand(src, src_type), *resolve(parser, (token, TOKEN))]
        return cls(*operands, results=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.src)
        print_keyed(printer, "token", self.token)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


def parse_keyed(parser: Parser, word: str) -> UnresolvedOperand | None:
    """`word %operand`, if the word is there."""
    return parser.parse_unresolved_operand() if parser.parse_optional_keyword(word) else None


def resolve(parser: Parser, *pairs: tuple[UnresolvedOperand | None, Attribute]) -> list[SSAValue]:
    """The operands that are there, with their types."""
    return [parser.resolve_operand(operand, type) for operand, type in pairs if operand is not None]


def print_keyed(printer: Printer, word: str, value: SSAValue | None) -> None:
    if value is not None:
        printer.print_string(f" {word} ")
        printer.print_ssa_value(value)


@irdl_op_definition
class LocalStoreOp(NaiadOp):
    """Registers written to shared memory."""

    name = "ttg.local_store"
    src = operand_def(TensorType)
    dst = operand_def(MemDescType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$src `,` $dst attr-dict `:` type($src) `->` type($dst)"


@irdl_op_definition
class MemDescIndexOp(NaiadOp):
    """One of the tensors that lie behind each other along the first dimension."""

    name = "ttg.memdesc_index"
    src = operand_def(MemDescType)
    index = operand_def(i32)
    result = result_def(MemDescType)
    traits = traits_def(Pure())
    assembly_format = "$src `[` $index `]` attr-dict `:` type($src) `->` type($result)"


@irdl_op_definition
class MemDescSubsliceOp(NaiadOp):
    """A box of a tensor in shared memory, at constant `offsets`."""

    name = "ttg.memdesc_subslice"
    src = operand_def(MemDescType)
    offsets = prop_def(DenseArrayBase)
    result = result_def(MemDescType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> "MemDescSubsliceOp":
        src = parser.parse_unresolved_operand()
        offsets = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        src_type = parser.parse_type()
        parser.parse_punctuation("->")
        return cls(parser.resolve_operand(src, src_type), results=[parser.parse_type()], attributes=attributes,
                   offsets=DenseArrayBase.from_list(i32, offsets))  # fmt: skip

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.src)
        printer.print_string(str(list(self.offsets.get_values())))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class MemDescTransOp(NaiadOp):
    """The dimensions in another order; nothing moves."""

    name = "ttg.memdesc_trans"
    src = operand_def(MemDescType)
    order = prop_def(DenseArrayBase)
    result = result_def(MemDescType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"


@irdl_op_definition
class AsyncCopyOp(NaiadOp):
    """Copies from global to shared memory without waiting; lanes whose mask is false get `other`, or 0."""

    name = "ttg.async_copy_global_to_local"
    src = operand_def(TensorType)
    result_memory = operand_def(MemDescType)
    mask = opt_operand_def(TensorType)
    other = opt_operand_def(TensorType)
    cache = opt_prop_def(OneOf("cache"))
    evict = opt_prop_def(OneOf("evict"))
    isVolatile = opt_prop_def(BoolAttr)
    contiguity = opt_prop_def(IntegerAttr)
    token = result_def(AsyncTokenType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> "AsyncCopyOp":
        src = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        memory = parser.parse_unresolved_operand()
        mask, other = parse_keyed(parser, "mask"), parse_keyed(parser, "other")
        words = {}
        for word, name in (("cacheModifier", "cache"), ("evictionPolicy", "evict")):
            if parser.parse_optional_keyword(word):
                parser.parse_punctuation("=")
                words[name] = keyword(parser.parse_identifier())
        attributes = parser.parse_optional_attr_dict()
        properties = {n: attributes.pop(n) for n in ("contiguity", "isVolatile") if n in attributes}
        parser.parse_punctuation(":")
        src_type = parser.parse_type()
        parser.parse_punctuation("->")
        memory_type = MemDescType.new(MemDescType.parse_parameters(parser))
        pairs = (src, src_type), (memory, memory_type), (mask, like(src_type, i1)), (other, pointee_of(src_type))
        return cls(*resolve(parser, *pairs), results=[TOKEN], attributes=attributes, **words, **properties,
                   operandSegmentSizes=segments(1, 1, mask is not None, other is not None))  # fmt: skip

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.src, self.result_memory), printer.print_ssa_value)
        print_keyed(printer, "mask", self.mask)
        print_keyed(printer, "other", self.other)
        for word, name in (("cacheModifier", "cache"), ("evictionPolicy", "evict")):
            if name in self.properties:
                printer.print_string(f" {word} = {self.properties[name].data}")
        shown = {n: self.properties[n] for n in ("contiguity", "isVolatile") if n in self.properties}
        printer.print_op_attributes(shown | self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(" -> ")
        self.result_memory.type.print_parameters(printer)


def async_copy(src: SSAValue, memory: SSAValue, mask: SSAValue | None, other: SSAValue | None, contiguity: int,
               **properties: Attribute) -> AsyncCopyOp:  # fmt: skip
    """The copy, with its optional operands counted."""
    operands = [v for v in (src, memory, mask, other) if v is not None]
    return AsyncCopyOp(*operands, results=[TOKEN], contiguity=IntegerAttr(contiguity, i32), **properties,
                       operandSegmentSizes=segments(1, 1, mask is not None, other is not None))  # fmt: skip


@irdl_op_definition
class AsyncCommitGroupOp(NaiadOp):
    """Makes one group of the copies since the last one."""

    name = "ttg.async_commit_group"
    inputs = var_operand_def(AsyncTokenType)
    token = result_def(AsyncTokenType)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> "AsyncCommitGroupOp":
        found = []
        if parser.parse_optional_keyword("tokens"):
            found = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        return cls(*resolve(parser, *((f, TOKEN) for f in found)), results=[TOKEN], attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.inputs:
            printer.print_string(" tokens ")
            printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class AsyncWaitOp(NaiadOp):
    """Waits until at most `num` groups of this thread are under way."""

    name = "ttg.async_wait"
    inputs = var_operand_def(AsyncTokenType)
    num = prop_def(IntegerAttr)
    token = result_def(AsyncTokenType)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> "AsyncWaitOp":
        found = []
        if (first := parser.parse_optional_unresolved_operand()) is not None:
            found = [first]
            while parser.parse_optional_punctuation(","):
                found.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        num = attributes.pop("num")
        operands = resolve(parser, *((f, TOKEN) for f in found))
        return cls(*operands, results=[TOKEN], attributes=attributes, num=num)

    def print(self, printer: Printer) -> None:
        if self.inputs:
            printer.print_string(" ")
            printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_op_attributes({"num": self.num, **self.attributes})


TTG = Dialect("ttg", [ConvertLayoutOp, LocalAllocOp, LocalDeallocOp, LocalLoadOp, LocalStoreOp, MemDescIndexOp,
                      MemDescSubsliceOp, MemDescTransOp, AsyncCopyOp, AsyncCommitGroupOp, AsyncWaitOp],
              ATTRIBUTES)  # fmt: skip
