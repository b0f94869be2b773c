"""Conversions between floats of every format and integers, rounded as `naiad/rounding.py` says.

Where a CPU has no instruction, or has one that flushes subnormals (vcvtneps2bf16), the bits are worked out with integer
arithmetic in 32-bit lanes. What is wider than f32 is first brought to f32 rounded to odd: the second rounding is exact.
"""

from dataclasses import dataclass

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, word
from naiad.backends.cpu.writer import CpuEmitter, operand_kind, result_kind
from naiad.lowering.emitter import suffix
from naiad.lowering.rules import Rules

rules = Rules()


@dataclass(frozen=True)
class Format:
    """A small float. nan, infinity: their codes without sign (-1 where there is no infinity). saturates: conversions
    give `largest` for all that is larger. zero_is_nan: the code of -0 is the NaN, and there is no -0."""

    mantissa: int
    bias: int
    bits: int
    largest: int
    nan: int
    infinity: int = -1
    saturates: bool = True
    zero_is_nan: bool = False


FORMATS = {
    "f16": Format(10, 15, 16, 0x7BFF, 0x7E00, 0x7C00, False),
    "bf16": Format(7, 127, 16, 0x7F7F, 0x7FC0, 0x7F80, False),
    "f8E4M3FN": Format(3, 7, 8, 0x7E, 0x7F),
    "f8E5M2": Format(2, 15, 8, 0x7B, 0x7E, 0x7C),
    "f8E4M3FNUZ": Format(3, 8, 8, 0x7F, 0x80, zero_is_nan=True),
    "f8E5M2FNUZ": Format(2, 16, 8, 0x7F, 0x80, zero_is_nan=True),
}


def signed32(value: int) -> int:
    """The i32 literal with these bits."""
    return value - (1 << 32) if value >= 1 << 31 else value


class Lanes32:
    """Integer arithmetic on i32 lanes: a conversion reads as a formula."""

    def __init__(self, e: CpuEmitter, like: Kind) -> None:
        self.e, self.kind, self.float = e, like.of("i32"), like.of("f32")

    def __call__(self, op: str, a: str, b: str | int) -> str:
        b = self.e.number_of(signed32(b), self.kind) if isinstance(b, int) else b
        return self.e.binary(op, self.kind, a, b)

    def where(self, predicate: str, a: str, b: int, then: str | int, otherwise: str) -> str:
        condition = self.e.compare(predicate, self.kind, a, self.e.number_of(signed32(b), self.kind))
        then = self.e.number_of(signed32(then), self.kind) if isinstance(then, int) else then
        return self.e.select(self.kind, condition, then, otherwise)

    def as_float(self, bits: str) -> str:
        return self.e.bits(self.kind, self.float, bits)

    def as_bits(self, value: str) -> str:
        return self.e.bits(self.float, self.kind, value)


def to_f32(e: CpuEmitter, kind: Kind, value: str) -> str:
    """A float of `kind` as f32; exact for all but f64, which is rounded to nearest even."""
    single = kind.of("f32")
    if kind.element == "f32":
        return value
    if kind.element == "f64":
        return e.cast("fptrunc", kind, single, value)
    if kind.element == "f16" and e.target.has_half_conversion:
        half = single.llvm.replace("float", "half")
        return e.op(f"fpext {half} {e.op(f'bitcast {kind.llvm} {value} to {half}')} to {single.llvm}")
    lanes = Lanes32(e, kind)
    wide = e.cast("zext", kind, lanes.kind, value)
    if kind.element == "bf16":
        return lanes.as_float(lanes("shl", wide, 16))
    return decode(lanes, wide, FORMATS[kind.element])


def decode(lanes: Lanes32, code: str, format: Format) -> str:
    """The f32 that a code of `format` stands for: its fields moved into place, the exponent set right by a
    multiplication that also makes normal numbers of subnormals."""
    e, top = lanes.e, 1 << (format.bits - 1)
    size = lanes("and", code, top - 1)
    moved = lanes("shl", size, 23 - format.mantissa)
    scaled = e.binary("fmul", lanes.float, lanes.as_float(moved), e.number_of(2.0 ** (127 - format.bias), lanes.float))
    bits = lanes.as_bits(scaled)
    if format.infinity >= 0:  # that exponent holds the NaNs too
        bits = lanes.where("uge", size, format.infinity, lanes("or", moved, 0x7F800000), bits)
    sign = lanes("shl", lanes("and", code, top), 32 - format.bits)
    bits = lanes("or", bits, sign)
    if format.infinity < 0:
        bits = lanes.where("eq", code if format.zero_is_nan else size, format.nan, 0x7FC00000, bits)
    return lanes.as_float(bits)


def from_f32(e: CpuEmitter, kind: Kind, value: str, rounding: str = "rtne") -> str:
    """f32 rounded to the float of `kind`."""
    single = kind.of("f32")
    if kind.element == "f32":
        return value
    if kind.element == "f64":
        return e.cast("fpext", single, kind, value)
    if kind.element == "f16" and e.target.has_half_conversion and rounding == "rtne":
        half = single.llvm.replace("float", "half")
        return e.op(f"bitcast {half} {e.op(f'fptrunc {single.llvm} {value} to {half}')} to {kind.llvm}")
    lanes = Lanes32(e, kind)
    bits = lanes.as_bits(value)
    code = encode_bf16(lanes, bits, rounding) if kind.element == "bf16" else encode(lanes, bits, kind.element, rounding)
    return e.cast("trunc", lanes.kind, kind, code)


def encode_bf16(lanes: Lanes32, bits: str, rounding: str) -> str:
    """The upper half, plus one where the lower half says so; a NaN stays one."""
    upper = lanes("lshr", bits, 16)
    size = lanes("and", bits, 0x7FFFFFFF)
    quiet = lanes("or", upper, 0x40)
    if rounding != "rtz":
        odd = lanes("and", upper, 1)
        upper = lanes("lshr", lanes("add", bits, lanes("add", odd, 0x7FFF)), 16)
    return lanes.where("ugt", size, 0x7F800000, quiet, upper)


def encode(lanes: Lanes32, bits: str, element: str, rounding: str) -> str:
    """The code, in 32 bits, of the value of `element`'s format nearest to the f32 with these bits."""
    format = FORMATS[element]
    shift = 23 - format.mantissa
    size = lanes("and", bits, 0x7FFFFFFF)
    rebias = (127 - format.bias) << 23
    if rounding == "rtz":
        normal = lanes("lshr", lanes("sub", size, rebias), shift)
    else:
        odd = lanes("and", lanes("lshr", size, shift), 1)
        normal = lanes("lshr", lanes("add", lanes("sub", size, rebias - (1 << (shift - 1)) + 1), odd), shift)
    small = subnormal(lanes, size, format, rounding)
    code = lanes.where("ult", size, (128 - format.bias) << 23, small, normal)
    code = overflowed(lanes, size, code, format, rounding)
    sign = lanes("and", lanes("lshr", bits, 32 - format.bits), 1 << (format.bits - 1))
    if format.zero_is_nan:
        sign = lanes.where("eq", code, 0, 0, sign)
        return lanes.where("ugt", size, 0x7F800000, format.nan, lanes("or", code, sign))
    code = lanes.where("ugt", size, 0x7F800000, format.nan, code)
    return lanes("or", code, sign)


def subnormal(lanes: Lanes32, size: str, format: Format, rounding: str) -> str:
    """The code of a number below the normal ones: adding a power of two whose last bit is worth one code rounds it."""
    e = lanes.e
    step = 1 - format.bias - format.mantissa  # the value of code 1 is 2**step
    if rounding == "rtz":
        scaled = e.binary("fmul", lanes.float, lanes.as_float(size), e.number_of(2.0**-step, lanes.float))
        inside = e.compare("olt", lanes.float, scaled, e.number_of(2.0**20, lanes.float))
        limited = e.select(lanes.float, inside, scaled,
                           e.number_of(0.0, lanes.float))  # fmt: skip
        return e.cast("fptosi", lanes.float, lanes.kind, limited)
    magic = (127 + step + 23) << 23
    total = e.binary("fadd", lanes.float, lanes.as_float(size), lanes.as_float(e.number_of(magic, lanes.kind)))
    return lanes("sub", lanes.as_bits(total), magic)


def overflowed(lanes: Lanes32, size: str, code: str, format: Format, rounding: str) -> str:
    """`code`, or what stands for too large a number."""
    if format.saturates:
        return lanes.where("ugt", code, format.largest, format.largest, code)
    limit = format.largest if rounding == "rtz" else format.infinity
    code = lanes.where("ugt", code, limit, limit, code)
    return lanes.where("eq", size, 0x7F800000, format.infinity, code) if rounding == "rtz" else code


def odd_f32(e: CpuEmitter, kind: Kind, value: str) -> str:
    """f64 as f32 rounded to odd: cut towards zero, the last bit set if anything was lost."""
    single, integer = kind.of("f32"), kind.of("i32")
    near = e.cast("fptrunc", kind, single, value)
    back = e.cast("fpext", single, kind, near)
    above = e.compare("ogt", kind, e.intrinsic("fabs", kind.llvm, back), e.intrinsic("fabs", kind.llvm, value))
    lost = e.compare("one", kind, back, value)
    bits = e.bits(single, integer, near)
    cut = e.binary("add", integer, bits, e.cast("sext", kind.of("i1"), integer, above))
    odd = e.binary("or", integer, cut, e.cast("zext", kind.of("i1"), integer, lost))
    return e.bits(integer, single, odd)


def cut_f32(e: CpuEmitter, kind: Kind, value: str) -> str:
    """f64 as f32 rounded towards zero."""
    single, integer = kind.of("f32"), kind.of("i32")
    near = e.cast("fptrunc", kind, single, value)
    back = e.cast("fpext", single, kind, near)
    above = e.compare("ogt", kind, e.intrinsic("fabs", kind.llvm, back), e.intrinsic("fabs", kind.llvm, value))
    bits = e.binary("add", integer, e.bits(single, integer, near), e.cast("sext", kind.of("i1"), integer, above))
    return e.bits(integer, single, bits)


def convert_float(e: CpuEmitter, source: Kind, target: Kind, value: str, rounding: str = "rtne") -> str:
    """A float in another format, rounded once."""
    if source.element == target.element:
        return value
    if source.element == "f64":
        if target.element == "f32":
            return cut_f32(e, source, value) if rounding == "rtz" else to_f32(e, source, value)
        return from_f32(e, target, odd_f32(e, source, value), rounding)
    return from_f32(e, target, to_f32(e, source, value), rounding)


def int_to_float(e: CpuEmitter, source: Kind, target: Kind, value: str, signed: bool) -> str:
    """An integer as a float, rounded once to nearest."""
    op = "sitofp" if signed else "uitofp"
    if not target.is_small_float:
        return e.cast(op, source, target, value)
    if source.bits <= 16:
        return from_f32(e, target, e.cast(op, source, target.of("f32"), value))
    if source.bits == 64:
        value = jammed(e, source, value, signed)
    double = target.of("f64")
    return from_f32(e, target, odd_f32(e, double, e.cast(op, source, double, value)))


def jammed(e: CpuEmitter, kind: Kind, value: str, signed: bool) -> str:
    """An i64 past 53 bits with its low bits replaced by one that says whether any was set."""
    low = e.binary("and", kind, value, e.number_of(0xFFF, kind))
    some = e.select(kind, e.compare("ne", kind, low, e.number_of(0, kind)), e.number_of(0x800, kind), low)
    cut = e.binary("or", kind, e.binary("and", kind, value, e.number_of(~0xFFF, kind)), some)
    size = e.binary("add", kind, value, e.number_of(1 << 53, kind)) if signed else value
    large = e.compare("ugt", kind, size, e.number_of(1 << (54 if signed else 53), kind))
    return e.select(kind, large, cut, value)


def float_to_int(e: CpuEmitter, source: Kind, target: Kind, value: str, signed: bool) -> str:
    """A float without its fraction; what does not fit gives the nearest integer that does, NaN gives 0."""
    if source.is_small_float:
        value, source = to_f32(e, source, value), source.of("f32")
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.{suffix(target.llvm)}.{suffix(source.llvm)}"
    return e.call(target.llvm, name, (source.llvm,), (value,))


@rules.lower("arith.extf", "arith.truncf", "tt.fp_to_fp")
def float_cast(op: Operation, e: CpuEmitter) -> str:
    mode = word(op, "rounding") if "rounding" in op.properties else "rtne"
    return convert_float(e, operand_kind(op), result_kind(op), e.of(op.operands[0]), mode)


@rules.lower("arith.sitofp", "arith.uitofp")
def from_int(op: Operation, e: CpuEmitter) -> str:
    return int_to_float(e, operand_kind(op), result_kind(op), e.of(op.operands[0]), op.name == "arith.sitofp")


@rules.lower("arith.fptosi", "arith.fptoui")
def to_int(op: Operation, e: CpuEmitter) -> str:
    return float_to_int(e, operand_kind(op), result_kind(op), e.of(op.operands[0]), op.name == "arith.fptosi")


@rules.lower("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")
def resize(op: Operation, e: CpuEmitter) -> str:
    source, target, value = operand_kind(op), result_kind(op), e.of(op.operands[0])
    if target.bits <= source.bits:
        return e.cast("trunc", source, target, value)
    return e.cast("zext" if op.name.endswith("ui") else "sext", source, target, value)


@rules.lower("arith.bitcast", "tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int", "builtin.unrealized_conversion_cast")
def reread(op: Operation, e: CpuEmitter) -> str:
    """The same bits as another type."""
    source, target, value = operand_kind(op), result_kind(op), e.of(op.operands[0])
    if source.element == "ptr" and target.element != "ptr":
        return e.cast("ptrtoint", source, target, value)
    if target.element == "ptr" and source.element != "ptr":
        return e.cast("inttoptr", source, target, value)
    return e.bits(source, target, value)
