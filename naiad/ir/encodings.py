"""Layouts as attributes of tensor and memory types: `#ttg.blocked<{sizePerThread = [4], ...}>`, as Triton writes them.

Every encoding is `Data` around a value of `naiad.layouts`: `type.encoding.data.linear(shape)`. `encoding(layout)`
gives the
attribute of a layout. Also the type of shared memory, `!ttg.memdesc<64x64xf16, #shared, #smem, mutable>`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, IntAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from naiad.layouts.distributed import Blocked, Distributed, DotOperand, Linear, Slice
from naiad.layouts.linear import Dims, LinearLayout
from naiad.layouts.mma import NvidiaMma
from naiad.layouts.shared import NvmmaShared, PaddedShared, Shared, SharedLinear, SwizzledShared

__all__ = ["ATTRIBUTES", "AsyncTokenType", "BlockedAttr", "DotOperandAttr", "LinearAttr", "MemDescType",
           "NvidiaMmaAttr", "NvmmaSharedAttr", "PaddedSharedAttr", "SharedLinearAttr", "SharedMemoryAttr",
           "SliceAttr", "SwizzledSharedAttr", "encoding", "layout_of", "linear_of", "memdesc"]  # fmt: skip

Fields = dict[str, Any]


def parse_fields(parser: AttrParser) -> Fields:
    """`{name = value, ...}`: lists as tuples, attributes as the layout they hold."""

    def entry() -> tuple[str, Any]:
        name = parser.parse_identifier()
        parser.parse_punctuation("=")
        return name, parse_value(parser)

    return dict(parser.parse_comma_separated_list(parser.Delimiter.BRACES, entry))


def parse_value(parser: AttrParser) -> Any:
    """An integer, a boolean, a nested list of integers as tuples, or the layout of an attribute."""
    if (flag := parser.parse_optional_boolean()) is not None:
        return flag
    if (number := parser.parse_optional_integer()) is not None:
        return number
    items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_value(parser))
    return tuple(items) if items is not None else parser.parse_attribute().data


def print_value(printer: Printer, value: Any) -> None:
    match value:
        case bool():
            printer.print_string(str(value).lower())
        case int():
            printer.print_string(str(value))
        case tuple():
            with printer.in_square_brackets():
                printer.print_list(value, lambda v: print_value(printer, v))
        case _:
            printer.print_attribute(encoding(value))


class LayoutText:
    """The text `<{name = value, ...}>` of a layout; an encoding says how its fields are named."""

    data: Any

    @classmethod
    def read(cls, fields: Fields) -> Any:
        raise NotImplementedError

    def fields(self) -> Fields:
        raise NotImplementedError

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            return cls.read(parse_fields(parser))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets(), printer.in_braces():
            printer.print_list(self.fields().items(), lambda item: print_field(printer, *item))


def print_field(printer: Printer, name: str, value: Any) -> None:
    printer.print_string(f"{name} = ")
    print_value(printer, value)


def with_cga(fields: Fields, cga: tuple) -> Fields:
    """The fields, and the CTAs' where there are several."""
    return {**fields, "CGALayout": cga} if cga else fields


@irdl_attr_definition
class BlockedAttr(LayoutText, Data[Blocked]):
    name = "ttg.blocked"

    @classmethod
    def read(cls, fields: Fields) -> Blocked:
        cga = fields.get("CGALayout", ())
        return Blocked(fields["sizePerThread"], fields["threadsPerWarp"], fields["warpsPerCTA"], fields["order"], cga)

    def fields(self) -> Fields:
        b = self.data
        return with_cga({"sizePerThread": b.size_per_thread, "threadsPerWarp": b.threads_per_warp,
                         "warpsPerCTA": b.warps_per_cta, "order": b.order}, b.cga)  # fmt: skip


@irdl_attr_definition
class SliceAttr(LayoutText, Data[Slice]):
    name = "ttg.slice"

    @classmethod
    def read(cls, fields: Fields) -> Slice:
        return Slice(fields["dim"], fields["parent"])

    def fields(self) -> Fields:
        return {"dim": self.data.dim, "parent": self.data.parent}


@irdl_attr_definition
class DotOperandAttr(LayoutText, Data[DotOperand]):
    name = "ttg.dot_op"

    @classmethod
    def read(cls, fields: Fields) -> DotOperand:
        return DotOperand(fields["opIdx"], fields["parent"], fields.get("kWidth", 0))

    def fields(self) -> Fields:
        d = self.data
        return {"opIdx": d.op_idx, "parent": d.parent, **({"kWidth": d.k_width} if d.k_width else {})}


@irdl_attr_definition
class NvidiaMmaAttr(LayoutText, Data[NvidiaMma]):
    name = "ttg.nvidia_mma"

    @classmethod
    def read(cls, fields: Fields) -> NvidiaMma:
        version = fields["versionMajor"], fields["versionMinor"]
        return NvidiaMma(version, fields["warpsPerCTA"], fields["instrShape"], fields.get("CGALayout", ()))

    def fields(self) -> Fields:
        m = self.data
        head = {"versionMajor": m.version[0], "versionMinor": m.version[1], "warpsPerCTA": m.warps_per_cta}
        return {**with_cga(head, m.cga), "instrShape": m.instr_shape}


@irdl_attr_definition
class LinearAttr(LayoutText, Data[Linear]):
    name = "ttg.linear"

    @classmethod
    def read(cls, fields: Fields) -> Linear:
        register, lane, warp, block = (fields.get(name, ()) for name in ("register", "lane", "warp", "block"))
        return Linear(register, lane, warp, block, rank_of(register, lane, warp, block))

    def fields(self) -> Fields:
        return {name: getattr(self.data, name) for name in ("register", "lane", "warp", "block")}


def rank_of(*bases: tuple) -> int:
    """The number of dimensions that the first basis vector has; 1 where there is none."""
    return next((len(step) for vectors in bases for step in vectors), 1)


@irdl_attr_definition
class SwizzledSharedAttr(LayoutText, Data[SwizzledShared]):
    name = "ttg.swizzled_shared"

    @classmethod
    def read(cls, fields: Fields) -> SwizzledShared:
        cga = fields.get("CGALayout", ())
        return SwizzledShared(fields["vec"], fields["perPhase"], fields["maxPhase"], fields["order"], cga)

    def fields(self) -> Fields:
        s = self.data
        phases = {"vec": s.vec, "perPhase": s.per_phase, "maxPhase": s.max_phase, "order": s.order}
        return with_cga(phases, s.cga)


@irdl_attr_definition
class NvmmaSharedAttr(LayoutText, Data[NvmmaShared]):
    name = "ttg.nvmma_shared"

    @classmethod
    def read(cls, fields: Fields) -> NvmmaShared:
        more = fields.get("fp4Padded", False), fields.get("CGALayout", ()), fields.get("rank", 2)
        return NvmmaShared(fields["swizzlingByteWidth"], fields["transposed"], fields["elementBitWidth"], *more)

    def fields(self) -> Fields:
        s = self.data
        head = {"swizzlingByteWidth": s.swizzle, "transposed": s.transposed, "elementBitWidth": s.element_bits}
        head |= {"fp4Padded": True} if s.fp4_padded else {}
        return with_cga(head | ({"rank": s.dims} if s.dims != 2 else {}), s.cga)


@irdl_attr_definition
class SharedLinearAttr(Data[SharedLinear]):
    name = "ttg.shared_linear"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SharedLinear:
        with parser.in_angle_brackets():
            fields = parse_fields(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("alignment")
            parser.parse_punctuation("=")
            return SharedLinear(fields["offset"], fields.get("block", ()), parser.parse_integer())

    def print_parameter(self, printer: Printer) -> None:
        s = self.data
        with printer.in_angle_brackets():
            with printer.in_braces():
                fields = {"offset": s.offset, **({"block": s.block} if s.block else {})}
                printer.print_list(fields.items(), lambda item: print_field(printer, *item))
            printer.print_string(f", alignment = {s.alignment}")


@irdl_attr_definition
class PaddedSharedAttr(Data[PaddedShared]):
    name = "ttg.padded_shared"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PaddedShared:
        def interval() -> tuple[int, int]:
            every = parser.parse_integer()
            parser.parse_punctuation(":")
            parser.parse_characters("+")
            return every, parser.parse_integer()

        with parser.in_angle_brackets():
            padding = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, interval)
            fields = parse_fields(parser)
        if "order" in fields:
            return PaddedShared.row_major(padding, fields["order"], fields["shape"])
        intervals, pads = zip(*padding, strict=True)
        return PaddedShared(intervals, pads, fields["offset"], fields.get("block", ()))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("[" + ", ".join(f"{every}:+{pad}" for every, pad in self.data.padding) + "] ")
            with printer.in_braces():
                fields = {"offset": self.data.offset, "block": self.data.block}
                printer.print_list(fields.items(), lambda item: print_field(printer, *item))


@irdl_attr_definition
class SharedMemoryAttr(ParametrizedAttribute):
    """`#ttg.shared_memory`: the memory space of shared memory."""

    name = "ttg.shared_memory"


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """`!ttg.async.token`: orders an asynchronous copy before the wait for it."""

    name = "ttg.async.token"


@irdl_attr_definition
class MemDescType(ParametrizedAttribute, TypeAttribute):
    """`!ttg.memdesc<64x64xf16, #shared, #smem, mutable>`: a tensor in shared memory, or a view of one.

    allocation: the shape of what the view is part of, if larger.
    """

    name = "ttg.memdesc"
    tensor: TensorType
    space: Attribute
    mutable: Attribute
    allocation: ArrayAttr

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.get_shape()

    @property
    def element_type(self) -> Attribute:
        return self.tensor.element_type

    @property
    def encoding(self) -> Attribute:
        return self.tensor.encoding

    @property
    def is_mutable(self) -> bool:
        return isinstance(self.mutable, UnitAttr)

    @property
    def allocation_shape(self) -> tuple[int, ...]:
        return tuple(size.data for size in self.allocation) or self.shape

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            sizes, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            layout = parser.parse_attribute()
            parser.parse_punctuation(",")
            space, mutable, allocation = parser.parse_attribute(), False, []
            while parser.parse_optional_punctuation(","):
                if parser.parse_optional_keyword("mutable"):
                    mutable = True
                else:
                    allocation = parser.parse_dimension_list()
        sizes_attr = ArrayAttr([IntAttr(s) for s in allocation])
        return [TensorType(element, sizes, layout), space, UnitAttr() if mutable else IntAttr(0), sizes_attr]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for size in self.shape:
                printer.print_string(f"{size}x")
            for part in (self.element_type, self.encoding, self.space):
                printer.print_string(", " if part is not self.element_type else "")
                printer.print_attribute(part)
            printer.print_string(", mutable" if self.is_mutable else "")
            if self.allocation.data:
                printer.print_string(", " + "x".join(str(s.data) for s in self.allocation))


ATTRIBUTES = [BlockedAttr, SliceAttr, DotOperandAttr, NvidiaMmaAttr, LinearAttr, SwizzledSharedAttr, NvmmaSharedAttr,
              SharedLinearAttr, PaddedSharedAttr, SharedMemoryAttr, AsyncTokenType, MemDescType]  # fmt: skip

_OF: dict[type, Callable[[Any], Attribute]] = {
    Blocked: BlockedAttr, Slice: SliceAttr, DotOperand: DotOperandAttr, NvidiaMma: NvidiaMmaAttr, Linear: LinearAttr,
    SwizzledShared: SwizzledSharedAttr, NvmmaShared: NvmmaSharedAttr, SharedLinear: SharedLinearAttr,
    PaddedShared: PaddedSharedAttr,
}  # fmt: skip


@cache
def encoding(layout: Distributed | Shared) -> Attribute:
    """The attribute of a layout; one object for equal layouts."""
    return _OF[type(layout)](layout)


def layout_of(type: Attribute) -> Any:
    """The layout of a tensor or memory type."""
    return type.encoding.data


@cache
def linear_of(type: Attribute) -> LinearLayout:
    """The linear layout of a tensor type with an encoding, without register bits that only repeat.

    The CTAs of a cluster count as warps: of one CTA that has the warps of all.
    """
    layout = type.encoding.data.linear(tuple(type.get_shape())).without_zeros("register")
    if not (ctas := layout.ins.width.get("block", 0)):
        return layout
    widths = {**layout.ins.width, "warp": layout.ins.width["warp"] + ctas, "block": 0}
    return LinearLayout(Dims(tuple(widths.items())), layout.outs, layout.columns)


@cache
def memdesc(element: Attribute, shape: tuple[int, ...], layout: Shared, mutable: bool = False,
            allocation: tuple[int, ...] = ()) -> MemDescType:  # fmt: skip
    """The type of shared memory; one object for equal arguments."""
    flag = UnitAttr() if mutable else IntAttr(0)
    sizes = ArrayAttr([IntAttr(s) for s in allocation])
    return MemDescType(TensorType(element, shape, encoding(layout)), SharedMemoryAttr(), flag, sizes)
