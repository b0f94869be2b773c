"""Functions by symbol, all of the device library's names, and inline assembly."""

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


def call(symbol, types, result, arrays, lanes=16, cpu="host"):
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
    compiled(p, cpu)(*arrays, out)
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
    """And LLVM takes it: a kernel for each combination of types."""
    symbols = {}
    for arguments, symbol, result in (row for rows in nvidia().values() for row in rows):
        symbols.setdefault(tuple(SHORT[str(t)] for t in (*arguments, result)), []).append(symbol)
    for (*types, result), names in symbols.items():
        p = Program(*(f"*{t}" for t in types), f"*{result}")
        values = [p.load(a, f"4x{t}") for a, t in zip(p.args, types, strict=False)]
        for n, symbol in enumerate(names):
            given = {k: StringAttr(v) for k, v in (("libname", ""), ("libpath", ""), ("symbol", symbol))}
            pure = BoolAttr.from_bool(True)
            answer = p.op("tt.extern_elementwise", *values, type=f"4x{result}", pure=pure, **given)
            p.store(p.at(p.args[-1], 4 * n), answer)
        out = np.full(4 * len(names), 77, DTYPES[result])
        compiled(p)(*[np.full(4, 2, DTYPES[t]) for t in types], out)
        assert not np.any(out == 77), [names[i // 4] for i in np.flatnonzero(out == 77)]


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "host"])
@pytest.mark.parametrize("lanes", [0, 16])
def test_directed_fma_on_every_cpu(cpu, lanes):
    """3 * 2**-1074 / 2 is between two of the smallest numbers; the largest number doubled is beyond all."""
    a, b = np.array([3.0, 3.0, 1.7e308, -1.7e308] * 4), np.array([0.5, -0.5, 2.0, 2.0] * 4)
    c = np.array([0.0, 0.0, 0.0, 0.0] * 4)
    a[:2] = 3 * 2.0**-1074
    most = np.finfo(np.float64).max
    for mode, want in (("rd", [1, -2, most, -np.inf]), ("ru", [2, -1, np.inf, -most]), ("rz", [1, -1, most, -most])):
        got = call(f"__nv_fma_{mode}", ["f64"] * 3, "f64", [a, b, c], lanes, cpu)[:4]
        assert np.array_equal(got, [want[0] * 2.0**-1074, want[1] * 2.0**-1074, *want[2:]]), mode


def test_integers_as_floats_in_a_direction():
    x = np.array([2**63 - 1, -(2**63) + 1, 2**53 + 1, -(2**53) - 1] * 4, np.int64)
    up = call("__nv_ll2double_ru", ["i64"], "f64", [x])[:4]
    down = call("__nv_ll2double_rd", ["i64"], "f64", [x])[:4]
    assert up.tolist() == [2.0**63, -(2.0**63) + 1024, 2.0**53 + 2, -(2.0**53)]
    assert down.tolist() == [2.0**63 - 1024, -(2.0**63), 2.0**53, -(2.0**53) - 2]
    every = np.full(16, 2**64 - 1, np.uint64).view(np.int64)
    assert call("__nv_ull2float_rz", ["i64"], "f32", [every])[0] == np.float32(2.0**64 - 2.0**40)
    assert call("__nv_uint2float_rd", ["i32"], "f32", [np.full(16, -1, np.int32)])[0] == np.float32(2.0**32 - 256)


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
