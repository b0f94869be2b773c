"""The accuracy of the vector math functions against f64 (f32 functions) and 80-bit floats (f64 functions)."""

import math

import numpy as np
import pytest
from programs import TARGETS, Program, compiled, machine_of

from naiad.backends.cpu.lower_math import FUNCTIONS
from naiad.backends.cpu.target import CpuTarget
from naiad.backends.cpu.toolchain import object_code
from naiad.ir.evaluate import DTYPES

RUNNABLE = ("x86-64", "x86-64-v3", "host")
COUNT = 1 << 15
INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 1e-40, -1e-40, 1e-45, 3e38, -3e38, 88.7, 89.0, -87.4, -103.9, -104.1,
           0.5, 2.0, 1e-8, 1.5707964, 3.1415927, 100.0, -100.0, 0.9999999, 1.0000001, 1e10, -1e10, 1e30, 127.5, 128.0,
           -126.5]  # fmt: skip
erf = np.vectorize(math.erf, otypes=[np.float64])
# name -> (reference, range of arguments, worst ulp with fma, worst ulp without)
F32 = {
    "exp": (np.exp, (-105, 90), 1.1, 1.6), "exp2": (np.exp2, (-151, 129), 1.1, 1.6),
    "expm1": (np.expm1, (-20, 89), 1.6, 2.2), "tanh": (np.tanh, (-10, 10), 1.6, 2.0),
    "sinh": (np.sinh, (-90, 90), 2.5, 2.6), "cosh": (np.cosh, (-90, 90), 2.5, 2.6),
    "log": (np.log, (0, 10), 1.1, 1.6), "log2": (np.log2, (0, 10), 1.1, 1.6), "log10": (np.log10, (0, 10), 1.2, 2.0),
    "log1p": (np.log1p, (-1, 10), 1.6, 2.0), "sin": (np.sin, (-100, 100), 1.6, 1.6), "cos": (np.cos, (-100, 100), 1.6,
    1.6), "tan": (np.tan, (-100, 100), 3.1, 3.5), "erf": (erf, (-4.5, 4.5), 1.6, 2.0), "atan": (np.arctan, (-20, 20),
    1.6, 2.0), "asin": (np.arcsin, (-1, 1), 2.5, 2.6), "acos": (np.arccos, (-1, 1), 2.5, 2.6), "rsqrt": (lambda x: 1 /
    np.sqrt(x), (0, 100), 1.5, 1.5),
}  # fmt: skip
F64 = {"exp": (np.exp, (-745, 710)), "exp2": (np.exp2, (-1070, 1024)), "log": (np.log, (0, 10)), "log2": (np.log2, (0,
10)),
       "expm1": (np.expm1, (-20, 700)), "tanh": (np.tanh, (-20, 20)), "sin": (np.sin, (-1000, 1000)),
       "cos": (np.cos, (-1000, 1000)), "rsqrt": (lambda x: 1 / np.sqrt(x), (0, 100))}  # fmt: skip


def evaluate(cpu, name, type, arrays, lanes=16):
    p = Program(*[f"*{type}"] * (len(arrays) + 1))
    shape = f"{lanes}x{type}" if lanes else type
    op = "math.powf" if name == "pow" else f"math.{name}"

    def body(i):
        values = [p.load(p.at(a, i), shape) for a in p.args[:-1]]
        p.store(p.at(p.args[-1], i), p.op(op, *values, type=values[0].type))

    p.loop(0, len(arrays[0]), max(lanes, 1), [], body)
    out = np.zeros(len(arrays[0]), DTYPES[type])
    compiled(p, cpu)(*arrays, out)
    return out


def arguments(low, high, dtype):
    """Uniform, logarithmic and special arguments."""
    rng = np.random.default_rng(0)
    x = rng.uniform(low, high, COUNT)
    size = np.exp(rng.uniform(-60 if dtype == np.float32 else -100, math.log(max(abs(low), high)), COUNT // 4))
    x[: COUNT // 4] = size * (rng.choice([-1, 1], COUNT // 4) if low < 0 else 1)
    x[COUNT // 4 : COUNT // 4 + 2000] = 1 + rng.uniform(-1e-3, 1e-3, 2000) if low <= 0.9 and high >= 1.1 else 0.25
    x = np.clip(x, low, high).astype(dtype)
    special = np.array(SPECIAL, np.float64).astype(dtype)
    return np.concatenate([x, special, np.zeros(-len(special) % 16, dtype)])


def worst(got, want, dtype):
    """The largest error in units in the last place; infinite where one is NaN or infinite and the other is not."""
    with np.errstate(all="ignore"):
        rounded = want.astype(dtype)
        spacing = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, 1))).astype(want.dtype)
        error = np.abs(got.astype(want.dtype) - want) / spacing
    both = np.isnan(rounded) & np.isnan(got)
    limit = np.finfo(dtype).max  # a result that rounds to infinity may also be the largest number
    edge = np.isinf(rounded) & (np.abs(got) == limit) & np.isfinite(want)
    error = np.where(both | (got == rounded) | edge, 0, np.where(np.isfinite(error), error, INF))
    return error.max(), int(error.argmax())


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("name", F32)
def test_f32_functions(cpu, name):
    reference, (low, high), fused, unfused = F32[name]
    x = arguments(low, high, np.float32)
    got = evaluate(cpu, name, "f32", [x])
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.float64))
    error, at = worst(got, want, np.float32)
    assert error <= (unfused if cpu == "x86-64" else fused), (x[at], got[at], want[at])
    zero = (want == 0) & (x == 0)
    assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("name", F64)
def test_f64_functions(cpu, name):
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("no wider float to compare with")
    reference, (low, high) = F64[name]
    x = arguments(low, high, np.float64)
    got = evaluate(cpu, name, "f64", [x], 8)
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.longdouble))
    error, at = worst(got, want, np.float64)
    assert error <= (2.5 if cpu == "x86-64" else 2.0), (x[at], got[at], want[at])


@pytest.mark.parametrize("cpu", RUNNABLE)
def test_sin_and_cos_of_large_angles(cpu):
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.uniform(-1e5, 1e5, 4096), 10 ** rng.uniform(4, 38, 4096), np.arange(1, 4097) * (math.pi / 2)]
    )
    x = x.astype(np.float32)
    for name, reference in (("sin", np.sin), ("cos", np.cos), ("tan", np.tan)):
        got = evaluate(cpu, name, "f32", [x])
        want = reference(x.astype(np.float64))
        error, at = worst(got, want, np.float32)
        assert error <= 3.1 if name == "tan" else error <= 1.6, (name, x[at], got[at], want[at])


@pytest.mark.parametrize("cpu", RUNNABLE)
def test_pow(cpu):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(0, 10, 8192), 10 ** rng.uniform(-38, 38, 8192), np.repeat(SPECIAL, 32)])
    y = np.concatenate([rng.uniform(-20, 20, 8192), rng.uniform(-3, 3, 8192), np.tile(SPECIAL, 32)])
    x[:4096:2] *= -1
    y[:4096:3] = np.round(y[:4096:3])
    x, y = x.astype(np.float32), y.astype(np.float32)
    got = evaluate(cpu, "pow", "f32", [x, y])
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64))
    error, at = worst(got, want, np.float32)
    assert error <= 1.0, (x[at], y[at], got[at], want[at])


@pytest.mark.parametrize("name", ["exp", "sin", "tanh", "log", "atan2", "cbrt"])
@pytest.mark.parametrize("type", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("lanes", [0, 4, 32])
def test_every_width_and_type(name, type, lanes):
    dtype = DTYPES[type]
    count = FUNCTIONS[name].arguments
    x = [np.random.default_rng(n).uniform(0.1, 3, 64).astype(dtype) for n in range(count)]
    got = evaluate("host", name, type, x, lanes).astype(np.float64)
    reference = {"atan2": np.arctan2, "cbrt": np.cbrt}.get(name) or getattr(np, name)
    want = reference(*[a.astype(np.float64) for a in x])
    bound = {"f16": 2**-10, "bf16": 2**-7, "f32": 2**-22, "f64": 2**-50}[type]
    assert np.all(np.abs(got - want) <= bound * np.maximum(np.abs(want), 2.0**-10))


@pytest.mark.parametrize("cpu", [*TARGETS, "znver4"])
@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
def test_every_target_assembles(cpu, type):
    p = Program(f"*{type}")
    for lanes in (0, 4, 8):
        value = p.load(p.args[0], f"{lanes}x{type}" if lanes else type)
        for name, row in FUNCTIONS.items():
            op = "math.powf" if name == "pow" else f"math.{name}"
            value = p.op(op, *[value] * row.arguments, type=value.type)
        p.store(p.args[0], value)
    assert object_code(p.text(CpuTarget.named(cpu)), machine_of(cpu))
