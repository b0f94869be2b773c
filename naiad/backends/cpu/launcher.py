"""Makes native launchers: callables that run one kernel over one grid for calls of one form, in well under 1 us.

A launcher is made from a call that the slow path has just served: `bind` is told what the arguments were and what the
kernel was compiled for, and gives a callable that checks the next call against that in native code. A call that does
not match goes to `fallback`, with the same arguments: the slow path, or an older launcher of the same kernel.

`native_enabled(False)` sends every call to its fallback, for as long as something wants to see each launch (hooks).
"""

import ctypes
import functools
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from naiad.backends.cpu import launcher_code
from naiad.backends.cpu.code_cache import native_image
from naiad.backends.cpu.driver import HEADER_SLOTS, LoadedKernel, extents
from naiad.backends.cpu.guard_code import Class, Guard
from naiad.backends.cpu.launcher_code import GUARD_WORDS, HEADER_WORDS, Header
from naiad.backends.cpu.pool import runner
from naiad.backends.cpu.system import has_native_launcher
from naiad.backends.cpu.torch_tensor import torch_tensors
from naiad.language.constexpr import constexpr
from naiad.language.function import Function

INT_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
FROZEN = (int, float, complex, str, bytes, type(None), type)


@dataclass(frozen=True)
class Argument:
    """One argument of the call, in the call's order (positional, then keywords).

    `kind`: its type in the signature ("*fp32", "i32", "constexpr", ...). `seen`: what the kernel was specialised for:
    "D" (divisible by 16), "" (not), None (not looked at), 1 (folded). `slot`: its place among the kernel's slots after
    the header; None where it has none, so that only this very value will do. `annotated`: the kind is the parameter's
    annotation, and holds for every value in its range; else ints get the smallest kind that holds them.
    """

    value: Any
    kind: str
    seen: Any = None
    slot: int | None = None
    annotated: bool = False


@dataclass(frozen=True)
class Code:
    """The loaded launcher: what its objects need to be made."""

    method: int
    enabled: ctypes.c_int64
    torch: Any


class Owner:
    """Keeps alive what a record points at; it is the launcher's `__module__`, so it lives as long."""

    __slots__ = ("kept",)

    def __init__(self, *kept: Any):
        self.kept = kept


def bind(
    kernel: LoadedKernel,
    grid: Sequence[int],
    arguments: Sequence[Argument],
    keywords: Sequence[str],
    slots: bytes,
    handle: Any,
    fallback: Callable[..., Any],
) -> Callable[..., Any] | None:
    """The native launcher for calls like this one; None where there is none for such arguments, or on this platform.

    `keywords` names the last arguments. `slots` are all of the kernel's after the header, as this call packed them:
    those that no argument fills (defaults) stay so. A launch returns `handle`; a failed assertion raises.
    """
    code = native_code()
    guards = [found for argument in arguments if (found := guard(argument)) is not None]
    if code is None or len(guards) < len(arguments):
        return None
    names = [sys.intern(str(name)) for name in keywords]
    failed = functools.partial(LoadedKernel.failed, kernel)
    x, y, z = extents(grid)
    words = [word for entry in guards for word in entry]
    names_at = 8 * (HEADER_WORDS + len(words))
    header = dict.fromkeys(Header, 0) | {
        Header.KERNEL: kernel.address, Header.PROGRAMS: x * y * z, Header.GRAIN: kernel.grain(x * y * z),
        Header.POSITIONAL: len(guards) - len(names), Header.KEYWORDS: len(names),
        Header.SLOTS: HEADER_SLOTS + len(slots) // 8, Header.HANDLE: id(handle), Header.FALLBACK: id(fallback),
        Header.FAILED: id(failed), Header.NAMES_AT: names_at, Header.SLOTS_AT: names_at + 8 * len(names),
    }  # fmt: skip
    packed = [*header.values(), *[0] * (HEADER_WORDS - len(header)), *words, *map(id, names), x, y, z, 0]
    record = struct.pack(f"<{len(packed)}Q", *(word & 0xFFFFFFFFFFFFFFFF for word in packed)) + slots
    # An array's class and dtype are compared with, not the array itself.
    kept = [(type(a.value), a.value.dtype if is_pointer(a) else a.value) for a in arguments]
    return new_function(code.method, record, Owner(kernel, handle, fallback, failed, names, kept))


def guard(argument: Argument) -> tuple[int, ...] | None:
    """The words of the argument's entry; None where native code has no check for it."""
    words = words_of(argument)
    if words is None:
        return None
    slot = HEADER_SLOTS + argument.slot if argument.slot is not None else 0
    return (words[0], slot, *words[1:], *[0] * (GUARD_WORDS - 1 - len(words)))


def words_of(argument: Argument) -> tuple[int, ...] | None:
    """The kind of guard, and what it compares with."""
    value, kind = argument.value, argument.kind
    if is_pointer(argument):
        return array(argument) if argument.slot is not None else None
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


def array(argument: Argument) -> tuple[int, ...] | None:
    """A guard for tensors like this: torch's own classes on the CPU, and numpy's arrays."""
    kind = type(argument.value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray:
        address = argument.value.ctypes.data
        return Guard.NUMPY, id(kind), id(argument.value.dtype), address_class(address, argument.seen)
    code, tensors = native_code(), torch_tensors()
    if tensors is None or code is None or kind not in tensors.classes or not argument.value.is_cpu:
        return None
    code.torch[:] = tensors.words
    address = argument.value.data_ptr()
    return Guard.TORCH, id(kind), tensors.dtype_number(argument.value), address_class(address, argument.seen)


def address_class(address: int, seen: Any) -> Class:
    if seen == "D":
        return Class.BY_16
    return Class.ANY if seen is None or address % 16 == 0 else Class.NOT_BY_16


def native_enabled(on: bool) -> None:
    """Whether native launchers run kernels, or send every call to their fallback."""
    if (code := native_code()) is not None:
        code.enabled.value = int(on)


@functools.cache
def native_code() -> Code | None:
    """The launcher's code in memory; None where the platform has none."""
    if not has_native_launcher():
        return None
    pool = {"naiad_pool_run": runner().address}
    image = native_image(launcher_code.launcher_text(bytes.__basicsize__ - 1), launcher_code.NAMES, pool)
    # Launchers may be called until the interpreter is gone: the code is never unloaded.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(image.memory))
    method, enabled, torch = (image.address(name) for name in launcher_code.NAMES)
    return Code(method, ctypes.c_int64.from_address(enabled), (ctypes.c_int64 * 4).from_address(torch))


@functools.cache
def function_maker() -> Callable[..., Any]:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return make(("PyCFunction_NewEx", ctypes.pythonapi))


def new_function(method: int, record: bytes, owner: Owner) -> Callable[..., Any]:
    return function_maker()(method, record, owner)
