"""Which register microkernel a product of tiles gets, and how its operands must lie in memory.

A: rows of `a_type`, unit stride along k. B: `b_type` in panels [n / nr][k / pack][nr][pack]: a panel is `nr` columns
wide, and `pack` elements that follow each other along k lie side by side, as the dot product instructions want them.
So element (k, n) of B is at ((n // nr) * (k_size // pack) + k // pack) * nr * pack + (n % nr) * pack + k % pack.

What a CPU multiplies natively decides the types: f16 goes as f32, f8 as bf16 or f32, bf16 and i8 as themselves where
there are instructions for them (AMX tiles, vdpbf16ps, vpdpbusd, sdot), else as f32, and i16 pairs or i32.
"""

from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import bf16, f32, f64, i8, i16, i32, i64
from xdsl.ir import Attribute

from naiad.backends.cpu.kinds import kind_of_type
from naiad.backends.cpu.target import CpuTarget


@dataclass(frozen=True)
class DotPlan:
    """method: "fma" a vector times a scalar a step; "bf16", "int8", "pairs" dot products of 2, 4, 2 elements; "amx"
    tiles.

    mr, nr: rows and columns of the block kept in registers; they divide m and n.
    """

    method: str
    mr: int
    nr: int
    pack: int
    a_type: Attribute
    b_type: Attribute


@cache
def dot_plan(
    target: CpuTarget, m: int, n: int, k: int, a_elem: Attribute, b_elem: Attribute, acc_elem: Attribute
) -> DotPlan:
    """The plan for acc[m][n] += a[m][k] b[k][n], m, n and k powers of two; given the plan's own types it gives the
    same."""
    method, pack, a_type, b_type = choose(target, k, a_elem, b_elem, acc_elem)
    if method == "amx":
        return DotPlan(method, min(m, 32), min(n, 32), pack, a_type, b_type)
    rows, registers = target.register_block(method)
    lanes = target.lanes(64 if acc_elem in (f64, i64) else 32)
    nr = min(n, registers * lanes)
    while rows < 8 and rows * nr < 8 * lanes:  # narrow: more rows hide the latency instead
        rows *= 2
    return DotPlan(method, min(m, rows), nr, pack, a_type, b_type)


def choose(
    target: CpuTarget, k: int, a: Attribute, b: Attribute, acc: Attribute
) -> tuple[str, int, Attribute, Attribute]:
    """(method, pack, type of A, type of B) by the types alone."""
    if acc in (f64, i64):
        return "fma", 1, acc, acc
    if acc == i32:
        return choose_integer(target, k, a, b)
    narrow = {"bf16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"}  # f8 are exact in bf16
    if k % 2 == 0 and {a.name, b.name} <= narrow and acc == f32:
        if target.has_amx_bf16:
            return "amx", 2, bf16, bf16
        if target.has_bf16_dot:
            return "bf16", 2, bf16, bf16
    return "fma", 1, f32, f32


def choose_integer(target: CpuTarget, k: int, a: Attribute, b: Attribute) -> tuple[str, int, Attribute, Attribute]:
    if k % 4 == 0 and a == b == i8:
        if target.has_amx_int8:
            return "amx", 4, i8, i8
        if target.has_int8_dot:
            return "int8", 4, i8, i8
    shorts = max(kind_of_type(a).bits, kind_of_type(b).bits) <= 16
    if k % 2 == 0 and shorts and target.is_x86:
        return "pairs", 2, i16, i16
    return "fma", 1, i32, i32


__all__ = ["DotPlan", "dot_plan"]
