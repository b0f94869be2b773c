"""sin, cos, tan, erf, atan, asin, acos and rsqrt on lanes of f32; sin and cos on lanes of f64.

Angles are brought to |r| <= pi/4 by subtracting a multiple of pi/2 in three parts, exact as far as `LIMIT`; a vector
with a lane beyond that goes to libm, lane by lane. Worst case: sin, cos 1.5 ulp, tan 3, erf 1.5, atan 1.5, asin and
acos 2.5, rsqrt 1.5.
"""

from collections.abc import Callable
from math import factorial, pi

from naiad.backends.cpu.math_exp import exp
from naiad.backends.cpu.math_formula import Number
from naiad.backends.cpu.math_libm import by_lanes

TWO_OVER_PI = 2 / pi
LIMIT = {32: 100000.0, 64: 1.0e8}
HALF_PI = {32: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
           64: (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)}  # fmt: skip
SIN = {32: (-0.166666552, 0.00833218824, -0.000195180997),
       64: tuple((-1) ** (n + 1) / factorial(2 * n + 3) for n in range(8))}  # fmt: skip
COS = {32: (0.0416666456, -0.00138873106, 2.44325529e-05),
       64: tuple((-1) ** n / factorial(2 * n + 4) for n in range(8))}  # fmt: skip
TAN = (0.333333313, 0.133334339, 0.0539510436, 0.0220104996, 0.00823292788, 0.0051974128, -0.000814953994, 0.0021356612)
ERF_NEAR = (0.128379151, -0.376124889, 0.11281731, -0.0267629661, 0.00498735299, -0.000595958962)
ERF_FAR = (-0.00017468445, 1.12951493, 0.633346915, 0.10828004, -0.0251193512, 0.00417100918, -0.000434444606,
           2.10927392e-05)  # fmt: skip
ATAN = (-0.333332986, 0.19998534, -0.142641008, 0.109514892, -0.0840150416, 0.0579254515, -0.0311467405, 0.0108983014,
        -0.00179004821)  # fmt: skip
ASIN = (0.166667521, 0.0749530718, 0.0454696417, 0.0241814982, 0.0421651192)


def quadrant(x: Number) -> tuple[Number, Number]:
    """(r, n) with x = n pi/2 + r. Without fused multiply-add f32 does it in f64."""
    if x.kind.bits == 32 and not x.e.target.has_fma:
        r, whole, _ = reduced(x.to("f64"))
        return r.to("f32"), whole.to("f32").nearest()[1]
    r, _, n = reduced(x)
    return r, n


def reduced(x: Number) -> tuple[Number, Number, Number]:
    """(r, n as a float, n as an integer)."""
    whole, n = x.nearest_of(TWO_OVER_PI)
    r = x
    for part in HALF_PI[x.kind.bits]:
        r = whole.fused(-part, r)
    return r, whole, n


def sin_of(r: Number) -> Number:
    square = r * r
    return (square.polynomial(SIN[r.kind.bits]) * square).fused(r, r)


def cos_of(r: Number) -> Number:
    square = r * r
    return (square.polynomial(COS[r.kind.bits]) * square).fused(square, square.fused(-0.5, 1.0))


def within_limit(x: Number, name: str, near: Callable[[Number], Number]) -> Number:
    """`near(x)`, or libm where a lane is too far out for it (NaN and infinities are)."""
    e, kind = x.e, x.kind
    far = (x.call("fabs").compare("ugt", "ugt", LIMIT[kind.bits])).text
    any_far = far
    if kind.lanes:
        flags = e.op(f"bitcast {kind.of('i1').llvm} {far} to i{kind.lanes}")
        any_far = e.op(f"icmp ne i{kind.lanes} {flags}, 0")
    symbol = f"{name}f" if kind.bits == 32 else name
    [result] = e.when(any_far, [kind.llvm], lambda: [by_lanes(e, symbol, kind, [x.text])], lambda: [near(x).text])
    return Number(e, kind, result)


def turned(x: Number, quarter: int) -> Number:
    """sin(x + quarter pi/2)."""
    r, n = quadrant(x)
    n = n + quarter if quarter else n
    value = (n & 1).equals(1).where(cos_of(r), sin_of(r))
    sign = (n & 2) << (x.kind.bits - 2)
    return (value.bits ^ sign).as_float()


def sin(x: Number) -> Number:
    return within_limit(x, "sin", lambda x: x.equals(0.0).where(x, turned(x, 0)))


def cos(x: Number) -> Number:
    return within_limit(x, "cos", lambda x: turned(x, 1))


def tan(x: Number) -> Number:
    def near(x: Number) -> Number:
        r, n = quadrant(x)
        square = r * r
        value = (square.polynomial(TAN) * square).fused(r, r)
        value = (n & 1).equals(1).where(-1.0 / value, value)
        return x.equals(0.0).where(x, value)

    return within_limit(x, "tan", near)


def erf(x: Number) -> Number:
    """x + x P(x**2) near 0, else 1 - e**-Q|x|."""
    size = x.call("fabs")
    near = (x * x).polynomial(ERF_NEAR).fused(x, x)
    clipped = size.at_most(4.0)
    far = 1.0 - exp(-clipped.polynomial(ERF_FAR))
    return (size < 0.925).where(near, far).call("copysign", x)


def atan(x: Number) -> Number:
    """Of 1/x where |x| > 1."""
    size = x.call("fabs")
    outer = size > 1.0
    t = outer.where(1.0 / size, size)
    square = t * t
    y = (square.polynomial(ATAN) * square).fused(t, t)
    return outer.where((1.5707963267948966 - y) - 4.371139e-08, y).call("copysign", x)


def asin_of(t: Number, square: Number) -> Number:
    return (square.polynomial(ASIN) * square).fused(t, t)


def asin(x: Number) -> Number:
    """pi/2 - 2 asin(sqrt((1 - |x|) / 2)) in the outer half."""
    size = x.call("fabs")
    outer = size > 0.5
    square = outer.where((1.0 - size) * 0.5, x * x)
    t = outer.where(square.call("sqrt"), size)
    y = asin_of(t, square)
    far = 1.5707963267948966 - (y + y)
    return outer.where(far, y).call("copysign", x)


def acos(x: Number) -> Number:
    size = x.call("fabs")
    outer = size > 0.5
    square = outer.where((1.0 - size) * 0.5, x * x)
    t = outer.where(square.call("sqrt"), x)
    y = asin_of(t, square)
    twice = y + y
    far = (x < 0.0).where((3.141592653589793 - twice) + -8.742278e-08, twice)
    return outer.where(far, 1.5707963267948966 - (y + 4.371139e-08))


def rsqrt(x: Number) -> Number:
    return 1.0 / x.call("sqrt")
