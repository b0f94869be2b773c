"""Functions of statistics and physics that C's math library does not have. All are computed in fp64.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions, chapters 7 and 9. Giles, Approximating the erfinv
function, GPU Computing Gems 2, 2011 (the start of the inverse error function).
"""

from typing import Any

from naiad.language.compare import where
from naiad.language.extra.portable.floats import PI, Function, emit, in_double, libm

_ROOT_2 = 2.0**0.5
_ROOT_PI = PI**0.5
_GILES = (
    (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
     0.246640727, 1.50140941),
    (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
     1.00167406, 2.83297682),
)  # fmt: skip


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Highest power first."""
    value = x * 0.0 + coefficients[0]
    for c in coefficients[1:]:
        value = value * x + c
    return value


def _inverse_erfc(q: Any) -> Any:
    """The y with erfc(y) = q, for 0 < q <= 1: Giles' start, then Newton on the logarithm, which is nearly straight."""
    w = -emit("math.log", q * (2.0 - q))
    near, far = w - 2.5, emit("math.sqrt", w) - 3.0
    y = where(w < 5.0, _polynomial(near, _GILES[0]), _polynomial(far, _GILES[1])) * (1.0 - q)
    y = where(w > 30.0, emit("math.sqrt", w - 0.5 * emit("math.log", w * (PI / 4.0))), y)  # erfc(y) ~ exp(-y * y) / y
    for _ in range(4):
        scaled = _erfcx(y)  # erfc itself has lost its digits where q is tiny
        y = y + (emit("math.log", scaled) - emit("math.log", q) - y * y) * scaled * (_ROOT_PI / 2.0)
    return y


def _erf_inverse_near(x: Any) -> Any:
    """erfinv for |x| <= 1/2, by Newton on erf itself, where erfc has lost the digits."""
    y = x * (_ROOT_PI / 2.0)
    for _ in range(5):
        y = y - (emit("math.erf", y) - x) * (_ROOT_PI / 2.0) * emit("math.exp", y * y)
    return y


def _erfc_inverse(x: Any) -> Any:
    """erfcinv on (0, 2), infinite at its ends."""
    upper, near = x > 1.0, emit("math.absf", x - 1.0) <= 0.5
    q = where(upper, 2.0 - x, x)
    inside = (x > 0.0) & (x < 2.0)
    y = _inverse_erfc(where(inside, q, 0.5))
    y = where(inside, y, where((x == 0.0) | (x == 2.0), float("inf"), float("nan")))
    return where(near, _erf_inverse_near(where(near, 1.0 - x, 0.0)), where(upper, -y, y))


def _erf_inverse(x: Any) -> Any:
    """erfinv on (-1, 1), infinite at its ends."""
    size = emit("math.absf", x)
    small = size <= 0.5
    return where(small, _erf_inverse_near(where(small, x, 0.0)),
                 emit("math.copysign", _erfc_inverse(1.0 - where(small, 0.5, size)), x))  # fmt: skip


def _erfcx(x: Any) -> Any:
    """exp(x * x) * erfc(x); by the asymptotic series where erfc vanishes."""
    t = 1.0 / (x * x * 2.0)
    series = 1.0 - 13.0 * t
    for odd in (11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = 1.0 - odd * t * series
    square = x * x
    direct = emit("math.exp", square) * libm("erfc", x)
    lost = emit("math.fma", x, x, -square)  # of which exp makes a factor
    direct = where(emit("math.absf", x) < 26.7, direct + direct * lost, direct)
    return where(x > 26.0, series / x * (1.0 / _ROOT_PI), direct)


def _normal_cdf(x: Any) -> Any:
    """erfc(-x / sqrt(2)) / 2, with what the argument loses by rounding: far out erfc is steep."""
    high, low = -0.7071067811865476, 4.833646656726457e-17
    t = x * high
    lost = emit("math.fma", x, x * 0.0 + high, -t) + x * low
    tail = libm("erfc", t)
    corrected = tail - lost * (2.0 / _ROOT_PI) * emit("math.exp", -t * t)
    return 0.5 * where(emit("math.absf", x) < 40.0, corrected, tail)


def _bessel(x: Any, order: int) -> Any:
    """I0 and I1: the power series below 20, the asymptotic one above."""
    size = emit("math.absf", x)
    finite = where(size < 20.0, _bessel_near(size, order), _bessel_far(size, order))
    return where(size > 800.0, float("inf"), finite)


def _bessel_near(x: Any, order: int) -> Any:
    quarter = x * x * 0.25
    term = x * 0.0 + 1.0 if order == 0 else x * 0.5
    total = term
    for k in range(1, 46):
        term = term * quarter * (1.0 / (k * (k + order)))
        total = total + term
    return total


def _bessel_far(x: Any, order: int) -> Any:
    term = x * 0.0 + 1.0
    total = term
    for k in range(1, 21):
        term = term * (((2 * k - 1) ** 2 - 4 * order * order) / (8.0 * k)) / x
        total = total + term
    half = emit("math.exp", x * 0.5)  # in two factors: exp(x) overflows before the result does
    return half * (total / emit("math.sqrt", x * (2.0 * PI))) * half


FUNCTIONS: dict[str, Function] = {
    "erfinv": in_double(_erf_inverse),
    "erfcinv": in_double(_erfc_inverse),
    "erfcx": in_double(_erfcx),
    "normcdf": in_double(_normal_cdf),
    "normcdfinv": in_double(lambda p: -_ROOT_2 * _erfc_inverse(p * 2.0)),
    "cyl_bessel_i0": in_double(lambda x: _bessel(x, 0)),
    "cyl_bessel_i1": in_double(lambda x: emit("math.copysign", _bessel(x, 1), x)),
}
