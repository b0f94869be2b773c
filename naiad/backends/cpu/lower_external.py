"""Functions of a device library by their symbol.

The CPU answers to the names of CUDA's libdevice (`__nv_tanhf`, `__nv_clzll`) and to those of libm itself: ours where
there is a vector formula, else libm a lane at a time.
"""

import re
import sys

from xdsl.ir import Operation

from naiad.backends.cpu import libdevice_directed, libdevice_float, libdevice_integer
from naiad.backends.cpu.kinds import Kind, kind_of, word
from naiad.backends.cpu.lower_casts import from_f32, to_f32
from naiad.backends.cpu.lower_elementwise import whole
from naiad.backends.cpu.lower_math import FUNCTIONS, apply
from naiad.backends.cpu.math_formula import Number
from naiad.backends.cpu.math_libm import by_lanes
from naiad.backends.cpu.writer import CpuEmitter
from naiad.errors import explain
from naiad.lowering.rules import Rules

rules = Rules()

FORMULAS = libdevice_integer.RULES | libdevice_float.RULES | libdevice_directed.RULES
ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven", "nearbyint": "roundeven"}
INTRINSICS = {"sqrt": "sqrt", "fabs": "fabs", "copysign": "copysign", "fma": "fma", "round": "round"}
LIBM = frozenset({
    "acosh", "asinh", "atanh", "j0", "j1", "y0", "y1", "jn", "yn", "erfc", "lgamma", "tgamma", "logb", "nextafter",
    "hypot", "fmod", "remainder", "fdim", "atan2", "cbrt", "ldexp", "scalbn", "ilogb", "exp10",
})  # fmt: skip
FAST = {"fast_sinf": "sinf", "fast_cosf": "cosf", "fast_tanf": "tanf", "fast_log2f": "log2f", "fast_logf": "logf",
        "fast_log10f": "log10f", "fast_expf": "expf", "fast_exp10f": "exp10f", "fast_powf": "powf"}  # fmt: skip
CLOCK = "naiad_nanoseconds"
MONOTONIC = 6 if sys.platform == "darwin" else 1
OCML = re.compile(r"__ocml_(\w+)_f(32|64)")


@rules.lower("tt.extern_elementwise")
def external(op: Operation, e: CpuEmitter) -> str:
    kinds, result = [kind_of(v) for v in op.operands], kind_of(op.results[0])
    operands = e.all(op.operands)
    if word(op, "symbol") == CLOCK:
        return nanoseconds(e)
    if not any(k.is_small_float for k in (result, *kinds)):
        return write(e, word(op, "symbol"), kinds, operands, result)
    values = [to_f32(e, k, x) if k.is_small_float else x for k, x in zip(kinds, operands, strict=True)]
    wide = [k.of("f32") if k.is_small_float else k for k in kinds]
    answer = write(e, word(op, "symbol"), wide, values, result.of("f32") if result.is_small_float else result)
    return from_f32(e, result, answer) if result.is_small_float else answer


def plain_name(symbol: str) -> str:
    """The name as libm would spell it."""
    if match := OCML.fullmatch(symbol):
        return match[1] + ("f" if match[2] == "32" else "")
    name = symbol.removeprefix("__nv_")
    return FAST.get(name, name)


def write(e: CpuEmitter, symbol: str, kinds: list[Kind], operands: list[str], result: Kind) -> str:
    """The function on operands of f32, f64 and integers."""
    name = plain_name(symbol)
    if (formula := FORMULAS.get(name)) is not None:
        return formula(*[Number(e, k, x) for k, x in zip(kinds, operands, strict=True)]).text
    single = kinds[-1].element == "f32" or kinds[0].element == "f32"
    base = name.removesuffix("f") if single and name != "erf" else name
    if base in ROUNDING:
        return whole(e, ROUNDING[base], result, operands[0])
    if base in INTRINSICS:
        return e.intrinsic(INTRINSICS[base], result.llvm, *operands)
    if base in FUNCTIONS and all(k == result for k in kinds):
        return apply(e, base, result, operands)
    if base == "powi":
        return integer_power(e, kinds, operands, result)
    if base in LIBM or not symbol.startswith("__"):
        return by_lanes(e, name, result, operands, kinds)
    raise explain(
        NotImplementedError(f"the CPU has no device function {symbol}"),
        expected="a name of CUDA's libdevice (__nv_..), of AMD's OCML (__ocml_..), or of C's math library",
        found=f"{symbol} of {', '.join(k.element for k in kinds)}",
        advice="call it as naiad.language.extra.libdevice.NAME, which every target has, or write it in the language",
    )


def integer_power(e: CpuEmitter, kinds: list[Kind], operands: list[str], result: Kind) -> str:
    """x**n for an integer n, in f64."""
    wide = result.of("f64")
    x = operands[0] if result == wide else e.cast("fpext", result, wide, operands[0])
    y = by_lanes(e, "pow", wide, [x, e.cast("sitofp", kinds[1], wide, operands[1])])
    return y if result == wide else e.cast("fptrunc", wide, result, y)


def nanoseconds(e: CpuEmitter) -> str:
    """The time of a clock that only goes forward, as i64."""
    return e.op(f"call i64 {e.module.once(CLOCK, lambda name: define_clock(e, name))}()")


def define_clock(e: CpuEmitter, name: str) -> None:
    f = CpuEmitter(e.module, e.target)
    place = f.op("alloca [2 x i64], align 8")
    f.call("i32", "clock_gettime", ("i32", "ptr"), (str(MONOTONIC), place))
    seconds, rest = f.load("i64", place, 8), f.load("i64", f.gep(place, "8"), 8)
    total = f.op(f"add i64 {f.op(f'mul i64 {seconds}, 1000000000')}, {rest}")
    f.module.define("i64", name, [], f, f"ret i64 {total}", "internal", "nounwind noinline")
