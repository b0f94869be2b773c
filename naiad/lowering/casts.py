"""Lowering of conversions between numbers.

8-bit floats are converted in pairs where the GPU has instructions for that, else through f32 by integer arithmetic.
"""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from naiad.ir.base import element
from naiad.lowering.elementwise import each
from naiad.lowering.rules import Rules
from naiad.lowering.small_floats import FORMATS, decode, encode
from naiad.lowering.threads import Threads, llvm_type, scalar_type, width

__all__ = ["rules"]

rules = Rules()

NATIVE = ("half", "bfloat", "float", "double")


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
    source = "float" if kind.name in FORMATS else llvm_type(kind)

    def write(a: str) -> str:
        value = to_f32(e, kind, a) if kind.name in FORMATS else a
        if target == "i8":
            return e.target.to_byte(e, source, value, word == "fptosi")
        return e.op(f"{word} {source} {value} to {target}")

    return each(op, e, write)


@rules.lower("arith.extf", "arith.truncf", "tt.fp_to_fp")
def between_floats(op: Operation, e: Threads) -> str | list[list[str]]:
    source, target = element(op.operands[0].type), element(op.results[0].type)
    rounding = op.properties.get("rounding")
    mode = rounding.data if rounding is not None else "rtne"
    made = pairs(op, e, source, target) if mode == "rtne" else None
    return made or each(op, e, lambda a: convert(e, source, target, a, mode))


def pairs(op: Operation, e: Threads, source: Attribute, target: Attribute) -> list[list[str]] | None:
    """The registers of a tile to or from 8-bit floats, two by two; None where there is no instruction for that."""
    narrow = e.target.narrows(target.name) and source.name not in FORMATS
    widen = e.target.narrows(source.name) and target.name not in FORMATS
    registers = e.registers(op.operands[0]) if isinstance(op.results[0].type, TensorType) else []
    if not (narrow or widen) or len(registers) < 2:
        return None
    out: list[str] = []
    for low, high in zip(registers[::2], registers[1::2], strict=True):
        if narrow:
            kind = "half" if source.name == "f16" else "float"
            values = [v if source.name == "f16" else to_f32(e, source, v) for v in (low, high)]
            out += halves(e, e.target.narrow(e, target.name, kind, *values))
        else:
            word = joined(e, low, high)
            out += [convert_half(e, target, v) for v in e.target.widen(e, source.name, word)]
    return [out]


def joined(e: Threads, low: str, high: str) -> str:
    """Two bytes as a word."""
    upper = e.op(f"shl i16 {e.op(f'zext i8 {high} to i16')}, 8")
    return e.op(f"or i16 {e.op(f'zext i8 {low} to i16')}, {upper}")


def halves(e: Threads, word: str) -> list[str]:
    """The two bytes of a word, the low one first."""
    return [e.op(f"trunc i16 {word} to i8"), e.op(f"trunc i16 {e.op(f'lshr i16 {word}, 8')} to i8")]


def convert_half(e: Threads, target: Attribute, value: str) -> str:
    """An f16 that came from an 8-bit float in any wider format: exact."""
    kind = llvm_type(target)
    if kind == "half":
        return value
    wide = e.op(f"fpext half {value} to {'double' if kind == 'double' else 'float'}")
    return e.op(f"fptrunc float {wide} to bfloat") if kind == "bfloat" else wide


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
    """A float to f32 or a 16-bit float, rounded toward zero: in two steps where there is none, as both round so."""
    if have == "double":
        value = e.op(f'call float asm "cvt.rz.f32.f64 $0, $1;", "=f,d"(double {value})')
        if want == "float":
            return value
    elif have != "float":
        value = e.op(f"fpext {have} {value} to float")
    name = "f16" if want == "half" else "bf16"
    bits = e.op(f'call i16 asm "cvt.rz.{name}.f32 $0, $1;", "=h,f"(float {value})')
    return e.from_bits(bits, want)


def to_f32(e: Threads, source: Attribute, value: str) -> str:
    """Any float as f32, exactly; f64 rounded to odd, so that rounding once more to 8 bits is right."""
    kind = llvm_type(source)
    if source.name in FORMATS:
        return decode(e, source.name, value)
    if kind == "float":
        return value
    return e.op(f"fpext {kind} {value} to float") if kind != "double" else round_to_odd(e, value)


def round_to_odd(e: Threads, value: str) -> str:
    """f64 as f32: toward zero, and the last bit set where something was lost."""
    cut = e.op(f'call float asm "cvt.rz.f32.f64 $0, $1;", "=f,d"(double {value})')
    lost = e.op(f"fcmp une double {e.op(f'fpext float {cut} to double')}, {value}")
    bits = e.op(f"or i32 {e.op(f'bitcast float {cut} to i32')}, {e.op(f'zext i1 {lost} to i32')}")
    return e.op(f"bitcast i32 {bits} to float")


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
