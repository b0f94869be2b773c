"""Divisions of a tile by few numbers: one reciprocal each, and a multiplication an element.

    div.full.f32 %x, %d   is   (%x * k) * rcp(%d * k),  k = 1/4 where %d is huge, 2^24 where it is tiny, else 1

which is what ptxas makes of it, bit by bit, but with k chosen for each element again. Where all are 1, which is nearly
always, a branch goes around the multiplications by k.
"""

from dataclasses import dataclass
from functools import reduce

from xdsl.ir import Operation

from naiad.backends.nvidia.inline import asm
from naiad.lowering import elementwise
from naiad.lowering.emitter import float_literal
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, scalar_type

__all__ = ["rules"]

rules = Rules()

LEAST, MOST = 2.0**-126, 2.0**126
"""Between these div.full does not scale."""
SHARED_BY = 4
"""How many elements at least divide by one number."""


@rules.lower("arith.divf")
def divide(op: Operation, e: Threads) -> str | list[list[str]]:
    divisors = e.registers(op.operands[1])
    distinct = list(dict.fromkeys(divisors))
    if scalar_type(op.results[0]) != "float" or len(divisors) < SHARED_BY * len(distinct):
        return elementwise.rules["arith.divf"](op, e)
    by = {d: Divisor.of(e, d) for d in distinct}
    pairs = [(x, by[d]) for x, d in zip(e.registers(op.operands[0]), divisors, strict=True)]

    def plain() -> list[str]:
        return [e.op(f"fmul float {x}, {d.reciprocal}") for x, d in pairs]

    def scaled() -> list[str]:
        return [e.op(f"fmul float {e.op(f'fmul float {x}, {d.scale}')}, {d.reciprocal}") for x, d in pairs]

    ordinary = reduce(lambda a, b: e.op(f"and i1 {a}, {b}"), (d.is_ordinary for d in by.values()))
    return [e.when(ordinary, ["float"] * len(pairs), plain, scaled)]


@dataclass(frozen=True)
class Divisor:
    """Values of a divisor d: k, the reciprocal of d * k, and whether k is 1."""

    scale: str
    reciprocal: str
    is_ordinary: str

    @staticmethod
    def of(e: Threads, d: str) -> "Divisor":
        """k and the reciprocal of d * k."""
        size = e.intrinsic("fabs", "float", d)
        huge, tiny = (e.op(f"fcmp {test} float {size}, {float_literal(limit)}") for test, limit in
                      (("ogt", MOST), ("ult", LEAST)))  # fmt: skip
        scale = e.op(f"select i1 {tiny}, float {float_literal(2.0**24)}, float 1.0")
        scale = e.op(f"select i1 {huge}, float 0.25, float {scale}")
        scaled = e.op(f"fmul float {d}, {scale}")
        reciprocal = asm(e, "rcp.approx.ftz.f32 $0, $1;", "=f,f", [f"float {scaled}"], ["float"], pure=True)[0]
        return Divisor(scale, reciprocal, e.op(f"xor i1 {e.op(f'or i1 {huge}, {tiny}')}, true"))
