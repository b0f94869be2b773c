"""What each elementwise op computes, on numpy arrays: used by constant folding and by the interpreter. Imports no xDSL.

Integers are signless: an array of i32 is held as int32, of i1 as bool, and an op says how it reads the bits. f16, bf16
and f8 are computed in f64 and rounded once (naiad/rounding.py says how). What MLIR leaves undefined (division by zero,
shifts past the width) gives some value of the right type and never raises; `is_defined`: whether folding may use it.

    evaluate("arith.cmpi", [a, b], np.dtype(bool), "slt")
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from naiad.rounding import from_int, fused, is_float, to_double, to_float, to_int

__all__ = ["DTYPES", "evaluate", "is_defined"]

Array = Any

DTYPES: dict[str, np.dtype] = {
    "i1": np.dtype(bool), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64), "index": np.dtype(np.int64), "f16": np.dtype(np.float16), "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64), "bf16": np.dtype(ml_dtypes.bfloat16), "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2), "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz), "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
}  # fmt: skip
"""The numpy type that holds an IR scalar type, by the name of the IR type."""

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _signed(a: Array) -> Array:
    """The bits read as a signed number: true is -1."""
    return -a.astype(np.int8) if a.dtype == bool else a


def _unsigned(a: Array) -> Array:
    """The bits read as an unsigned number."""
    return a.astype(np.uint8) if a.dtype == bool else a.view(_UNSIGNED[a.dtype.itemsize])


def _wrap(a: Array, to: np.dtype) -> Array:
    """The low bits of integers `a`, in type `to`."""
    return (a & 1).astype(bool) if to == DTYPES["i1"] else a.astype(to)


def _wide(a: Array) -> Array:
    """Floats of 16 and 8 bits as f64, the others as they are."""
    return to_double(a) if is_float(a.dtype) and a.dtype != np.float32 else a


def _divide(a: Array, b: Array) -> Array:
    """Division that drops the fraction, as in C; 0 where b is 0."""
    quotient = np.floor_divide(a, b)
    inexact = (quotient * b != a) & (b != 0)
    return np.where(inexact & ((a < 0) != (b < 0)), quotient + 1, quotient).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    """What `_divide` leaves: has the sign of a."""
    return (a - _divide(a, b) * b).astype(a.dtype)


def _shift_right(a: Array, by: Array) -> Array:
    width = 8 * a.dtype.itemsize
    clipped = np.minimum(_unsigned(by), width - 1).astype(a.dtype)
    full = _unsigned(by) >= width
    return np.where(full & (a.dtype.kind == "u"), 0, np.right_shift(a, clipped)).astype(a.dtype)


def _shift_left(a: Array, by: Array) -> Array:
    width = 8 * a.dtype.itemsize
    clipped = np.minimum(_unsigned(by), width - 1).astype(a.dtype)
    return np.where(_unsigned(by) >= width, 0, np.left_shift(a, clipped)).astype(a.dtype)


def _mulhi(a: Array, b: Array) -> Array:
    """The high half of the product of unsigned integers."""
    half = 4 * a.dtype.itemsize
    low = a.dtype.type((1 << half) - 1)
    shift = a.dtype.type(half)
    a0, a1, b0, b1 = a & low, a >> shift, b & low, b >> shift
    cross = a1 * b0 + ((a0 * b0) >> shift)
    second = a0 * b1 + (cross & low)
    return a1 * b1 + (cross >> shift) + (second >> shift)


_erf = np.vectorize(math.erf, otypes=[np.float64])


def _erf_of(a: Array) -> Array:
    return _erf(a.astype(np.float64)).astype(a.dtype) if a.size else a


def _maximum(a: Array, b: Array) -> Array:
    """NaN wins, and +0 is above -0."""
    return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))


def _minimum(a: Array, b: Array) -> Array:
    return np.where((a == 0) & (b == 0), -(-a - b), np.minimum(a, b))


def _clamp(x: Array, low: Array, high: Array, propagate: str) -> Array:
    if propagate == "all":
        return np.minimum(np.maximum(x, low), high)
    return np.fmin(np.fmax(x, low), high)


def _in_double(f: Callable) -> Callable:
    """f computed in f64 and rounded to the type of the operand: correctly rounded but for rare ties."""
    return lambda a: f(a.astype(np.float64)).astype(a.dtype)


SIGNED: dict[str, Callable] = {
    "arith.divsi": _divide, "arith.remsi": _remainder, "arith.floordivsi": np.floor_divide,
    "arith.ceildivsi": lambda a, b: np.floor_divide(a, b) + (np.remainder(a, b) != 0), "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum, "arith.shrsi": _shift_right, "math.absi": np.abs,
}  # fmt: skip
UNSIGNED: dict[str, Callable] = {
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.divui": np.floor_divide,
    "arith.remui": _remainder, "arith.ceildivui": lambda a, b: np.floor_divide(a, b) + (np.remainder(a, b) != 0),
    "arith.maxui": np.maximum, "arith.minui": np.minimum, "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor, "arith.shli": _shift_left, "arith.shrui": _shift_right, "tt.mulhiui": _mulhi,
}  # fmt: skip
FLOAT: dict[str, Callable] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.remf": np.fmod, "arith.negf": np.negative, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "arith.maximumf": _maximum, "arith.minimumf": _minimum, "math.exp": _in_double(np.exp),
    "math.exp2": _in_double(np.exp2), "math.log": _in_double(np.log), "math.log2": _in_double(np.log2),
    "math.log10": _in_double(np.log10), "math.log1p": _in_double(np.log1p), "math.expm1": _in_double(np.expm1),
    "math.sin": _in_double(np.sin), "math.cos": _in_double(np.cos), "math.tan": _in_double(np.tan),
    "math.tanh": _in_double(np.tanh), "math.sinh": _in_double(np.sinh), "math.cosh": _in_double(np.cosh),
    "math.asin": _in_double(np.arcsin), "math.acos": _in_double(np.arccos), "math.atan": _in_double(np.arctan),
    "math.sqrt": np.sqrt, "math.rsqrt": _in_double(lambda a: 1.0 / np.sqrt(a)), "math.cbrt": _in_double(np.cbrt),
    "math.erf": _erf_of, "math.floor": np.floor, "math.ceil": np.ceil, "math.trunc": np.trunc,
    "math.roundeven": np.rint, "math.absf": np.abs, "math.fma": fused, "math.atan2": np.arctan2, "math.powf": np.power,
    "math.copysign": np.copysign, "tt.precise_sqrt": np.sqrt, "tt.precise_divf": np.divide,
}  # fmt: skip
ORDER: dict[str, Callable] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def _compare_integers(a: Array, b: Array, predicate: str) -> Array:
    if predicate in ORDER:
        return ORDER[predicate](a, b)
    read = _signed if predicate[0] == "s" else _unsigned
    return ORDER[predicate[1:]](read(a), read(b))


def _compare_floats(a: Array, b: Array, predicate: str) -> Array:
    """olt: ordered (neither is NaN) and a < b; ult: a < b or either is NaN; ord, uno; true, false."""
    a, b = _wide(a), _wide(b)
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in ("ord", "uno"):
        return unordered if predicate == "uno" else ~unordered
    if predicate in ("true", "false"):
        return np.full(unordered.shape, predicate == "true")
    found = ORDER[predicate[1:]](a, b)
    return found & ~unordered if predicate[0] == "o" else found | unordered


def _round(a: Array, to: np.dtype, mode: str | None) -> Array:
    return to_float(a, to, mode or "rtne")


def _bits(a: Array, to: np.dtype) -> Array:
    return a if a.dtype == to else a.view(to)


CASTS: dict[str, Callable] = {
    "arith.extsi": lambda a, to, _: _wrap(_signed(a), to),
    "arith.extui": lambda a, to, _: _wrap(_unsigned(a), to),
    "arith.trunci": lambda a, to, _: _wrap(a, to),
    "arith.index_cast": lambda a, to, _: _wrap(_signed(a), to),
    "arith.index_castui": lambda a, to, _: _wrap(_unsigned(a), to),
    "arith.sitofp": lambda a, to, _: from_int(a, to),
    "arith.uitofp": lambda a, to, _: from_int(a, to, signed=False),
    "arith.fptosi": lambda a, to, _: to_int(a, to),
    "arith.fptoui": lambda a, to, _: to_int(a, to, signed=False),
    "arith.extf": _round,
    "arith.truncf": _round,
    "tt.fp_to_fp": _round,
    "arith.bitcast": lambda a, to, _: _bits(a, to),
    "tt.bitcast": lambda a, to, _: _bits(a, to),
}
DIVISIONS = frozenset(
    f"arith.{op}" for op in ("divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui")
)


def evaluate(name: str, args: Sequence[Array], to: np.dtype, mode: str | None = None) -> Array:
    """The value of op `name` on arrays of one shape, in type `to`.

    mode: the predicate of a comparison, the rounding of a cast, the NaN rule of tt.clampf. Raises KeyError for an op
    that is not elementwise.
    """
    with np.errstate(all="ignore"):
        if name in FLOAT:
            return to_float(FLOAT[name](*map(_wide, args)), to)
        if name in UNSIGNED:
            return _wrap(UNSIGNED[name](*map(_unsigned, args)), to)
        if name in SIGNED:
            return _wrap(SIGNED[name](*map(_signed, args)), to)
        if name in CASTS:
            return CASTS[name](args[0], to, mode)
        return _others(name, args, to, mode)


def _others(name: str, args: Sequence[Array], to: np.dtype, mode: str | None) -> Array:
    if name == "arith.cmpi":
        return _compare_integers(args[0], args[1], mode or "")
    if name == "arith.cmpf":
        return _compare_floats(args[0], args[1], mode or "")
    if name == "arith.select":
        return np.where(*args)
    if name == "tt.clampf":
        x, low, high = map(_wide, args)
        return to_float(_clamp(x, low, high, mode or "none"), to)
    raise KeyError(f"{name} is not an elementwise op")


def is_defined(name: str, args: Sequence[Array]) -> bool:
    """Whether the op has a value on `args`: false for a division by zero, or the lowest number by -1."""
    if name not in DIVISIONS:
        return True
    a, b = np.asarray(args[0]), np.asarray(args[1])
    if not b.all():
        return False
    lowest = a.dtype != bool and np.iinfo(a.dtype).min
    return "ui" in name or not bool(np.any((a == lowest) & (b == -1)))
