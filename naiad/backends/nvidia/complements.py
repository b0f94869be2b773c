"""max(x, ~x) and min(x, ~x): the complement as a multiply-add.

Integer logic, comparisons and selections share one half-rate pipe, which is what random numbers wait for; products have
another. Sources: measured with Nsight Compute on an H200; the CUDA programming guide's table of throughputs.
"""

from xdsl.ir import Operation, SSAValue

from naiad.backends.nvidia.inline import asm
from naiad.ir.constants import number
from naiad.lowering import elementwise
from naiad.lowering.elementwise import each
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, scalar_type

__all__ = ["rules"]

rules = Rules()


@rules.lower("arith.maxsi", "arith.minsi")
def choose(op: Operation, e: Threads) -> str | list[list[str]]:
    """The greater, or the lesser, of two integers."""
    a, b = op.operands
    if scalar_type(a) != "i32" or not (is_complement(a, b) or is_complement(b, a)):
        return elementwise.rules[op.name](op, e)
    kept = 0 if is_complement(b, a) else 1
    name = "smax" if op.name == "arith.maxsi" else "smin"

    def write(*pair: str) -> str:
        value = pair[kept]
        (complement,) = asm(e, "mad.lo.s32 $0, $1, -1, -1;", "=r,r", [f"i32 {value}"], ["i32"], pure=True)
        return e.intrinsic(name, "i32", value, complement)

    return each(op, e, write)


def is_complement(value: SSAValue, of: SSAValue) -> bool:
    """Whether a value is ~of."""
    made = value.owner
    if not isinstance(made, Operation) or made.name != "arith.xori" or of not in made.operands:
        return False
    return any(number(o) == -1 for o in made.operands)
