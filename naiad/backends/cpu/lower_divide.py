"""ttc.divide: a vector over a scalar by multiplication, rounded as a division is.

With y = 1/d rounded, q = x y and r = x - d q (exact by fma), q + r y is x/d rounded to nearest as long as nothing
under- or overflows on the way. Source: P. Markstein, "Computation of elementary functions on the IBM RISC
System/6000 processor", IBM J. Res. Dev. 34 (1990), theorem 7.2. Where |d| is within 2^30 of 1 and |x| within 2^90,
or x is +0, that holds; a vector with any other lane is divided.
"""

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind
from naiad.backends.cpu.writer import CpuEmitter, result_kind
from naiad.lowering.rules import Rules

rules = Rules()

LEAST, GREATEST = (127 - 90) << 23, (127 + 90) << 23
"""The bits of 2^-90 and 2^90."""


@rules.lower("ttc.divide")
def divide(op: Operation, e: CpuEmitter) -> str:
    x, d, y, simple = e.all(op.operands)
    kind = result_kind(op)
    divisor = e.broadcast(kind, d)
    if not e.target.has_fma or not e.target.has_avx512:
        return e.binary("fdiv", kind, x, divisor)
    safe = e.op(f"and i1 {simple}, {all_moderate(e, kind, x)}")
    [result] = e.when(
        safe,
        [kind.llvm],
        lambda: [by_reciprocal(e, kind, x, divisor, e.broadcast(kind, y))],
        lambda: [e.binary("fdiv", kind, x, divisor)],
    )
    return result


def all_moderate(e: CpuEmitter, kind: Kind, x: str) -> str:
    """i1: every lane is +0 or within 2^90 of 1 in size."""
    integer = kind.of("i32")
    word = e.bits(kind, integer, x)
    size = e.binary("and", integer, word, e.number_of(0x7FFFFFFF, integer))
    above = e.binary("sub", integer, size, e.number_of(LEAST, integer))
    odd = e.compare("ugt", integer, above, e.number_of(GREATEST - LEAST, integer))
    nonzero = e.compare("ne", integer, word, e.number_of(0, integer))
    lanes = kind.lanes
    both = e.op(f"and <{lanes} x i1> {odd}, {nonzero}")
    flags = e.op(f"bitcast <{lanes} x i1> {both} to i{lanes}")
    return e.op(f"icmp eq i{lanes} {flags}, 0")


def by_reciprocal(e: CpuEmitter, kind: Kind, x: str, d: str, y: str) -> str:
    q = e.binary("fmul", kind, x, y)
    negative = e.op(f"fneg {kind.llvm} {d}")
    rest = e.intrinsic("fma", kind.llvm, negative, q, x)
    return e.intrinsic("fma", kind.llvm, rest, y, q)
