"""What is known of scalar integers: a power of two that divides them, and on which other scalars their sign depends."""

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from xdsl.ir import SSAValue

MANY = 1 << 30
"""The divisor of zero, near enough."""
MOST_SIGNS = 4

Signs = frozenset[SSAValue]
"""Scalars: a value is not negative if none of these is. Empty: it is known not to be."""


@dataclass(frozen=True)
class Facts:
    """divisor: a power of two. signs: see there."""

    divisor: int
    signs: Signs

    @property
    def nonnegative(self) -> bool:
        return not self.signs


def of_constant(value: int, result: SSAValue) -> Facts:
    return Facts((value & -value) or MANY, frozenset() if value >= 0 else frozenset((result,)))


def unknown(value: SSAValue) -> Facts:
    return Facts(1, frozenset((value,)))


def _both(a: Facts, b: Facts, result: SSAValue) -> Signs:
    signs = a.signs | b.signs
    return signs if len(signs) <= MOST_SIGNS else frozenset((result,))


def _gcd(a: Facts, b: Facts) -> int:
    return gcd(a.divisor, b.divisor)


Rule = Callable[[Facts, Facts, SSAValue], Facts]
RULES: dict[str, Rule] = {
    "arith.addi": lambda a, b, r: Facts(_gcd(a, b), _both(a, b, r)),
    "arith.subi": lambda a, b, r: Facts(_gcd(a, b), frozenset((r,))),
    "arith.muli": lambda a, b, r: Facts(min(a.divisor * b.divisor, MANY), _both(a, b, r)),
    "arith.remsi": lambda a, b, r: Facts(_gcd(a, b), a.signs),
    "arith.remui": lambda a, b, r: Facts(_gcd(a, b), a.signs),
    "arith.divsi": lambda a, b, r: Facts(1, _both(a, b, r)),
    "arith.divui": lambda a, b, r: Facts(1, _both(a, b, r)),
    "arith.minsi": lambda a, b, r: Facts(_gcd(a, b), _both(a, b, r)),
    "arith.maxsi": lambda a, b, r: Facts(_gcd(a, b), min(a.signs, b.signs, key=len)),
    "arith.shrui": lambda a, b, r: Facts(1, a.signs),
    "arith.shrsi": lambda a, b, r: Facts(1, a.signs),
    "arith.andi": lambda a, b, r: Facts(max(a.divisor, b.divisor), min(a.signs, b.signs, key=len)),
}
"""Of two operands' facts and the result, what is known of the result. Index arithmetic is taken not to overflow."""
