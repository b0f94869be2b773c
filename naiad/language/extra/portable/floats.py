"""Functions of floats that the IR or C's math library has, or that follow from them in a line or two."""

from collections.abc import Callable
from typing import Any

from naiad.language.arithmetic import emit_like
from naiad.language.builder import builder
from naiad.language.casts import bitcast_to, cast_to
from naiad.language.compare import where
from naiad.language.tensor import tensor
from naiad.language.types import dtype, float32, float64, get_int_dtype, int32

Function = Callable[..., Any]
PI = 3.141592653589793


def emit(op: str, *values: Any) -> tensor:
    """An op on values of one type, which gives that type."""
    return tensor(builder().emit(op, [value.handle for value in values], values[0].type), values[0].type)


def libm(name: str, *values: Any, result: dtype | None = None) -> tensor:
    """The function `name` of C's math library, in the spelling for the float among `values`."""
    single = any(value.dtype == float32 for value in values)
    return symbol(f"{name}f" if single else name, *values, result=result)


def symbol(name: str, *values: Any, result: dtype | None = None) -> tensor:
    """The function that the target calls `name`; it gives the first float type of its operands, if not `result`."""
    type = values[0].type.with_element_ty(result or next(v.dtype for v in values if v.dtype.is_floating()))
    attributes = {"libname": "libm", "libpath": "", "symbol": name, "pure": True}
    return tensor(builder().emit("tt.extern_elementwise", [v.handle for v in values], type, **attributes), type)


def in_double(function: Function) -> Function:
    """Computes in fp64, where fp32 would lose what the function needs."""

    def wider(*values: Any) -> Any:
        return cast_to(function(*[cast_to(value, float64) for value in values]), values[0].dtype)

    return wider


def bits_of(x: Any) -> Any:
    """The bits of a float as a signed integer."""
    return bitcast_to(x, get_int_dtype(x.dtype.primitive_bitwidth, signed=True))


def _round(x: Any) -> Any:
    """To the nearest whole number, halves away from zero."""
    whole = emit("math.trunc", x)
    return where(emit("math.absf", x - whole) >= 0.5, whole + emit("math.copysign", x * 0 + 1.0, x), whole)


def _is_infinite(x: Any) -> Any:
    return emit("math.absf", x) == float("inf")


def _is_finite(x: Any) -> Any:
    return emit("math.absf", x) < float("inf")


def _power(x: Any, y: Any) -> Any:
    return emit("math.powf", x, cast_to(y, x.dtype))


def _turned(x: Any) -> Any:
    """x brought to [-1, 1] by multiples of 2: exact."""
    return x - 2.0 * emit("math.roundeven", x * 0.5)


def _sin_pi(x: Any) -> Any:
    y = _turned(x)
    size = emit("math.absf", y)
    folded = where(size > 0.5, 1.0 - size, size)  # exact: sin(pi - a) = sin(a)
    return emit("math.copysign", emit("math.sin", folded * PI), where(y == 0, x, y))


def _cos_pi(x: Any) -> Any:
    return emit("math.sin", (0.5 - emit("math.absf", _turned(x))) * PI)


def _norm(*values: Any) -> Any:
    """The length of a vector, without overflow."""
    length = values[0]
    for value in values[1:]:
        length = libm("hypot", length, value)
    return length


def _op(name: str) -> Function:
    return lambda *values: emit(name, *values)


def _libm(name: str) -> Function:
    return lambda *values: libm(name, *values)


_MATH = (
    "exp exp2 log log2 log10 log1p expm1 sin cos tan tanh sinh cosh asin acos atan sqrt cbrt "
    "erf floor ceil trunc fma rsqrt atan2 copysign"
)
_LIBM = "exp10 asinh acosh atanh erfc lgamma tgamma j0 j1 y0 y1 jn yn hypot nextafter logb remainder ldexp scalbn"
_FAST = {"sinf": "sin", "cosf": "cos", "tanf": "tan", "expf": "exp", "logf": "log", "log2f": "log2", "log10f": "log10"}

FUNCTIONS: dict[str, Function] = {
    **{name: _op(f"math.{name}") for name in _MATH.split()},
    **{name: _libm(name) for name in _LIBM.split()},
    **{f"fast_{fast}": _op(f"math.{name}") for fast, name in _FAST.items()},
    "fast_tanhf": _op("math.tanh"),
    "fast_exp10f": _libm("exp10"),
    "fast_powf": _power,
    "fast_dividef": lambda x, y: emit_like("arith.divf", x, y),
    "pow": _power,
    "rint": _op("math.roundeven"),
    "nearbyint": _op("math.roundeven"),
    "llrint": _op("math.roundeven"),
    "round": _round,
    "llround": _round,
    "sinpi": in_double(_sin_pi),
    "cospi": in_double(_cos_pi),
    "fmod": _op("arith.remf"),
    "fdim": lambda x, y: where(x <= y, 0.0, x - y),
    "ilogb": lambda x: libm("ilogb", x, result=int32),
    "isnan": lambda x: x != x,
    "isinf": _is_infinite,
    "finitef": _is_finite,
    "isfinited": _is_finite,
    "signbit": lambda x: bits_of(x) < 0,
    "saturatef": lambda x: where(x > 0, where(x < 1, x, 1.0), 0.0),  # NaN gives 0
    "rcbrt": lambda x: 1.0 / emit("math.cbrt", x),
    "rsqrt_rn": in_double(lambda x: 1.0 / emit("math.sqrt", x)),
    "rcp64h": lambda x: 1.0 / x,
    "rhypot": lambda x, y: 1.0 / libm("hypot", x, y),
    "norm3d": _norm,
    "norm4d": _norm,
    "rnorm3d": lambda *values: 1.0 / _norm(*values),
    "rnorm4d": lambda *values: 1.0 / _norm(*values),
}
