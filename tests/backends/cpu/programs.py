"""ttcir modules built in Python and run: what the tests of the CPU lowering share."""

import ctypes
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IndexType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.builtin import Float8E4M3FNType as E4M3
from xdsl.dialects.builtin import Float8E4M3FNUZType as E4M3Z
from xdsl.dialects.builtin import Float8E5M2FNUZType as E5M2Z
from xdsl.dialects.builtin import Float8E5M2Type as E5M2
from xdsl.ir import Attribute, Block, Region, SSAValue

from naiad.backends.cpu.host import profile
from naiad.backends.cpu.loader import load
from naiad.backends.cpu.lower import lower
from naiad.backends.cpu.target import CpuTarget
from naiad.backends.cpu.toolchain import Machine, object_code
from naiad.ir.attributes import attribute
from naiad.ir.base import int_attr, vector
from naiad.ir.constants import constant
from naiad.ir.registry import OPS, make_op
from naiad.ir.tt.func import FuncOp
from naiad.ir.types import pointer

index = IndexType()
TYPES: dict[str, Attribute] = {
    "i1": i1, "i8": i8, "i16": i16, "i32": i32, "i64": i64, "f16": f16, "bf16": bf16, "f32": f32, "f64": f64,
    "f8E4M3FN": E4M3(), "f8E5M2": E5M2(), "f8E4M3FNUZ": E4M3Z(), "f8E5M2FNUZ": E5M2Z(),
    "index": index,
}  # fmt: skip
TARGETS = ("x86-64", "x86-64-v3", "x86-64-v4", "sapphirerapids", "aarch64")


def type_of(text: str | Attribute) -> Attribute:
    """The IR type of "f32", "16xf32", "*f32" or "16x*f32"."""
    if not isinstance(text, str):
        return text
    lanes, _, rest = text.partition("x") if text[0].isdigit() else ("", "", text)
    one = pointer(TYPES[rest[1:]]) if rest[0] == "*" else TYPES[rest]
    return vector(one, int(lanes)) if lanes else one


class Program:
    """A module of one kernel under construction; `p.args` are its arguments."""

    def __init__(self, *arguments: str, name: str = "kernel") -> None:
        self.entry = Block(arg_types=[type_of(a) for a in arguments])
        self.args = list(self.entry.args)
        self.blocks = [self.entry]
        self.name = name

    def op(self, name: str, *operands: SSAValue | None, type: Any = (), regions: Any = (), **properties: Any) -> Any:
        """Adds an op; its first result, a tuple of several, or None."""
        types = [type_of(t) for t in ((type,) if isinstance(type, str | Attribute) else type)]
        given = {k: attribute(OPS[name], k, v) for k, v in properties.items()}
        given = {k: v for k, v in given.items() if v is not None}
        present = [o for o in operands if o is not None]
        made = make_op(name, *present, results=types, regions=regions, **given)
        self.blocks[-1].add_op(made)
        results = tuple(made.results)
        return results[0] if len(results) == 1 else results or None

    def const(self, value: float, type: str) -> SSAValue:
        made = constant(value, type_of(type))
        self.blocks[-1].add_op(made)
        return made.results[0]

    def load(self, ptr: SSAValue, type: str, mask: Any = None, other: Any = None, **more: Any) -> SSAValue:
        sizes = segments(1, mask is not None, other is not None)
        return self.op("ttc.load", ptr, mask, other, type=type, operandSegmentSizes=sizes, **wide(more))

    def store(self, ptr: SSAValue, value: SSAValue, mask: Any = None, **more: Any) -> None:
        sizes = segments(1, 1, mask is not None)
        self.op("ttc.store", ptr, value, mask, operandSegmentSizes=sizes, **wide(more))

    def at(self, ptr: SSAValue, offset: Any) -> SSAValue:
        offset = self.const(offset, "i64") if isinstance(offset, int) else offset
        return self.op("tt.addptr", ptr, offset, type=ptr.type)

    def alloc(self, type: str, elements: int) -> SSAValue:
        return self.op("ttc.alloc", type="*" + type, elements=int_attr(elements, 64))

    @contextmanager
    def region(self, *types: str) -> Any:
        """A block that ops go to within the `with`."""
        block = Block(arg_types=[type_of(t) for t in types])
        self.blocks.append(block)
        yield block
        self.blocks.pop()

    def loop(self, low: Any, high: Any, step: Any, carried: Sequence[SSAValue], body: Any) -> Any:
        """scf.for over i64; body(i, *carried) gives the next carried values."""
        bounds = [self.const(x, "i64") if isinstance(x, int) else x for x in (low, high, step)]
        types = [v.type for v in carried]
        with self.region("i64", *types) as block:
            given = body(*block.args)
            self.op("scf.yield", *(given or ()))
        return self.op("scf.for", *bounds, *carried, type=types, regions=[Region(block)])

    def module(self) -> ModuleOp:
        self.op("tt.return")
        kind = FunctionType.from_lists([a.type for a in self.args], [])
        function = FuncOp(regions=[Region(self.entry)], sym_name=StringAttr(self.name), function_type=kind,
                          sym_visibility=StringAttr("public"))  # fmt: skip
        return ModuleOp([function])

    def text(self, target: CpuTarget) -> str:
        return lower(self.module(), target)


def segments(*present: int) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, [int(p) for p in present])


def wide(properties: dict[str, Any]) -> dict[str, Any]:
    return {k: int_attr(v, 64) if isinstance(v, int) and v is not True else v for k, v in properties.items()}


def host_machine() -> Machine:
    from naiad.backends.cpu.host import host

    return Machine.of(host())


def machine_of(name: str) -> Machine:
    return Machine.of(profile(name))


class Compiled:
    """A kernel that can be called with numpy arrays and numbers."""

    def __init__(
        self, module_or_text: ModuleOp | str, target: CpuTarget, machine: Machine, name: str = "kernel"
    ) -> None:
        self.text = module_or_text if isinstance(module_or_text, str) else lower(module_or_text, target)
        self.image = load(object_code(self.text, machine), [name])
        self.address = self.image.address(name)
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(self.address)

    def __call__(self, *arguments: Any, grid: tuple[int, ...] = (1,), begin: int = 0, end: int | None = None) -> int:
        """Runs the programs; gives the status word."""
        sizes = (*grid, 1, 1, 1)[:3]
        status = np.zeros(1, np.int64)
        slots = np.zeros(4 + len(arguments), np.int64)
        slots[:3], slots[3] = sizes, status.ctypes.data
        for n, argument in enumerate(arguments):
            data = argument.ctypes.data if isinstance(argument, np.ndarray) and argument.ndim else argument
            data = np.asarray(data)
            data = data.astype(np.int64) if data.dtype.kind == "i" else data
            slots.view(np.uint8)[8 * (4 + n) : 8 * (4 + n) + data.dtype.itemsize] = np.frombuffer(
                data.tobytes(), np.uint8
            )
        last = int(np.prod(sizes)) if end is None else end
        self.function(begin, last, slots.ctypes.data)
        return int(status[0])


def compiled(program: Program, cpu: str = "host") -> Compiled:
    """The program on this machine's CPU, or as an older CPU would run it."""
    if cpu == "host":
        return Compiled(program.module(), CpuTarget.host(), host_machine(), program.name)
    return Compiled(program.module(), CpuTarget.named(cpu), machine_of(cpu), program.name)


__all__ = ["TARGETS", "ArrayAttr", "Compiled", "Program", "UnitAttr", "compiled", "type_of"]
