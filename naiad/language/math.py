"""Elementwise functions of numbers: exp, sin, sqrt, fma and the like. A line in the table adds one."""

import builtins
from collections.abc import Callable
from typing import Any

from naiad.language.arithmetic import and_, emit_like
from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.casts import bitcast_to
from naiad.language.promotion import Allow, operands, to_tensor
from naiad.language.shape import broadcast_pair
from naiad.language.tensor import member, tensor
from naiad.language.types import float8e4b15, float32, uint8

_FLOATS = ("fp32", "fp64")
_WIDE_INTEGERS = ("int32", "int64", "uint32", "uint64")

_UNARY: dict[str, tuple[str, tuple[str, ...], str]] = {  # name: (op, dtypes, what it is)
    "exp": ("math.exp", _FLOATS, "e to the power of `x`"),
    "exp2": ("math.exp2", _FLOATS, "2 to the power of `x`"),
    "log": ("math.log", _FLOATS, "the natural logarithm of `x`"),
    "log2": ("math.log2", _FLOATS, "the logarithm of `x` to the base 2"),
    "cos": ("math.cos", _FLOATS, "the cosine of `x`"),
    "sin": ("math.sin", _FLOATS, "the sine of `x`"),
    "sqrt": ("math.sqrt", _FLOATS, "the square root of `x`, fast"),
    "sqrt_rn": ("tt.precise_sqrt", ("fp32",), "the square root of `x`, correctly rounded"),
    "rsqrt": ("math.rsqrt", _FLOATS, "1 over the square root of `x`"),
    "erf": ("math.erf", _FLOATS, "the error function of `x`"),
    "floor": ("math.floor", _FLOATS, "`x` rounded down to a whole number"),
    "ceil": ("math.ceil", _FLOATS, "`x` rounded up to a whole number"),
}


def _checked(value: Any, allowed: tuple[str, ...]) -> tensor:
    """`value` as a tensor of one of the dtypes `allowed`: what machines compute in; the user casts, and sees it."""
    result = to_tensor(value)
    if result.dtype.name not in allowed:
        raise ValueError(f"Expected dtype {list(allowed)} but got {result.dtype.name}")
    return result


def _unary(name: str) -> Callable[..., tensor]:
    op, allowed, what = _UNARY[name]

    def function(x: Any) -> tensor:
        value = _checked(x, allowed)
        return tensor(builder().emit(op, (value.handle,), value.type), value.type)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Elementwise {what}. Takes {' and '.join(allowed)}."
    return member(builtin(function))


exp, exp2, log, log2 = (_unary(_name) for _name in ("exp", "exp2", "log", "log2"))
cos, sin, erf = (_unary(_name) for _name in ("cos", "sin", "erf"))
sqrt, sqrt_rn, rsqrt = (_unary(_name) for _name in ("sqrt", "sqrt_rn", "rsqrt"))
floor, ceil = (_unary(_name) for _name in ("floor", "ceil"))


@member
@builtin
def abs(x: Any) -> tensor:
    """The absolute value. The smallest integer of a signed type stays as it is."""
    value = to_tensor(x)
    if value.dtype == float8e4b15:
        return bitcast_to(and_(bitcast_to(value, uint8), 0x7F), value.dtype)
    if value.dtype.is_int_unsigned():
        return value
    if not (value.dtype.is_floating() or value.dtype.is_int()):
        raise AssertionError(f"Unexpected dtype {value.dtype}")
    op = "math.absf" if value.dtype.is_floating() else "math.absi"
    return tensor(builder().emit(op, (value.handle,), value.type), value.type)


@builtin
def umulhi(x: Any, y: Any) -> tensor:
    """The upper half of the product of two 32 or 64 bit integers."""
    a, b = operands(_checked(x, _WIDE_INTEGERS), _checked(y, _WIDE_INTEGERS))
    return emit_like("tt.mulhiui", a, b)


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: bool = False) -> tensor:
    """`x / y` of floats. Correctly rounded with `ieee_rounding` (fp32), else as fast as `/`."""
    a, b = to_tensor(x), to_tensor(y)
    if not a.dtype.is_floating() or not b.dtype.is_floating():
        raise TypeError("both operands of fdiv must have floating scalar type")
    a, b = broadcast_pair(a, b) if a.dtype == b.dtype else operands(a, b, Allow(division=True))
    return emit_like("tt.precise_divf" if ieee_rounding and a.dtype == float32 else "arith.divf", a, b)


@builtin
def div_rn(x: Any, y: Any) -> tensor:
    """`x / y` of fp32, correctly rounded."""
    return emit_like("tt.precise_divf", *operands(_checked(x, ("fp32",)), _checked(y, ("fp32",))))


@builtin
def fma(x: Any, y: Any, z: Any) -> tensor:
    """`x * y + z`, rounded once."""
    a, b = operands(to_tensor(x), to_tensor(y))
    c, a = operands(to_tensor(z), a)
    c, b = operands(c, b)
    if not a.dtype.is_floating():
        raise TypeError(f"fma needs floats, got {a.dtype}")
    return tensor(builder().emit("math.fma", (a.handle, b.handle, c.handle), a.type), a.type)


__all__ = [
    *_UNARY,
    *(f.__name__ for f in (abs, umulhi, fdiv, div_rn, fma)),
]
assert builtins.len(__all__) == builtins.len(set(__all__))
