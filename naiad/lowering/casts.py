"""Lowering of conversions between numbers. 8-bit floats go through f32, rounded by integer arithmetic."""

from xdsl.ir import Attribute, Operation

from naiad.ir.base import element
from naiad.lowering.elementwise import each
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, llvm_type, scalar_type, width

__all__ = ["rules"]

rules = Rules()

NATIVE = ("half", "bfloat", "float", "double")
FORMATS = {"f8E4M3FN": (4, 3, 7, False), "f8E5M2": (5, 2, 15, True), "f8E4M3FNUZ": (4, 3, 8, False),
           "f8E5M2FNUZ": (5, 2, 16, False), "f8E4M3B11FNUZ": (4, 3, 11, False)}  # fmt: skip
"""8-bit formats: exponent bits, mantissa bits, bias, whether the top exponent means infinity."""


@rules.lower("arith.sitofp", "arith.uitofp")
def from_integer(op: Operation, e: Threads) -> str | list[list[str]]:
    source, target = scalar_type(op.operands[0]), scalar_type(op.results[0])
    word = "sitofp" if op.name == "arith.sitofp" else "uitofp"
    if element(op.results[0].type).name not in FORMATS:
        return each(op, e, lambda a: e.op(f"{word} {source} {a} to {target}"))
    kind = element(op.results[0].type)
    return each(op, e, lambda a: from_f32(e, kind, e.op(f"{word} {source} {a} to float")))


@rules.lower("arith.fptosi", "arith.fptoui")
def to_integer(op: Operation, e: Threads) -> str | list[list[str]]:
    kind, target = element(op.operands[0].type), scalar_type(op.results[0])
    word = "fptosi" if op.name == "arith.fptosi" else "fptoui"
    if kind.name not in FORMATS:
        return each(op, e, lambda a: e.op(f"{word} {llvm_type(kind)} {a} to {target}"))
    return each(op, e, lambda a: e.op(f"{word} float {to_f32(e, kind, a)} to {target}"))


@rules.lower("arith.extf", "arith.truncf", "tt.fp_to_fp")
def between_floats(op: Operation, e: Threads) -> str | list[list[str]]:
    source, target = element(op.operands[0].type), element(op.results[0].type)
    rounding = op.properties.get("rounding")
    mode = rounding.data if rounding is not None else "rtne"
    return each(op, e, lambda a: convert(e, source, target, a, mode))


def convert(e: Threads, source: Attribute, target: Attribute, value: str, rounding: str = "rtne") -> str:
    """One float to another format, correctly rounded."""
    if source == target:
        return value
    have, want = llvm_type(source), llvm_type(target)
    if source.name in FORMATS or target.name in FORMATS:
        return from_f32(e, target, to_f32(e, source, value), rounding)
    if width(want) > width(have):
        return e.op(f"fpext {have} {value} to {want}")
    if rounding == "rtz":
        return truncate_toward_zero(e, have, want, value)
    if width(want) == 16 and width(have) == 16:
        return e.op(f"fptrunc float {e.op(f'fpext {have} {value} to float')} to {want}")
    return e.op(f"fptrunc {have} {value} to {want}")


def truncate_toward_zero(e: Threads, have: str, want: str, value: str) -> str:
    """f32 to a 16-bit float, rounded toward zero."""
    if have != "float" or width(want) != 16:
        raise NotImplementedError(f"rounding toward zero from {have} to {want}")
    name = "f16" if want == "half" else "bf16"
    bits = e.op(f'call i16 asm "cvt.rz.{name}.f32 $0, $1;", "=h,f"(float {value})')
    return e.from_bits(bits, want)


def to_f32(e: Threads, source: Attribute, value: str) -> str:
    """Any float as f32, exactly (f64 is rounded)."""
    kind = llvm_type(source)
    if source.name in FORMATS:
        return decode(e, source.name, value)
    if kind == "float":
        return value
    return e.op(f"{'fptrunc' if kind == 'double' else 'fpext'} {kind} {value} to float")


def from_f32(e: Threads, target: Attribute, value: str, rounding: str = "rtne") -> str:
    """f32 in any format, rounded to nearest even unless told otherwise."""
    kind = llvm_type(target)
    if target.name in FORMATS:
        return encode(e, target.name, value, rounding)
    if kind == "float":
        return value
    if kind == "double":
        return e.op(f"fpext float {value} to double")
    if rounding == "rtz":
        return truncate_toward_zero(e, "float", kind, value)
    return e.op(f"fptrunc float {value} to {kind}")


class Ints:
    """i32 arithmetic in short form."""

    def __init__(self, e: Threads):
        self.e = e

    def __call__(self, word: str, a: str, b: str | int) -> str:
        return self.e.op(f"{word} i32 {a}, {b}")

    def where(self, condition: str, a: str | int, b: str | int) -> str:
        return self.e.op(f"select i1 {condition}, i32 {a}, i32 {b}")


def decode(e: Threads, name: str, value: str) -> str:
    """An 8-bit float as f32: shifted into place, and scaled by a power of two, which also makes subnormals right."""
    exponent, mantissa, bias, has_inf = FORMATS[name]
    i = Ints(e)
    code = e.op(f"zext i8 {value} to i32")
    sign, size = i("shl", i("and", code, 128), 24), i("and", code, 127)
    placed = e.op(f"bitcast i32 {i('shl', size, 23 - mantissa)} to float")
    scale = f"0x{(1023 + 127 - bias) << 52:016X}"
    bits = e.op(f"bitcast float {e.op(f'fmul float {placed}, {scale}')} to i32")
    if name.endswith("FNUZ"):
        nan = i("icmp eq", code, 128)
        return e.op(f"bitcast i32 {i.where(nan, 0x7FC00000, i('or', bits, sign))} to float")
    top = ((1 << exponent) - 1) << mantissa
    if has_inf:
        special = i("or", 0x7F800000, i("shl", i("and", size, 3), 21))
        bits = i.where(i("icmp uge", size, top), special, bits)
    else:
        bits = i.where(i("icmp eq", size, 127), 0x7FC00000, bits)
    return e.op(f"bitcast i32 {i('or', bits, sign)} to float")


def encode(e: Threads, name: str, value: str, rounding: str) -> str:
    """f32 as an 8-bit float, to nearest even or toward zero; what is too large is the largest finite (e5m2:
    infinity).
    """
    _, mantissa, bias, has_inf = FORMATS[name]
    i, unsigned_zero = Ints(e), name.endswith("FNUZ")
    bits = e.op(f"bitcast float {value} to i32")
    sign, size = i("and", i("lshr", bits, 24), 128), i("and", bits, 0x7FFFFFFF)
    drop = 23 - mantissa
    even = i("and", i("lshr", size, drop), 1) if rounding == "rtne" else "0"
    half = (1 << (drop - 1)) - 1 if rounding == "rtne" else 0
    normal = i("sub", i("lshr", i("add", i("add", size, half), even), drop), (127 - bias) << mantissa)
    code = i.where(i("icmp ult", size, (128 - bias) << 23), subnormal(e, size, bias, mantissa, rounding), normal)
    largest = 127 if unsigned_zero else 0x7B if has_inf else 126
    over = 0x7C if has_inf and rounding == "rtne" else largest
    code = i.where(i("icmp ugt", code, largest), over, code)
    if has_inf:
        code = i.where(i("icmp eq", size, 0x7F800000), 0x7C, code)
    nan = i("icmp ugt", size, 0x7F800000)
    if unsigned_zero:
        signed = i.where(i("icmp eq", code, 0), 0, i("or", code, sign))
        return e.op(f"trunc i32 {i.where(nan, 128, signed)} to i8")
    return e.op(f"trunc i32 {i('or', i.where(nan, 127, code), sign)} to i8")


def subnormal(e: Threads, size: str, bias: int, mantissa: int, rounding: str) -> str:
    """The code of a number below the smallest normal one: an integer multiple of the smallest step."""
    positive = e.op(f"bitcast i32 {size} to float")
    scaled = e.op(f"fmul float {positive}, 0x{(1023 + bias - 1 + mantissa) << 52:016X}")
    name = "roundeven" if rounding == "rtne" else "trunc"
    return e.op(f"fptoui float {e.intrinsic(name, 'float', scaled)} to i32")
