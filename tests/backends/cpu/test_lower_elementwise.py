"""Arithmetic and conversions of the CPU lowering against what the interpreter computes, on every runnable target."""

import numpy as np
import pytest
from programs import Program, compiled

from naiad.ir.evaluate import DTYPES, evaluate

RUNNABLE = ("x86-64", "x86-64-v3", "host")
LANES = 16
INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
SMALL = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
BINARY_INTEGER = ["addi", "subi", "muli", "andi", "ori", "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi",
                  "minui", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"]  # fmt: skip
BINARY_FLOAT = ["addf", "subf", "mulf", "divf", "remf", "maxnumf", "minnumf", "maximumf", "minimumf"]


def run(cpu, build, arrays, out_type, lanes=LANES):
    """Applies `build(p, *vectors)` to arrays, whole vectors at a time; gives the result array."""
    n = len(arrays[0][1])
    p = Program(*(f"*{t}" for t, _ in arrays), f"*{out_type}")
    shape = f"{lanes}x" if lanes else ""

    def body(i):
        values = [p.load(p.at(a, i), shape + t) for a, (t, _) in zip(p.args, arrays, strict=False)]
        p.store(p.at(p.args[-1], i), build(p, *values))

    p.loop(0, n, max(lanes, 1), [], body)
    dtype = DTYPES[out_type]
    out = np.zeros(n, np.uint8 if dtype.itemsize == 1 else dtype)
    compiled(p, cpu)(*[np.ascontiguousarray(a).view(np.uint8) for _, a in arrays], out)
    return out.view(dtype)


def integers(type, n=256, seed=0):
    dtype = DTYPES[type]
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    special = [0, 1, -1, 2, 3, 7, info.min, info.max, info.min + 1, info.max - 1, 31, 32, 33, 8, 64, 5]
    found = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    found[: len(special)] = special
    found[100:150] = rng.integers(-9, 10, 50)
    return rng.permutation(found)


def floats(type, n=1024, seed=0):
    """Random bits: every exponent, subnormals, infinities and NaN."""
    dtype = DTYPES[type]
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, n * dtype.itemsize, dtype=np.uint8).view(dtype)


def same(got, want):
    """Equal bits, or both NaN."""
    if got.dtype.kind in "ib":
        return np.array_equal(got, want)
    a, b = got.astype(np.float64), want.astype(np.float64)
    equal = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool(np.all(equal | (np.isnan(a) & np.isnan(b))))


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("lanes", [0, LANES])
def test_integer_arithmetic(cpu, type, lanes):
    a, b = integers(type, seed=1), integers(type, seed=2)
    for name in BINARY_INTEGER:
        full = f"arith.{name}"
        got = run(cpu, lambda p, x, y, full=full: p.op(full, x, y, type=x.type), [(type, a), (type, b)], type, lanes)
        want = evaluate(full, [a, b], DTYPES[type])
        defined = np.ones(len(a), bool)
        if "div" in name or "rem" in name:
            defined = (b != 0) & ~((a == np.iinfo(a.dtype).min) & name.startswith(("floor", "ceil")))
        assert np.array_equal(got[defined], want[defined]), name
        if name in ("divsi", "divui"):
            assert np.all(got[b == 0] == 0)


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", FLOATS)
def test_float_arithmetic(cpu, type):
    a, b = floats(type, seed=3), floats(type, seed=4)
    b[:100] = a[:100]
    for name in BINARY_FLOAT:
        full = f"arith.{name}"
        got = run(cpu, lambda p, x, y, full=full: p.op(full, x, y, type=x.type), [(type, a), (type, b)], type)
        want = evaluate(full, [a, b], DTYPES[type])
        if name in ("maxnumf", "minnumf"):  # the sign of zero is free
            zero = got.astype(np.float64) == 0
            assert same(got[~zero], want[~zero]) and np.all(want[zero].astype(np.float64) == 0), name
        else:
            assert same(got, want), name


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", FLOATS)
def test_float_functions_that_are_exact(cpu, type):
    a = floats(type, seed=5)
    b, c = floats(type, seed=6), floats(type, seed=7)
    if type == "f64":  # what computes the wanted values cannot divide numbers past the largest float
        a, b, c = (np.random.default_rng(n).standard_normal(1024) * 2.0 ** np.arange(1024) ** (n / 4) for n in range(3))
    for name in ("math.sqrt", "math.floor", "math.ceil", "math.trunc", "math.roundeven", "math.absf", "arith.negf"):
        got = run(cpu, lambda p, x, name=name: p.op(name, x, type=x.type), [(type, a)], type)
        assert same(got, evaluate(name, [a], DTYPES[type])), name
    got = run(cpu, lambda p, x, y, z: p.op("math.fma", x, y, z, type=x.type), [(type, a), (type, b), (type, c)], type)
    assert same(got, evaluate("math.fma", [a, b, c], DTYPES[type]))
    for rule in ("none", "all"):
        got = run(cpu, lambda p, x, y, z, rule=rule: p.op("tt.clampf", x, y, z, type=x.type, propagateNan=rule),
                  [(type, a), (type, b), (type, c)], type)  # fmt: skip
        want = evaluate("tt.clampf", [a, b, c], DTYPES[type], rule)
        zero = got.astype(np.float64) == 0
        assert same(got[~zero], want[~zero]), rule


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("source", (*FLOATS, *SMALL))
def test_casts_between_floats(cpu, source):
    a = floats(source, 4096, seed=8) if DTYPES[source].itemsize > 1 else floats(source, 256)
    if DTYPES[source].itemsize == 1:
        a = np.arange(256, dtype=np.uint8).view(DTYPES[source])
    if source in ("f32", "f64"):  # in the range where formats of 8 bits round
        rng = np.random.default_rng(1)
        a[:2048] = (rng.standard_normal(2048) * 2.0 ** rng.integers(-20, 20, 2048)).astype(DTYPES[source])
        a[:200] = np.arange(200) / 64 - 1.5
    for target in (*FLOATS, *SMALL):
        if target == source:
            continue
        for rounding in ("rtne", "rtz"):
            got = run(cpu, lambda p, x, t=target, r=rounding: p.op("tt.fp_to_fp", x, type=f"{LANES}x{t}", rounding=r),
                      [(source, a)], target)  # fmt: skip
            want = evaluate("tt.fp_to_fp", [a], DTYPES[target], rounding)
            assert same(got, want), (target, rounding)


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("float_type", (*FLOATS, *SMALL))
def test_casts_to_and_from_integers(cpu, float_type):
    a = floats(float_type, 1024, seed=9)
    if DTYPES[float_type].itemsize == 1:
        a = np.arange(256, dtype=np.uint8).view(DTYPES[float_type])
    for integer in INTEGERS:
        for sign in "su":
            name = f"arith.fpto{sign}i"
            got = run(cpu, lambda p, x, n=name, i=integer: p.op(n, x, type=f"{LANES}x{i}"), [(float_type, a)], integer)
            assert same(got, evaluate(name, [a], DTYPES[integer])), (name, integer)
            name, b = f"arith.{sign}itofp", integers(integer, 1024, seed=10)
            b[:300] >>= np.arange(300, dtype=b.dtype) % (8 * b.itemsize)
            got = run(cpu, lambda p, x, n=name: p.op(n, x, type=f"{LANES}x{float_type}"), [(integer, b)], float_type)
            assert same(got, evaluate(name, [b], DTYPES[float_type])), (name, integer)


@pytest.mark.parametrize("cpu", RUNNABLE)
def test_comparisons_select_and_bits(cpu):
    a, b = floats("f32", seed=11), floats("f32", seed=12)
    b[::3] = a[::3]
    for predicate in ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"):
        got = run(cpu, lambda p, x, y, q=predicate: p.op("arith.cmpf", x, y, type=f"{LANES}xi1", predicate=q),
                  [("f32", a), ("f32", b)], "i1")  # fmt: skip
        assert np.array_equal(got, evaluate("arith.cmpf", [a, b], np.dtype(bool), predicate)), predicate
    c, d = integers("i32", 1024, seed=13), integers("i32", 1024, seed=14)
    for predicate in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"):
        got = run(cpu, lambda p, x, y, q=predicate: p.op("arith.cmpi", x, y, type=f"{LANES}xi1", predicate=q),
                  [("i32", c), ("i32", d)], "i1")  # fmt: skip
        assert np.array_equal(got, evaluate("arith.cmpi", [c, d], np.dtype(bool), predicate)), predicate
    for wide in ("i32", "i64"):
        e, f = integers(wide, 1024, seed=15), integers(wide, 1024, seed=16)
        got = run(cpu, lambda p, x, y: p.op("tt.mulhiui", x, y, type=x.type), [(wide, e), (wide, f)], wide)
        assert np.array_equal(got, evaluate("tt.mulhiui", [e, f], DTYPES[wide]))
