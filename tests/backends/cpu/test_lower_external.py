"""Functions by symbol, all of the device library's names, and inline assembly."""

import math

import numpy as np
import pytest
from programs import Program, compiled
from scipy import special
from xdsl.dialects.builtin import BoolAttr, StringAttr

from naiad.backends.cpu.target import CpuTarget
from naiad.ir.base import int_attr
from naiad.ir.evaluate import DTYPES
from naiad.language.extra.symbols import nvidia

SHORT = {"fp32": "f32", "fp64": "f64", "int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64"}


def call(symbol, types, result, arrays, lanes=16):
    p = Program(*(f"*{t}" for t in types), f"*{result}")
    shape = f"{lanes}x" if lanes else ""

    def body(i):
        values = [p.load(p.at(a, i), shape + t) for a, t in zip(p.args, types, strict=False)]
        names = {k: StringAttr(v) for k, v in (("libname", ""), ("libpath", ""), ("symbol", symbol))}
        p.store(
            p.at(p.args[-1], i),
            p.op("tt.extern_elementwise", *values, type=shape + result, pure=BoolAttr.from_bool(True), **names),
        )

    p.loop(0, len(arrays[0]), max(lanes, 1), [], body)
    out = np.zeros(len(arrays[0]), DTYPES[result])
    compiled(p)(*arrays, out)
    return out


REFERENCES = {
    "sinpi": lambda x: np.sin(np.pi * x), "cospi": lambda x: np.cos(np.pi * x), "exp10": lambda x: 10.0**x,
    "acosh": np.arccosh, "asinh": np.arcsinh, "atanh": np.arctanh, "rcbrt": lambda x: 1 / np.cbrt(x), "j0": special.j0,
    "j1": special.j1, "y0": special.y0, "y1": special.y1, "cyl_bessel_i0": special.i0, "cyl_bessel_i1": special.i1,
    "erfinv": special.erfinv, "erfc": special.erfc, "erfcx": special.erfcx, "erfcinv": special.erfcinv,
    "normcdf": special.ndtr, "normcdfinv": special.ndtri, "lgamma": special.gammaln, "tgamma": special.gamma,
    "hypot": np.hypot, "rhypot": lambda x, y: 1 / np.hypot(x, y), "fmod": np.fmod, "atan2": np.arctan2,
    "norm3d": lambda x, y, z: np.sqrt(x * x + y * y + z * z), "rint": np.rint, "tanh": np.tanh, "rsqrt": lambda x: 1 /
    np.sqrt(x), "fdim": lambda x, y: np.maximum(x - y, 0), "pow": np.power,
}  # fmt: skip
RANGES = {
    "acosh": (1, 9),
    "atanh": (-0.9, 0.9),
    "erfinv": (-0.999, 0.999),
    "erfcinv": (1e-6, 1.999),
    "normcdfinv": (1e-6, 0.999),
}


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", REFERENCES)
def test_float_functions(type, name):
    rng = np.random.default_rng(0)
    low, high = RANGES.get(name, (0.1, 4))
    count = REFERENCES[name].__code__.co_argcount if hasattr(REFERENCES[name], "__code__") else REFERENCES[name].nin
    arrays = [rng.uniform(low, high, 64).astype(DTYPES[type]) for _ in range(count)]
    got = call(f"__nv_{name}{'f' if type == 'f32' else ''}", [type] * count, type, arrays)
    want = REFERENCES[name](*[a.astype(np.float64) for a in arrays])
    bound = 3e-6 if type == "f32" else 1e-11
    assert np.all(np.abs(got - want) <= bound * np.abs(want) + bound * 0.1)


def test_every_symbol_of_the_library_is_written():
    missing = []
    for rows in nvidia().values():
        for arguments, symbol, result in rows:
            types = [SHORT[t.name if hasattr(t, "name") else str(t)] for t in arguments]
            try:
                call(symbol, types, SHORT[result.name if hasattr(result, "name") else str(result)],
                     [np.ones(16, DTYPES[t]) for t in types])  # fmt: skip
            except NotImplementedError:
                missing.append(symbol)
    assert set(missing) <= {"__nv_fma_rz", "__nv_fma_rd", "__nv_fma_ru"}


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("letter,type", [("f", "f32"), ("d", "f64")])
def test_directed_rounding_brackets_the_exact_result(name, letter, type):
    from fractions import Fraction

    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(64).astype(DTYPES[type]) for _ in range(2))
    down, up, cut = (call(f"__nv_{letter}{name}_{mode}", [type] * 2, type, [a, b]) for mode in ("rd", "ru", "rz"))
    for x, y, low, high, zero in zip(a, b, down, up, cut, strict=True):
        left, right = Fraction(float(x)), Fraction(float(y))
        exact = {"add": left + right, "sub": left - right, "mul": left * right, "div": left / right}[name]
        assert Fraction(float(low)) <= exact <= Fraction(float(high))
        assert high in (low, np.nextafter(low, DTYPES[type].type(math.inf)))
        assert zero == (low if exact > 0 else high)


def test_integer_functions():
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-(2**31), 2**31, 64).astype(np.int32) for _ in range(2))
    u, v = a.view(np.uint32).astype(np.int64), b.view(np.uint32).astype(np.int64)
    wide = a.astype(np.int64)
    i2 = ["i32", "i32"]
    assert np.array_equal(call("__nv_popc", ["i32"], "i32", [a]), [int(x).bit_count() for x in u])
    assert np.array_equal(call("__nv_clz", ["i32"], "i32", [a]), [32 - int(x).bit_length() for x in u])
    assert np.array_equal(call("__nv_ffs", ["i32"], "i32", [a]), [(int(x) & -int(x)).bit_length() for x in u])
    assert np.array_equal(call("__nv_mulhi", i2, "i32", [a, b]), (wide * b) >> 32)
    assert np.array_equal(
        call("__nv_umulhi", i2, "i32", [a, b]).view(np.uint32), ((u.astype(object) * v) >> 32).astype(np.uint32)
    )
    assert np.array_equal(call("__nv_hadd", i2, "i32", [a, b]), (wide + b) >> 1)
    assert np.array_equal(
        call("__nv_brev", ["i32"], "i32", [a]).view(np.uint32), [int(f"{x:032b}"[::-1], 2) for x in u]
    )
    assert np.array_equal(call("__nv_abs", ["i32"], "i32", [a]), np.abs(a))
    bytes_of = lambda x, y: [*int(x).to_bytes(4, "little"), *int(y).to_bytes(4, "little")]  # noqa: E731
    s = np.full(64, 0x7415, np.int32)
    want = [int.from_bytes([bytes_of(x, y)[k] for k in (5, 1, 4, 7)], "little") for x, y in zip(u, v, strict=True)]
    assert np.array_equal(call("__nv_byte_perm", ["i32"] * 3, "i32", [a, b, s]).view(np.uint32), want)


def test_small_floats_and_scalars_and_libm_names():
    x = np.linspace(-2, 2, 64).astype(np.float16)
    assert np.allclose(call("tanhf", ["f16"], "f16", [x]), np.tanh(x.astype(np.float32)), rtol=1e-3)
    y = np.linspace(0.5, 3, 64).astype(np.float32)
    assert np.allclose(call("tgammaf", ["f32"], "f32", [y], 0), special.gamma(y), rtol=1e-6)


@pytest.mark.skipif(not CpuTarget.host().is_x86, reason="x86 assembly")
def test_inline_assembly():
    for lanes, pack, type, text, step in ((16, 1, "i32", "leal 5($1), $0", 5), (0, 1, "i32", "leal 5($1), $0", 5),
                                          (16, 4, "i8", "leal 0x01010101($1), $0", 1)):  # fmt: skip
        p = Program(f"*{type}", f"*{type}")
        shape = f"{lanes}x{type}" if lanes else type
        y = p.op("tt.elementwise_inline_asm", p.load(p.args[0], shape), type=shape, asm_string=StringAttr(text),
                 constraints=StringAttr("=r,r"), packed_element=int_attr(pack),
                 pure=BoolAttr.from_bool(True))  # fmt: skip
        p.store(p.args[1], y)
        x = np.arange(max(lanes, 1), dtype=DTYPES[type])
        out = np.zeros_like(x)
        compiled(p)(x, out)
        assert np.array_equal(out, x + step)
