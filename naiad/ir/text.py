"""Text of the IR: reads what Triton 3.6 prints, prints what Triton 3.6 reads.

    module = parse(text)
    text = print_module(module, locations=True)

Locations and layouts are printed once each, as aliases (`#loc3`, `#blocked`), the way MLIR prints them.
"""

import re
from io import StringIO

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter

from naiad.ir.registry import context

__all__ = ["TextPrinter", "parse", "print_module", "print_op"]

KNOWN = (FileLineColLoc, CallSiteLoc, FusedLoc, NameLoc)
LOCATION_ALIAS = re.compile(r"^#loc\d* = .*\n?", re.M)


def parse(text: str) -> ModuleOp:
    """The module of an MLIR text. Raises xDSL's ParseError, with the place in the text, where it is not ttir.

    MLIR lets location aliases follow their uses, xDSL does not: they are moved to the top. Blocks that nothing branches
    to, which Triton leaves after a return, are dropped.
    """
    hoisted = "".join(line if line.endswith("\n") else line + "\n" for line in _in_order(LOCATION_ALIAS.findall(text)))
    module = Parser(context(), hoisted + LOCATION_ALIAS.sub("", text)).parse_module()
    for op in module.walk():
        for region in op.regions:
            if len(region.blocks) > 1:
                _drop_unreachable(op)
    return module


def _in_order(aliases: list[str]) -> list[str]:
    """Definitions of locations so that each comes after those it names."""
    by_name = {line.split(" = ", 1)[0]: line for line in aliases}
    done: dict[str, str] = {}

    def visit(name: str) -> None:
        if name not in done and name in by_name:
            for other in re.findall(r"#loc\d*", by_name[name].split(" = ", 1)[1]):
                visit(other)
            done[name] = by_name[name]

    for name in by_name:
        visit(name)
    return list(done.values())


def _drop_unreachable(op: Operation) -> None:
    for region in op.regions:
        reached: set[Block] = set()
        work = [region.blocks[0]] if region.blocks else []
        while work:
            block = work.pop()
            if block not in reached:
                reached.add(block)
                work += block.last_op.successors if block.last_op else []
        for block in reversed([b for b in region.blocks if b not in reached]):
            for inner in reversed(list(block.ops)):
                Rewriter.erase_op(inner)
            region.erase_block(block)


class TextPrinter(Printer):
    """Prints a module with aliases for layouts, and for locations where `locations` is set."""

    def __init__(self, stream: StringIO, locations: bool = False):
        super().__init__(stream, print_debuginfo=locations)
        self.layouts: dict[Attribute, str] = {}
        self.places: dict[Attribute, str] = {}

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, LocationAttr):
            self._print_location(attribute)
        elif (alias := self.layouts.get(attribute)) is not None:
            self.print_string(alias)
        else:
            super().print_attribute(attribute)

    def print_operation_type(self, op: Operation) -> None:
        """xDSL prints the location here, also in the middle of scf.while; ours stands at the end of the op."""
        self.print_function_type(op.operand_types, op.result_types)

    def print_op_with_default_format(self, op: Operation) -> None:
        super().print_op_with_default_format(op)
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(op.location)

    def _print_location(self, place: LocationAttr) -> None:
        if not isinstance(place, KNOWN):
            text = "unknown"
        else:
            text = self.place_alias(place)
        self.print_string(text if self.printing_location else f"loc({text})")

    def place_alias(self, place: Attribute) -> str:
        """The alias of a location; those it is made of get theirs first, so that definitions come before uses."""
        if (known := self.places.get(place)) is not None:
            return known
        for inner in _parts(place):
            if isinstance(inner, KNOWN):
                self.place_alias(inner)
        alias = self.places[place] = f"#loc{len(self.places) or ''}"
        return alias

    def definition(self, place: Attribute) -> str:
        """What stands after `#loc3 = `."""
        if isinstance(place, FileLineColLoc):
            return f'loc("{_escaped(place.filename.data)}":{place.line.data}:{place.column.data})'
        names = [self.places.get(p, "unknown") for p in _parts(place)]
        if isinstance(place, NameLoc):
            inner = "" if names[0] == "unknown" else f"({names[0]})"
            return f'loc("{_escaped(place.desc.data)}"{inner})'
        if isinstance(place, CallSiteLoc):
            return f"loc(callsite({names[0]} at {names[1]}))"
        return f"loc(fused[{', '.join(names)}])"

    def name_layouts(self, module: Operation) -> str:
        """Gives each encoding in the module an alias; the definitions as text."""
        counts: dict[str, int] = {}
        for op in module.walk():
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
                self._name_layout(value.type, counts)
        saved, self.layouts = self.layouts, {}
        lines = [f"{alias} = {layout}\n" for layout, alias in saved.items()]
        self.layouts = saved
        return "".join(lines)

    def _name_layout(self, type: Attribute, counts: dict[str, int]) -> None:
        layout = getattr(type, "encoding", None)
        if not isinstance(layout, Attribute) or isinstance(layout, NoneAttr) or layout in self.layouts:
            return
        stem = getattr(type_name := layout.name, "data", type_name).rsplit(".", 1)[-1].replace("_", "")
        if not stem.isidentifier() or stem in ("string", "integer"):
            return
        number = counts.get(stem, 0)
        counts[stem] = number + 1
        self.layouts[layout] = f"#{stem}{number or ''}"


def _parts(place: Attribute) -> list[Attribute]:
    """The locations that a location is made of, unknown ones included."""
    if isinstance(place, CallSiteLoc):
        return [place.callee, place.caller]
    if isinstance(place, FusedLoc):
        return list(place.locations.data)
    if isinstance(place, NameLoc):
        return [place.location]
    return []


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def print_module(module: ModuleOp, locations: bool = False) -> str:
    """The text of a module, as Triton's tools read it."""
    body = StringIO()
    printer = TextPrinter(body, locations)
    layouts = printer.name_layouts(module)
    printer.print_op(module)
    text = body.getvalue().removeprefix("builtin.")
    places = "".join(f"{alias} = {printer.definition(place)}\n" for place, alias in printer.places.items())
    return f"{layouts}{text}\n{places}"


def print_op(op: Operation) -> str:
    """The text of one op, its regions included, for messages."""
    out = StringIO()
    TextPrinter(out).print_op(op)
    return out.getvalue()
