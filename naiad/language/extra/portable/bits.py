"""Functions of integers and of bits."""

from typing import Any

from naiad.language.casts import bitcast_to, cast_to
from naiad.language.compare import where
from naiad.language.extra.portable.floats import Function
from naiad.language.math import abs, umulhi
from naiad.language.types import float32, float64, get_int_dtype, int32, int64, uint32, uint64


def _unsigned(x: Any) -> Any:
    return cast_to(x, get_int_dtype(x.dtype.int_bitwidth, signed=False))


def _mask(x: Any, pattern: int) -> int:
    """The byte `pattern` in every byte of a number as wide as `x`."""
    return int.from_bytes(bytes([pattern]) * (x.dtype.int_bitwidth // 8), "little")


def _count(x: Any) -> Any:
    """How many bits are set."""
    n = _unsigned(x)
    n = n - ((n >> 1) & _mask(n, 0x55))
    n = (n & _mask(n, 0x33)) + ((n >> 2) & _mask(n, 0x33))
    n = (n + (n >> 4)) & _mask(n, 0x0F)
    total = n
    for shift in range(8, n.dtype.int_bitwidth, 8):
        total = total + (n >> shift)
    return total & 0x7F


def _leading_zeros(x: Any) -> Any:
    n = _unsigned(x)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < n.dtype.int_bitwidth:
            n = n | (n >> shift)
    return n.dtype.int_bitwidth - _count(n)


def _first_set(x: Any) -> Any:
    """The place of the lowest set bit, from 1; 0 where there is none."""
    n = _unsigned(x)
    lowest = n & (~n + 1)
    return where(n == 0, 0, cast_to(_count(lowest - 1), int32) + 1)


def _reverse(x: Any) -> Any:
    n = _unsigned(x)
    for shift, pattern in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        n = ((n >> shift) & _mask(n, pattern)) | ((n & _mask(n, pattern)) << shift)
    width = n.dtype.int_bitwidth
    total = n * 0
    for byte in range(0, width, 8):
        total = total | (((n >> byte) & 0xFF) << (width - 8 - byte))
    return cast_to(total, x.dtype)


def _pick_bytes(x: Any, y: Any, selector: Any) -> Any:
    """Four of the eight bytes of y:x; three bits of the selector choose each."""
    both = (cast_to(_unsigned(y), uint64) << 32) | cast_to(_unsigned(x), uint64)
    chosen = both * 0
    for i in range(4):
        place = cast_to((_unsigned(selector) >> (4 * i)) & 7, uint64) * 8
        chosen = chosen | (((both >> place) & 0xFF) << (8 * i))
    return cast_to(chosen, int32)


def _high_product(x: Any, y: Any) -> Any:
    if x.dtype in (int32, uint32):
        wide = int64 if x.dtype == int32 else uint64
        return cast_to((cast_to(x, wide) * cast_to(y, wide)) >> 32, x.dtype)
    high = umulhi(x, y)
    if x.dtype == uint64:
        return high
    return high - where(x < 0, y, 0) - where(y < 0, x, 0)


def _product_24(x: Any, y: Any) -> Any:
    """The low half of the product of the low 24 bits."""
    return ((x << 8) >> 8) * ((y << 8) >> 8)


def _distance(x: Any, y: Any, start: Any) -> Any:
    return where(x > y, x - y, y - x) + cast_to(start, x.dtype)


def _join_words(high: Any, low: Any) -> Any:
    return bitcast_to((cast_to(high, int64) << 32) | cast_to(cast_to(low, uint32), int64), float64)


def _same_bits(x: Any) -> Any:
    if x.dtype.is_floating():
        return bitcast_to(x, get_int_dtype(x.dtype.primitive_bitwidth, signed=True))
    return bitcast_to(x, float32 if x.dtype.int_bitwidth == 32 else float64)


FUNCTIONS: dict[str, Function] = {
    "clz": _leading_zeros,
    "popc": _count,
    "ffs": _first_set,
    "brev": _reverse,
    "byte_perm": _pick_bytes,
    "mulhi": _high_product,
    "mul24": _product_24,
    "sad": _distance,
    "abs": abs,
    "hadd": lambda x, y: (x & y) + ((x ^ y) >> 1),
    "rhadd": lambda x, y: (x | y) - ((x ^ y) >> 1),
    "hiloint2double": _join_words,
    "double2loint": lambda x: cast_to(_same_bits(x), int32),
    "double2hiint": lambda x: cast_to(_same_bits(x) >> 32, int32),
    **dict.fromkeys(
        ("int_as_float", "float_as_int", "uint_as_float", "float_as_uint", "longlong_as_double", "double_as_longlong"),
        _same_bits,
    ),
}
