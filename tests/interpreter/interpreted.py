"""What the interpreter's tests share: the decorator, dtypes, inputs, and outputs poisoned before a kernel runs."""

from functools import partial

import ml_dtypes
import numpy as np

import naiad.language as tl
from naiad.runtime.jit import jit as plain_jit

jit = partial(plain_jit, interpret=True)

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMPY = {
    **{name: np.dtype(name) for name in (*INTEGERS, "float16", "float32", "float64")},
    "bool": np.dtype(bool),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8e5": np.dtype(ml_dtypes.float8_e5m2),
    "float8e4b8": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8e5b16": np.dtype(ml_dtypes.float8_e5m2fnuz),
}


def poisoned(shape, name):
    """An array whose every byte is 0xA5: no test passes because an output was right before."""
    element = NUMPY[name]
    return np.full(int(np.prod(shape)) * element.itemsize, 0xA5, np.uint8).view(element).reshape(shape)


def numbers(rng, name, n, low=None, high=None):
    """Random integers over the whole range of the dtype with its extremes, or normal floats of many sizes."""
    element = NUMPY[name]
    if element.kind in "iu":
        info = np.iinfo(element)
        bounds = (info.min if low is None else low, info.max if high is None else high)
        values = rng.integers(*bounds, n, dtype=element, endpoint=True)
        if low is None and high is None and n >= 4:
            values[:4] = (info.min, info.max, 0, 1)
        return values
    return (rng.standard_normal(n) * np.exp2(rng.integers(-6, 7, n))).astype(np.float64).astype(element)


def language_dtype(name):
    return tl.int1 if name == "bool" else getattr(tl, name)


def truncating(a, b):
    """Quotient and remainder of Python's integers as in C."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def wrapped(value, name):
    """A Python integer modulo the width of a dtype."""
    info = np.iinfo(NUMPY[name])
    return (value - info.min) % (info.max - info.min + 1) + info.min
