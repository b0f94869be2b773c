"""The math dialect: our own vector formulas where there is one, else libm a lane at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from naiad.backends.cpu import math_exp, math_log, math_trig
from naiad.backends.cpu.kinds import Kind
from naiad.backends.cpu.lower_casts import from_f32, to_f32
from naiad.backends.cpu.math_formula import Body, function
from naiad.backends.cpu.math_libm import by_lanes
from naiad.backends.cpu.writer import CpuEmitter, result_kind
from naiad.lowering.rules import Rules

rules = Rules()


@dataclass(frozen=True)
class Function:
    """A function of the math library: formulas for f32 and f64, None where libm does it."""

    f32: Body | None
    f64: Body | None = None
    arguments: int = 1


FUNCTIONS = {
    "exp": Function(math_exp.exp, math_exp.exp),
    "exp2": Function(math_exp.exp2, math_exp.exp2),
    "expm1": Function(math_exp.expm1, math_exp.expm1),
    "tanh": Function(math_exp.tanh, math_exp.tanh_f64),
    "sinh": Function(math_exp.sinh),
    "cosh": Function(math_exp.cosh),
    "log": Function(math_log.log, math_log.log),
    "log2": Function(math_log.log2, math_log.log2),
    "log10": Function(math_log.log10),
    "log1p": Function(math_log.log1p),
    "pow": Function(math_log.pow, None, 2),
    "sin": Function(math_trig.sin, math_trig.sin),
    "cos": Function(math_trig.cos, math_trig.cos),
    "tan": Function(math_trig.tan),
    "erf": Function(math_trig.erf),
    "atan": Function(math_trig.atan),
    "asin": Function(math_trig.asin),
    "acos": Function(math_trig.acos),
    "rsqrt": Function(math_trig.rsqrt, math_trig.rsqrt),
    "atan2": Function(None, None, 2),
    "cbrt": Function(None),
}
NAMES = {"powf": "pow"}


def apply(e: CpuEmitter, name: str, kind: Kind, operands: Sequence[str]) -> str:
    """The function called `name` in libm's spelling for double, on a float kind; small floats run in f32."""
    if kind.is_small_float:
        wide = [to_f32(e, kind, x) for x in operands]
        return from_f32(e, kind, apply(e, name, kind.of("f32"), wide))
    row = FUNCTIONS[name]
    body = row.f32 if kind.bits == 32 else row.f64
    if body is None:
        return by_lanes(e, f"{name}f" if kind.bits == 32 else name, kind, operands)
    symbol = function(e, name, kind, body, row.arguments)
    return e.op(f"call {kind.llvm} {symbol}({', '.join(f'{kind.llvm} {x}' for x in operands)})")


@rules.lower(*(f"math.{n}" for n in FUNCTIONS if n != "pow"), "math.powf")
def math_function(op: Operation, e: CpuEmitter) -> str:
    name = op.name[5:]
    return apply(e, NAMES.get(name, name), result_kind(op), e.all(op.operands))
