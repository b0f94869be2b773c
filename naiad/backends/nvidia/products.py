"""The two halves of a 32-bit product by one instruction: `mul.wide.u32`, where PTX's mul.hi and mul.lo would be two.

Philox takes both halves of every product that it makes.
"""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from naiad.backends.nvidia.inline import asm
from naiad.ir.constants import number
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
    first: dict[str, tuple[str, int, int]] = {}

    def whole(a: str, b: str) -> str:
        if (known := first.get(a) or first.get(b)) is not None:
            start, step, factor = known
            if step and (product := e.products.get((e.block, start, b if a in first else a))) is not None:
                return e.op(f"add i64 {product}, {step * factor}")
        return asm(e, "mul.wide.u32 $0, $1, $2;", "=l,r,r", [f"i32 {a}", f"i32 {b}"], ["i64"], pure=True)[0]

    def write(a: str, b: str) -> str:
        product = whole(a, b)
        e.products[e.block, a, b] = e.products[e.block, b, a] = product
        return e.op(f"trunc i64 {e.op(f'lshr i64 {product}, 32')} to i32")

    for this, other in (op.operands, reversed(op.operands)):
        factor = number(other)
        if isinstance(factor, int):
            steps = steps_of(this, e)
            registers = e.registers(this)
            first |= {r: (registers[0], step, factor & 0xFFFFFFFF) for r, step in zip(registers, steps, strict=False)}
    return each(op, e, write)


def steps_of(value: SSAValue, e: Threads) -> list[int]:
    """By how much more than the first each register of a tile of one dimension holds, where the thread does not matter.

    The product of a number that is larger by a known step is larger by a known step, too: it takes no multiplication.
    """
    if not isinstance(value.type, TensorType) or len(value.type.get_shape()) != 1:
        return []
    layout, known = e.layout(value.type), e.axis[value].axes[0]
    steps = [layout.packed(register=r) for r in range(layout.size("register"))]
    apart = not any(c & s for c in e.thread_columns(layout) for s in steps)
    fits = max(steps) < known.contiguity and known.start_of(known.contiguity) % known.contiguity == 0
    return steps if apart and fits else []


@rules.lower("arith.muli")
def multiply(op: Operation, e: Threads) -> str | list[list[str]]:
    """The lower half of a product that is there, or a multiplication."""
    kind = scalar_type(op.results[0])

    def write(a: str, b: str) -> str:
        if kind == "i32" and (product := e.products.get((e.block, a, b))) is not None:
            return e.op(f"trunc i64 {product} to i32")
        return e.op(f"mul {kind} {a}, {b}")

    return each(op, e, write)
