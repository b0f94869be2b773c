"""Source lines in LLVM text: the metadata that says which line of the kernel an instruction comes from.

    e.locations = Locations(module, "kernel", function.location)
    module.define(..., attributes=f"nounwind !dbg {e.locations.scope}")

Rules need do nothing: `lower_operations` sets the line of each op before it is written. Lines only, no variables.
"""

from typing import Any, cast

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from naiad.lowering.emitter import Module

Place = tuple[str, int, int]
UNIT = "distinct !DICompileUnit(language: DW_LANG_C, file: {file}, producer: \"naiad\", isOptimized: true, " \
       "runtimeVersion: 0, emissionKind: {kind})"  # fmt: skip


class Locations:
    """The lines of one function. `scope` is its `!n`, for the define line."""

    def __init__(self, module: Module, name: str, location: Attribute, kind: str = "LineTablesOnly") -> None:
        self.module = module
        file, line, _ = place_of(location) or ("<unknown>", 1, 0)
        self.file = file
        self.files: dict[str, str] = {}
        self.known: dict[Place, str] = {}
        unit = module.node(UNIT.format(file=self.file_node(file), kind=kind))
        module.named_metadata.append(f"!llvm.dbg.cu = !{{{unit}}}")
        flag = module.node('!{i32 2, !"Debug Info Version", i32 3}')
        module.named_metadata.append(f"!llvm.module.flags = !{{{flag}}}")
        type = module.node("!DISubroutineType(types: !{null})")
        self.scope = module.node(
            f'distinct !DISubprogram(name: "{name}", linkageName: "{name}", scope: {self.file_node(file)}, '
            f"file: {self.file_node(file)}, line: {line}, type: {type}, scopeLine: {line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit})"
        )
        self.scopes = {file: self.scope}

    def file_node(self, path: str) -> str:
        if path not in self.files:
            folder, _, name = path.rpartition("/")
            escaped = [text.replace("\\", "\\5C").replace('"', "\\22") for text in (name, folder)]
            self.files[path] = self.module.node(f'!DIFile(filename: "{escaped[0]}", directory: "{escaped[1]}")')
        return self.files[path]

    def scope_in(self, path: str) -> str:
        """The function's scope for lines of another file: code that was inlined."""
        if path not in self.scopes:
            text = f"!DILexicalBlockFile(scope: {self.scope}, file: {self.file_node(path)}, discriminator: 0)"
            self.scopes[path] = self.module.node(text)
        return self.scopes[path]

    def suffix(self, location: Attribute | None) -> str:
        """What an instruction from `location` ends with; the function's own line where nothing is known."""
        return self.at(place_of(location) or (self.file, 0, 0))

    def at(self, place: Place) -> str:
        """What an instruction from a place ends with."""
        if place not in self.known:
            path, line, column = place
            node = self.module.node(f"!DILocation(line: {line}, column: {column}, scope: {self.scope_in(path)})")
            self.known[place] = f", !dbg {node}"
        return self.known[place]


def place_of(location: Attribute | None) -> Place | None:
    """(file, line, column) of a location; of inlined code the place where it stands, not where it is called."""
    if isinstance(location, FileLineColLoc):
        return location.filename.data, location.line.data, location.column.data
    if isinstance(location, CallSiteLoc):
        return place_of(location.callee)
    if isinstance(location, NameLoc):
        return place_of(location.location)
    if isinstance(location, FusedLoc):
        return next(filter(None, map(place_of, cast(Any, location.locations).data)), None)
    return None
