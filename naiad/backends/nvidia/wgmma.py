"""Warpgroup matrix multiply on sm_90: ttng.warp_group_dot and the wait for it.

The accumulators of a warpgroup go through one inline assembly per instruction's columns: fence, the steps along k,
commit.
The wait passes them on, so that nothing touches them before. Source: PTX ISA, "Asynchronous wgmma Instructions".
"""

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from naiad.backends.nvidia.inline import asm
from naiad.backends.nvidia.mma import words
from naiad.ir.base import bits
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


@rules.lower("ttng.warp_group_dot")
def multiply(op: Operation, e: Threads) -> list[list[str]]:
    a, b, c = op.operands[:3]
    layout = layout_of(c.type)
    held_layout = e.layout(c.type)
    tile, at, sums = Tile.of(layout), places(held_layout), list(e.registers(c))
    kinds = f"{KINDS[a.type.element_type.name]}.{KINDS[b.type.element_type.name]}"
    right = Operand(e, b, True)
    per_step = STEP // right.size
    right_start = right.descriptor(starts(e, held_layout, 1))
    left = Operand(e, a, False) if isinstance(a.type, MemDescType) else None
    left_start = left.descriptor(starts(e, held_layout, 0)) if left is not None else ""
    a_words = {} if left is not None else words(e, e.registers(a), places(e.layout(a.type)), 1, llvm_type(a.type))
    depth = right.rows
    for m in sorted({m for m, _ in at if m % (16 * tile.down) == 0}):
        for n in sorted({n for _, n in at if n % (tile.n * tile.across) == 0}):
            held = [at[m + i, n + j + k] for j in range(0, tile.n, 8) for i in (0, 8) for k in (0, 1)]
            given: list[list[str]] = []
            for k in range(0, depth, per_step):
                s = k // per_step
                first = [f"i64 {left.moved(left_start, k, m)}"] if left is not None else [
                    f"i32 {w}" for w in (a_words[m,][2 * s], a_words[m + 8,][2 * s], a_words[m,][2 * s + 1],
                                         a_words[m + 8,][2 * s + 1])]  # fmt: skip
                given.append([*first, f"i64 {right.moved(right_start, k, n)}"])
            flags = (left is not None and not left.k_major, not right.k_major) if right.size == 2 else None
            made = group(e, f"m64n{tile.n}k{per_step}.f32.{kinds}", given, [sums[r] for r in held], flags)
            for register, value in zip(held, made, strict=True):
                sums[register] = value
    return [sums]


def group(
    e: Threads, form: str, given: list[list[str]], sums: list[str], turned: tuple[bool, bool] | None
) -> list[str]:
    """All steps along k into one set of accumulators, as one group of wgmma. turned: None where k must run fastest."""
    count = len(sums)
    outs = "{ " + ", ".join(f"${i}" for i in range(count)) + " }"
    lines, letters, arguments, at = ["wgmma.fence.sync.aligned;"], [], [], 2 * count
    in_registers = len(given[0]) > 2
    for operands in given:
        places_of = [f"${at + i}" for i in range(len(operands))]
        left = "{ " + ", ".join(places_of[:4]) + " }" if in_registers else places_of[0]
        turns = () if turned is None else turned[1:] if in_registers else turned
        flags = ", ".join(["1", "1", "1", *(str(int(t)) for t in turns)])
        lines.append(f"wgmma.mma_async.sync.aligned.{form} {outs}, {left}, {places_of[-1]}, {flags};")
        letters += ["r"] * 4 + ["l"] if in_registers else ["l", "l"]
        arguments += operands
        at += len(operands)
    lines.append("wgmma.commit_group.sync.aligned;")
    constraints = ["=f"] * count + [str(i) for i in range(count)] + letters
    accumulators = [f"float {x}" for x in sums]
    return asm(e, LINE.join(lines), ",".join(constraints), [*accumulators, *arguments], ["float"] * count)


@rules.lower("ttng.warp_group_dot_wait")
def wait(op: Operation, e: Threads) -> list:
    """Ties the accumulators to the wait, so that no use of them comes before it."""
    tiles = [v for v in op.operands if not isinstance(v.type, MemDescType)]
    flat = [r for v in tiles for r in e.registers(v)]
    text = f"wgmma.wait_group.sync.aligned {op.properties['pendings'].value.data};"
    constraints = ",".join(["=f"] * len(flat) + [str(i) for i in range(len(flat))] + ["~{memory}"])
    made = asm(e, text, constraints, [f"float {r}" for r in flat], ["float"] * len(flat))
    out: list = []
    for value in op.operands:
        if isinstance(value.type, MemDescType):
            out.append(e.values[value])
        else:
            n = len(e.registers(value))
            out.append(made[:n])
            made = made[n:]
    return out
