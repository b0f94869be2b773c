"""The device library written in the language, computed by the interpreter, against scipy and exact arithmetic."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import naiad.language as tl
from naiad.language.builder import building
from naiad.language.extra.device_library import table
from naiad.language.extra.portable import FUNCTIONS
from naiad.language.tensor import tensor

special = pytest.importorskip("scipy.special", reason="scipy is not installed")
_TYPES = {"float32": tl.float32, "float64": tl.float64, "int32": tl.int32, "int64": tl.int64, "uint32": tl.uint32,
          "uint64": tl.uint64}  # fmt: skip


def call(name, *arrays):
    """What the function gives for arrays of a power of two of elements."""
    from naiad.runtime.interpreter.builder import NumpyBuilder

    options = SimpleNamespace(backend_name="interpreter", arch="interpreter", supported_fp8_dtypes=())
    with building(NumpyBuilder((1, 1, 1), options, None, lambda function, *_: function)):
        values = []
        for a in arrays:
            signless = a.view(a.dtype.name.removeprefix("u")) if a.dtype.kind == "u" else a
            values.append(tensor(signless, tl.block_type(_TYPES[a.dtype.name], [len(a)])))
        result = getattr(tl.extra.libdevice, name)(*values)
    held = np.asarray(result.handle)
    return held.view(f"u{held.dtype.name}") if result.dtype.is_int_unsigned() else held


def test_every_function_has_a_portable_one():
    assert sorted({*table("cuda"), *table("hip")} - set(FUNCTIONS)) == []


RNG = np.random.default_rng(3)
ALL = RNG.standard_normal(256) * 3
POSITIVE = np.abs(ALL) + 1e-3
UNIT = RNG.uniform(-1, 1, 256)
SCIPY = {  # name: (values, what it is in fp64)
    "erfinv": (UNIT, special.erfinv),
    "erfcinv": (UNIT + 1, special.erfcinv),
    "erfcx": (ALL * 4, special.erfcx),
    "normcdf": (ALL, special.ndtr),
    "normcdfinv": (np.abs(UNIT), special.ndtri),
    "cyl_bessel_i0": (ALL * 8, special.i0),
    "cyl_bessel_i1": (ALL * 8, special.i1),
    "j0": (ALL, special.j0),
    "y1": (POSITIVE, special.y1),
    "lgamma": (POSITIVE, special.gammaln),
    "tgamma": (POSITIVE, special.gamma),
    "erfc": (ALL, special.erfc),
    "sinpi": (UNIT * 0.9, lambda x: np.sin(np.pi * x)),
    "cospi": (UNIT * 0.4, lambda x: np.cos(np.pi * x)),
    "exp10": (ALL, lambda x: 10.0**x),
    "rcbrt": (POSITIVE, lambda x: 1 / np.cbrt(x)),
    "rsqrt": (POSITIVE, lambda x: 1 / np.sqrt(x)),
    "round": (ALL, lambda x: np.trunc(x + np.copysign(0.5, x))),
    "rint": (ALL, np.rint),
    "acosh": (POSITIVE + 1, np.arccosh),
    "log1p": (POSITIVE, np.log1p),
    "fast_expf": (ALL, np.exp),
    "saturatef": (ALL, lambda x: np.clip(x, 0, 1)),
}


@pytest.mark.parametrize("element", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCIPY)
def test_against_scipy(name, element):
    values, exact = SCIPY[name]
    x = values.astype(element)
    if (_TYPES[x.dtype.name],) not in table("cuda")[name]:
        pytest.skip(f"libdevice has no {name} of {x.dtype}")
    bound = 2e-6 if element == np.float32 else 2e-12
    with np.errstate(over="ignore"):
        want = exact(x.astype(np.float64)).astype(element)
    np.testing.assert_allclose(call(name, x), want, rtol=bound, atol=bound * 1e-3)


def test_ends_of_the_inverses():
    ends = np.array([-1.0, 1.0, 0.0, 2.0])
    np.testing.assert_array_equal(call("erfinv", ends), [-np.inf, np.inf, 0, np.nan])
    np.testing.assert_array_equal(call("erfcinv", ends), [np.nan, 0, np.inf, -np.inf])
    tiny = np.array([1e-300, 1e-30, 1e-10, 0.5])
    np.testing.assert_allclose(call("erfcinv", tiny), special.erfcinv(tiny), rtol=1e-11)


def _exact(name, x, y):
    a, b = Fraction(float(x)), Fraction(float(y))
    return {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b}[name]


@pytest.mark.parametrize("element", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_directed_rounding(name, element):
    x, y = (RNG.standard_normal(64).astype(element) for _ in range(2))
    got = {mode: call(f"{name}_{mode}", x, y) for mode in ("rn", "rz", "rd", "ru")}
    for i in range(64):
        exact = _exact(name, x[i], y[i])
        below, above, nearest, zero = (Fraction(float(got[mode][i])) for mode in ("rd", "ru", "rn", "rz"))
        assert below <= exact <= above and nearest in (below, above)
        assert below == above or np.nextafter(got["rd"][i], element(np.inf)) == got["ru"][i]
        assert zero == (below if exact > 0 else above)


@pytest.mark.parametrize("element", [np.float32, np.float64])
def test_directed_fma_and_roots(element):
    x, y, z = (np.abs(RNG.standard_normal(64)).astype(element) for _ in range(3))
    fused = {mode: call(f"fma_{mode}", x, y, z) for mode in ("rd", "ru")}
    roots = {mode: call(f"sqrt_{mode}", x) for mode in ("rd", "ru")}
    for i in range(64):
        exact = Fraction(float(x[i])) * Fraction(float(y[i])) + Fraction(float(z[i]))
        assert Fraction(float(fused["rd"][i])) <= exact <= Fraction(float(fused["ru"][i]))
        assert Fraction(float(roots["rd"][i])) ** 2 <= Fraction(float(x[i])) <= Fraction(float(roots["ru"][i])) ** 2


INTS = RNG.integers(-(2**31), 2**31, 64).astype(np.int32)
LONGS = RNG.integers(-(2**63), 2**63, 64)


@pytest.mark.parametrize("x", [INTS, LONGS, np.array([0, 1, -1, 2], np.int32)], ids=["int32", "int64", "small"])
def test_bits(x):
    width = x.dtype.itemsize * 8
    plain = [int(v) % 2**width for v in x]
    assert call("popc", x).tolist() == [v.bit_count() for v in plain]
    assert call("clz", x).tolist() == [width - v.bit_length() for v in plain]
    assert call("ffs", x).tolist() == [(v & -v).bit_length() for v in plain]
    reversed_bits = [int(f"{v:0{width}b}"[::-1], 2) for v in plain]
    assert [int(v) % 2**width for v in call("brev", x)] == reversed_bits


def test_integer_arithmetic():
    a, b = INTS, INTS[::-1].copy()
    assert call("mulhi", a, b).tolist() == [int(x) * int(y) >> 32 for x, y in zip(a, b, strict=True)]
    m, n = LONGS, LONGS[::-1].copy()
    assert call("mulhi", m, n).tolist() == [int(x) * int(y) >> 64 for x, y in zip(m, n, strict=True)]
    assert call("hadd", a, b).tolist() == [(int(x) + int(y)) >> 1 for x, y in zip(a, b, strict=True)]
    assert call("rhadd", a, b).tolist() == [(int(x) + int(y) + 1) >> 1 for x, y in zip(a, b, strict=True)]
    u, v = a.view(np.uint32), b.view(np.uint32)
    assert call("mulhi", u, v).tolist() == [int(x) * int(y) >> 32 for x, y in zip(u, v, strict=True)]
    picked = call("byte_perm", a, b, np.full(64, 0x7610, np.int32)).view(np.uint32)
    wanted = [
        int.from_bytes(bytes(((int(y) << 32 | int(x)) >> (8 * k)) & 0xFF for k in (0, 1, 6, 7)), "little")
        for x, y in zip(u, v, strict=True)
    ]
    assert picked.tolist() == wanted


def test_conversions():
    x = np.array([1.5, -1.5, 2.5, 3e9, -3e9, np.nan, 0.3, -0.3], np.float32)
    most, least = 2**31 - 1, -(2**31)
    assert call("float2int_rn", x).tolist() == [2, -2, 2, most, least, 0, 0, 0]
    assert call("float2int_rz", x).tolist() == [1, -1, 2, most, least, 0, 0, 0]
    assert call("float2int_rd", x).tolist() == [1, -2, 2, most, least, 0, 0, -1]
    assert call("float2int_ru", x).tolist() == [2, -1, 3, most, least, 0, 1, 0]
    assert call("float2uint_rn", x).view(np.uint32).tolist() == [2, 0, 2, 3000000000, 0, 0, 0, 0]
    for name, longs in (("ll2float", LONGS), ("ll2double", LONGS), ("ull2double", LONGS.view(np.uint64))):
        low, high = call(f"{name}_rd", longs), call(f"{name}_ru", longs)
        for i, exact in enumerate(longs):
            assert int(low[i]) <= int(exact) <= int(high[i])
            assert low[i] == high[i] or np.nextafter(low[i], low.dtype.type(np.inf)) == high[i]
    d = RNG.standard_normal(64)
    assert np.all(call("double2float_rd", d) <= d) and np.all(call("double2float_ru", d) >= d)
    words = call("double2hiint", d), call("double2loint", d)
    np.testing.assert_array_equal(call("hiloint2double", *words), d)
    np.testing.assert_array_equal(call("int_as_float", call("float_as_int", x)), x)


def test_questions():
    x = np.array([1.0, np.inf, -np.inf, np.nan], np.float32)
    assert call("isnan", x).tolist() == [0, 0, 0, 1]
    assert call("isinf", x).tolist() == [0, 1, 1, 0]
    assert call("finitef", x).tolist() == [1, 0, 0, 0]
    assert call("signbit", -x).tolist()[:3] == [1, 1, 0]
    assert call("ilogb", np.array([8.0, 0.25])).tolist() == [3, -2]
    np.testing.assert_array_equal(call("ldexp", np.array([1.0, 3.0]), np.array([3, -1], np.int32)), [8.0, 1.5])
    np.testing.assert_array_equal(call("fmod", np.array([5.5, -5.5]), np.array([2.0, 2.0])), [1.5, -1.5])
