"""The emitter of GPU kernels: what one thread does. A tile is the list of operands that this thread holds of it.

The CTAs of a cluster work as one: a thread's number, and `warps`, count through all of them. Ops that move data between
threads do it in memory that all of them reach, `common`, which is the shared memory of the first CTA.

Values of the IR are bound to: a string (scalars), a list of strings in the register order of the layout (tiles), a
`Memory` (shared memory), an empty list (tokens).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from naiad.analysis.axis import AxisInfo
from naiad.errors import explain
from naiad.ir.base import bits, element
from naiad.ir.encodings import AsyncTokenType, MemDescType, linear_of
from naiad.ir.types import PointerType
from naiad.layouts import gf2
from naiad.layouts.linear import LinearLayout
from naiad.lowering.emitter import Emitter, Module
from naiad.lowering.rules import Rules
from naiad.lowering.target import GpuTarget

__all__ = ["SHARED", "Memory", "Threads", "llvm_type", "scalar_type"]

SHARED = "ptr addrspace(3)"
CLUSTER = "ptr addrspace(7)"
GLOBAL = "ptr addrspace(1)"
FLOATS = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}


@dataclass(frozen=True)
class Memory:
    """Shared memory: where it starts, and what to xor to the element offset of a place in it (constant views)."""

    base: str
    flip: int = 0


@cache
def llvm_type(type: Attribute) -> str:
    """The LLVM type of a scalar of the IR, or of a tile's element; small floats are held as their bits."""
    scalar = element(type)
    if isinstance(scalar, PointerType):
        return GLOBAL if scalar.space.data == 1 else f"ptr addrspace({scalar.space.data})"
    return FLOATS.get(scalar.name) or f"i{bits(scalar)}"


def scalar_type(value: SSAValue) -> str:
    return llvm_type(value.type)


def width(type: str) -> int:
    """The bits of an LLVM type."""
    return {"half": 16, "bfloat": 16, "float": 32, "double": 64}.get(type) or (64 if type[0] == "p" else int(type[1:]))


class Threads(Emitter):
    """Writes a function. `hoisted` code depends on the thread only and stands at the function's start."""

    def __init__(self, module: Module, target: GpuTarget, warps: int, axis: AxisInfo, offsets: dict[Operation, int],
                 options: Any = None, ctas: int = 1):  # fmt: skip
        super().__init__(module)
        self.target, self.warps, self.axis, self.offsets, self.options = target, warps, axis, offsets, options
        self.ctas = ctas
        self.table = Rules()  # what bodies of loops and reductions are lowered with
        self.known: dict[str, str] = {}
        self.products: dict[tuple[str, str, str], tuple[str, str]] = {}
        """(block, a, b) -> the lower and the upper half of their product, where a target makes both at once."""
        self.prologue: list[str] = []
        self.tid = self.at_start(lambda: target.thread_id(self))

    @property
    def thread_bits(self) -> int:
        return (self.target.warp_size * self.warps).bit_length() - 1

    @property
    def lane_bits(self) -> int:
        return self.target.warp_size.bit_length() - 1

    # -- code at the start of the function

    def at_start(self, write: Callable[[], str]) -> str:
        """Runs `write` with its output going to the function's start, after what stands there already."""
        lines, self.lines = self.lines, self.prologue
        suffix, self.suffix = self.suffix, ""
        made = write()
        self.lines, self.suffix = lines, suffix
        return made

    def hoisted(self, text: str) -> str:
        """An instruction on hoisted values, written once at the function's start."""
        if (known := self.known.get(text)) is None:
            known = self.known[text] = self.at_start(lambda: self.op(text))
        return known

    def of_thread(self, columns: gf2.Matrix) -> str:
        """The xor of `columns` picked by the bits of the thread's number, as i32: a linear function of the thread."""
        groups: dict[int, int] = {}
        for i, column in enumerate(columns):
            for j in range(column.bit_length()):
                if column >> j & 1:
                    groups[j - i] = groups.get(j - i, 0) | 1 << i
        total = "0"
        for shift, mask in sorted(groups.items()):
            part = self.hoisted(f"and i32 {self.tid}, {mask}")
            if shift:
                part = self.hoisted(f"{'shl' if shift > 0 else 'lshr'} i32 {part}, {abs(shift)}")
            total = part if total == "0" else self.hoisted(f"xor i32 {total}, {part}")
        return total

    @property
    def cta_bits(self) -> int:
        """The bits of a thread's number within its CTA."""
        return self.thread_bits - (self.ctas.bit_length() - 1)

    def thread_columns(self, layout: LinearLayout) -> gf2.Matrix:
        """The columns of a layout for the bits of the thread's number: lanes, then warps."""
        return layout.bases("lane") + layout.bases("warp")

    def bit_of_thread(self, bit: int) -> str:
        """Whether a bit of the thread's number is set, as i1."""
        return self.hoisted(f"icmp ne i32 {self.hoisted(f'and i32 {self.tid}, {1 << bit}')}, 0")

    def thread_is_zero(self, mask: int) -> str | None:
        """Whether the bits `mask` of the thread's number are all 0; None where the mask is empty (always true)."""
        return self.hoisted(f"icmp eq i32 {self.hoisted(f'and i32 {self.tid}, {mask}')}, 0") if mask else None

    # -- integers, folded where both sides are known

    def add(self, a: str, b: str | int) -> str:
        if (b := str(b)) == "0" or a == "0":
            return b if a == "0" else a
        return self.op(f"add i32 {a}, {b}")

    def plus(self, base: str, columns: gf2.Matrix, value: int) -> str:
        """base ^ value, where `base` is the thread's part made of `columns`: an addition where no bit is in both."""
        if base == "0" or not value:
            return str(value) if base == "0" else base
        overlap = any(c & value for c in columns)
        return self.op(f"xor i32 {base}, {value}" if overlap else f"add nuw nsw i32 {base}, {value}")

    def mul(self, a: str, factor: int) -> str:
        if factor == 1 or a == "0":
            return a
        return self.op(f"mul i32 {a}, {factor}")

    def both(self, a: str | None, b: str | None) -> str | None:
        """The conjunction of two conditions, None being true."""
        if a is None or b is None:
            return a or b
        return self.op(f"and i1 {a}, {b}")

    # -- tiles

    def registers(self, value: SSAValue) -> list[str]:
        """The operands of a value: a scalar as a list of one."""
        bound = self.values[value]
        return [bound] if isinstance(bound, str) else bound

    def layout(self, type: Attribute) -> LinearLayout:
        """The linear layout of a tile's type, without register bits that only repeat."""
        return linear_of(type)

    def count(self, type: Attribute) -> int:
        """How many operands a value of `type` is bound to, memory counting as one."""
        if isinstance(type, TensorType):
            return linear_of(type).size("register")
        return 0 if isinstance(type, AsyncTokenType) else 1

    def indices(self, layout: LinearLayout) -> list[tuple[str, ...]]:
        """The index that each register of this thread holds, an operand per dimension (dim0 first)."""
        names = sorted(layout.outs.names, key=lambda n: int(n[3:]))
        per_dim = [self.index_of(layout.project([name])) for name in names]
        return list(zip(*per_dim, strict=True)) if per_dim else [()] * layout.size("register")

    def index_of(self, layout: LinearLayout) -> list[str]:
        """The packed output of `layout` for each register of this thread."""
        columns = self.thread_columns(layout)
        base, memo = self.of_thread(columns), {}
        out = []
        for register in range(layout.size("register")):
            value = layout.packed(register=register)
            if value not in memo:
                memo[value] = self.plus(base, columns, value)
            out.append(memo[value])
        return out

    def owner(self, layout: LinearLayout, in_cta: bool = False) -> str | None:
        """Whether this thread is the one that stores its elements, of all (in its CTA) that hold copies; None if all
        are.
        """
        basis = gf2.Basis(layout.bases("register"))
        copies = sum(1 << i for i, c in enumerate(self.thread_columns(layout)) if not basis.add(c))
        return self.thread_is_zero(copies & (1 << self.cta_bits) - 1 if in_cta else copies)

    # -- loops and branches carry tiles flattened

    def flat_types(self, values: Iterable[SSAValue]) -> list[str]:
        out = []
        for value in values:
            kind = SHARED if isinstance(value.type, MemDescType) else llvm_type(value.type)
            out += [kind] * self.count(value.type)
        return out

    def flatten(self, values: Iterable[SSAValue]) -> list[str]:
        out: list[str] = []
        for value in values:
            bound = self.values[value]
            if isinstance(bound, Memory):
                if bound.flip:
                    raise explain(
                        NotImplementedError("a slice of shared memory as a loop variable"),
                        expected="whole buffers, as ttg.memdesc_index gives them",
                        advice="carry the buffer, and take the slice in the loop (ttg.memdesc_subslice)",
                    )
                out.append(bound.base)
            else:
                out += [bound] if isinstance(bound, str) else bound
        return out

    def bind(self, values: Iterable[SSAValue], operands: Sequence[str]) -> None:
        """Binds values to the flattened operands."""
        at = 0
        for value in values:
            n = self.count(value.type)
            part = list(operands[at : at + n])
            if isinstance(value.type, MemDescType):
                self.values[value] = Memory(part[0])
            else:
                self.values[value] = part if isinstance(value.type, TensorType | AsyncTokenType) else part[0]
            at += n

    # -- shared memory

    @property
    def common(self) -> str:
        """The type of addresses of the memory that all threads of the program reach."""
        return SHARED if self.ctas == 1 else CLUSTER

    def own(self, offset: int) -> str:
        """The address `offset` bytes into the shared memory of this thread's CTA."""
        return f"getelementptr inbounds (i8, {SHARED} @shared, i32 {offset})" if offset else "@shared"

    def shared(self, offset: int, index: str = "0") -> str:
        """The address `offset` + `index` bytes into the memory of all threads of the program, of type `common`."""
        base = self.own(offset)
        if self.ctas > 1:
            base = self.first(offset)
        return self.op(f"getelementptr i8, {self.common} {base}, i32 {index}") if index != "0" else base

    def first(self, offset: int) -> str:
        """The address `offset` bytes into the first CTA's shared memory."""
        if (start := self.known.get("first")) is None:
            start = self.known["first"] = self.at_start(lambda: self.target.of_first_cta(self))
        return self.hoisted(f"getelementptr i8, {CLUSTER} {start}, i32 {offset}") if offset else start

    def scratch(self, op: Operation) -> int:
        """Where the scratch memory of an op starts."""
        return self.offsets[op]

    # -- words of registers

    def to_bits(self, value: str, type: str) -> str:
        """A value as an integer of its width."""
        if type[0] == "i":
            return value
        return self.op(f"{'ptrtoint' if type[0] == 'p' else 'bitcast'} {type} {value} to i{width(type)}")

    def from_bits(self, value: str, type: str) -> str:
        if type[0] == "i":
            return value
        return self.op(f"{'inttoptr' if type[0] == 'p' else 'bitcast'} i{width(type)} {value} to {type}")

    def resize(self, value: str, have: int, want: int) -> str:
        """An integer zero-extended or truncated."""
        if have == want:
            return value
        return self.op(f"{'zext' if want > have else 'trunc'} i{have} {value} to i{want}")

    def pack(self, values: Sequence[str], type: str, word: int) -> list[str]:
        """Values, first in the low bits, as integers of `word` bits; i1 takes a byte."""
        if type == "i1":
            values, type = [self.op(f"zext i1 {v} to i8") for v in values], "i8"
        each = width(type)
        if each >= word:
            return [self.to_bits(v, type) for v in values]
        per, kind = word // each, f"<{word // each} x {type}>"
        out = []
        for at in range(0, len(values), per):
            whole = "undef"
            for k, v in enumerate(values[at : at + per]):
                whole = self.op(f"insertelement {kind} {whole}, {type} {v}, i32 {k}")
            out.append(self.op(f"bitcast {kind} {whole} to i{word}"))
        return out

    def unpack(self, words: Sequence[str], type: str, word: int) -> list[str]:
        """The inverse of `pack`."""
        if type == "i1":
            return [self.op(f"icmp ne i8 {v}, 0") for v in self.unpack(words, "i8", word)]
        each = width(type)
        if each >= word:
            return [self.from_bits(w, type) for w in words]
        kind, out = f"<{word // each} x {type}>", []
        for w in words:
            whole = self.op(f"bitcast i{word} {w} to {kind}")
            out += [self.op(f"extractelement {kind} {whole}, i32 {k}") for k in range(word // each)]
        return out


def held_bits(type: str) -> int:
    """The bits that an element of an LLVM type takes in memory."""
    return max(8, width(type))
