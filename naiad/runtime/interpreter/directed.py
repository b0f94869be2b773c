"""Arithmetic rounded in a direction, `__nv_fadd_rz` and the like: in fractions, an element at a time."""

import math
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from naiad.runtime.interpreter.tiles import Tile

NAME = re.compile(r"__nv_(?:[fd](add|sub|mul|div|rcp|sqrt)|(fma)f?)_(rz|rd|ru)")
FORMATS = {"float32": (24, -149, 104), "float64": (53, -1074, 971)}
"""The bits of a mantissa, the exponent of the smallest number, and that of a mantissa's last bit in the largest one."""

OPERATIONS: dict[str, Callable[..., float | Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: x**0 / x,
    "fma": lambda x, y, z: x * y + z,
    "sqrt": np.sqrt,
}


def directed(symbol: str) -> Callable[..., Tile] | None:
    """The function that a symbol of the device library stands for, if it is one of these."""
    match = NAME.fullmatch(symbol)
    if match is None:
        return None
    name, mode = match[1] or match[2], match[3]

    def compute(*tiles: Tile) -> Tile:
        element = np.asarray(tiles[0]).dtype
        one = np.frompyfunc(lambda *xs: rounded(name, mode, xs, *FORMATS[element.name]), len(tiles), 1)
        with np.errstate(all="ignore"):
            return np.asarray(one(*[np.asarray(tile, np.float64) for tile in tiles])).astype(element)

    return compute


def rounded(name: str, mode: str, xs: tuple[float, ...], bits: int, least: int, most: int) -> float:
    """One result. Of operands that are not finite, and at a pole, it is the same in all directions."""
    operation, doubles = OPERATIONS[name], [np.float64(x) for x in xs]
    pole = xs[-1] == 0 if name in ("div", "rcp") else name == "sqrt" and xs[0] <= 0
    if name == "fma" and math.isinf(xs[2]) and all(map(math.isfinite, xs[:2])):
        return xs[2]  # however large the product is
    if pole or not all(map(math.isfinite, xs)):
        return float(operation(*doubles))
    exact = Fraction(xs[0]) if name == "sqrt" else Fraction(operation(*map(Fraction, xs)))
    if exact == 0:
        # what cancels is +0, rounded down -0: less than the nearest of what cancels the other way round
        other = [-doubles[0], *doubles[1:-1], -doubles[-1]]
        cancels = mode == "rd" and name in ("add", "sub", "fma")
        return -float(operation(*other)) if cancels else float(operation(*doubles))
    size, up = abs(exact), mode == ("ru" if exact > 0 else "rd")
    half = 2 if name == "sqrt" else 1
    last = max(exponent(size) // half - bits + 1, least)
    scaled = size / Fraction(2) ** (half * last)
    whole = math.floor(scaled) if half == 1 else math.isqrt(math.floor(scaled))
    whole += up and whole**half != scaled
    if last > most or (last == most and whole == 2**bits):
        whole, last = (1, 1024) if up else (2**bits - 1, most)
    value = math.inf if last == 1024 else math.ldexp(whole, last)
    return value if exact > 0 else -value


def exponent(x: Fraction) -> int:
    """The largest n such that 2**n <= x."""
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return n if Fraction(2) ** n <= x else n - 1
