"""Integer divisions and shifts, with a value where LLVM has none: what it may assume there, it assumes of all else.

    x / 0 = 0        x % 0 = x        x << n = 0,  x >> n = 0 or -1   where n is the width of x, or more

as the interpreter and the CPU have it. Of a bare `sdiv x, n` LLVM concludes that n is not 0, and drops the mask of a
store or the condition of a choice that says so.
"""

from xdsl.ir import Operation

from naiad.lowering.elementwise import each
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, scalar_type

__all__ = ["rules"]

rules = Rules()

DIVISIONS = {"arith.divsi": "sdiv", "arith.divui": "udiv", "arith.remsi": "srem", "arith.remui": "urem"}
SHIFTS = {"arith.shli": "shl", "arith.shrsi": "ashr", "arith.shrui": "lshr"}
WIDEN = {"shl": "zext", "lshr": "zext", "ashr": "sext"}


@rules.lower(*DIVISIONS)
def divide(op: Operation, e: Threads) -> str | list[list[str]]:
    kind, word = scalar_type(op.results[0]), DIVISIONS[op.name]
    divisors: dict[str, tuple[str, str]] = {}

    def write(a: str, b: str) -> str:
        if is_number(b):
            return e.op(f"{word} {kind} {a}, {b}") if int(b) else a if word.endswith("rem") else "0"
        if (known := divisors.get(b)) is None:
            known = divisors[b] = nonzero(e, kind, b)
        is_zero, divisor = known
        found = e.op(f"{word} {kind} {a}, {divisor}")
        otherwise = a if word.endswith("rem") else "0"
        return e.op(f"select i1 {is_zero}, {kind} {otherwise}, {kind} {found}")

    return each(op, e, write)


def is_number(operand: str) -> bool:
    return operand.lstrip("-").isdigit()


def nonzero(e: Threads, kind: str, divisor: str) -> tuple[str, str]:
    """Whether a divisor is zero, and the divisor, or one where it is."""
    is_zero = e.op(f"icmp eq {kind} {divisor}, 0")
    return is_zero, e.op(f"select i1 {is_zero}, {kind} 1, {kind} {divisor}")


@rules.lower("arith.floordivsi", "arith.ceildivsi", "arith.ceildivui")
def divide_rounded(op: Operation, e: Threads) -> str | list[list[str]]:
    """Rounded down, or up."""
    kind, s, is_floor = scalar_type(op.results[0]), op.name[-2], op.name.startswith("arith.floor")

    def write(a: str, b: str) -> str:
        is_zero, divisor = nonzero(e, kind, b)
        quotient, rest = (e.op(f"{s}{word} {kind} {a}, {divisor}") for word in ("div", "rem"))
        off = e.op(f"icmp ne {kind} {rest}, 0")
        if s == "s":
            opposite = e.op(f"icmp {'slt' if is_floor else 'sge'} {kind} {e.op(f'xor {kind} {rest}, {divisor}')}, 0")
            off = e.op(f"and i1 {off}, {opposite}")
        rounded = e.op(f"{'sub' if is_floor else 'add'} {kind} {quotient}, {e.op(f'zext i1 {off} to {kind}')}")
        return e.op(f"select i1 {is_zero}, {kind} 0, {kind} {rounded}")

    return each(op, e, write)


@rules.lower(*SHIFTS)
def shift(op: Operation, e: Threads) -> str | list[list[str]]:
    kind, word = scalar_type(op.results[0]), SHIFTS[op.name]
    return each(op, e, lambda a, n: shifted(e, word, kind, a, n))


def shifted(e: Threads, word: str, kind: str, a: str, count: str) -> str:
    """LLVM's `word`, and where the count is too large what is left of `a` when all its bits have gone.

    Small numbers are shifted as 32 bits; there a choice of 0 is free, since PTX's own shifts do the same. LLVM 22 finds
    that of 64 bits too, but then looks at the lower half of the count only: a count of 2^32 would be 0.
    """
    bits = int(kind[1:])
    if is_number(count) and 0 <= int(count) < bits:
        return e.op(f"{word} {kind} {a}, {count}")
    if bits < 32:
        wide, by = e.op(f"{WIDEN[word]} {kind} {a} to i32"), e.op(f"zext {kind} {count} to i32")
        return e.op(f"trunc i32 {shifted(e, word, 'i32', wide, by)} to {kind}")
    if word == "ashr":
        return e.op(f"ashr {kind} {a}, {e.intrinsic('umin', kind, count, str(bits - 1))}")
    fits = e.op(f"icmp ult {kind} {count}, {bits}")
    by = count if bits == 32 else e.op(f"and {kind} {count}, {bits - 1}")
    return e.op(f"select i1 {fits}, {kind} {e.op(f'{word} {kind} {a}, {by}')}, {kind} 0")
