"""What the generator knows of a value: name, type, shape, how large it may be, by how much two right answers differ.

An exact value (error 0) is one that every backend must give bit for bit: integers, and floats that were only moved,
chosen, negated or cast. Only exact values may decide something (compare, sort, convert to integers).
"""

import math
from dataclasses import dataclass

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = ("float16", "bfloat16", "float32", "float64")
EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
"""Half the distance of 1 to the next number."""
LARGEST = {"float16": 3e4, "bfloat16": 1e18, "float32": 1e18, "float64": 1e18}
"""Values are kept below this."""
TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-120, "float32": 2.0**-126, "float64": 2.0**-126}
"""What flushing or rounding a subnormal number may cost."""


@dataclass(frozen=True)
class Value:
    """`bound`: the largest magnitude (floats); `error`: how far a right answer may be from the exact one."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bound: float = 0.0
    error: float = 0.0

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.dtype in INTEGERS

    @property
    def is_bool(self) -> bool:
        return self.dtype == "int1"

    @property
    def is_exact(self) -> bool:
        return self.error == 0

    @property
    def may_be_nan(self) -> bool:
        """NaN and infinities come together, from memory that begins with them."""
        return self.bound == math.inf

    @property
    def size(self) -> int:
        total = 1
        for n in self.shape:
            total *= n
        return total


def bits_of(dtype: str) -> int:
    """The width of an integer dtype."""
    return int(dtype.removeprefix("u").removeprefix("int"))


def rounding(dtype: str, bound: float, ulps: float = 1.0) -> float:
    """What `ulps` roundings in the dtype may cost a number of at most `bound`."""
    return ulps * 2 * EPSILON[dtype] * bound + TINY[dtype]


def is_sane(dtype: str, bound: float, error: float) -> bool:
    """Whether a float neither overflows nor has lost its meaning. NaN and infinities (bound inf) may only be moved."""
    if bound == math.inf:
        return error == 0
    return bound <= LARGEST[dtype] and error <= 0.05 * bound + 1e-6


@dataclass(frozen=True)
class Argument:
    """An argument of the kernel: an array of `count` elements, or a number. Outputs are compared within `tolerance`."""

    name: str
    dtype: str
    count: int = 0
    number: int = 0
    output: bool = False
    tolerance: float = 0.0
    start: str = "random"
    """How the memory begins: "random", "special" (with NaN, infinities, zeros), "poison" (0xA5 everywhere), "zero"."""
