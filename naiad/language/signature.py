"""Types as text, the way that signatures of kernels say them: '*fp32', 'i64', 'tensordesc<fp16[64,32]>'."""

import builtins
from typing import Any

from naiad.language.constexpr import constexpr_type
from naiad.language.descriptors import tensor_descriptor_type
from naiad.language.tuples import tuple_type
from naiad.language.types import block_type, dtype, int1, int32, int64, pointer_type

_INTEGERS = {
    f"{kind}{bits}": f"{name}{bits}" for kind, name in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)
}


def str_to_ty(name: Any, c: Any = None) -> Any:
    """The type that `name` says; a tuple of names gives a tuple type. `c` is the value where it says 'constexpr'."""
    if isinstance(name, builtins.tuple | list):
        values = c if isinstance(c, builtins.tuple | list) else [c] * len(name)
        return tuple_type([str_to_ty(n, v) for n, v in zip(name, values, strict=True)], getattr(name, "_fields", None))
    if name.startswith("*"):
        const = name.startswith("*k")
        return pointer_type(str_to_ty(name[2 if const else 1 :]), const=const)
    if name.startswith("tensordesc"):
        return _descriptor(name)
    if name.startswith("constexpr"):
        return constexpr_type(c)
    if name in ("i1", "u1", "B"):
        return int1
    full = _INTEGERS.get(name, name)
    if not dtype.is_dtype(full):
        raise ValueError(f"'{name}' is not a type of a signature")
    return dtype(full)


def _descriptor(name: str) -> tensor_descriptor_type:
    """tensordesc<fp16[64,32]>: its block; the shape is int32, the strides int64."""
    element, _, rest = name.removeprefix("tensordesc<").rstrip(">").partition("[")
    sizes = [int(size) for size in rest.partition("]")[0].split(",")]
    shape, strides = tuple_type([int32] * len(sizes)), tuple_type([int64] * len(sizes))
    return tensor_descriptor_type(block_type(str_to_ty(element), sizes), shape, strides)


def mangle_type(type: Any) -> str:
    """The text of a type, the inverse of `str_to_ty`."""
    if isinstance(type, pointer_type):
        return f"*{'k' if type.const else ''}{mangle_type(type.element_ty)}"
    return type.mangle()
