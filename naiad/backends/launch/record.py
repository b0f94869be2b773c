"""Makes native launchers: callables that run one kernel over one grid for calls of one form, in well under 1 us.

A launcher is made from a call that the slow path has just served: it is told what the arguments were and what the
kernel was compiled for, and checks the next call against that in native code. A call that does not match goes to
`fallback`, with the same arguments: the slow path, or another launcher of the same kernel. `redirect` gives a launcher
that somebody holds another fallback, and `retire` ends it: all its calls go to the fallback.
"""

import ctypes
import functools
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from naiad.backends.cpu.code_cache import native_image
from naiad.backends.launch.call_code import GLOBAL_WORDS, HEADER_WORDS, NAMES, Header
from naiad.backends.launch.guards import Argument, Place, guard, is_pointer
from naiad.backends.launch.torch_tensor import GETTERS, torch_tensors

RECORD_OFFSET = bytes.__basicsize__ - 1
"""Where the data of a bytes object begins."""


@dataclass(frozen=True)
class Code:
    """A loaded launcher: what its objects need to be made."""

    method: int
    enabled: ctypes.c_int64
    torch: Any


class Owner:
    """Keeps alive what a record points at; it is the launcher's `__module__`, so it lives as long."""

    __slots__ = ("fallback", "kept")

    def __init__(self, fallback: Any, *kept: Any):
        self.fallback = fallback
        self.kept = kept


@dataclass(frozen=True)
class Form:
    """The calls that a launcher takes.

    `keywords` names the last arguments. `slots` are all of the kernel's as this call filled them: those that no
    argument fills (defaults) stay so. A launch returns `handle`; a call of another form goes to `fallback`, and
    so does every call while one of the `globals` (dict, name, value) is another object.
    """

    arguments: Sequence[Argument]
    keywords: Sequence[str]
    slots: bytes
    handle: Any
    fallback: Callable[..., Any]
    globals: Sequence[tuple[dict[str, Any], str, Any]] = ()


@dataclass(frozen=True)
class Run:
    """How a backend runs the kernel.

    `place`: where its arrays lie. `words`: the backend's own in the record. `failed` raises what a number that is not 0
    says. `tail` stands at the record's end, and the word `tail_at` says where that is. `kept` lives as long as the
    launcher.
    """

    place: Place
    words: Mapping[int, int]
    failed: Callable[[int], None]
    kept: tuple[Any, ...]
    tail: bytes = field(default=b"")
    tail_at: int | None = None


def new_launcher(code: Code, form: Form, run: Run) -> Callable[..., Any] | None:
    """The native launcher for calls of this form; None where there is none for such arguments."""
    guards = [found for argument in form.arguments if (found := guard(argument, run.place)) is not None]
    if len(guards) < len(form.arguments):
        return None
    if (tensors := torch_tensors()) is not None:
        code.torch[:] = tensors.words
    names = [sys.intern(str(name)) for name in form.keywords]
    words = [word for entry in guards for word in entry]
    names_at = 8 * (HEADER_WORDS + len(words))
    globals_at = names_at + 8 * len(names)
    slots_at = globals_at + 8 * GLOBAL_WORDS * len(form.globals)
    header = dict.fromkeys(range(HEADER_WORDS), 0) | dict(run.words) | {
        Header.POSITIONAL: len(guards) - len(names), Header.KEYWORDS: len(names), Header.SLOTS: len(form.slots) // 8,
        Header.HANDLE: id(form.handle), Header.FALLBACK: id(form.fallback), Header.FAILED: id(run.failed),
        Header.NAMES_AT: names_at, Header.SLOTS_AT: slots_at, Header.GLOBALS: len(form.globals),
        Header.GLOBALS_AT: globals_at,
    }  # fmt: skip
    if run.tail_at is not None:
        header[run.tail_at] = slots_at + len(form.slots)
    packed = [*header.values(), *words, *map(id, names), *(id(part) for entry in form.globals for part in entry)]
    record = struct.pack(f"<{len(packed)}Q", *(word & 0xFFFFFFFFFFFFFFFF for word in packed)) + form.slots + run.tail
    # An array's class and dtype are compared with, not the array itself.
    kept = [(type(a.value), a.value.dtype if is_pointer(a) else a.value) for a in form.arguments]
    return function_maker()(code.method, record, Owner(form.fallback, form.handle, run, names, kept, form.globals))


NEVER = 1 << 62
"""A number of arguments that no call has."""


def retire(launcher: Callable[..., Any]) -> None:
    """Sends every later call of a launcher to its fallback."""
    _word(launcher, Header.POSITIONAL).value = NEVER


def redirect(launcher: Callable[..., Any], fallback: Callable[..., Any]) -> None:
    """Gives a launcher another fallback, which lives as long as the launcher."""
    owner: Any = launcher.__module__
    _word(launcher, Header.FALLBACK).value = id(fallback)
    owner.fallback = fallback


def _word(launcher: Callable[..., Any], word: Header) -> ctypes.c_int64:
    record: Any = launcher.__self__
    return ctypes.c_int64.from_address(id(record) + RECORD_OFFSET + 8 * word)


def load_code(text: str, externals: Mapping[str, int]) -> Code:
    """A backend's launcher in memory, where it stays: launchers may be called until the interpreter is gone."""
    image = native_image(text, NAMES, externals)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(image.memory))
    method, enabled, torch = (image.address(name) for name in NAMES)
    return Code(method, ctypes.c_int64.from_address(enabled), (ctypes.c_int64 * (1 + len(GETTERS))).from_address(torch))


@functools.cache
def function_maker() -> Callable[..., Any]:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return make(("PyCFunction_NewEx", ctypes.pythonapi))
