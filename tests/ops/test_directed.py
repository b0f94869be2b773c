"""Arithmetic rounded in a direction, on the CPU and in the interpreter: each result is on the right side of the exact
one, and no other number is between the two."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import naiad.language as tl
from naiad.language.extra import libdevice
from naiad.runtime.jit import jit

EXACT = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
         "rcp": lambda x: 1 / x, "fma": lambda x, y, z: x * y + z}  # fmt: skip
COUNT = {"add": 2, "sub": 2, "mul": 2, "div": 2, "rcp": 1, "sqrt": 1, "fma": 3}
LARGE = {"float32": (3.4028234663852886e38, 2.0**-149), "float64": (1.7976931348623157e308, 5e-324)}


def all_three(x, y, z, o, DOWN: tl.constexpr, UP: tl.constexpr, CUT: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    if K == 1:
        down, up, cut = DOWN(a), UP(a), CUT(a)
    elif K == 2:
        down, up, cut = DOWN(a, b), UP(a, b), CUT(a, b)
    else:
        down, up, cut = DOWN(a, b, c), UP(a, b, c), CUT(a, b, c)
    tl.store(o + i, down)
    tl.store(o + N + i, up)
    tl.store(o + 2 * N + i, cut)


def numbers(dtype, n, seed):
    """All magnitudes: the largest and smallest, subnormal ones, halves of them, and what cancels."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    most, least = LARGE[dtype]
    edges = [0.0, 1.0, 1.5, 3.0, most, most / 2, least, 3 * least, least * 2.0**30, math.sqrt(most), math.sqrt(least)]
    spread = rng.standard_normal(n) * np.exp2(rng.integers(-40, 40, n).astype(np.float64))
    chosen = np.where(rng.random(n) < 0.5, spread, rng.choice([*edges, *(-e for e in edges)], n))
    return chosen.astype(kind)


def results(name, arrays, interpret):
    n = arrays[0].size
    out = np.full((3, n), 7, arrays[0].dtype)
    down, up, cut = (getattr(libdevice, f"{name}_{mode}") for mode in ("rd", "ru", "rz"))
    partial(jit, interpret=interpret)(all_three)[(n // 64,)](*arrays, out, down, up, cut, n, COUNT[name])
    return out


def is_right(exact, got, mode):
    """Whether `got` is `exact` rounded down or up."""
    down = mode == "rd" or (mode == "rz" and exact > 0)
    with np.errstate(over="ignore"):
        beyond = np.nextafter(got, np.inf if down else -np.inf, dtype=got.dtype)
    near, far = (float(got), float(beyond)) if down else (float(beyond), float(got))
    return (near == -math.inf or Fraction(near) <= exact) and (far == math.inf or exact <= Fraction(far)) and (
        not math.isfinite(beyond) or Fraction(float(beyond)) != exact)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXACT)
def test_results_are_the_neighbours_of_the_exact_one(name, dtype):
    arrays = [numbers(dtype, 512, seed) for seed in range(3)]
    if name == "fma":  # half of the sums nearly cancel
        with np.errstate(all="ignore"):
            arrays[2][::2] = -(arrays[0] * arrays[1])[::2]
    got = results(name, arrays, interpret=False)
    assert got.tobytes() == results(name, arrays, interpret=True).tobytes()
    for i, xs in enumerate(zip(*arrays[: COUNT[name]], strict=True)):
        if not all(map(np.isfinite, xs)) or (name in ("div", "rcp") and xs[-1] == 0):
            continue
        exact = EXACT[name](*[Fraction(float(x)) for x in xs])
        for mode, row in zip(("rd", "ru", "rz"), got, strict=True):
            assert is_right(exact, row[i], mode), (mode, xs, row[i])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_roots(dtype):
    x = np.abs(numbers(dtype, 512, 0))
    got = results("sqrt", [x] * 3, interpret=False)
    assert got.tobytes() == results("sqrt", [x] * 3, interpret=True).tobytes()
    for value, down, up, cut in zip(x, *got, strict=True):
        exact, low, high = [Fraction(float(v)) for v in (value, down, up)]
        assert low**2 <= exact <= high**2 and down == cut
        assert low == high if low**2 == exact else up == np.nextafter(down, x.dtype.type(np.inf))


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("name, xs, down, up", [
    ("add", (1.0, -1.0), -0.0, 0.0), ("sub", (1.0, 1.0), -0.0, 0.0), ("add", (-0.0, 0.0), -0.0, 0.0),
    ("add", (0.0, 0.0), 0.0, 0.0), ("add", (-0.0, -0.0), -0.0, -0.0), ("mul", (-0.0, 2.0), -0.0, -0.0),
    ("fma", (1.0, 2.0, -2.0), -0.0, 0.0), ("fma", (-0.0, 2.0, 0.0), -0.0, 0.0), ("mul", (-1e-30, 1e-30), -1e-45, -0.0),
    ("mul", (3e38, 3e38), 3.4028235e38, math.inf), ("add", (-3e38, -3e38), -math.inf, -3.4028235e38),
    ("div", (1.0, 0.0), math.inf, math.inf), ("div", (1.0, -math.inf), -0.0, -0.0),
    ("rcp", (-0.0,), -math.inf, -math.inf),
    ("sqrt", (-0.0,), -0.0, -0.0), ("sqrt", (-1.0,), math.nan, math.nan),
    ("fma", (math.inf, 0.0, 1.0), math.nan, math.nan),
    ("fma", (3e38, 3e38, -math.inf), -math.inf, -math.inf),
    ("add", (math.inf, -math.inf), math.nan, math.nan), ("add", (math.inf, 1.0), math.inf, math.inf),
])  # fmt: skip
def test_zeros_infinities_and_nan(interpret, name, xs, down, up):
    arrays = [np.full(64, x, np.float32) for x in (*xs, 0.0, 0.0)[:3]]
    with np.errstate(invalid="ignore"):
        got = results(name, arrays, interpret)
    for row, want in zip(got, (down, up), strict=False):
        assert np.array_equal(row, np.full(64, want, np.float32), equal_nan=True)
        assert math.isnan(want) or np.all(np.signbit(row) == np.signbit(np.float32(want)))


@pytest.mark.parametrize("interpret", [False, True])
def test_an_infinite_term_wins_over_any_product(interpret):
    x = np.full(64, 1e300)
    infinite = np.full(64, -np.inf)
    out = np.zeros(64)

    def kernel(x, z, o):
        i = tl.arange(0, 64)
        tl.store(o + i, tl.fma(tl.load(x + i), tl.load(x + i), tl.load(z + i)))

    partial(jit, interpret=interpret)(kernel)[(1,)](x, infinite, out)
    assert np.all(out == -np.inf)
