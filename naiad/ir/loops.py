"""Attributes of loops that LLVM's dialect owns and Triton's text carries: kept as text, for a round trip."""

from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRTokenKind

__all__ = ["ATTRIBUTES", "LoopAnnotationAttr", "LoopLicmAttr", "forbids_licm", "no_licm"]


class RawText(Data[str]):
    """An attribute whose body, between angle brackets, is kept as it is written."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        parser.parse_characters("<")
        pieces, depth = [], 1
        while True:
            token = parser._current_token
            if token.kind is MLIRTokenKind.EOF:
                parser.raise_error("unbalanced <")
            depth += (token.text == "<") - (token.text == ">")
            if not depth:
                break
            pieces.append(_expanded(parser, token.text))
            parser._consume_token()
        parser.parse_characters(">")
        return " ".join(pieces)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


def _expanded(parser: AttrParser, text: str) -> str:
    """An alias of another such attribute, written out."""
    alias = parser.attribute_aliases.get(text) if text.startswith("#") else None
    return f"< {alias.data} >" if isinstance(alias, RawText) else text


@irdl_attr_definition
class LoopAnnotationAttr(RawText):
    name = "llvm.loop_annotation"


@irdl_attr_definition
class LoopLicmAttr(RawText):
    name = "llvm.loop_licm"


ATTRIBUTES = [LoopAnnotationAttr, LoopLicmAttr]
LICM = "llvm.loop_annotation"


def no_licm() -> dict[str, Attribute]:
    """The attributes of a loop that `tl.range(disable_licm=True)` makes."""
    return {LICM: LoopAnnotationAttr("licm = <disable = true, versioningDisable = true>")}


def forbids_licm(loop: Operation) -> bool:
    """Whether a loop says that nothing may be hoisted out of it."""
    annotation = loop.attributes.get(LICM)
    return isinstance(annotation, LoopAnnotationAttr) and "licm" in annotation.data
