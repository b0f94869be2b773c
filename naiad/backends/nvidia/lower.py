"""ttgir -> LLVM text for NVPTX: which rules there are, and the frame of a kernel around them."""

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import CallSiteLoc, ModuleOp, NameLoc
from xdsl.ir import Attribute

from naiad.analysis.allocate import allocate
from naiad.analysis.axis import AxisInfo
from naiad.analysis.barriers import insert_barriers
from naiad.backends.nvidia import complements, copies, products, quotients, wgmma
from naiad.backends.nvidia.target import Nvidia
from naiad.ir.tt.func import FuncOp
from naiad.lowering import (
    casts,
    control,
    convert,
    debug,
    dot,
    elementwise,
    integers,
    make,
    memory,
    reduce,
    scan,
    shape,
    shared,
    sort,
)
from naiad.lowering.emitter import Module
from naiad.lowering.locations import Locations, Place, place_of
from naiad.lowering.rules import Rules, lower_block
from naiad.lowering.threads import Threads, llvm_type

__all__ = ["RULES", "Lowered", "lower_module"]

TRIPLE = "nvptx64-nvidia-cuda"


RULES = Rules.of(elementwise.rules, integers.rules, casts.rules, make.rules, convert.rules, shape.rules,
                 memory.rules, shared.rules, dot.rules, debug.rules, sort.rules, control.rules, reduce.rules,
                 scan.rules, copies.rules, products.rules, quotients.rules, complements.rules,
                 wgmma.rules)  # fmt: skip


@dataclass(frozen=True)
class Lowered:
    """A kernel as LLVM text, its name, the bytes of shared memory that it needs, files of the functions it calls."""

    text: str
    name: str
    shared: int
    libraries: tuple[str, ...]


def lower_module(module: ModuleOp, target: Nvidia, warps: int, options: Any = None) -> Lowered:
    """The LLVM text of the one kernel of a module; allocates its shared memory and inserts its barriers."""
    function = kernel_of(module)
    allocation = allocate(function)
    insert_barriers(function, allocation)
    out, ctas = Module(), ctas_of(module)
    e = Threads(out, target, warps * ctas, AxisInfo.of(function), allocation.offsets, options, ctas)
    parameters = bind_arguments(function, e)
    e.table = RULES
    name = function.sym_name.data
    if shown(function.location) is not None:
        e.locations = Lines(out, name, function.location)
    lower_block(function.body.blocks[0], e, RULES)
    if ctas > 1 and allocation.total:  # the memory of a CTA is there from its start to its end
        e.at_start(partial(meet, e))
        meet(e)
    e.lines[:0] = e.prologue
    scope = f" !dbg {e.locations.scope}" if e.locations is not None else ""
    out.define("void", name, parameters, e, "ret void", "ptx_kernel", attributes(warps, options) + scope)
    shared_global = "@shared = external addrspace(3) global [0 x i8], align 1024"
    return Lowered(f'target triple = "{TRIPLE}"\n{shared_global}\n{out.text()}', name, allocation.total,
                   libraries_of(module))  # fmt: skip


def libraries_of(module: ModuleOp) -> tuple[str, ...]:
    """The files of bitcode that calls of foreign functions name."""
    calls = [op for op in module.walk() if op.name == "tt.extern_elementwise"]
    return tuple(dict.fromkeys(path for op in calls if (path := op.properties["libpath"].data)))


def meet(e: Threads) -> str:
    """All threads of the program wait for each other."""
    e.target.barrier(e)
    return ""


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


class Lines(Locations):
    """Line tables as `.loc` in the PTX, so that tools name the line of the kernel.

    Of functions that the kernel calls it is their line; of the library's, the line that calls them.
    """

    def __init__(self, module: Module, name: str, location: Attribute) -> None:
        super().__init__(module, name, location, "DebugDirectivesOnly")
        self.last = ""

    def suffix(self, location: Attribute | None) -> str:
        """What has no place of its own keeps the last one."""
        place = shown(location)
        if place is not None:
            self.last = self.at(place)
        return self.last


LIBRARY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def shown(location: Attribute | None) -> Place | None:
    """The innermost place that is not in the library."""
    while isinstance(location, NameLoc):
        location = location.location
    if isinstance(location, CallSiteLoc):
        return shown(location.callee) or shown(location.caller)
    place = place_of(location)
    return None if place is None or place[0].startswith(LIBRARY) else place
