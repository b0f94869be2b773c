"""Float functions of a device library that no C library has: conversions rounded in a direction, norms, and special
functions.

The special functions run in f64 and are rounded once for f32; about 1e-15 of
relative accuracy; I0 and I1 sum a series, and have 1e-14.
"""

from collections.abc import Callable
from math import pi, sqrt

from naiad.backends.cpu.kinds import Kind
from naiad.backends.cpu.libdevice_integer import INTEGERS, flag, resized
from naiad.backends.cpu.lower_casts import float_to_int
from naiad.backends.cpu.math_exp import exp
from naiad.backends.cpu.math_formula import Number
from naiad.backends.cpu.math_libm import by_lanes
from naiad.backends.cpu.math_log import log
from naiad.backends.cpu.writer import CpuEmitter

Rule = Callable[..., Number]


# -- rounding in a direction: the nearest result, then a step where it lies on the wrong side


def directed(result: Number, error: Number, mode: str) -> Number:
    """`result` moved to its neighbour where `error`, exact minus result, says that `mode` wants the other one."""
    if mode == "rn":
        return result
    bits, outward = result.bits, result.bits < 0
    if mode == "rz":
        wrong = ((error < 0.0) & (outward ^ True)) | ((error > 0.0) & outward)
        return wrong.where(bits - 1, bits).as_float()
    wrong = (error < 0.0) if mode == "rd" else (error > 0.0)
    grows = outward if mode == "rd" else outward ^ True
    step = grows.where(bits + 1, bits - 1)
    return wrong.where(step, bits).as_float()


def narrowed(mode: str) -> Rule:
    """f64 as f32."""

    def write(x: Number) -> Number:
        near = x.to("f32")
        gap = x - near.to("f64")
        sign = (gap > 0.0).where(1.0, (gap < 0.0).where(-1.0, gap)).to("f32")
        return directed(near, sign, mode)

    return write


def from_integer(element: str, signed: bool, mode: str) -> Rule:
    """An integer as a float; the error is the integer minus what the float reads back as."""

    def write(x: Number) -> Number:
        kind = x.kind.of(element)
        near = Number(x.e, kind, x.e.cast("sitofp" if signed else "uitofp", x.kind, kind, x.text))
        back = Number(x.e, x.kind, float_to_int(x.e, kind, x.kind, near.text, signed))
        below = x < back if signed else x.compare("olt", "ult", back)
        below = below | (near >= 2.0 ** (x.kind.bits - signed))  # which does not fit into the integer
        above = x > back if signed else x.compare("ogt", "ugt", back)
        return directed(near, below.where(near.like(-1.0), above.where(near.like(1.0), 0.0)), mode)

    return write


# -- elementary ones


def wide(rule: Rule) -> Rule:
    """`rule` in f64, rounded to the operands' kind."""

    def write(*xs: Number) -> Number:
        result = rule(*[x.to("f64") for x in xs])
        return result.to(xs[0].kind.element)

    return write


def libm(x: Number, symbol: str) -> Number:
    """A function of libm on f64."""
    return Number(x.e, x.kind, by_lanes(x.e, symbol, x.kind, [x.text]))


def turned(x: Number) -> Number:
    """x brought to [-1, 1] by multiples of 2, exactly."""
    return x - (x * 0.5).call("roundeven") * 2.0


def sin_of_pi(x: Number) -> Number:
    y = turned(x)
    size = y.call("fabs")
    folded = (size > 0.5).where(1.0 - size, size)  # exact: sin(pi - a) = sin(a)
    return libm(folded * pi, "sin").call("copysign", y.equals(0.0).where(x, y))


def cos_of_pi(x: Number) -> Number:
    return libm((0.5 - turned(x).call("fabs")) * pi, "sin")


def norm(*xs: Number) -> Number:
    """The length of a vector, without overflow; infinite where a coordinate is, whatever the others are."""
    total = xs[0]
    for x in xs[1:]:
        total = Number(x.e, x.kind, by_lanes(x.e, "hypot", x.kind, [total.text, x.text]))
    return total


def inverse_norm(*xs: Number) -> Number:
    return 1.0 / norm(*xs)


def saturate(x: Number) -> Number:
    return (x > 0.0).where((x < 1.0).where(x, 1.0), 0.0)


def normal_cdf(x: Number) -> Number:
    """erfc(-x / sqrt(2)) / 2, with what the argument loses by rounding: far out erfc is steep."""
    high, low = -0.7071067811865476, 4.833646656726457e-17
    t = x * high
    lost = exact_fma(x, x.like(high), -t) + x * low
    tail = libm(t, "erfc")
    corrected = tail - lost * (2.0 / sqrt(pi)) * exp(-(t * t))
    return (x.call("fabs") < 40.0).where(corrected, tail) * 0.5


def scaled_erfc(x: Number) -> Number:
    """e**(x**2) erfc(x); far out the asymptotic series."""
    far = x > 26.0
    square = x * x
    near = exp(square) * libm(far.where(1.0, x), "erfc")
    lost = exact_fma(x, x, -square)  # of which exp makes a factor
    near = (x.call("fabs") < 26.7).where(near + near * lost, near)
    t = 1.0 / (square + square)
    tail = t.polynomial([1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0]) / x * (1 / sqrt(pi))
    return far.where(tail, near)


def exact_fma(a: Number, b: Number, c: Number) -> Number:
    return Number(a.e, a.kind, a.e.intrinsic("fma", a.kind.llvm, a.text, b.text, c.text))


def inverse_erf_near(x: Number) -> Number:
    """erfinv for |x| <= 1/2: Halley's rule on erf."""
    y = x * (sqrt(pi) / 2)
    for _ in range(4):
        u = (libm(y, "erf") - x) * exp(y * y) * (sqrt(pi) / 2)
        y = y - u / (y * u + 1.0)
    return y


def inverse_erfc_far(q: Number) -> Number:
    """erfcinv for 0 <= q <= 1/2: Newton's rule on the logarithm of erfc, which is nearly straight."""
    w = -log(q * (2.0 - q))
    y = (w - log(w * (pi / 2)) * 0.5).call("sqrt")
    for _ in range(4):
        scaled = scaled_erfc(y)
        y = y + (log(scaled) - log(q) - y * y) * scaled * (sqrt(pi) / 2)
    return q.equals(0.0).where(float("inf"), y)


def inverse_erfc(x: Number) -> Number:
    upper = x > 1.0
    y = inverse_erfc_far(upper.where(2.0 - x, x))
    return ((x - 1.0).call("fabs") > 0.5).where(upper.where(-y, y), inverse_erf_near(1.0 - x))


def inverse_erf(x: Number) -> Number:
    size = x.call("fabs")
    return (size > 0.5).where(inverse_erfc_far(1.0 - size).call("copysign", x), inverse_erf_near(x))


def inverse_normal_cdf(x: Number) -> Number:
    return inverse_erfc(x * 2.0) * -sqrt(2.0)


def bessel(order: int) -> Rule:
    """I0 or I1 by its series, whose terms are all positive, in a loop a lane."""

    def write(x: Number) -> Number:
        name = f"naiad_bessel_i{order}"
        x.e.module.once(name, lambda name: define_bessel(x.e, name, order))
        return Number(x.e, x.kind, by_lanes(x.e, name, x.kind, [x.text]))

    return write


def define_bessel(e: CpuEmitter, name: str, order: int) -> None:
    f = CpuEmitter(e.module, e.target)
    scalar = Kind("f64", 0, 64)
    x = Number(f, scalar, "%x")
    quarter = x * x * 0.25
    first = x * 0.5 if order else x.like(1.0)

    def go_on(state: list[str]) -> tuple[str, list[str]]:
        term, total, _ = [Number(f, scalar, s) for s in state]
        return (term.call("fabs") > total.call("fabs") * 1e-17).text, state

    def step(state) -> list[str]:
        term, total, k = [Number(f, scalar, s) for s in state]
        term = term * (quarter / (k * (k + float(order))))
        return [term.text, (total + term).text, (k + 1.0).text]

    _, total, _ = f.loop_while(
        [("double", first.text), ("double", first.text), ("double", x.like(1.0).text)], go_on, step
    )
    e.module.define("double", name, ["double %x"], f, f"ret double {total}", "internal", "nounwind noinline")


# -- questions


def is_nan(x: Number) -> Number:
    return flag(x.is_nan())


def is_infinite(x: Number) -> Number:
    return flag(x.call("fabs").equals(float("inf")))


def is_finite(x: Number) -> Number:
    return flag(x.call("fabs") < float("inf"))


def sign_bit(x: Number) -> Number:
    return resized(x.bits.shifted_down(x.kind.bits - 1), "i32")


FROM_INTEGERS = {f"{name}2{to}": (element, signed) for name, (_, signed) in INTEGERS.items()
                 for to, element in (("float", "f32"), ("double", "f64"))}  # fmt: skip
DIRECTIONS = ("rn", "rz", "rd", "ru")
IN_DOUBLE: dict[str, Rule] = {
    "sinpi": sin_of_pi, "cospi": cos_of_pi, "rcbrt": lambda x: 1.0 / libm(x, "cbrt"), "rhypot": inverse_norm,
    "norm3d": norm, "norm4d": norm, "rnorm3d": inverse_norm, "rnorm4d": inverse_norm, "normcdf": normal_cdf,
    "normcdfinv": inverse_normal_cdf, "erfcx": scaled_erfc, "erfinv": inverse_erf, "erfcinv": inverse_erfc,
    "cyl_bessel_i0": bessel(0), "cyl_bessel_i1": bessel(1),
}  # fmt: skip
"""Functions of both widths that are computed in f64."""
RULES: dict[str, Rule] = {
    **{f"double2float_{mode}": narrowed(mode) for mode in DIRECTIONS},
    **{f"{name}_{mode}": from_integer(*kind, mode) for name, kind in FROM_INTEGERS.items() for mode in DIRECTIONS},
    **{f"{name}{width}": wide(rule) for name, rule in IN_DOUBLE.items() for width in ("f", "")},
    "isnanf": is_nan, "isnand": is_nan, "isinff": is_infinite, "isinfd": is_infinite, "finitef": is_finite,
    "isfinited": is_finite, "signbitf": sign_bit, "signbitd": sign_bit, "saturatef": saturate,
    "frsqrt_rn": wide(lambda x: 1.0 / x.call("sqrt")), "rcp64h": lambda x: 1.0 / x, "fast_fdividef": lambda a, b: a / b,
}  # fmt: skip
