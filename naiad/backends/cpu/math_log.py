"""log, log2, log10, log1p and pow on lanes of f32, log and log2 on lanes of f64.

x = 2**k m with m between sqrt(1/2) and sqrt(2). f32: a polynomial of m - 1; f64: the series of atanh. Worst case 1
ulp (log1p 1.5); pow runs in f64 and is rounded once.
"""

from dataclasses import dataclass

from naiad.backends.cpu.math_exp import LN2
from naiad.backends.cpu.math_formula import Number, power_of_two, scaled

SQRT_HALF = {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCD}
MANTISSA = {32: 23, 64: 52}
INFINITY = float("inf")
NAN = float("nan")
LOG = (0.333333135, -0.250000089, 0.200020745, -0.166679993, 0.142202795, -0.124059126, 0.118838929, -0.116725259,
       0.0675154179)  # fmt: skip


@dataclass(frozen=True)
class Base:
    """A logarithm: log m = f (high + low) + f**2 P(f) with f = m - 1, and that of 2 in two parts, the first short."""

    high: float
    low: float
    polynomial: tuple[float, ...]
    two_high: float
    two_low: float


LOG2 = Base(1.4426950216293335, 1.9259629911266175e-08,
            (-0.721347511, 0.480898082, -0.36067456, 0.288568139, -0.240451559, 0.205158561, -0.179163978, 0.17156595,
             -0.167651072, 0.0964427888), 1.0, 0.0)  # fmt: skip
LOG10 = Base(0.4342944920063019, -1.0103050052231683e-08,
             (-0.217147246, 0.144764766, -0.108573236, 0.0868661627, -0.0723982528, 0.0617956817, -0.053793814,
              0.051301498, -0.0508875139, 0.0300766714), 0.301025390625, 4.605038981195214e-06)  # fmt: skip
ATANH = tuple(2.0 / (2 * n + 1) for n in range(12))


def split(x: Number) -> tuple[Number, Number]:
    """(k as a float, m) of a positive number, subnormals too."""
    width = x.kind.bits
    tiny = x < (2.0**-126 if width == 32 else 2.0**-1022)
    lifted = tiny.where(x * 2.0 ** MANTISSA[width], x).bits
    k = (lifted - SQRT_HALF[width]) >> MANTISSA[width]
    m = (lifted - (k << MANTISSA[width])).as_float()
    count = k.to("f32" if width == 32 else "f64")
    return tiny.where(count - float(MANTISSA[width]), count), m


def special(x: Number, result: Number) -> Number:
    """The logarithm of 0, of infinity, of negative numbers and of NaN."""
    result = x.equals(INFINITY).where(x, result)
    result = (x >= 0.0).where(result, NAN)
    return x.equals(0.0).where(-INFINITY, result)


def log(x: Number) -> Number:
    if x.kind.bits == 64:
        return special(x, log_f64(x, 1.0))
    k, m = split(x)
    return special(x, log_of(k, m - 1.0))


def log_of(k: Number, f: Number) -> Number:
    """k ln 2 + log(1 + f)."""
    square = f * f
    y = (f.polynomial(LOG) * f).fused(square, k * -2.12194440e-4)
    y = square.fused(-0.5, y)
    return k.fused(0.693359375, f + y)


def log_f64(x: Number, factor: float) -> Number:
    """log x times a factor, of positive numbers: with s = f / (2 + f), log(1 + f) = f - s (f - s**2 ...)."""
    k, m = split(x)
    f = m - 1.0
    s = f / (f + 2.0)
    square = s * s
    tail = square.polynomial(ATANH[1:]) * square
    half = f * f * 0.5
    y = s.fused(half + tail, -half)  # log(1 + f) - f
    if factor == 1.0:
        return k.fused(0.6931471803691238, f + k.fused(1.9082149292705877e-10, y))
    return k + f.fused(LOG2E64_HIGH, y.fused(LOG2E64_HIGH, (f + y) * LOG2E64_LOW))


LOG2E64_HIGH, LOG2E64_LOW = 1.4426950408889634, 2.0355273740931033e-17


def in_base(x: Number, base: Base) -> Number:
    k, m = split(x)
    f = m - 1.0
    rest = f.polynomial(base.polynomial).fused(f * f, f * base.low)
    if base.two_low:
        rest = k.fused(base.two_low, rest)
    return special(x, k.fused(base.two_high, f.fused(base.high, rest)))


def log2(x: Number) -> Number:
    return special(x, log_f64(x, LOG2E64_HIGH)) if x.kind.bits == 64 else in_base(x, LOG2)


def log10(x: Number) -> Number:
    return in_base(x, LOG10)


def log1p(x: Number) -> Number:
    """log(u) with u = 1 + x rounded, and what the rounding lost added to the fraction."""
    u = x + 1.0
    lost = (x < 1.0).where(x - (u - 1.0), 1.0 - (u - x))
    lifted = u.bits
    k = (lifted - SQRT_HALF[32]) >> 23
    f = (lifted - (k << 23)).as_float() - 1.0
    f = f + lost * power_of_two(0 - (k > 100).where(100, k))
    result = special(u, log_of(k.to("f32"), f))
    return x.equals(0.0).where(x, result)


# log2 and exp2 for pow: a relative error of 2**-36 is enough for 24 bits of result
POW_LOG = tuple(2.0 / LN2 / (2 * n + 1) for n in range(8))
POW_EXP = (1.0, 0.6931471805599453, 0.24022650695910072, 0.05550410866482158, 0.009618129107628477,
0.0013333558146428443,
           0.00015403530393381608, 1.5252733804059841e-05, 1.3215486790144307e-06)  # fmt: skip


def pow(x: Number, y: Number) -> Number:
    """2**(y log2|x|) in f64, with the sign of x where y is odd."""
    size = x.call("fabs").to("f64")
    k, m = split(size)
    f = m - 1.0
    s = f / (f + 2.0)
    exponent = (s * (s * s).polynomial(POW_LOG) + k) * y.to("f64")
    exponent = special_exponent(size, y.to("f64"), exponent)
    clipped = exponent.at_most(1000.0).at_least(-1000.0)
    whole, n = clipped.nearest()
    result = scaled((clipped - whole).polynomial(POW_EXP), n, whole).to("f32")
    whole_y, odd = parity(y)
    negative = x.bits < 0
    invalid = (x < 0.0) & (x > -INFINITY) & (whole_y ^ True)
    result = (negative & odd).where(-result, result)
    result = invalid.where(NAN, result)
    result = (x.is_nan() | y.is_nan()).where(x + y, result)
    return (x.equals(1.0) | y.equals(0.0)).where(1.0, result)


def special_exponent(size: Number, y: Number, exponent: Number) -> Number:
    """y log2 of 0 and of infinity; 1 to any power is 1."""
    exponent = size.equals(0.0).where(y * -INFINITY, exponent)
    exponent = size.equals(INFINITY).where(y * INFINITY, exponent)
    return size.equals(1.0).where(0.0, exponent)


def parity(y: Number) -> tuple[Number, Number]:
    """(whether y is whole, whether it is odd)."""
    trunc = y.call("trunc")
    half = y * 0.5
    whole = y.equals(trunc)
    return whole, whole & (half.equals(half.call("trunc")) ^ True)
