"""ttgir -> LLVM text for NVPTX: which rules there are, and the frame of a kernel around them."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.ir import Attribute, Operation

from naiad.analysis.allocate import allocate
from naiad.analysis.axis import AxisInfo
from naiad.analysis.barriers import insert_barriers
from naiad.backends.nvidia import copies, products, wgmma
from naiad.backends.nvidia.target import Nvidia
from naiad.ir.tt.func import FuncOp
from naiad.lowering import (
    casts,
    control,
    convert,
    debug,
    dot,
    elementwise,
    make,
    memory,
    reduce,
    scan,
    shape,
    shared,
    sort,
)
from naiad.lowering.emitter import Module
from naiad.lowering.rules import Rule, Rules, lower_block
from naiad.lowering.threads import Threads, llvm_type

__all__ = ["RULES", "Lowered", "lower_module"]

TRIPLE = "nvptx64-nvidia-cuda"


class Kernel(Threads):
    """The emitter of a kernel with its line table."""

    lines_of: "Lines"


def located(rule: Rule) -> Rule:
    """The rule, after the place of its op is noted for the line table."""

    def write(op: Operation, e: Kernel) -> Any:
        e.lines_of.at(op.location)
        return rule(op, e)

    return write


PLAIN = Rules.of(elementwise.rules, casts.rules, make.rules, convert.rules, shape.rules, memory.rules, shared.rules,
                 dot.rules, debug.rules, sort.rules, control.rules, reduce.rules, scan.rules,
                 copies.rules, products.rules, wgmma.rules)  # fmt: skip
RULES = Rules({name: located(rule) for name, rule in PLAIN.items()})


@dataclass(frozen=True)
class Lowered:
    """A kernel as LLVM text, its name, and the bytes of shared memory that it needs."""

    text: str
    name: str
    shared: int


def lower_module(module: ModuleOp, target: Nvidia, warps: int, options: Any = None) -> Lowered:
    """The LLVM text of the one kernel of a module; allocates its shared memory and inserts its barriers."""
    function = kernel_of(module)
    allocation = allocate(function)
    insert_barriers(function, allocation)
    out, ctas = Module(), ctas_of(module)
    e = Kernel(out, target, warps * ctas, AxisInfo.of(function), allocation.offsets, options, ctas)
    parameters = bind_arguments(function, e)
    e.table = RULES
    e.lines_of = lines = Lines(out, e, function)
    lower_block(function.body.blocks[0], e, RULES)
    if ctas > 1 and allocation.total:  # the memory of a CTA is there from its start to its end
        e.at_start(lambda: e.target.barrier(e) or "")
        e.target.barrier(e)
    e.lines[:0] = e.prologue
    name = function.sym_name.data
    out.define("void", name, parameters, e, "ret void", "ptx_kernel", attributes(warps, options) + lines.scope)
    shared_global = "@shared = external addrspace(3) global [0 x i8], align 1024"
    return Lowered(f'target triple = "{TRIPLE}"\n{shared_global}\n{out.text()}', name, allocation.total)


def ctas_of(module: ModuleOp) -> int:
    """The CTAs of a cluster, as the module says."""
    found = module.attributes.get("ttg.num-ctas")
    return 1 if found is None else found.value.data


def kernel_of(module: ModuleOp) -> FuncOp:
    """The public function of a module. Raises ValueError if there is not exactly one."""
    kernels = [op for op in module.ops if isinstance(op, FuncOp) and op.is_public]
    if len(kernels) != 1:
        raise ValueError(f"a module must have one kernel, got {len(kernels)}")
    return kernels[0]


def attributes(warps: int, options: Any) -> str:
    """Threads of a CTA, and the most registers a thread may take, if that is limited."""
    text = f'nounwind "nvvm.reqntid"="{32 * warps}"'
    if maximum := getattr(options, "maxnreg", None):
        text += f' "nvvm.maxnreg"="{maximum}"'
    return text


def bind_arguments(function: FuncOp, e: Threads) -> list[str]:
    """Names the kernel's arguments; pointers are known to be aligned as their divisibility says. i1 is passed as a
    byte.
    """
    parameters = []
    given = function.arg_attrs.data if function.arg_attrs is not None else ()
    for n, argument in enumerate(function.body.blocks[0].args):
        kind, name = llvm_type(argument.type), f"%arg{n}"
        e.values[argument] = name
        if kind == "i1":
            e.values[argument] = e.at_start(partial(e.op, f"icmp ne i8 {name}, 0"))
            kind = "i8"
        parameters.append(f"{kind} {alignment(kind, given[n].data if given else {})}{name}")
    return parameters


def alignment(kind: str, known: dict[str, Attribute]) -> str:
    divisibility = known.get("tt.divisibility")
    if not kind.startswith("ptr") or divisibility is None:
        return ""
    return f"align {divisibility.value.data} "


class Lines:
    """Line tables: the place of the op being written becomes `.loc`, so that tools name the line of the kernel."""

    def __init__(self, module: Module, e: Threads, function: FuncOp):
        self.module, self.e = module, e
        self.scope = ""
        self.known: dict[tuple[int, int], str] = {}
        place = plain(function.location)
        if place is None:
            return
        path, line, _ = place
        folder, _, base = path.rpartition("/")
        file = module.node(f'!DIFile(filename: "{base}", directory: "{folder}")')
        unit = module.node(f'distinct !DICompileUnit(language: DW_LANG_C, file: {file}, producer: "naiad", '
                           "isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)")  # fmt: skip
        kind = module.node("!DISubroutineType(types: !{})")
        name = function.sym_name.data
        self.subprogram = module.node(
            f'distinct !DISubprogram(name: "{name}", linkageName: "{name}", scope: {file}, file: {file}, line: {line}, '
            f"type: {kind}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit})")  # fmt: skip
        version = module.node('!{i32 2, !"Debug Info Version", i32 3}')
        module.named_metadata += [f"!llvm.dbg.cu = !{{{unit}}}", f"!llvm.module.flags = !{{{version}}}"]
        self.path, self.scope = path, f" !dbg {self.subprogram}"

    def at(self, location: LocationAttr) -> None:
        """Sets the place of what is written next; places in other files (of the library) keep the last one."""
        place = plain(location)
        if not self.scope or place is None or place[0] != self.path:
            return
        key = place[1:]
        if key not in self.known:
            text = f"!DILocation(line: {key[0]}, column: {key[1]}, scope: {self.subprogram})"
            self.known[key] = self.module.node(text)
        self.e.suffix = f", !dbg {self.known[key]}"


def plain(location: Attribute) -> tuple[str, int, int] | None:
    """(file, line, column) of a location, if it has one."""
    while isinstance(location, NameLoc):
        location = location.location
    if hasattr(location, "caller"):
        return plain(location.caller)
    if isinstance(location, FileLineColLoc):
        return location.filename.data, location.line.data, location.column.data
    return None
