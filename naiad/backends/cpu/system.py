"""What this platform offers to running code: every question about the operating system and the interpreter is here."""

import functools
import mmap
import os
import sys


def is_linux() -> bool:
    return sys.platform.startswith("linux")


@functools.cache
def elf_machine() -> int:
    """e_machine of the ELF code that `elf.py` can load into this process; 0 where it cannot (macOS, Windows)."""
    name = os.uname().machine if is_linux() and hasattr(mmap, "MAP_ANONYMOUS") else ""
    return {"x86_64": 62, "aarch64": 183}.get(name, 0)


def has_native_pool() -> bool:
    """The pool's text names Linux's thread interface."""
    return elf_machine() != 0


@functools.cache
def has_native_launcher() -> bool:
    """The launcher reads CPython's objects in place: reference count, type, value, as builds with the GIL have them."""
    standard = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
    plain = not hasattr(sys, "gettotalrefcount") and object.__basicsize__ == 16
    return elf_machine() != 0 and standard and plain and (3, 11) <= sys.version_info[:2] <= (3, 14)
