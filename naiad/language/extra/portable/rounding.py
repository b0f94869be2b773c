"""Arithmetic with a direction of rounding: _rn to nearest even, _rz to zero, _rd down, _ru up.

Arithmetic is left to the target, under libdevice's symbols. Conversions are rounded to nearest, and the sign of what
was lost says whether the neighbour is the right one.
"""

from functools import partial
from typing import Any

from naiad.language.casts import bitcast_to, cast_to
from naiad.language.compare import where
from naiad.language.extra.portable.floats import Function, bits_of, emit, symbol
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


def _arithmetic(name: str, mode: str) -> Function:
    """An operation that the target rounds in the direction: libdevice's symbol for it."""

    def compute(*values: Any) -> Any:
        double = values[0].dtype == float64
        spelling = ("fma" if double else "fmaf") if name == "fma" else f"{'d' if double else 'f'}{name}"
        return symbol(f"__nv_{spelling}_{mode}", *values)

    return compute


def narrow(x: Any, mode: str) -> Any:
    """fp64 to fp32."""
    nearest = cast_to(x, float32)
    lost = x - cast_to(nearest, float64)
    return nearest if mode == "rn" else directed(nearest, lost, mode)


_NEAREST: dict[str, Function] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: emit("arith.divf", x, y),
    "rcp": lambda x: 1.0 / x,
    "sqrt": lambda x: emit("math.sqrt", x),
    "fma": lambda x, y, z: emit("math.fma", x, y, z),
}
FUNCTIONS: dict[str, Function] = {
    **{f"{name}_rn": function for name, function in _NEAREST.items()},
    **{f"{name}_{mode}": _arithmetic(name, mode) for name in _NEAREST for mode in MODES if mode != "rn"},
    **{f"double2float_{mode}": partial(narrow, mode=mode) for mode in MODES},
}
