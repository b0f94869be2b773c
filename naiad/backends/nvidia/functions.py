"""Functions of one float: PTX approximations where Triton's language asks for no more, polynomials elsewhere.

Each entry writes the function for one operand. Bounds are in units in the last place of the result, measured in the
tests.
"""

from collections.abc import Callable

from naiad.lowering.emitter import float_literal
from naiad.lowering.threads import Threads

__all__ = ["UNARY"]

Function = Callable[[Threads, str], str]

UNARY: dict[tuple[str, str], Function] = {}


# Fitted to the least maximum relative error of the whole function, highest power first.
LOG_COEFFICIENTS = (
    0.12355540692806244,
    -0.12847384810447693,
    0.10661979019641876,
    -0.12195221334695816,
    0.14312787353992462,
    -0.16679620742797852,
    0.1999930739402771,
    -0.24999819695949554,
    0.3333333730697632,
)
TANH_COEFFICIENTS = (
    -0.0009062874596565962,
    0.003345050383359194,
    -0.008802787400782108,
    0.021861201152205467,
    -0.053967639803886414,
    0.13333331048488617,
    -0.3333333432674408,
)
SIN_COEFFICIENTS = (2.7179378321307013e-06, -0.00019839295418933034, 0.008333329111337662, -0.1666666716337204)
COS_COEFFICIENTS = (-2.717634117743728e-07, 2.479899012541864e-05, -0.001388888107612729, 0.0416666679084301, -0.5)
ERF_NEAR = (
    -1.0462735389182853e-07,
    1.530541680949682e-06,
    -1.4795250535826199e-05,
    0.00012046329356962815,
    -0.0008547941106371582,
    0.0052239676006138325,
    -0.026866169646382332,
    0.11283791810274124,
    -0.37612637877464294,
)
ERF_FAR = (
    -3.068193166200217e-07,
    6.522440344269853e-06,
    -5.983869050396606e-05,
    0.00029195414390414953,
    -0.0006026409682817757,
    -0.0018922605086117983,
    0.021749254316091537,
    -0.10496143251657486,
    -0.6354328393936157,
    -1.1287580728530884,
    5.4117845138534904e-05,
)


def function(name: str, type: str = "float") -> Callable[[Function], Function]:
    def register(write: Function) -> Function:
        UNARY[name, type] = write
        return write

    return register


def approximate(e: Threads, instruction: str, value: str) -> str:
    """One instruction of PTX on f32, without effects: LLVM may drop or share it."""
    return e.op(f'call float asm "{instruction} $0, $1;", "=f,f"(float {value})')


def constant(value: float) -> str:
    return float_literal(value)


def times(e: Threads, a: str, b: float | str) -> str:
    return e.op(f"fmul float {a}, {b if isinstance(b, str) else constant(b)}")


def plus(e: Threads, a: str, b: float | str) -> str:
    return e.op(f"fadd float {a}, {b if isinstance(b, str) else constant(b)}")


def fused(e: Threads, a: str, b: str | float, c: str | float) -> str:
    """a * b + c."""
    return e.intrinsic("fma", "float", a, *(x if isinstance(x, str) else constant(x) for x in (b, c)))


def polynomial(e: Threads, x: str, coefficients: tuple[float, ...]) -> str:
    """Horner's scheme, the highest power first."""
    total = constant(coefficients[0])
    for c in coefficients[1:]:
        total = fused(e, total, x, c)
    return total


@function("exp2")
def exp2(e: Threads, x: str) -> str:
    """In one instruction if numbers below the least normal one may be taken for 0."""
    flush = ".ftz" if getattr(e.options, "enable_reflect_ftz", True) else ""
    return approximate(e, f"ex2.approx{flush}.f32", x)


@function("exp")
def exp(e: Threads, x: str) -> str:
    """2 ** (x / log 2), as Triton computes it: the error grows with |x|."""
    return approximate(e, "ex2.approx.f32", times(e, x, 1.4426950408889634))


@function("sqrt")
def sqrt(e: Threads, x: str) -> str:
    return approximate(e, "sqrt.approx.f32", x)


@function("rsqrt")
def rsqrt(e: Threads, x: str) -> str:
    return approximate(e, "rsqrt.approx.f32", x)


@function("sqrt", "double")
def sqrt_f64(e: Threads, x: str) -> str:
    return e.intrinsic("sqrt", "double", x)


@function("rsqrt", "double")
def rsqrt_f64(e: Threads, x: str) -> str:
    return e.op(f"fdiv double 1.0, {e.intrinsic('sqrt', 'double', x)}")


def reduced_log(e: Threads, x: str) -> tuple[str, str]:
    """(exponent as f32, f) with x = 2**exponent * (1 + f) and 1 + f in [2/3, 4/3); subnormals are scaled first."""
    small = e.op(f"fcmp olt float {x}, {constant(1.1754943508222875e-38)}")
    scaled = e.op(f"select i1 {small}, float {times(e, x, 8388608.0)}, float {x}")
    bits = e.op(f"bitcast float {scaled} to i32")
    step = e.op(f"and i32 {e.op(f'sub i32 {bits}, {0x3F2AAAAB}')}, {-(1 << 23)}")
    mantissa = e.op(f"bitcast i32 {e.op(f'sub i32 {bits}, {step}')} to float")
    exponent = e.op(f"sitofp i32 {e.op(f'ashr i32 {step}, 23')} to float")
    offset = e.op(f"select i1 {small}, float -23.0, float 0.0")
    return plus(e, exponent, offset), plus(e, mantissa, -1.0)


@function("log")
def log(e: Threads, x: str) -> str:
    """The natural logarithm within 1.5 ulp: log(1 + f) = f - f^2/2 + f^3 P(f)."""
    exponent, f = reduced_log(e, x)
    return finish_log(e, x, fused(e, exponent, 0.6931471805599453, log1p_small(e, f)))


@function("log2")
def log2(e: Threads, x: str) -> str:
    exponent, f = reduced_log(e, x)
    return finish_log(e, x, fused(e, log1p_small(e, f), 1.4426950408889634, exponent))


@function("log10")
def log10(e: Threads, x: str) -> str:
    exponent, f = reduced_log(e, x)
    natural = fused(e, exponent, 0.6931471805599453, log1p_small(e, f))
    return finish_log(e, x, times(e, natural, 0.4342944819032518))


def log1p_small(e: Threads, f: str) -> str:
    square = times(e, f, f)
    cubic = times(e, times(e, square, f), polynomial(e, f, LOG_COEFFICIENTS))
    return plus(e, f, fused(e, square, -0.5, cubic))


def finish_log(e: Threads, x: str, value: str) -> str:
    """log 0 = -inf, log of negative numbers = nan, log inf = inf, nan stays."""
    inf, nan = constant(float("inf")), constant(float("nan"))
    value = e.op(f"select i1 {e.op(f'fcmp oeq float {x}, {inf}')}, float {inf}, float {value}")
    value = e.op(f"select i1 {e.op(f'fcmp oeq float {x}, 0.0')}, float {constant(float('-inf'))}, float {value}")
    return e.op(f"select i1 {e.op(f'fcmp ult float {x}, 0.0')}, float {nan}, float {value}")


@function("tanh")
def tanh(e: Threads, x: str) -> str:
    """1 - 2 / (exp(2|x|) + 1), and a polynomial near 0, where that would cancel."""
    size = e.intrinsic("fabs", "float", x)
    grown = exp(e, plus(e, size, size))
    ratio = e.op(
        f'call float asm "div.full.f32 $0, $1, $2;", "=f,f,f"(float {constant(2.0)}, float {plus(e, grown, 1.0)})'
    )
    far = e.op(f"fsub float 1.0, {ratio}")
    square = times(e, x, x)
    near = fused(e, times(e, size, square), polynomial(e, square, TANH_COEFFICIENTS), size)
    small = e.op(f"fcmp olt float {size}, {constant(0.55)}")
    return e.intrinsic("copysign", "float", e.op(f"select i1 {small}, float {near}, float {far}"), x)


def quarter_turns(e: Threads, x: str) -> tuple[str, str]:
    """(n, r) with x = n * pi/2 + r, |r| <= pi/4: exact enough for |x| up to 1e5."""
    n = e.intrinsic("roundeven", "float", times(e, x, 0.6366197723675814))
    r = fused(e, n, -1.57079601287841796875, x)
    r = fused(e, n, -3.1391647326017846e-07, r)
    return e.op(f"fptosi float {n} to i32"), fused(e, n, -5.390302529957764e-15, r)


def wave(e: Threads, x: str, turn: int) -> str:
    """sin(x + turn * pi/2)."""
    n, r = quarter_turns(e, x)
    n = e.op(f"add i32 {n}, {turn}") if turn else n
    square = times(e, r, r)
    sine = fused(e, times(e, r, square), polynomial(e, square, SIN_COEFFICIENTS), r)
    cosine = fused(e, square, polynomial(e, square, COS_COEFFICIENTS), 1.0)
    odd = e.op(f"icmp ne i32 {e.op(f'and i32 {n}, 1')}, 0")
    value = e.op(f"select i1 {odd}, float {cosine}, float {sine}")
    negative = e.op(f"icmp ne i32 {e.op(f'and i32 {n}, 2')}, 0")
    return e.op(f"select i1 {negative}, float {e.op(f'fneg float {value}')}, float {value}")


@function("sin")
def sin(e: Threads, x: str) -> str:
    return wave(e, x, 0)


@function("cos")
def cos(e: Threads, x: str) -> str:
    return wave(e, x, 1)


@function("erf")
def erf(e: Threads, x: str) -> str:
    """A polynomial in x below 1; beyond, 1 - exp(-P(x)) with P fitted to -log(erfc)."""
    size = e.intrinsic("fabs", "float", x)
    square = times(e, x, x)
    near = fused(e, times(e, size, square), polynomial(e, square, ERF_NEAR), times(e, size, 1.1283791670955126))
    capped = e.intrinsic("minnum", "float", size, constant(4.0))
    far = e.op(f"fsub float 1.0, {exp(e, polynomial(e, capped, ERF_FAR))}")
    small = e.op(f"fcmp olt float {size}, 1.0")
    value = e.op(f"select i1 {small}, float {near}, float {far}")
    return e.intrinsic("copysign", "float", value, x)
