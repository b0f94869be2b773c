"""Warpgroup matrix multiply on sm_90: ttng.warp_group_dot and the wait for it.

The accumulators of a warpgroup go through one inline assembly per instruction's columns: fence, the steps along k,
commit. The wait passes them on, so that nothing touches them before.
Source: PTX ISA, "Asynchronous wgmma Instructions".
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute, Operation, SSAValue

from naiad.backends.nvidia.inline import asm
from naiad.backends.nvidia.mma import words
from naiad.ir.base import bits
from naiad.ir.constants import number
from naiad.ir.encodings import MemDescType, layout_of
from naiad.layouts import gf2
from naiad.layouts.linear import LinearLayout
from naiad.layouts.mma import NvidiaMma
from naiad.lowering.dot import places
from naiad.lowering.rules import Rules
from naiad.lowering.shared import element_offset
from naiad.lowering.threads import SHARED, Threads, llvm_type

__all__ = ["rules"]

rules = Rules()

KINDS = {"f16": "f16", "bf16": "bf16", "f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
LINE = "\\0A\\09"
LETTERS = {"float": "f", "i32": "r"}
"""The constraints of registers of accumulators."""
MODES = {128: 1, 64: 2, 32: 3}
STEP = 32
"""Bytes along k of one instruction."""


class Operand:
    """An operand in shared memory, of `rows` and `columns`: its descriptors. k_first: k is dimension 0."""

    def __init__(self, e: Threads, value: SSAValue, k_first: bool):
        type = value.type
        assert isinstance(type, MemDescType)
        self.e, self.layout, self.k_first = e, layout_of(type), k_first
        self.rows, self.columns = type.shape
        self.size = bits(type.element_type) // 8
        self.placed = element_offset(type)
        memory = e.values[value]
        self.address = e.op(f"ptrtoint {SHARED} {memory.base} to i32")
        fast = 0 if self.layout.transposed else 1
        self.k_major = fast == (0 if k_first else 1)

    def offset(self, k: int, other: int) -> int:
        """The byte offset of an element, given its index along k and along the other dimension."""
        row, column = (k, other) if self.k_first else (other, k)
        return self.size * gf2.apply(self.placed.columns, row * self.columns + column)

    def descriptor(self, other_columns: gf2.Matrix) -> str:
        """The descriptor of the operand's start, as i64. other_columns: the bits of the thread -> index along the other
        dimension, where warpgroups start apart."""
        e, chunk = self.e, self.layout.swizzle // self.size
        columns = tuple(self.offset(0, c) for c in other_columns)
        start = e.op(f"add i32 {self.address}, {e.of_thread(columns)}") if any(columns) else self.address
        low = e.op(f"and i32 {e.op(f'lshr i32 {start}, 4')}, {0x3FFF}")
        step = 8 * self.layout.swizzle
        size = self.rows if self.k_first else self.columns  # along k
        leading = self.offset(0, chunk) if not self.k_major and self.other_size > chunk else 16
        high = MODES[self.layout.swizzle] << 62 | step >> 4 << 32 | leading >> 4 << 16
        assert size * self.size % STEP == 0 and (self.k_major or self.size == 2)
        signed = high - (1 << 64) if high >> 63 else high
        return e.op(f"or i64 {e.op(f'zext i32 {low} to i64')}, {signed}")

    @property
    def other_size(self) -> int:
        return self.columns if self.k_first else self.rows

    def moved(self, descriptor: str, k: int, other: int) -> str:
        """The descriptor of a place further on."""
        offset = self.offset(k, other) >> 4
        return self.e.op(f"add i64 {descriptor}, {offset}") if offset else descriptor


@dataclass(frozen=True)
class Tile:
    """The layout of the accumulators: warps down and across, columns of one instruction."""

    down: int
    across: int
    n: int

    @staticmethod
    def of(layout: NvidiaMma) -> "Tile":
        return Tile(layout.warps_per_cta[0], layout.warps_per_cta[1], layout.instr_shape[1])


def starts(e: Threads, layout: LinearLayout, dim: int) -> gf2.Matrix:
    """The bits of the thread -> the first row (dim 0) or column (1) of its warpgroup."""
    columns = [layout.outs.unpack(c)[f"dim{dim}"] for c in e.thread_columns(layout)]
    return tuple(c if i >= e.lane_bits + 2 else 0 for i, c in enumerate(columns))


@dataclass(frozen=True)
class Product:
    """Which instruction computes a dot. turned: which operands do not run along k, None where both must. sum: the LLVM
    type of the accumulators.
    """

    form: str
    turned: tuple[bool, ...] | None
    sum: str

    @staticmethod
    def of(n: int, left: Attribute, right: Attribute, turned: tuple[bool, ...]) -> "Product":
        """The product of two element types, `n` columns wide."""
        size, kinds = bits(right) // 8, ".".join("s8" if t == i8 else KINDS[t.name] for t in (left, right))
        word, sum = ("s32", "i32") if left == i8 else ("f32", "float")
        return Product(f"m64n{n}k{STEP // size}.{word}.{kinds}", None if size == 1 else turned, sum)

    @property
    def flags(self) -> list[str]:
        """What follows on whether to add: signs, where there are some, and what is turned."""
        return [*(["1", "1"] if self.sum == "float" else []), *(str(int(t)) for t in self.turned or ())]

    @property
    def letter(self) -> str:
        return LETTERS[self.sum]


@rules.lower("ttng.warp_group_dot")
def multiply(op: Operation, e: Threads) -> list[list[str]]:
    a, b, c = op.operands[:3]
    layout = e.layout(c.type)
    tile, at, sums = Tile.of(layout_of(c.type)), places(layout), list(e.registers(c))
    right = Operand(e, b, True)
    left = Operand(e, a, False) if isinstance(a.type, MemDescType) else None
    take = operands_of(e, a, left, right, layout)
    per_step, depth = STEP // right.size, right.rows
    turned = (*([not left.k_major] if left else []), not right.k_major)
    how = Product.of(tile.n, a.type.element_type, b.type.element_type, turned)
    tiles = [(m, n) for m in sorted({m for m, _ in at if m % (16 * tile.down) == 0})
             for n in sorted({n for _, n in at if n % (tile.n * tile.across) == 0})]  # fmt: skip
    for m, n in tiles:
        held = [at[m + i, n + j + k] for j in range(0, tile.n, 8) for i in (0, 8) for k in (0, 1)]
        given = [take(m, n, k) for k in range(0, depth, per_step)]
        before = None if number(c) == 0 else [sums[r] for r in held]
        if short := short_sums(op, right.size, depth):
            made = in_parts(e, how, given, before, short // per_step, len(held))
        else:
            made = group(e, how, given, before, (m, n) == tiles[-1], len(held))
        for register, value in zip(held, made, strict=True):
            sums[register] = value
    return [sums]


def short_sums(op: Operation, size: int, depth: int) -> int:
    """How many products of 8-bit floats may be added by the instruction alone; 0 for all of them."""
    given = op.properties.get("maxNumImpreciseAcc")
    most = given.value.data if given is not None and size == 1 else 0
    return max(most, STEP) if 0 < most <= depth else 0


Take = Callable[[int, int, int], list[str]]


def operands_of(e: Threads, a: SSAValue, left: Operand | None, right: Operand, layout: LinearLayout) -> Take:
    """What gives the operands of the instruction at a row, a column and a place along k."""
    right_start = right.descriptor(starts(e, layout, 1))
    left_start = left.descriptor(starts(e, layout, 0)) if left is not None else ""
    held = {} if left is not None else words(e, e.registers(a), places(e.layout(a.type)), 1, llvm_type(a.type))

    def take(m: int, n: int, k: int) -> list[str]:
        if left is not None:
            first = [f"i64 {left.moved(left_start, k, m)}"]
        else:
            s = 2 * (k // (STEP // right.size))
            first = [f"i32 {held[row,][s + i]}" for i in (0, 1) for row in (m, m + 8)]
        return [*first, f"i64 {right.moved(right_start, k, n)}"]

    return take


def group(e: Threads, how: Product, given: list[list[str]], sums: list[str] | None, commits: bool,
          count: int) -> list[str]:  # fmt: skip
    """All steps along k into one set of accumulators. sums: None for zeros. commits: what came so far is one group."""
    outs = "{ " + ", ".join(f"${i}" for i in range(count)) + " }"
    lines, letters, arguments, at = ["wgmma.fence.sync.aligned;"], [], [], 2 * count
    for step, operands in enumerate(given):
        places_of = [f"${at + i}" for i in range(len(operands))]
        left = "{ " + ", ".join(places_of[:4]) + " }" if len(operands) > 2 else places_of[0]
        adds = "0" if sums is None and step == 0 else "1"
        flags = ", ".join([adds, *how.flags])
        lines.append(f"wgmma.mma_async.sync.aligned.{how.form} {outs}, {left}, {places_of[-1]}, {flags};")
        letters += ["r"] * 4 + ["l"] if len(operands) > 2 else ["l", "l"]
        arguments += operands
        at += len(operands)
    if commits:
        lines.append("wgmma.commit_group.sync.aligned;")
    constraints = [f"={how.letter}"] * count + [str(i) for i in range(count)] + letters
    accumulators = [f"{how.sum} {x}" for x in sums or ["undef"] * count]
    return asm(e, LINE.join(lines), ",".join(constraints), [*accumulators, *arguments], [how.sum] * count)


def in_parts(e: Threads, how: Product, given: list[list[str]], sums: list[str] | None, steps: int,
             count: int) -> list[str]:  # fmt: skip
    """The same, `steps` at a time from zero, added up outside of the instruction, which adds in few bits."""
    for at in range(0, len(given), steps):
        made = passed_on(e, group(e, how, given[at : at + steps], None, True, count), [how.sum] * count, 0)
        sums = [e.op(f"fadd contract float {a}, {b}") for a, b in zip(sums or ["0.0"] * count, made, strict=True)]
    return sums or []


def passed_on(e: Threads, registers: list[str], types: list[str], pendings: int) -> list[str]:
    """Accumulators, of LLVM types, behind a wait, so that no use of them comes before it."""
    outs = [f"={LETTERS[t]}" for t in types]
    constraints = ",".join([*outs, *(str(i) for i in range(len(registers))), "~{memory}"])
    text = f"wgmma.wait_group.sync.aligned {pendings};"
    return asm(e, text, constraints, [f"{t} {r}" for t, r in zip(types, registers, strict=True)], types)


@rules.lower("ttng.warp_group_dot_wait")
def wait(op: Operation, e: Threads) -> list:
    """Ties the accumulators to the wait, so that no use of them comes before it."""
    tiles = [v for v in op.operands if not isinstance(v.type, MemDescType)]
    flat = [(llvm_type(v.type), r) for v in tiles for r in e.registers(v)]
    made = passed_on(e, [r for _, r in flat], [t for t, _ in flat], op.properties["pendings"].value.data)
    out: list = []
    for value in op.operands:
        if isinstance(value.type, MemDescType):
            out.append(e.values[value])
        else:
            n = len(e.registers(value))
            out.append(made[:n])
            made = made[n:]
    return out
