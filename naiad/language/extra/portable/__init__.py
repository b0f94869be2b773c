"""The device library in the terms of the language, for the targets that have none: the CPU and the interpreter.

Names and meanings are those of CUDA's libdevice. What C's math library has is called there, the rest is computed here.
"""

from collections.abc import Callable
from typing import Any

from naiad.language.extra.portable import bits, convert, floats, rounding, special

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **floats.FUNCTIONS,
    **special.FUNCTIONS,
    **bits.FUNCTIONS,
    **convert.FUNCTIONS,
    **rounding.FUNCTIONS,
}
"""Each takes tensors of types that libdevice takes; the caller casts the result to the type that libdevice gives."""
