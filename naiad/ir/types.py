"""The types of the tile dialects that are not MLIR's own: `!tt.ptr<f32>` and `!tt.tensordesc<tensor<64x64xf16>>`."""

from functools import cache

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from naiad.ir.base import element, like

__all__ = ["PointerType", "TensorDescType", "pointee_of", "pointer"]


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """`!tt.ptr<f32>`; address space 1 is global memory and is not printed."""

    name = "tt.ptr"
    pointee: Attribute
    space: IntAttr

    def __init__(self, pointee: Attribute, space: int = 1):
        super().__init__(pointee, IntAttr(space))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            space = parser.parse_integer() if parser.parse_optional_punctuation(",") else 1
        return [pointee, IntAttr(space)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            if self.space.data != 1:
                printer.print_string(f", {self.space.data}")


@irdl_attr_definition
class TensorDescType(ParametrizedAttribute, TypeAttribute):
    """`!tt.tensordesc<tensor<64x64xf16>>`: a descriptor of memory that is read and written in such blocks."""

    name = "tt.tensordesc"
    block: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.block)


@cache
def pointer(pointee: Attribute, space: int = 1) -> PointerType:
    """The pointer type; one object for equal arguments."""
    return PointerType(pointee, space)


def pointee_of(ptr: Attribute) -> Attribute:
    """What a pointer, or each element of a tensor or vector of pointers, points at, in the same shape."""
    if not isinstance(scalar := element(ptr), PointerType):
        raise VerifyException(f"expected a pointer or a tensor of pointers, got {ptr}")
    return like(ptr, scalar.pointee)
