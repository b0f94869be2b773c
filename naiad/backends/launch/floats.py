"""Float arguments in the width that the kernel takes."""

import math
import struct

FLOATS = {"fp16": "<e6x", "fp32": "<f4x", "fp64": "<d"}


def rounded(kind: str, value: float) -> bytes:
    """The float in its own width, nearest even; what is too large for it is infinite."""
    try:
        return struct.pack(FLOATS[kind], value)
    except OverflowError:
        return struct.pack(FLOATS[kind], math.copysign(math.inf, value))


def bfloat16(value: float) -> int:
    """The bits of the bfloat16 nearest to `value`, ties to even, without rounding twice."""
    if math.isnan(value):
        return 0x7FC0
    (bits,) = struct.unpack("<I", rounded("fp32", value)[:4])
    single = struct.unpack("<f", struct.pack("<I", bits))[0]
    # To odd on the way to float32: an inexact even value must not look like a tie.
    if single != value and not bits & 1:
        bits += 1 if abs(single) < abs(value) else -1
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF
