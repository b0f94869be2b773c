"""Addresses of C functions and variables in this process: what undefined symbols of a loaded object are bound to."""

import ctypes
import functools

LIBRARIES = (None, "libm.so.6", "libpthread.so.0", "libc.so.6", "libgcc_s.so.1")


class LoadError(RuntimeError):
    """The object is damaged, is for another machine, or needs what this process does not have."""


@functools.cache
def library(name: str | None) -> ctypes.CDLL | None:
    """The C library `name` (None: everything that the process has loaded), None if there is no such library."""
    try:
        return ctypes.CDLL(name)
    except (OSError, TypeError):
        return None


@functools.cache
def process_symbol(name: str) -> int:
    """The address of the C function or variable `name`: Python's own first, then the C libraries. LoadError if none."""
    for lib in (getattr(ctypes, "pythonapi", None), *map(library, LIBRARIES)):
        if lib is not None:
            try:
                return ctypes.addressof(ctypes.c_char.in_dll(lib, name))
            except ValueError:
                continue
    raise LoadError(f"undefined symbol {name!r}: neither this process nor {', '.join(filter(None, LIBRARIES))} has it")
