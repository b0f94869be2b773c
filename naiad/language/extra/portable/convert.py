"""Conversions between integers and floats with a direction of rounding. To integers they saturate, and NaN gives 0."""

from typing import Any

from naiad.language.casts import cast_to
from naiad.language.compare import where
from naiad.language.extra.portable.floats import Function, emit
from naiad.language.extra.portable.rounding import MODES, directed, narrow
from naiad.language.types import dtype, float32, float64, int32, int64, uint32, uint64

_WHOLE = {"rn": "math.roundeven", "rz": "math.trunc", "rd": "math.floor", "ru": "math.ceil"}


def _to_integer(x: Any, mode: str, target: dtype) -> Any:
    whole = emit(_WHOLE[mode], x)
    least, most = target.get_int_min_value(), target.get_int_max_value()
    over, under = whole >= float(most + 1), whole < float(least)
    held = cast_to(where(over | under | (x != x), 0.0, whole), target)
    return where(over, most, where(under, least, held))


def _to_float(x: Any, mode: str, target: dtype) -> Any:
    nearest = cast_to(x, target)
    if mode == "rn":
        return nearest
    if x.dtype.int_bitwidth == 32:  # fp64 holds it
        exact = cast_to(x, float64)
        return exact if target == float64 else narrow(exact, mode)
    # what was lost: the halves of x are floats of fp64, and so is their difference from a rounded x
    high, low = cast_to(x >> 32, float64) * 4294967296.0, cast_to(x & 0xFFFFFFFF, float64)
    lost = (high - cast_to(nearest, float64)) + low
    return directed(nearest, cast_to(where(lost > 0, 1.0, where(lost < 0, -1.0, 0.0)), target), mode)


def _integer(mode: str, target: dtype) -> Function:
    return lambda x: _to_integer(x, mode, target)


def _float(mode: str, target: dtype) -> Function:
    return lambda x: _to_float(x, mode, target)


_INTEGERS = {"int": int32, "uint": uint32, "ll": int64, "ull": uint64}
_FLOATS = {"float": float32, "double": float64}

FUNCTIONS: dict[str, Function] = {
    f"{f}2{i}_{m}": _integer(m, type) for f in _FLOATS for i, type in _INTEGERS.items() for m in MODES
} | {f"{i}2{f}_{m}": _float(m, type) for f, type in _FLOATS.items() for i in _INTEGERS for m in MODES}
