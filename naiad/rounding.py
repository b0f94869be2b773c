"""Correctly rounded conversions to any float format, in numpy. Shared by constant folding and the interpreter.

What a conversion gives, on every backend: the nearest value, ties to even ("rtne"), or the next towards zero ("rtz"),
with subnormals. f16, bf16 and f32 overflow to infinity under rtne and to the largest finite value under rtz. The fp8
formats saturate: what is too large, infinity included, gives the largest finite value; NaN stays NaN. A float too large
for an integer gives that integer's largest or smallest value, NaN gives 0.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["Format", "format_of", "from_int", "fused", "is_float", "round_to", "to_double",
           "to_float", "to_int"]  # fmt: skip


@dataclass(frozen=True)
class Format:
    """Bits of the mantissa without the leading one, exponent of the smallest normal number, largest finite value."""

    mantissa: int
    least: int
    largest: float
    saturates: bool = False


_FORMATS = {
    np.dtype(np.float16): Format(10, -14, 65504.0),
    np.dtype(ml_dtypes.bfloat16): Format(7, -126, float(2 - 2.0**-7) * 2.0**127),
    np.dtype(np.float32): Format(23, -126, float(2 - 2.0**-23) * 2.0**127),
    np.dtype(ml_dtypes.float8_e4m3fn): Format(3, -6, 448.0, True),
    np.dtype(ml_dtypes.float8_e5m2): Format(2, -14, 57344.0, True),
    np.dtype(ml_dtypes.float8_e4m3fnuz): Format(3, -7, 240.0, True),
    np.dtype(ml_dtypes.float8_e5m2fnuz): Format(2, -15, 57344.0, True),
}
_NATIVE = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))


def format_of(dtype: np.dtype) -> Format:
    """The float format of a numpy dtype, except of float64."""
    return _FORMATS[dtype]


def is_float(dtype: np.dtype) -> bool:
    """Whether elements are floats of any format."""
    return dtype == np.float64 or dtype in _FORMATS


def round_to(x: Any, format: Format, rounding: str = "rtne") -> Any:
    """float64 `x` rounded once to a value of `format`, as float64."""
    exponent = np.frexp(x)[1] - 1
    quantum = np.maximum(exponent, format.least) - format.mantissa
    scaled = np.ldexp(x, -quantum)
    y = np.ldexp(np.trunc(scaled) if rounding == "rtz" else np.rint(scaled), quantum)
    limit = format.largest if format.saturates or rounding == "rtz" else np.inf
    over = np.abs(y) > format.largest
    if rounding == "rtz" and not format.saturates:
        over = over & np.isfinite(x)
    return np.where(over, np.copysign(limit, x), y)


def to_double(x: Any) -> Any:
    """The exact value of any float as float64."""
    return x.astype(np.float64)


def to_float(x: Any, dtype: np.dtype, rounding: str = "rtne") -> Any:
    """Floats of any format converted to the format `dtype`, rounded once."""
    if x.dtype == dtype or _is_exact(x.dtype, dtype):
        return x.astype(dtype)
    native = x.dtype in _NATIVE and dtype in _NATIVE and rounding == "rtne"
    return x.astype(dtype) if native else _encode(round_to(to_double(x), format_of(dtype), rounding), dtype)


def from_int(x: Any, dtype: np.dtype, signed: bool = True) -> Any:
    """Integers (`signed` says how the bits read) converted to the format `dtype`, rounded once to nearest."""
    if x.dtype.kind == "b":
        x = -x.astype(np.int8) if signed else x.astype(np.int8)
    elif not signed:
        x = x.view(np.dtype(f"u{x.dtype.name}")) if x.dtype.kind == "i" else x
    if dtype in (np.float32, np.float64):
        return x.astype(dtype)
    return _encode(round_to(_sticky_double(x), format_of(dtype)), dtype)


def to_int(x: Any, dtype: np.dtype, signed: bool = True) -> Any:
    """Floats without their fraction, in `dtype`; what does not fit gives the nearest that does, NaN gives 0."""
    bits = 1 if dtype.kind == "b" else dtype.itemsize * 8
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    wide = np.dtype(np.int64 if signed else np.uint64)
    whole = np.nan_to_num(np.trunc(to_double(x)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    inside = (whole > low) & (whole < float(high))
    exact = np.where(inside, whole, 0.0).astype(wide)
    clamped = np.where(inside, exact, np.where(whole >= float(high), wide.type(high), wide.type(low)))
    return (clamped & 1).astype(bool) if dtype.kind == "b" else clamped.astype(dtype)


def _is_exact(source: np.dtype, target: np.dtype) -> bool:
    """Whether each value of the one format is a value of the other."""
    if target == np.float64:
        return True
    if source == np.float64:
        return False
    a, b = _FORMATS[source], _FORMATS[target]
    finer = a.mantissa <= b.mantissa and a.least - a.mantissa >= b.least - b.mantissa
    return finer and a.largest <= b.largest and not b.saturates


def _sticky_double(x: Any) -> Any:
    """Integers as float64 that round on to fewer bits as the integers do: below 53 bits, what is lost leaves a one."""
    negative = x < 0
    wide = x.astype(np.int64).view(np.uint64) if x.dtype.kind == "i" else x.astype(np.uint64)
    size = np.where(negative, ~wide + np.uint64(1), wide)
    low = np.uint64(0x7FF)
    jammed = (size & ~low) | np.where(size & low, np.uint64(0x800), np.uint64(0))
    value = np.where(size >> np.uint64(53), jammed, size).astype(np.float64)
    return np.where(negative, -value, value)


def _encode(values: Any, dtype: np.dtype) -> Any:
    """float64 values that `dtype` has, in that dtype."""
    return np.asarray(values).astype(np.float32).astype(dtype)


def fused(a: Any, b: Any, c: Any) -> Any:
    """a * b + c rounded once; a, b, c are all float32 or all float64."""
    if a.dtype == np.float32:
        return _odd_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)).astype(np.float32)
    return _exact_fused(a, b, c)


def _odd_sum(a: Any, b: Any) -> Any:
    """a + b in float64, rounded to odd: rounding it again to fewer bits gives what rounding the exact sum would."""
    total = np.asarray(a + b)
    part = total - a
    lost = (a - (total - part)) + (b - part)
    even = (total.view(np.int64) & 1) == 0
    nudge = np.isfinite(total) & (lost != 0) & even
    return np.where(nudge, np.nextafter(total, np.copysign(np.inf, lost)), total)


def _fused_number(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        if math.isinf(c) and math.isfinite(a) and math.isfinite(b):
            return c  # however large the product is
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


_exact_fused = np.vectorize(_fused_number, otypes=[np.float64])
