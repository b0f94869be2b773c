"""Every row of the elementwise table.

Its text, its type rule, and what it computes, against Python's own arithmetic.
"""

import math
import struct

import numpy as np
import pytest
from xdsl.dialects.builtin import AnyFloat, IntegerType, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Block

from naiad.ir.attributes import keyword
from naiad.ir.base import tensor, vector
from naiad.ir.check import IRError, check
from naiad.ir.constants import constant, numpy_type
from naiad.ir.elementwise import ELEMENTWISE, ROWS, Form, Row, compute
from naiad.ir.evaluate import DTYPES, evaluate, is_defined
from naiad.ir.text import parse, print_module
from naiad.ir.types import pointer
from naiad.passes.common.fold import folded
from tests.ir.text_of import function_of

RNG = np.random.default_rng(1)


def types_of(row: Row):
    """A source and a result scalar type that the row takes."""
    if row.name == "tt.int_to_ptr":
        return i64, pointer(f32)
    if row.name == "tt.ptr_to_int":
        return pointer(f32), i64
    if row.name in ("arith.extsi", "arith.extui"):
        return i8, i32
    if row.name == "arith.trunci":
        return i32, i8
    if row.name == "arith.extf":
        return f16, f32
    if row.name == "arith.truncf":
        return f32, f16
    if row.name in ("arith.bitcast", "tt.bitcast"):
        return f32, i32
    if row.form in (Form.CAST, Form.ROUND):
        return (f32 if AnyFloat in row.operands else i32), (f32 if AnyFloat in row.result else i32)
    source = f32 if AnyFloat in row.operands and IntegerType not in row.operands else i32
    return source, i1 if row.form is Form.COMPARE else source


SHAPES = {"scalar": lambda t: t, "tensor": lambda t: tensor(t, (4, 8)), "vector": lambda t: vector(t, 8)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_text_and_verifier(row: Row, shape: str) -> None:
    source, result = (SHAPES[shape](t) for t in types_of(row))
    types = [source] * row.arity
    if row.form is Form.SELECT:
        types[0] = SHAPES[shape](i1)
    properties = {}
    if row.form is Form.COMPARE:
        properties["predicate"] = keyword("olt" if row.name == "arith.cmpf" else "ult")
    if row.form is Form.ROUND:
        properties["rounding"] = keyword("rtz")
    if row.form is Form.CLAMP:
        properties["propagateNan"] = keyword("all")
    block = Block(arg_types=types)
    block.add_op(ELEMENTWISE[row.name](*block.args, results=[result], **properties))
    module = function_of(block)
    check(module, "ttir")
    text = print_module(module)
    again = parse(text)
    check(again, "ttir")
    assert again.is_structurally_equivalent(module)
    assert print_module(again) == text


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INT = {"arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b, "arith.muli": lambda a, b: a * b,
       "arith.andi": lambda a, b: a & b, "arith.ori": lambda a, b: a | b, "arith.xori": lambda a, b: a ^ b,
       "arith.divsi": lambda a, b: truncated(a, b), "arith.remsi": lambda a, b: a - b * truncated(a, b),
       "arith.floordivsi": lambda a, b: a // b, "arith.ceildivsi": lambda a, b: -(-a // b),
       "arith.maxsi": max, "arith.minsi": min, "math.absi": abs}  # fmt: skip
UINT = {"arith.divui": lambda a, b: a // b, "arith.remui": lambda a, b: a % b,
        "arith.ceildivui": lambda a, b: -(-a // b),
        "arith.maxui": max, "arith.minui": min}  # fmt: skip


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("name", [*INT, *UINT])
def test_integers(name: str, width: int) -> None:
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    values = [0, 1, -1, 2, -7, low, high, *RNG.integers(max(low, -(1 << 40)), min(high, 1 << 40), 20).tolist()]
    dtype = DTYPES[f"i{width}"]
    for a in values:
        for b in values:
            args = [np.array(v, dtype) for v in ((a,) if name == "math.absi" else (a, b))]
            if not is_defined(name, args):
                continue
            mask = (1 << width) - 1
            exact = INT[name](*([a, b][: len(args)])) if name in INT else UINT[name](a & mask, b & mask)
            assert int(evaluate(name, args, dtype)) == signed(exact, width), (name, a, b)


def test_booleans_read_as_minus_one_or_one() -> None:
    t, f = np.array(True), np.array(False)
    assert evaluate("arith.extsi", [t], DTYPES["i32"]) == -1
    assert evaluate("arith.extui", [t], DTYPES["i32"]) == 1
    assert evaluate("arith.uitofp", [t], DTYPES["f32"]) == 1.0
    assert evaluate("arith.addi", [t, t], DTYPES["i1"]) == f
    assert evaluate("arith.cmpi", [t, f], DTYPES["i1"], "slt")
    assert not evaluate("arith.cmpi", [t, f], DTYPES["i1"], "ult")
    assert evaluate("arith.trunci", [np.array(2, np.int32)], DTYPES["i1"]) == f


def test_shifts_past_the_width_do_not_raise() -> None:
    a = np.array([-8, 8], np.int32)
    assert evaluate("arith.shrsi", [a, np.array([1, 1], np.int32)], a.dtype).tolist() == [-4, 4]
    assert evaluate("arith.shrui", [a, np.array([28, 40], np.int32)], a.dtype).tolist() == [15, 0]
    assert evaluate("arith.shrsi", [a, np.array([40, 40], np.int32)], a.dtype).tolist() == [-1, 0]
    assert evaluate("arith.shli", [a, np.array([1, 32], np.int32)], a.dtype).tolist() == [-16, 0]


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_high_half_of_a_product(width: int) -> None:
    dtype = DTYPES[f"i{width}"]
    for a, b in RNG.integers(0, 1 << min(width, 62), (50, 2)).tolist():
        a, b = (v * 3 & ((1 << width) - 1) for v in (a, b))
        args = [np.array(signed(v, width), dtype) for v in (a, b)]
        assert int(evaluate("tt.mulhiui", args, dtype)) == signed(a * b >> width, width)


@pytest.mark.parametrize(
    "predicate", ["oeq", "one", "olt", "oge", "ueq", "une", "ult", "uge", "ord", "uno", "true", "false"]
)
def test_float_comparisons(predicate: str) -> None:
    values = np.array([0.0, -0.0, 1.0, np.inf, np.nan], np.float32)
    compare = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "ge": lambda a, b: a >= b,
    }
    for a in values:
        for b in values:
            nan = math.isnan(a) or math.isnan(b)
            wanted = {"ord": not nan, "uno": nan, "true": True, "false": False}.get(predicate)
            if wanted is None:
                wanted = (nan and predicate[0] == "u") or (not nan and compare[predicate[1:]](a, b))
            assert bool(evaluate("arith.cmpf", [a, b], DTYPES["i1"], predicate)) == wanted


def test_minimum_and_maximum_of_nan_and_zeros() -> None:
    a, b = np.float32(np.nan), np.float32(1)
    assert evaluate("arith.maxnumf", [a, b], DTYPES["f32"]) == 1
    assert np.isnan(evaluate("arith.maximumf", [a, b], DTYPES["f32"]))
    plus, minus = np.float32(0.0), np.float32(-0.0)
    assert not np.signbit(evaluate("arith.maximumf", [minus, plus], DTYPES["f32"]))
    assert np.signbit(evaluate("arith.minimumf", [plus, minus], DTYPES["f32"]))


FLOATS = {"math.exp": math.exp, "math.exp2": lambda x: 2.0**x, "math.log": math.log, "math.log2": math.log2,
          "math.sin": math.sin, "math.cos": math.cos, "math.tanh": math.tanh, "math.sqrt": math.sqrt,
          "math.erf": math.erf,
          "math.rsqrt": lambda x: 1 / math.sqrt(x), "math.floor": math.floor, "math.ceil": math.ceil,
          "math.absf": abs}  # fmt: skip


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", FLOATS)
def test_math_is_correctly_rounded(name: str, kind: str) -> None:
    dtype = DTYPES[kind]
    values = (RNG.random(50) * 4 + 0.01).astype(dtype)
    found = evaluate(name, [values], dtype)
    exact = np.array([FLOATS[name](float(v)) for v in values])
    assert found.dtype == dtype
    eps = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-51}[kind]
    error = np.abs(found.astype(np.float64) - exact) / np.maximum(np.abs(exact), 1e-3)
    assert error.max() <= eps * 1.01


def test_folding_keeps_types_and_refuses_what_is_undefined() -> None:
    block = Block()
    ops = [constant(v, t) for v, t in ((7, i32), (0, i32), (2.5, tensor(f16, (4,))), (-1, i64))]
    block.add_ops(ops)
    seven, zero, half, minus = (o.results[0] for o in ops)
    assert folded(ELEMENTWISE["arith.divsi"](seven, zero, results=[i32])) is None
    assert folded(ELEMENTWISE["arith.remui"](seven, zero, results=[i32])) is None
    made = folded(ELEMENTWISE["math.exp2"](half, results=[half.type]))
    assert made.result.type == half.type and made.value.value.data == np.float16(2.0**2.5)
    made = folded(ELEMENTWISE["arith.trunci"](minus, results=[i16]))
    assert made.value.value.data == -1 and made.result.type == i16


def test_compute_reads_the_op() -> None:
    block = Block(arg_types=[f64, f64])
    op = ELEMENTWISE["arith.cmpf"](*block.args, results=[i1], predicate=keyword("ogt"))
    assert compute(op, [np.float64(2), np.float64(1)])
    assert numpy_type(tensor(pointer(f32), (4,))) == np.int64


def test_wrong_types_are_named() -> None:
    cases = [
        ("arith.addf", [i32, i32], i32, "expected a float"),
        ("arith.extsi", [i32], i8, "must be wider"),
        ("arith.bitcast", [i32], i64, "as wide"),
        ("arith.addi", [tensor(i32, (4,)), i32], i32, "expected from variable"),
    ]
    for name, types, result, message in cases:
        block = Block(arg_types=types)
        block.add_op(ELEMENTWISE[name](*block.args, results=[result]))
        with pytest.raises(IRError, match=message):
            check(function_of(block))


def test_bits_of_a_float() -> None:
    bits = struct.unpack("<i", struct.pack("<f", 1.5))[0]
    assert evaluate("arith.bitcast", [np.float32(1.5)], DTYPES["i32"]) == bits
