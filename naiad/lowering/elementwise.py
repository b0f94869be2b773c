"""Lowering of elementwise ops: one instruction per register, equal operands computed once.

`each(op, e, write)` runs over the registers; the tables say which LLVM instruction an op is.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation

from naiad.errors import explain
from naiad.ir.constants import ConstantOp, SplatAttr, numpy_type
from naiad.lowering.emitter import float_literal
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, llvm_type, scalar_type, width

__all__ = ["each", "literal", "rules"]

rules = Rules()

INTEGER = {"addi": "add", "subi": "sub", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor"}
INTRINSIC = {"arith.maxsi": "smax", "arith.maxui": "umax", "arith.minsi": "smin", "arith.minui": "umin",
             "arith.maxnumf": "maxnum", "arith.minnumf": "minnum", "math.floor": "floor", "math.ceil": "ceil",
             "math.trunc": "trunc", "math.roundeven": "roundeven", "math.absf": "fabs", "math.copysign": "copysign",
             "math.fma": "fma", "tt.precise_sqrt": "sqrt"}  # fmt: skip
CONTRACTED = {"arith.addf": "fadd", "arith.subf": "fsub", "arith.mulf": "fmul"}
CASTS = {"arith.extsi": "sext", "arith.extui": "zext", "arith.trunci": "trunc", "tt.int_to_ptr": "inttoptr",
         "tt.ptr_to_int": "ptrtoint"}  # fmt: skip
APPROXIMATE = ("exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh", "sqrt", "rsqrt", "erf", "log10", "log1p",
               "expm1", "sinh", "cosh", "asin", "acos", "atan", "cbrt")  # fmt: skip


def each(op: Operation, e: Threads, write: Callable[..., str]) -> str | list[list[str]]:
    """`write(*operands)` for each register of the result; equal operands share one result."""
    if not isinstance(op.results[0].type, TensorType):
        return write(*(e.values[o] for o in op.operands))
    n = e.count(op.results[0].type)
    columns = [r * n if len(r) == 1 else r for r in (e.registers(o) for o in op.operands)]
    memo: dict[tuple[str, ...], str] = {}
    out = []
    for operands in zip(*columns, strict=True):
        if (made := memo.get(operands)) is None:
            made = memo[operands] = write(*operands)
        out.append(made)
    return [out]


@cache
def literal(value: Attribute) -> str:
    """A number as LLVM writes it in its type."""
    scalar = value.scalar if isinstance(value, SplatAttr) else value
    if isinstance(scalar, IntegerAttr):
        return str(int(scalar.value.data))
    assert isinstance(scalar, FloatAttr)
    return float_constant(scalar.value.data, scalar.type)


def float_constant(value: float, type: Attribute) -> str:
    """A float of an IR type, by its bits where LLVM takes no decimal."""
    kind = llvm_type(type)
    if kind in ("float", "double"):
        return float_literal(value, kind)
    exact = np.float64(value).astype(numpy_type(type))
    number = int.from_bytes(exact.tobytes(), "little")
    return {"half": f"0xH{number:04X}", "bfloat": f"0xR{number:04X}"}.get(kind, str(number))


@rules.lower("arith.constant")
def constant(op: ConstantOp, e: Threads) -> str | list[list[str]]:
    value = op.properties["value"]
    if not isinstance(value, IntegerAttr | FloatAttr | SplatAttr):
        raise explain(
            NotImplementedError("a constant tile whose elements differ"),
            expected="one number for all elements: dense<1>",
            advice="make the tile of tt.make_range and arithmetic, or load it",
        )
    text = literal(value)
    return [[text] * e.count(op.results[0].type)] if isinstance(value, SplatAttr) else text


@rules.lower(*(f"arith.{name}" for name in INTEGER))
def integer(op: Operation, e: Threads) -> str | list[list[str]]:
    head = f"{INTEGER[op.name.split('.')[1]]} {scalar_type(op.operands[0])} "
    return each(op, e, lambda a, b: e.op(f"{head}{a}, {b}"))


@rules.lower(*INTRINSIC)
def intrinsic(op: Operation, e: Threads) -> str | list[list[str]]:
    kind, name = scalar_type(op.results[0]), INTRINSIC[op.name]
    if kind[0] == "i" and name == "fabs":  # an 8-bit float, held as bits
        return each(op, e, lambda a: e.op(f"and {kind} {a}, 127"))
    return each(op, e, lambda *operands: e.intrinsic(name, kind, *operands))


@rules.lower("arith.maximumf", "arith.minimumf")
def propagating(op: Operation, e: Threads) -> str | list[list[str]]:
    kind, name = scalar_type(op.results[0]), op.name.split(".")[1].removesuffix("f")
    return each(op, e, lambda a, b: e.intrinsic(name, kind, a, b))


@rules.lower(*CONTRACTED)
def arithmetic(op: Operation, e: Threads) -> str | list[list[str]]:
    flags = "contract " if getattr(e.options, "enable_fp_fusion", True) else ""
    head = f"{CONTRACTED[op.name]} {flags}{scalar_type(op.results[0])} "
    return each(op, e, lambda a, b: e.op(f"{head}{a}, {b}"))


@rules.lower("arith.divf")
def divide(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.results[0])
    return each(op, e, lambda a, b: e.target.divide(e, kind, a, b))


@rules.lower("tt.precise_divf")
def divide_exactly(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.results[0])
    return each(op, e, lambda a, b: e.op(f"fdiv {kind} {a}, {b}"))


@rules.lower("arith.remf")
def remainder(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.results[0])
    return each(op, e, lambda a, b: e.op(f"frem {kind} {a}, {b}"))


@rules.lower("arith.negf")
def negate(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.results[0])
    negated = f"xor {kind} %s, -128" if kind[0] == "i" else f"fneg {kind} %s"
    return each(op, e, lambda a: e.op(negated % a))


@rules.lower("arith.cmpi")
def compare(op: Operation, e: Threads) -> str | list[list[str]]:
    head = f"icmp {op.properties['predicate'].data} {scalar_type(op.operands[0])} "
    return each(op, e, lambda a, b: e.op(f"{head}{a}, {b}"))


@rules.lower("arith.cmpf")
def compare_floats(op: Operation, e: Threads) -> str | list[list[str]]:
    head = f"fcmp {op.properties['predicate'].data} {scalar_type(op.operands[0])} "
    return each(op, e, lambda a, b: e.op(f"{head}{a}, {b}"))


@rules.lower("arith.select")
def select(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.results[0])
    return each(op, e, lambda c, a, b: a if a == b else e.op(f"select i1 {c}, {kind} {a}, {kind} {b}"))


@rules.lower(*CASTS)
def cast(op: Operation, e: Threads) -> str | list[list[str]]:
    word, source, target = CASTS[op.name], scalar_type(op.operands[0]), scalar_type(op.results[0])
    return each(op, e, lambda a: e.op(f"{word} {source} {a} to {target}"))


@rules.lower("arith.index_cast", "arith.index_castui")
def cast_index(op: Operation, e: Threads) -> str | list[list[str]]:
    source, target = scalar_type(op.operands[0]), scalar_type(op.results[0])
    word = "trunc" if width(target) < width(source) else "zext" if op.name.endswith("ui") else "sext"
    return each(op, e, lambda a: a if source == target else e.op(f"{word} {source} {a} to {target}"))


@rules.lower("tt.bitcast", "arith.bitcast")
def bitcast(op: Operation, e: Threads) -> str | list[list[str]]:
    source, target = scalar_type(op.operands[0]), scalar_type(op.results[0])
    if source == target:
        return each(op, e, lambda a: a)
    if "ptr" in source or "ptr" in target:
        return each(op, e, lambda a: e.from_bits(e.to_bits(a, source), target))
    return each(op, e, lambda a: e.op(f"bitcast {source} {a} to {target}"))


@rules.lower(*(f"math.{name}" for name in APPROXIMATE))
def function(op: Operation, e: Threads) -> str | list[list[str]]:
    kind, name = scalar_type(op.results[0]), op.name.split(".")[1]
    return each(op, e, lambda a: call_function(e, name, kind, a))


def call_function(e: Threads, name: str, kind: str, value: str) -> str:
    """A function of one float; halves are computed in f32."""
    if kind in ("half", "bfloat"):
        wide = e.op(f"fpext {kind} {value} to float")
        return e.op(f"fptrunc float {call_function(e, name, 'float', wide)} to {kind}")
    return e.target.unary(e, name, kind, value)


@rules.lower("math.powf", "math.atan2")
def library_function(op: Operation, e: Threads) -> str | list[list[str]]:
    """Functions of two floats, from the target's library; halves are computed in f32."""
    kind, name = scalar_type(op.results[0]), {"powf": "pow", "atan2": "atan2"}[op.name.split(".")[1]]
    if kind in ("float", "double"):
        return each(op, e, lambda a, b: e.target.library(e, name, kind, a, b))

    def write(a: str, b: str) -> str:
        wide = [e.op(f"fpext {kind} {v} to float") for v in (a, b)]
        return e.op(f"fptrunc float {e.target.library(e, name, 'float', *wide)} to {kind}")

    return each(op, e, write)


@rules.lower("math.absi")
def absolute(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.results[0])
    return each(op, e, lambda a: e.call(kind, f"llvm.abs.{kind}", (kind, "i1"), (a, "false")))


@rules.lower("tt.mulhiui")
def multiply_high(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.results[0])
    wide, n = f"i{2 * width(kind)}", width(kind)

    def write(a: str, b: str) -> str:
        x, y = e.op(f"zext {kind} {a} to {wide}"), e.op(f"zext {kind} {b} to {wide}")
        high = e.op(f"lshr {wide} {e.op(f'mul {wide} {x}, {y}')}, {n}")
        return e.op(f"trunc {wide} {high} to {kind}")

    return each(op, e, write)


@rules.lower("tt.clampf")
def clamp(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.results[0])
    suffix = "imum" if op.properties["propagateNan"].data == "all" else "num"
    return each(op, e, lambda x, low, high: e.intrinsic(
        f"min{suffix}", kind, e.intrinsic(f"max{suffix}", kind, x, low), high))  # fmt: skip
