"""Native code that naiad itself needs (thread pool, launchers): compiled once, kept as a file for later processes.

The code is for any CPU of the architecture, so that machines may share the folder, and holds no address of a process.
"""

import contextlib
import hashlib
import os
from collections.abc import Collection, Mapping

import naiad
from naiad import knobs
from naiad.backends.cpu.elf import Image
from naiad.backends.cpu.host import described, host
from naiad.backends.cpu.loader import NOTHING, LoadError, load
from naiad.files import write_whole

DIGEST = 32
"""Bytes of a SHA-256."""


def native_image(text: str, names: Collection[str], externals: Mapping[str, int] = NOTHING) -> Image:
    """The code of the LLVM text, loaded as by `load`: from the cache folder, else compiled and stored there."""
    triple = host().triple
    version = getattr(naiad, "__version__", "")
    key = hashlib.sha256("\0".join((version, triple, text)).encode()).hexdigest()[:32]
    path = os.path.join(knobs.cache.dir, "native", f"{key}.o")
    try:
        with open(path, "rb") as stored:
            return load(checked(stored.read()), names, externals)
    except (OSError, LoadError):  # not there, or damaged
        obj = compiled(text)
        store(path, obj)
        return load(obj, names, externals)


def compiled(text: str) -> bytes:
    from naiad.backends.cpu.toolchain import Machine, object_code

    baseline = described("x86-64" if host().is_x86 else "generic", frozenset(), host().triple)
    return object_code(text, Machine.of(baseline))


def checked(data: bytes) -> bytes:
    """The object in a file: what stands before its SHA-256. LoadError where it is not what was written."""
    obj, digest = data[:-DIGEST], data[-DIGEST:]
    if hashlib.sha256(obj).digest() != digest:
        raise LoadError("the file is damaged")
    return obj


def store(path: str, obj: bytes) -> None:
    """Keeps an object; a folder that cannot be written only costs the next process a compile."""
    with contextlib.suppress(OSError):
        write_whole(path, obj + hashlib.sha256(obj).digest())
