"""Lowering of tt.dot: by matrix instructions where the accumulator has their layout, else by multiply-adds per
element.
"""

from collections.abc import Mapping

from xdsl.ir import Attribute, Operation

from naiad.ir.base import element
from naiad.ir.encodings import layout_of
from naiad.layouts.linear import LinearLayout
from naiad.layouts.mma import NvidiaMma
from naiad.lowering.casts import to_f32
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, llvm_type, width

__all__ = ["places", "rules"]

rules = Rules()


def places(layout: LinearLayout) -> dict[tuple[int, ...], int]:
    """The index that a register holds, seen from the thread's first one -> the register."""
    names = sorted(layout.outs.names, key=lambda n: int(n[3:]))
    out: dict[tuple[int, ...], int] = {}
    for register in range(layout.size("register")):
        index = layout(register=register)
        out.setdefault(tuple(index[n] for n in names), register)
    return out


@rules.lower("tt.dot")
def dot(op: Operation, e: Threads) -> list[list[str]]:
    layout = layout_of(op.results[0].type)
    if isinstance(layout, NvidiaMma):
        return [e.target.matrix_multiply(op, e)]
    return [multiply_add(op, e)]


def multiply_add(op: Operation, e: Threads) -> list[str]:
    """Each thread computes its elements; along k it holds all of what it needs of a and b."""
    a, b, c = op.operands
    a_at, b_at, c_at = (places(e.layout(v.type)) for v in (a, b, c))
    kind = llvm_type(c.type)
    a_values = widen(e, e.registers(a), element(a.type), kind)
    b_values = widen(e, e.registers(b), element(b.type), kind)
    sums = list(e.registers(c))
    depth = sorted({k for *_, k in a_at})
    for (*batch, m, n), register in c_at.items():
        total = sums[register]
        for k in depth:
            x, y = a_values[find(a_at, (*batch, m, k))], b_values[find(b_at, (*batch, k, n))]
            total = accumulate(e, kind, x, y, total)
        sums[register] = total
    return sums


def find(at: Mapping[tuple[int, ...], int], index: tuple[int, ...]) -> int:
    """The register that holds an index; KeyError says that the operand has not the layout of the dot."""
    return at[index]


def accumulate(e: Threads, kind: str, x: str, y: str, total: str) -> str:
    if kind[0] == "i":
        return e.op(f"add {kind} {total}, {e.op(f'mul {kind} {x}, {y}')}")
    return e.intrinsic("fma", kind, x, y, total)


def widen(e: Threads, values: list[str], source: Attribute, kind: str) -> list[str]:
    """The operands in the accumulator's type, each register once."""
    have = llvm_type(source)
    if have == kind:
        return values
    if kind[0] == "i":
        return [e.op(f"sext {have} {v} to {kind}") for v in values]
    if have[0] == "i":
        values, have = [to_f32(e, source, v) for v in values], "float"
        if have == kind:
            return values
    word = "fpext" if width(kind) > width(have) else "fptrunc"
    return [e.op(f"{word} {have} {v} to {kind}") for v in values]
