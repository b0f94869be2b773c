"""8-bit floats by integer arithmetic, for GPUs without instructions for them and for the formats that have none."""

from naiad.lowering.threads import Threads

__all__ = ["FORMATS", "decode", "encode"]

FORMATS = {"f8E4M3FN": (4, 3, 7, False), "f8E5M2": (5, 2, 15, True), "f8E4M3FNUZ": (4, 3, 8, False),
           "f8E5M2FNUZ": (5, 2, 16, False), "f8E4M3B11FNUZ": (4, 3, 11, False)}  # fmt: skip
"""8-bit formats: exponent bits, mantissa bits, bias, whether the top exponent means infinity."""


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
    """f32 as an 8-bit float, to nearest even or toward zero; what is too large, infinity too, is the largest
    finite, as with the instructions of sm_89.
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
    code = i.where(i("icmp ugt", code, largest), largest, code)
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
