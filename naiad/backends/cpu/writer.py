"""The emitter of CPU code: the shared one, with the target and shorthands for vectors of any element."""

from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import SSAValue

from naiad.backends.cpu.kinds import Kind, kind_of
from naiad.backends.cpu.target import CpuTarget
from naiad.lowering.emitter import Emitter, Module, double_literal, float_literal, round_to_f32, splat
from naiad.lowering.rules import Rules

SMALL = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
         "f8E5M2": ml_dtypes.float8_e5m2, "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
         "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz}  # fmt: skip


class CpuEmitter(Emitter):
    """Writes one function for `target`. Operands of IR values are single strings."""

    def __init__(self, module: Module, target: CpuTarget) -> None:
        super().__init__(module)
        self.target = target
        self.frame: list[str] = []  # what the entry block starts with: stack slots
        self.fences = False  # whether streaming stores have to be fenced at the end
        self.prints = False  # whether stdout has to be flushed at the end
        self.tiles_set = False  # whether the shapes of the tile registers hold for the whole launch
        self.uses_tiles = False
        self.divisors: dict[Any, tuple[str, str]] = {}  # (block, kind, operand, signed) -> what dividing by it needs
        self.rules = Rules()  # what control flow lowers its regions with
        self.asserts: list[str] = []  # the module's messages
        self.grid: list[str] = []  # programs along x, y, z
        self.program: list[str] = []  # the program's place in the grid
        self.status, self.leave = "%status", "leave"  # the status word's address, the label where a run ends

    # -- operands

    def of(self, value: SSAValue) -> str:
        """The operand of an IR value."""
        return self.values[value]

    def all(self, values: Any) -> list[str]:
        return [self.values[v] for v in values]

    def slot(self, type: str, count: int = 1, align: int = 64) -> str:
        """Stack memory of the whole function for `count` values of an LLVM type."""
        self.number += 1
        name = f"%slot{self.number}"
        self.frame.append(f"  {name} = alloca [{count} x {type}], align {align}")
        return name

    # -- constants

    def number_of(self, value: int | float, kind: Kind) -> str:
        """`value` in every lane of `kind`."""
        return splat(scalar_literal(value, kind.element), kind.scalar, kind.lanes)

    # -- vectors

    def binary(self, op: str, kind: Kind, a: str, b: str) -> str:
        return self.op(f"{op} {kind.llvm} {a}, {b}")

    def compare(self, predicate: str, kind: Kind, a: str, b: str) -> str:
        """icmp or fcmp by the element of `kind`, which must be one that LLVM knows."""
        return self.op(f"{'fcmp' if kind.element in ('f32', 'f64') else 'icmp'} {predicate} {kind.llvm} {a}, {b}")

    def select(self, kind: Kind, condition: str, a: str, b: str) -> str:
        return self.op(f"select {kind.of('i1').llvm} {condition}, {kind.llvm} {a}, {kind.llvm} {b}")

    def cast(self, op: str, source: Kind, target: Kind, value: str) -> str:
        """An LLVM cast; nothing is written when the types are one."""
        if source.llvm == target.llvm:
            return value
        return self.op(f"{op} {source.llvm} {value} to {target.llvm}")

    def bits(self, source: Kind, target: Kind, value: str) -> str:
        return self.cast("bitcast", source, target, value)

    def gep(self, pointer: str, index: str, type: str = "i8") -> str:
        return self.op(f"getelementptr {type}, ptr {pointer}, i64 {index}")

    def load(self, type: str, pointer: str, align: int) -> str:
        return self.op(f"load {type}, ptr {pointer}, align {align}")

    def store(self, type: str, value: str, pointer: str, align: int) -> None:
        self.do(f"store {type} {value}, ptr {pointer}, align {align}")

    def extract(self, kind: Kind, value: str, lane: int | str) -> str:
        """One lane; the value itself if it is a scalar."""
        return self.op(f"extractelement {kind.llvm} {value}, i64 {lane}") if kind.lanes else value

    def insert(self, kind: Kind, vector: str, value: str, lane: int | str) -> str:
        return self.op(f"insertelement {kind.llvm} {vector}, {kind.scalar} {value}, i64 {lane}")

    def broadcast(self, kind: Kind, value: str) -> str:
        """The scalar `value` in every lane of `kind`."""
        if not kind.lanes:
            return value
        if value[0] not in "%@":  # a literal
            return splat(value, kind.scalar, kind.lanes)
        first = self.insert(kind, "poison", value, 0)
        return self.op(f"shufflevector {kind.llvm} {first}, {kind.llvm} poison, <{kind.lanes} x i32> zeroinitializer")

    def shuffle(self, kind: Kind, a: str, b: str, lanes: list[int]) -> str:
        """Lanes of `a` then `b`; -1 leaves a lane unspecified."""
        picked = ", ".join([f"i32 {i}" if i >= 0 else "i32 poison" for i in lanes])
        return self.op(f"shufflevector {kind.llvm} {a}, {kind.llvm} {b}, <{len(lanes)} x i32> <{picked}>")


def operand_kind(op: Any, number: int = 0) -> Kind:
    """The kind of an op's operand."""
    return kind_of(op.operands[number])


def result_kind(op: Any) -> Kind:
    return kind_of(op.results[0])


def small_float_bits(value: float, element: str) -> int:
    """The bits of a small float nearest to `value`, which is most often one already."""
    array = np.asarray(value, np.float64).astype(np.float32 if element != "f16" else np.float64).astype(SMALL[element])
    return int.from_bytes(array.tobytes(), "little")


def scalar_literal(value: int | float, element: str) -> str:
    """A number as LLVM reads it in the type that `element` has on a CPU."""
    if element == "f32":
        return float_literal(value)
    if element == "f64":
        return double_literal(value)
    if element == "i1":
        return "true" if value else "false"
    if element == "ptr":
        return "null" if not value else f"inttoptr (i64 {int(value)} to ptr)"
    if element[0] == "i":
        half = 1 << (int(element[1:]) - 1)
        return str((int(value) + half) % (2 * half) - half)
    return str(small_float_bits(float(value), element))


__all__ = ["CpuEmitter", "operand_kind", "result_kind", "round_to_f32", "scalar_literal"]
