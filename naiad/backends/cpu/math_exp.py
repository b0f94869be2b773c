"""exp, exp2, expm1, tanh, sinh, cosh on lanes of f32 and f64.

The argument is split into n ln 2 + r with |r| <= ln 2 / 2; a polynomial gives e**r, and 2**n is put into the exponent.
Coefficients for f32 are minimax fits of ours, those for f64 the Taylor series. Worst case: exp, exp2 1 ulp, expm1
1.5, tanh 1.5, sinh and cosh 2.5; see tests/backends/cpu/test_math.py.
"""

from math import factorial

from naiad.backends.cpu.math_formula import Number, power_of_two, scaled

LOG2E = 1.4426950408889634
LN2_HIGH = {32: 0.693359375, 64: 0.6931471803691238}
LN2_LOW = {32: -2.12194440e-4, 64: 1.9082149292705877e-10}
LARGEST = {32: 89.0, 64: 710.0}
SMALLEST = {32: -104.0, 64: -746.0}
EXP = {32: (0.5, 0.166665196, 0.0416664034, 0.00836882275, 0.00139405299),
       64: tuple(1 / factorial(n + 2) for n in range(12))}  # fmt: skip
EXPM1 = {32: (0.5, 0.166666672, 0.0416664891, 0.00833320804, 0.00139326742, 0.000199442671), 64: EXP[64]}
LN2 = 0.6931471805599453
EXP2 = {32: (0.693147182, 0.240226507, 0.0555035919, 0.00961806532, 0.00133911753, 0.000154616646),
        64: tuple(LN2 ** (n + 1) / factorial(n + 1) for n in range(13))}  # fmt: skip
TANH = (-0.333332777, 0.133313239, -0.0537295304, 0.0206048731, -0.00566571904)


def reduced(x: Number) -> tuple[Number, Number, Number]:
    """(r, n as a float, n as an integer) with x = n ln 2 + r."""
    width = x.kind.bits
    whole, n = x.nearest_of(LOG2E)
    r = whole.fused(-LN2_LOW[width], whole.fused(-LN2_HIGH[width], x))
    return r, whole, n


def exp(x: Number) -> Number:
    """Below SMALLEST, where softmax has what a mask took away, 0 is scaled: an underflow takes a hundred cycles."""
    width = x.kind.bits
    none = x < SMALLEST[width]
    r, whole, n = reduced(none.where(SMALLEST[width], x.at_most(LARGEST[width])))
    y = r.polynomial(EXP[width]).fused(r * r, r) + 1.0
    return scaled(none.where(0.0, y), n, whole)


def exp2(x: Number) -> Number:
    """As `exp`."""
    width = x.kind.bits
    smallest = -151.0 if width == 32 else -1077.0
    none = x < smallest
    x = none.where(smallest, x.at_most(129.0 if width == 32 else 1025.0))
    whole, n = x.nearest()
    r = x - whole
    return scaled(none.where(0.0, r.polynomial(EXP2[width]).fused(r, 1.0)), n, whole)


def expm1(x: Number) -> Number:
    """2**n (e**r - 1) + (2**n - 1), at half size so that 2**n is finite."""
    width = x.kind.bits
    clipped = x.at_most(LARGEST[width]).at_least(-40.0)
    r, _, n = reduced(clipped)
    small = r.polynomial(EXPM1[width]).fused(r * r, r)
    half = power_of_two(n - 1)
    large = small.fused(half, half - 0.5) * 2.0
    return n.equals(0).where(x.equals(0.0).where(x, small), large)


def tanh(x: Number) -> Number:
    """A polynomial near 0, else 1 - 2 / (e**2|x| + 1)."""
    size = x.call("fabs")
    square = x * x
    near = (square.polynomial(TANH) * square).fused(x, x)
    far = 1.0 - 2.0 / (exp(size + size) + 1.0)
    return (size < 0.625).where(near, far).call("copysign", x)


def tanh_f64(x: Number) -> Number:
    """expm1(2|x|) / (expm1(2|x|) + 2)."""
    size = x.call("fabs").at_most(30.0)
    t = expm1(size + size)
    return (t / (t + 2.0)).call("copysign", x)


def sinh(x: Number) -> Number:
    """With t = expm1|x|: (t + t / (t + 1)) / 2, halved first where e**x would be too large."""
    size = x.call("fabs")
    limit = 88.0 if x.kind.bits == 32 else 709.0
    t = expm1(size.at_most(limit))
    half = exp(size * 0.5)
    near = (t + t / (t + 1.0)) * 0.5
    return (size > limit).where(half * 0.5 * half, near).call("copysign", x)


def cosh(x: Number) -> Number:
    size = x.call("fabs")
    limit = 88.0 if x.kind.bits == 32 else 709.0
    y = exp(size.at_most(limit))
    half = exp(size * 0.5)
    return (size > limit).where(half * 0.5 * half, y.fused(0.5, 0.5 / y))
