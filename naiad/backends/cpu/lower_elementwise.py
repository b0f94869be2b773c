"""Arithmetic on scalars and vectors: one instruction an op where LLVM has it, guards where LLVM leaves a result
undefined.

Shifts past the width give 0 (or the sign), division by zero gives 0 and never stops the process. f16, bf16 and f8 are
computed in f32 and rounded, which for + - * / and sqrt is the same as rounding the exact result.
"""

from collections.abc import Callable

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, kind_of, kind_of_type, word
from naiad.backends.cpu.lower_casts import convert_float, from_f32, to_f32
from naiad.backends.cpu.writer import CpuEmitter, operand_kind, result_kind
from naiad.ir.constants import number
from naiad.lowering.emitter import suffix
from naiad.lowering.rules import Rules

rules = Rules()

PLAIN = {"addi": "add", "subi": "sub", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor"}
INTRINSICS = {"maxsi": "smax", "maxui": "umax", "minsi": "smin", "minui": "umin"}
FLOATS = {"addf": "fadd", "subf": "fsub", "mulf": "fmul", "divf": "fdiv", "remf": "frem"}
FLOAT_INTRINSICS = {"maxnumf": "maxnum", "minnumf": "minnum", "maximumf": "maximum", "minimumf": "minimum"}


def integer_binary(e: CpuEmitter, name: str, kind: Kind, a: str, b: str) -> str:
    """An integer op of two operands by its name in arith."""
    if name in PLAIN:
        return e.binary(PLAIN[name], kind, a, b)
    return e.intrinsic(INTRINSICS[name], kind.llvm, a, b)


def float_binary(e: CpuEmitter, name: str, kind: Kind, a: str, b: str) -> str:
    """A float op of two operands by its name in arith, in f32 or f64."""
    if name in FLOATS:
        return e.binary(FLOATS[name], kind, a, b)
    return e.intrinsic(FLOAT_INTRINSICS[name], kind.llvm, a, b)


def combine(e: CpuEmitter, name: str, kind: Kind, a: str, b: str) -> str:
    """Any op of two operands that reductions know, on any kind."""
    if not kind.is_float:
        return integer_binary(e, name, kind, a, b)
    return in_f32(e, kind, (a, b), lambda k, x, y: float_binary(e, name, k, x, y))


def in_f32(e: CpuEmitter, kind: Kind, operands: tuple[str, ...], write: Callable[..., str]) -> str:
    """`write(kind, *operands)` in f32 or f64, rounded to `kind`."""
    if not kind.is_small_float:
        return write(kind, *operands)
    return from_f32(e, kind, write(kind.of("f32"), *[to_f32(e, kind, x) for x in operands]))


@rules.lower(*(f"arith.{n}" for n in (*PLAIN, *INTRINSICS)))
def integer(op: Operation, e: CpuEmitter) -> str:
    a, b = e.all(op.operands)
    return integer_binary(e, op.name[6:], result_kind(op), a, b)


@rules.lower(*(f"arith.{n}" for n in (*FLOATS, *FLOAT_INTRINSICS)))
def floating(op: Operation, e: CpuEmitter) -> str:
    name = op.name[6:]
    return in_f32(e, result_kind(op), tuple(e.all(op.operands)), lambda k, x, y: float_binary(e, name, k, x, y))


@rules.lower("tt.precise_divf")
def precise_division(op: Operation, e: CpuEmitter) -> str:
    return in_f32(e, result_kind(op), tuple(e.all(op.operands)), lambda k, x, y: e.binary("fdiv", k, x, y))


@rules.lower("arith.constant")
def constant(op: Operation, e: CpuEmitter) -> str:
    value = number(op.properties["value"])
    assert value is not None
    return e.number_of(value, kind_of_type(op.results[0].type))


@rules.lower("ub.poison")
def poison(op: Operation, e: CpuEmitter) -> str:
    """Zero: a value that nothing may depend on, but that is the same wherever it is looked at."""
    kind = result_kind(op)
    return "zeroinitializer" if kind.lanes else e.number_of(0, kind)


@rules.lower("arith.shli", "arith.shrsi", "arith.shrui")
def shift(op: Operation, e: CpuEmitter) -> str:
    """Amounts past the width give 0, or the sign from shrsi."""
    kind = result_kind(op)
    a, by = e.all(op.operands)
    name = {"shli": "shl", "shrsi": "ashr", "shrui": "lshr"}[op.name[6:]]
    known = number(op.operands[1])
    if known is not None and 0 <= known < kind.bits:
        return e.binary(name, kind, a, by)
    if name == "ashr":
        return e.binary(name, kind, a, e.intrinsic("umin", kind.llvm, by, e.number_of(kind.bits - 1, kind)))
    inside = e.compare("ult", kind, by, e.number_of(kind.bits, kind))
    shifted = e.op(f"{name} {kind.llvm} {a}, {by}")
    return e.select(kind, inside, shifted, e.number_of(0, kind))


# -- division


@rules.lower("arith.divsi", "arith.divui", "arith.remsi", "arith.remui")
def division(op: Operation, e: CpuEmitter) -> str:
    a, b = e.all(op.operands)
    signed = op.name.endswith("si")
    known = number(op.operands[1])
    kind = result_kind(op)
    if kind.element == "i1":
        return one_bit_division(e, op.name, kind, a, b)
    return (divide if "div" in op.name else remainder)(e, kind, a, b, signed, known)


def one_bit_division(e: CpuEmitter, name: str, kind: Kind, a: str, b: str) -> str:
    """i1: the quotient is a and b; what remains is a where b is false."""
    if "div" in name:
        return e.binary("and", kind, a, b)
    return e.binary("and", kind, a, e.binary("xor", kind, b, e.number_of(1, kind)))


def divide(e: CpuEmitter, kind: Kind, a: str, b: str, signed: bool, known: int | float | None = None) -> str:
    """a / b without its fraction, 0 where b is 0; the lowest number by -1 is itself."""
    op = "sdiv" if signed else "udiv"
    if known is not None and known not in (0, -1):  # LLVM multiplies by the inverse
        return e.binary(op, kind, a, b)
    if kind.lanes:
        return divide_lanes(e, kind, a, b, signed)
    special, safe = divisor(e, kind, b, signed)
    return e.select(kind, special, e.binary("mul", kind, a, b), e.binary(op, kind, a, safe))


def remainder(e: CpuEmitter, kind: Kind, a: str, b: str, signed: bool, known: int | float | None = None) -> str:
    """What a / b leaves, with the sign of a; a where b is 0."""
    op = "srem" if signed else "urem"
    if known is not None and known not in (0, -1):
        return e.binary(op, kind, a, b)
    if kind.lanes:
        return e.binary("sub", kind, a, e.binary("mul", kind, divide_lanes(e, kind, a, b, signed), b))
    _, safe = divisor(e, kind, b, signed)
    return e.select(kind, e.compare("eq", kind, b, e.number_of(0, kind)), a, e.binary(op, kind, a, safe))


def divisor(e: CpuEmitter, kind: Kind, b: str, signed: bool) -> tuple[str, str]:
    """Whether a scalar is 0, or -1 if it is signed, by which a number times it is also the quotient; and the divisor,
    1 there. A block does this once."""
    key = (e.block, kind, b, signed)
    if (known := e.divisors.get(key)) is None:
        one, two = e.number_of(1, kind), e.number_of(2, kind)
        if signed:
            special = e.compare("ult", kind, e.binary("add", kind, b, one), two)
        else:
            special = e.compare("eq", kind, b, e.number_of(0, kind))
        known = e.divisors[key] = (special, e.select(kind, special, one, b))
    return known


def divide_lanes(e: CpuEmitter, kind: Kind, a: str, b: str, signed: bool) -> str:
    """`divide` for vectors by vectors."""
    zero, one = e.compare("eq", kind, b, e.number_of(0, kind)), e.number_of(1, kind)
    safe = e.select(kind, zero, one, b)
    if signed:
        lowest = e.compare("eq", kind, a, e.number_of(-(1 << (kind.bits - 1)), kind))
        minus = e.compare("eq", kind, b, e.number_of(-1, kind))
        safe = e.select(kind, e.binary("and", kind.of("i1"), lowest, minus), one, safe)
    if kind.bits <= 32:
        quotient = divide_as_float(e, kind, a, safe, signed)
    else:
        quotient = e.binary("sdiv" if signed else "udiv", kind, a, safe)
    return e.select(kind, zero, e.number_of(0, kind), quotient)


def divide_as_float(e: CpuEmitter, kind: Kind, a: str, b: str, signed: bool) -> str:
    """Vector division through floats, exact since the format has more bits than the quotient needs."""
    wide = kind.of("f64" if kind.bits == 32 else "f32")
    to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    quotient = e.binary("fdiv", wide, e.cast(to, kind, wide, a), e.cast(to, kind, wide, b))
    if kind.bits == 32:
        return e.cast(back, wide, kind, quotient)
    middle = kind.of("i32")  # there is no instruction for shorter integers
    return e.cast("trunc", middle, kind, e.cast("fptosi", wide, middle, quotient))


@rules.lower("arith.floordivsi", "arith.ceildivsi", "arith.ceildivui")
def rounded_division(op: Operation, e: CpuEmitter) -> str:
    """The quotient towards minus or plus infinity: one less or more where something is left on that side."""
    kind = result_kind(op)
    a, b = e.all(op.operands)
    signed = op.name.endswith("si")
    quotient = divide(e, kind, a, b, signed, number(op.operands[1]))
    left = e.binary("sub", kind, a, e.binary("mul", kind, quotient, b))
    zero, flag = e.number_of(0, kind), kind.of("i1")
    inexact = e.binary("and", flag, e.compare("ne", kind, left, zero), e.compare("ne", kind, b, zero))
    if signed:
        opposite = e.compare("slt", kind, e.binary("xor", kind, a, b), zero)
        wanted = opposite if "floor" in op.name else e.binary("xor", flag, opposite, e.number_of(1, flag))
        inexact = e.binary("and", flag, inexact, wanted)
    change = e.cast("zext", flag, kind, inexact)
    return e.binary("sub" if "floor" in op.name else "add", kind, quotient, change)


@rules.lower("tt.mulhiui")
def multiply_high(op: Operation, e: CpuEmitter) -> str:
    kind = result_kind(op)
    wide = kind.of(f"i{2 * kind.bits}")
    a, b = [e.cast("zext", kind, wide, x) for x in e.all(op.operands)]
    amount = e.number_of(kind.bits, wide)
    return e.cast("trunc", wide, kind, e.binary("lshr", wide, e.binary("mul", wide, a, b), amount))


# -- comparisons and selection


@rules.lower("arith.cmpi")
def compare_integers(op: Operation, e: CpuEmitter) -> str:
    a, b = e.all(op.operands)
    return e.op(f"icmp {word(op, 'predicate')} {operand_kind(op).llvm} {a}, {b}")


@rules.lower("arith.cmpf")
def compare_floats(op: Operation, e: CpuEmitter) -> str:
    kind = operand_kind(op)
    a, b = e.all(op.operands)
    if kind.is_small_float:
        a, b, kind = to_f32(e, kind, a), to_f32(e, kind, b), kind.of("f32")
    return e.op(f"fcmp {word(op, 'predicate')} {kind.llvm} {a}, {b}")


@rules.lower("arith.select")
def select(op: Operation, e: CpuEmitter) -> str:
    kind = result_kind(op)
    condition, a, b = e.all(op.operands)
    return e.op(f"select {kind_of(op.operands[0]).llvm} {condition}, {kind.llvm} {a}, {kind.llvm} {b}")


# -- floats without a polynomial


@rules.lower("arith.negf")
def negate(op: Operation, e: CpuEmitter) -> str:
    kind, value = result_kind(op), e.of(op.operands[0])
    if not kind.is_small_float:
        return e.op(f"fneg {kind.llvm} {value}")
    if "FNUZ" in kind.element:  # has no -0 to flip to
        return in_f32(e, kind, (value,), lambda k, x: e.op(f"fneg {k.llvm} {x}"))
    return e.binary("xor", kind, value, e.number_of(1 << (kind.bits - 1), kind.integer))


@rules.lower("math.absf")
def absolute(op: Operation, e: CpuEmitter) -> str:
    kind, value = result_kind(op), e.of(op.operands[0])
    if not kind.is_small_float:
        return e.intrinsic("fabs", kind.llvm, value)
    if "FNUZ" in kind.element:
        return in_f32(e, kind, (value,), lambda k, x: e.intrinsic("fabs", k.llvm, x))
    return e.binary("and", kind.integer, value, e.number_of((1 << (kind.bits - 1)) - 1, kind.integer))


@rules.lower("math.absi")
def absolute_integer(op: Operation, e: CpuEmitter) -> str:
    kind = result_kind(op)
    return e.call(kind.llvm, f"llvm.abs.{suffix(kind.llvm)}", (kind.llvm, "i1"), (e.of(op.operands[0]), "false"))


@rules.lower("math.sqrt", "tt.precise_sqrt")
def square_root(op: Operation, e: CpuEmitter) -> str:
    return in_f32(e, result_kind(op), (e.of(op.operands[0]),), lambda k, x: e.intrinsic("sqrt", k.llvm, x))


@rules.lower("math.floor", "math.ceil", "math.trunc", "math.roundeven")
def to_whole(op: Operation, e: CpuEmitter) -> str:
    return in_f32(e, result_kind(op), (e.of(op.operands[0]),), lambda k, x: whole(e, op.name[5:], k, x))


def whole(e: CpuEmitter, name: str, kind: Kind, value: str) -> str:
    """floor, ceil, trunc or roundeven. Old libm has no roundeven, and calls nearbyint the same (rounding is never
    set)."""
    if name == "roundeven" and not e.target.has_rounding:
        name = "nearbyint"
    return e.intrinsic(name, kind.llvm, value)


@rules.lower("math.copysign")
def copy_sign(op: Operation, e: CpuEmitter) -> str:
    kind = result_kind(op)
    return in_f32(e, kind, tuple(e.all(op.operands)), lambda k, x, y: e.intrinsic("copysign", k.llvm, x, y))


@rules.lower("math.fma")
def fused(op: Operation, e: CpuEmitter) -> str:
    """Rounded once; the product of two f16 or bf16 and its sum with a third are exact in f64 as far as that matters."""
    kind, operands = result_kind(op), e.all(op.operands)
    if not kind.is_small_float:
        return e.intrinsic("fma", kind.llvm, *operands)
    wide = kind.of("f64")
    a, b, c = [convert_float(e, kind, wide, x) for x in operands]
    return convert_float(e, wide, kind, e.binary("fadd", wide, e.binary("fmul", wide, a, b), c))


@rules.lower("tt.clampf")
def clamp(op: Operation, e: CpuEmitter) -> str:
    """min(max(x, low), high): a NaN in x gives low unless propagateNan is "all"."""
    all_nan = word(op, "propagateNan") == "all"
    larger, smaller = ("maximum", "minimum") if all_nan else ("maxnum", "minnum")

    def write(kind: Kind, x: str, low: str, high: str) -> str:
        return e.intrinsic(smaller, kind.llvm, e.intrinsic(larger, kind.llvm, x, low), high)

    return in_f32(e, result_kind(op), tuple(e.all(op.operands)), write)
