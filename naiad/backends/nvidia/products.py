"""The two halves of a 32-bit product by one instruction: `mul.wide.u32`, where PTX's mul.hi and mul.lo would be two.

Philox takes both halves of every product that it makes.
"""

from xdsl.ir import Operation

from naiad.backends.nvidia.inline import asm
from naiad.lowering import elementwise
from naiad.lowering.elementwise import each
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, scalar_type

__all__ = ["rules"]

rules = Rules()


@rules.lower("tt.mulhiui")
def multiply_high(op: Operation, e: Threads) -> str | list[list[str]]:
    """The upper half; the whole product stays known in its block."""
    if scalar_type(op.results[0]) != "i32":
        return elementwise.rules["tt.mulhiui"](op, e)

    def write(a: str, b: str) -> str:
        [product] = asm(e, "mul.wide.u32 $0, $1, $2;", "=l,r,r", [f"i32 {a}", f"i32 {b}"], ["i64"], pure=True)
        e.products[e.block, a, b] = e.products[e.block, b, a] = product
        return e.op(f"trunc i64 {e.op(f'lshr i64 {product}, 32')} to i32")

    return each(op, e, write)


@rules.lower("arith.muli")
def multiply(op: Operation, e: Threads) -> str | list[list[str]]:
    """The lower half of a product that is there, or a multiplication."""
    kind = scalar_type(op.results[0])

    def write(a: str, b: str) -> str:
        if kind == "i32" and (product := e.products.get((e.block, a, b))) is not None:
            return e.op(f"trunc i64 {product} to i32")
        return e.op(f"mul {kind} {a}, {b}")

    return each(op, e, write)
