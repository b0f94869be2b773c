"""Reductions, shuffles, atomics and printing of the CPU lowering."""

import subprocess
import sys

import numpy as np
import pytest
from programs import Program, compiled

from naiad.ir.evaluate import DTYPES, evaluate

RUNNABLE = ("x86-64", "x86-64-v3", "host")


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", ["i8", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_reductions(cpu, type):
    dtype = DTYPES[type]
    rng = np.random.default_rng(0)
    x = rng.integers(1, 4, 16).astype(dtype)
    names = "addi muli maxsi maxui minsi minui andi ori xori" if type[0] == "i" else (
        "addf mulf maxnumf minnumf maximumf minimumf")  # fmt: skip
    for name in names.split():
        p = Program(f"*{type}", f"*{type}")
        p.store(p.args[1], p.op("ttc.reduce", p.load(p.args[0], f"16x{type}"), type=type, kind=name))
        kernel = compiled(p, cpu)
        inputs = (
            [x] if type[0] == "i" or "m" not in name[:3] else [x, np.where(np.arange(16) == 3, np.nan, x).astype(dtype)]
        )
        for values in inputs:
            out = np.zeros(1, dtype)
            kernel(values, out)
            want = values[:1]
            for k in range(1, 16):
                want = evaluate(f"arith.{name}", [want, values[k : k + 1]], dtype)
            assert np.array_equal(out.astype(np.float64), want.astype(np.float64), equal_nan=True), (name, values)


@pytest.mark.parametrize("cpu", RUNNABLE)
def test_shuffle_extract_insert(cpu):
    p = Program("*f32", "*f32", "i32")
    v = p.load(p.args[0], "8xf32")
    turned = p.op("ttc.shuffle", v, v, type="8xf32", indices=dense(list(range(7, -1, -1))))
    lane = p.op("ttc.extract", v, p.args[2], type="f32")
    p.store(p.args[1], p.op("ttc.insert", lane, turned, p.const(0, "i64"), type="8xf32"))
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    compiled(p, cpu)(x, out, np.int32(5))
    assert out.tolist() == [5, 6, 5, 4, 3, 2, 1, 0]


def dense(values):
    from xdsl.dialects.builtin import DenseArrayBase, i32

    return DenseArrayBase.from_list(i32, values)


ATOMICS = {"add": np.add, "max": np.maximum, "min": np.minimum, "umax": np.maximum, "umin": np.minimum,
           "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "exch": lambda a, b: b}  # fmt: skip


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_atomics_give_the_old_value(cpu, type):
    dtype = DTYPES[type]
    names = list(ATOMICS) if type[0] == "i" else ["fadd", "fmax", "fmin", "exch", "max", "min"]
    for name in names:
        for sem in ("relaxed", "acq_rel"):
            p = Program(f"*{type}", f"*{type}", type)
            old = p.op("ttc.atomic_rmw", p.args[0], p.args[2], type=type, kind=word(name), sem=word(sem))
            p.store(p.args[1], old)
            x, out, value = np.array([5], dtype), np.zeros(1, dtype), dtype.type(3)
            compiled(p, cpu)(x, out, value)
            full = name.removeprefix("f") if type[0] != "i" else name
            want = ATOMICS[full](np.float64(5), 3) if type[0] != "i" else ATOMICS[name](5, 3)
            assert out[0] == 5 and float(x[0]) == float(want), name


def word(text):
    from xdsl.dialects.builtin import StringAttr

    return StringAttr(text)


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", ["i16", "i32", "i64", "f16", "f32"])
def test_compare_and_swap(cpu, type):
    dtype = DTYPES[type]
    p = Program(f"*{type}", f"*{type}", type, type)
    p.store(p.args[1], p.op("ttc.atomic_cas", p.args[0], p.args[2], p.args[3], type=type, sem=word("acq_rel")))
    kernel = compiled(p, cpu)
    x, out = np.array([2], dtype), np.zeros(1, dtype)
    kernel(x, out, dtype.type(1), dtype.type(9))
    assert x[0] == 2 and out[0] == 2
    kernel(x, out, dtype.type(2), dtype.type(9))
    assert x[0] == 9 and out[0] == 2


PRINTS = """
import numpy as np, sys
sys.path.insert(0, {here!r})
from programs import Program, compiled
from naiad.ir.base import int_attr, segments
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, UnitAttr, i64
p = Program("f32", "i32", "f16")
def show(value, number, **more):
    p.op("ttc.print", p.const(7, "index"), p.const(3, "index"), value, prefix=StringAttr(" v: "),
         operand_number=int_attr(number, 64), operand_count=int_attr(2, 64),
         shape=DenseArrayBase.from_list(i64, [128, 4]), operandSegmentSizes=segments(0, 2, 1), **more)
show(p.args[0], 0)
show(p.args[1], 1, signed=UnitAttr())
show(p.args[1], 1, hex=UnitAttr())
show(p.args[2], 1)
p.op("ttc.print", prefix=StringAttr(" 100%"), operand_number=int_attr(0, 64), operand_count=int_attr(0, 64),
     shape=DenseArrayBase.from_list(i64, []), operandSegmentSizes=segments(0, 0, 0))
compiled(p)(np.float32(1.5), np.int32(-2), np.float16(0.25), grid=(2, 1, 1), begin=1)
"""


def test_print_lines(request):
    here = str(request.path.parent)
    done = subprocess.run([sys.executable, "-c", PRINTS.format(here=here)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "pid (1, 0, 0) idx (  7, 3) v: (operand 0) 1.500000",
        "pid (1, 0, 0) idx (  7, 3) v: (operand 1) -2",
        "pid (1, 0, 0) idx (  7, 3) v: (operand 1) 0xfffffffe",
        "pid (1, 0, 0) idx (  7, 3) v: (operand 1) 0.250000",
        "pid (1, 0, 0) 100%",
    ]
