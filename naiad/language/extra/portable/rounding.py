"""Arithmetic with a direction of rounding: _rn to nearest even, _rz to zero, _rd down, _ru up.

The result is rounded to nearest, and the sign of what was lost says whether its neighbour is the right one.
"""

from collections.abc import Callable
from typing import Any

from naiad.language.casts import bitcast_to, cast_to
from naiad.language.compare import where
from naiad.language.extra.portable.floats import Function, bits_of, emit
from naiad.language.types import float32, float64

MODES = ("rn", "rz", "rd", "ru")


def neighbour(x: Any, upward: bool) -> Any:
    """The next float above or below. Floats of one sign are ordered like their bits."""
    bits = bits_of(x)
    grows = (bits >= 0) if upward else (bits < 0)
    step = where(grows, bits * 0 + 1, bits * 0 - 1)
    tiny = bitcast_to(bits * 0 + 1, x.dtype)
    return where(x == 0, tiny if upward else -tiny, bitcast_to(bits + step, x.dtype))


def directed(nearest: Any, lost: Any, mode: str) -> Any:
    """`nearest` moved in the direction of `mode`, given `lost`, which has the sign of (exact - nearest)."""
    too_high, too_low = lost < 0, lost > 0
    if mode == "rz":
        too_high, too_low = too_high & (nearest > 0), too_low & (nearest < 0)
    result = nearest
    if mode in ("rd", "rz"):
        result = where(too_high, neighbour(nearest, upward=False), result)
    if mode in ("ru", "rz"):
        result = where(too_low, neighbour(nearest, upward=True), result)
    return result


def _sum_lost(x: Any, y: Any, total: Any) -> Any:
    """What `total`, the rounded x + y, is short of it: exactly (Knuth's TwoSum)."""
    part = total - x
    return (x - (total - part)) + (y - part)


def _add(x: Any, y: Any, mode: str) -> Any:
    total = x + y
    return total if mode == "rn" else directed(total, _sum_lost(x, y, total), mode)


def _multiply(x: Any, y: Any, mode: str) -> Any:
    product = x * y
    return product if mode == "rn" else directed(product, emit("math.fma", x, y, -product), mode)


def _divide(x: Any, y: Any, mode: str) -> Any:
    quotient = emit("arith.divf", x, y)
    if mode == "rn":
        return quotient
    rest = emit("math.fma", -quotient, y, x)
    return directed(quotient, where(y < 0, -rest, rest), mode)


def _root(x: Any, mode: str) -> Any:
    root = emit("math.sqrt", x)
    return root if mode == "rn" else directed(root, emit("math.fma", -root, root, x), mode)


def _fused(x: Any, y: Any, z: Any, mode: str) -> Any:
    nearest = emit("math.fma", x, y, z)
    if mode == "rn":
        return nearest
    a, b, c, near = (cast_to(value, float64) for value in (x, y, z, nearest))
    product = a * b
    product_lost = emit("math.fma", a, b, -product)
    total = product + c
    lost = (total - near) + (_sum_lost(product, c, total) + product_lost)
    return directed(nearest, cast_to(where(lost > 0, 1.0, where(lost < 0, -1.0, 0.0)), nearest.dtype), mode)


def narrow(x: Any, mode: str) -> Any:
    """fp64 to fp32."""
    nearest = cast_to(x, float32)
    lost = x - cast_to(nearest, float64)
    return nearest if mode == "rn" else directed(nearest, lost, mode)


def _in(function: Callable[..., Any], mode: str) -> Function:
    return lambda *values: function(*values, mode)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": _add,
    "sub": lambda x, y, mode: _add(x, -y, mode),
    "mul": _multiply,
    "div": _divide,
    "rcp": lambda x, mode: _divide(x * 0 + 1.0, x, mode),
    "sqrt": _root,
    "fma": _fused,
    "double2float": narrow,
}
FUNCTIONS: dict[str, Function] = {f"{name}_{m}": _in(f, m) for name, f in _OPERATIONS.items() for m in MODES}
