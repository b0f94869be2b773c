"""Divisions of a tile by few numbers: one reciprocal each, and two multiplications an element.

    div.full.f32 %x, %d   is   (%x * k) * rcp(%d * k),  k = 1/4 where %d is huge, 2^24 where it is tiny, else 1

which is what ptxas makes of it, bit by bit, but with k chosen for each element again.
"""

from xdsl.ir import Operation

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
    dividends = e.registers(op.operands[0])
    by = {d: inverse(e, d) for d in distinct}

    def quotient(a: str, d: str) -> str:
        scale, reciprocal = by[d]
        return e.op(f"fmul float {e.op(f'fmul float {a}, {scale}')}, {reciprocal}")

    return [[quotient(a, d) for a, d in zip(dividends, divisors, strict=True)]]


def inverse(e: Threads, d: str) -> tuple[str, str]:
    """k and the reciprocal of d * k."""
    size = e.intrinsic("fabs", "float", d)
    huge, tiny = (e.op(f"fcmp {test} float {size}, {float_literal(limit)}") for test, limit in
                  (("ogt", MOST), ("ult", LEAST)))  # fmt: skip
    scale = e.op(f"select i1 {tiny}, float {float_literal(2.0**24)}, float 1.0")
    scale = e.op(f"select i1 {huge}, float 0.25, float {scale}")
    scaled = e.op(f"fmul float {d}, {scale}")
    return scale, e.op(f'call float asm "rcp.approx.ftz.f32 $0, $1;", "=f,f"(float {scaled})')
