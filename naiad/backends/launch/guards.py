"""The guards of a launcher: what each argument of the next call must be, from the arguments of one that was served."""

import struct
import sys
from dataclasses import dataclass
from typing import Any

from naiad.backends.arguments import device_of
from naiad.backends.launch.call_code import GUARD_WORDS
from naiad.backends.launch.guard_code import Class, Guard
from naiad.backends.launch.torch_tensor import DEVICE_TYPES, torch_tensors
from naiad.language.constexpr import constexpr
from naiad.language.function import Function

INT_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
WRITEABLE = 0x400
"""numpy's NPY_ARRAY_WRITEABLE."""
FROZEN = (int, float, complex, str, bytes, type(None), type)


@dataclass(frozen=True)
class Argument:
    """One argument of the call, in the call's order (positional, then keywords).

    `kind`: its type in the signature ("*fp32", "i32", "constexpr", ...). `seen`: what the kernel was specialised for:
    "D" (divisible by 16), "" (not), None (not looked at), 1 (folded). `slot`: its place among the kernel's slots after
    the header; None where it has none, so that only this very value will do. `annotated`: the kind is the parameter's
    annotation, and holds for every value in its range; else ints get the smallest kind that holds them. `written`: the
    kernel writes through it.
    """

    value: Any
    kind: str
    seen: Any = None
    slot: int | None = None
    annotated: bool = False
    written: bool = False


@dataclass(frozen=True)
class Place:
    """Where arrays must lie: on this kind of device, and the one of this index; None for the only one.

    `first_slot`: where the kernel's first argument is among the slots.
    """

    kind: str
    index: int | None
    first_slot: int

    def holds(self, tensor: Any) -> bool:
        kind, index = device_of(tensor)
        return kind == self.kind and self.index in (None, index)

    @property
    def word(self) -> int:
        """What the guard of a tensor compares with."""
        index = 0xFFFFFFFF if self.index is None else self.index
        return DEVICE_TYPES[self.kind] | index << 32


def guard(argument: Argument, place: Place) -> tuple[int, ...] | None:
    """The words of the argument's entry; None where native code has no check for it."""
    words = words_of(argument, place)
    if words is None:
        return None
    slot = place.first_slot + argument.slot if argument.slot is not None else 0
    return (words[0], slot, *words[1:], *[0] * (GUARD_WORDS - 1 - len(words)))


def words_of(argument: Argument, place: Place) -> tuple[int, ...] | None:
    """The kind of guard, and what it compares with."""
    value, kind = argument.value, argument.kind
    if is_pointer(argument):
        return array(argument, place) if argument.slot is not None else None
    if argument.slot is None or not isinstance(kind, str):
        return constant(value)
    if type(value) is bool:
        return (Guard.BOOL,) if kind in ("i1", "u1") else None
    if type(value) is int and kind in INT_BITS:
        low, high = bounds(kind, value, argument.annotated)
        return Guard.INT, low, high, int_class(value, argument.seen)
    if type(value) is float and kind in ("fp32", "fp64"):
        return (Guard.FLOAT32 if kind == "fp32" else Guard.FLOAT64,)
    return None


def is_pointer(argument: Argument) -> bool:
    return isinstance(argument.kind, str) and argument.kind.startswith("*")


def constant(value: Any) -> tuple[int, ...] | None:
    """A guard for this value; None if it can change, so that its identity says nothing."""
    kind = type(value)
    if kind is int and -(2**63) <= value < 2**63:
        return Guard.SAME_INT, id(value), value
    if kind is float:
        return Guard.SAME_FLOAT, struct.unpack("<q", struct.pack("<d", value))[0]
    if kind is str:
        return Guard.SAME_STR, id(value)
    return (Guard.SAME, id(value)) if never_changes(value) else None


def never_changes(value: Any) -> bool:
    """Whether the object is the same value as long as it lives."""
    if type(value) is tuple:
        return all(map(never_changes, value))
    if isinstance(value, constexpr):
        return never_changes(value.value)
    if isinstance(value, Function):  # a new source drops every launcher, a global that it reads does not
        return not getattr(value, "used_global_vals", True)
    module = type(value).__module__
    is_dtype = type(value).__name__ == "dtype" and module.split(".")[0] in ("torch", "naiad")
    return is_dtype or isinstance(value, FROZEN)


def bounds(kind: str, value: int, annotated: bool) -> tuple[int, int]:
    """The ints for which the kind is right: all that it holds; without annotation, those that no smaller one holds."""
    bits = INT_BITS[kind]
    if kind.startswith("u"):
        low, high = 0, min(2**bits, 2**63) - 1
    else:
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if annotated or kind != "i64":
        return low, high
    return (2**31, high) if value > 0 else (low, -(2**31) - 1)


def int_class(value: int, seen: Any) -> Class:
    if seen == "D":
        return Class.BY_16
    if seen is None:
        return Class.ANY
    return Class.NOT_1 if value % 16 == 0 else Class.NOT_BY_16


def array(argument: Argument, place: Place) -> tuple[int, ...] | None:
    """A guard for tensors like this: torch's own classes on this device, and numpy's arrays where that is a CPU."""
    kind = type(argument.value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray:
        if place.kind != "cpu":
            return None
        address = argument.value.ctypes.data
        flags = WRITEABLE if argument.written else 0
        return Guard.NUMPY, id(kind), id(argument.value.dtype), address_class(address, argument.seen), flags
    tensors = torch_tensors()
    if tensors is None or kind not in tensors.classes or not place.holds(argument.value):
        return None
    address = argument.value.data_ptr()
    number = tensors.dtype_number(argument.value)
    return Guard.TORCH, id(kind), number, address_class(address, argument.seen), place.word


def address_class(address: int, seen: Any) -> Class:
    if seen == "D":
        return Class.BY_16
    return Class.ANY if seen is None or address % 16 == 0 else Class.NOT_BY_16
