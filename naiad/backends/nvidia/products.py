"""The two halves of a 32-bit product from one multiplication: ptxas makes one wide one of a mul.lo and a mul.hi that
stand together, which is as fast as the upper half alone.

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

HIGH = "mul.hi.u32 $0, $1, $2;"
BOTH = "mul.lo.u32 $0, $2, $3; mul.hi.u32 $1, $2, $3;"


@rules.lower("tt.mulhiui")
def multiply_high(op: Operation, e: Threads) -> str | list[list[str]]:
    """The upper half; where the lower one is wanted too, it stays known in its block."""
    if scalar_type(op.results[0]) != "i32":
        return elementwise.rules["tt.mulhiui"](op, e)
    first: dict[str, tuple[str, int, int]] = {}
    both = wants_low(op)

    def halves(a: str, b: str) -> tuple[str | None, str]:
        if (known := first.get(a) or first.get(b)) is not None:
            start, step, factor = known
            if step and (product := e.products.get((e.block, start, b if a in first else a))) is not None:
                return added(product, step * factor, e)
        arguments = [f"i32 {a}", f"i32 {b}"]
        if both or known:
            low, high = asm(e, BOTH, "=&r,=&r,r,r", arguments, ["i32", "i32"], pure=True)
            return low, high
        return None, asm(e, HIGH, "=r,r,r", arguments, ["i32"], pure=True)[0]

    def write(a: str, b: str) -> str:
        low, high = halves(a, b)
        if low is not None:
            e.products[e.block, a, b] = e.products[e.block, b, a] = low, high
        return high

    for this, other in (op.operands, reversed(op.operands)):
        factor = number(other)
        if isinstance(factor, int) and any(steps := steps_of(this, e)):
            registers = e.registers(this)
            first |= {r: (registers[0], step, factor & 0xFFFFFFFF) for r, step in zip(registers, steps, strict=False)}
    return each(op, e, write)


def wants_low(op: Operation) -> bool:
    """Whether the same numbers are multiplied for the lower half, too."""
    factors = set(op.operands)
    return any(u.operation.name == "arith.muli" and set(u.operation.operands) == factors for u in op.operands[0].uses)


def added(product: tuple[str, str], by: int, e: Threads) -> tuple[str, str]:
    """The halves of a product that is larger by a constant."""
    low, high = (e.op(f"zext i32 {half} to i64") for half in product)
    whole = e.op(f"or i64 {low}, {e.op(f'shl i64 {high}, 32')}")
    total = e.op(f"add i64 {whole}, {by}")
    return e.op(f"trunc i64 {total} to i32"), e.op(f"trunc i64 {e.op(f'lshr i64 {total}, 32')} to i32")


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
            return product[0]
        return e.op(f"mul {kind} {a}, {b}")

    return each(op, e, write)
