"""Integer, bit and conversion functions of a device library, on lanes. Each takes (writer of the call, operands)."""

from collections.abc import Callable

from naiad.backends.cpu.lower_casts import float_to_int
from naiad.backends.cpu.math_formula import Number

Rule = Callable[..., Number]


def intrinsic(name: str, extra: str = "") -> Rule:
    """An LLVM intrinsic of one integer operand, its count brought to i32."""

    def write(x: Number) -> Number:
        kind = x.kind
        suffix = f"v{kind.lanes}{kind.scalar}" if kind.lanes else kind.scalar
        types, operands = ([kind.llvm, "i1"], [x.text, extra]) if extra else ([kind.llvm], [x.text])
        return Number(x.e, kind, x.e.call(kind.llvm, f"llvm.{name}.{suffix}", types, operands))

    return write


def counted(name: str, extra: str = "") -> Rule:
    return lambda x: resized(intrinsic(name, extra)(x), "i32")


def resized(x: Number, element: str, signed: bool = False) -> Number:
    """The integer in another width."""
    kind = x.kind.of(element)
    op = "trunc" if kind.bits < x.kind.bits else "sext" if signed else "zext"
    return Number(x.e, kind, x.e.cast(op, x.kind, kind, x.text))


def flag(x: Number) -> Number:
    """A condition as an i32 that is 0 or 1."""
    return resized(x, "i32")


def first_set(x: Number) -> Number:
    """1 + the place of the lowest bit, 0 where there is none."""
    place = resized(intrinsic("cttz", "false")(x), "i32") + 1
    return x.equals(0).where(0, place)


def high_product(signed: bool) -> Rule:
    def write(a: Number, b: Number) -> Number:
        wide = f"i{2 * a.kind.bits}"
        product = resized(a, wide, signed) * resized(b, wide, signed)
        return resized(product.shifted_down(a.kind.bits), f"i{a.kind.bits}")

    return write


def mul24(signed: bool) -> Rule:
    def low(x: Number) -> Number:
        return (x << 8) >> 8 if signed else x & 0xFFFFFF

    return lambda a, b: low(a) * low(b)


def average(signed: bool, up: int) -> Rule:
    """(a + b + up) / 2 without overflow."""

    def write(a: Number, b: Number) -> Number:
        total = resized(a, "i64", signed) + resized(b, "i64", signed) + up
        return resized(total >> 1, "i32")

    return write


def absolute_difference(signed: bool) -> Rule:
    """|a - b| + c."""

    def write(a: Number, b: Number, c: Number) -> Number:
        larger = (a > b) if signed else a.compare("ogt", "ugt", b)
        return larger.where(a - b, b - a) + c

    return write


def byte_permute(a: Number, b: Number, selector: Number) -> Number:
    """Four bytes picked from the eight of b:a, each by four bits; the highest of them spreads the byte's sign."""
    both = resized(a, "i64") | (resized(b, "i64") << 32)
    total = None
    for n in range(4):
        pick = selector.shifted_down(4 * n)
        shift = resized((pick & 7) << 3, "i64")
        byte = resized(Number(a.e, both.kind, a.e.binary("lshr", both.kind, both.text, shift.text)), "i32") & 0xFF
        sign = byte.shifted_down(7) * 0xFF
        placed = (pick & 8).equals(0).where(byte, sign) << (8 * n)
        total = placed if total is None else total | placed
    assert total is not None
    return total


def to_bits(x: Number) -> Number:
    return x.bits


def to_float_bits(x: Number) -> Number:
    return x.as_float()


def to_integer(mode: str, element: str, signed: bool) -> Rule:
    """A float rounded by `mode` (roundeven, trunc, floor, ceil, round) as a saturated integer."""

    def write(x: Number) -> Number:
        whole = x.call(mode)
        kind = x.kind.of(element)
        return Number(x.e, kind, float_to_int(x.e, x.kind, kind, whole.text, signed))

    return write


def word_of_double(high: bool) -> Rule:
    return lambda x: resized(x.bits.shifted_down(32) if high else x.bits, "i32")


def double_of_words(high: Number, low: Number) -> Number:
    return ((resized(high, "i64") << 32) | resized(low, "i64")).as_float()


MODES = {"rn": "roundeven", "rz": "trunc", "rd": "floor", "ru": "ceil"}
INTEGERS = {"int": ("i32", True), "uint": ("i32", False), "ll": ("i64", True), "ull": ("i64", False)}

RULES: dict[str, Rule] = {
    "clz": counted("ctlz", "false"), "clzll": counted("ctlz", "false"), "popc": counted("ctpop"),
    "popcll": counted("ctpop"), "ffs": first_set, "ffsll": first_set, "brev": intrinsic("bitreverse"),
    "brevll": intrinsic("bitreverse"), "byte_perm": byte_permute, "mulhi": high_product(True),
    "umulhi": high_product(False), "mul64hi": high_product(True), "umul64hi": high_product(False),
    "mul24": mul24(True), "umul24": mul24(False), "sad": absolute_difference(True), "usad": absolute_difference(False),
    "hadd": average(True, 0), "uhadd": average(False, 0), "rhadd": average(True, 1), "urhadd": average(False, 1),
    "abs": intrinsic("abs", "false"), "llabs": intrinsic("abs", "false"), "int_as_float": to_float_bits,
    "uint_as_float": to_float_bits, "longlong_as_double": to_float_bits, "float_as_int": to_bits,
    "float_as_uint": to_bits, "double_as_longlong": to_bits, "double2loint": word_of_double(False),
    "double2hiint": word_of_double(True), "hiloint2double": double_of_words,
    "llrintf": to_integer("roundeven", "i64", True), "llrint": to_integer("roundeven", "i64", True),
    "llroundf": to_integer("round", "i64", True), "llround": to_integer("round", "i64", True),
    **{f"{source}2{integer}_{mode}": to_integer(rounding, element, signed)
       for source in ("float", "double") for integer, (element, signed) in INTEGERS.items()
       for mode, rounding in MODES.items()},
}  # fmt: skip
