"""Ahead-of-time compilation: a kernel as C to build into a program that needs no Python.

`compile` gives the code of one specialisation with a launcher in C around it; `link` writes the function that chooses
among several. The commands `naiad compile` and `naiad link` (naiad/tools) write their results to files.
"""

import importlib
from typing import TYPE_CHECKING, Any

from naiad.aot.errors import AotError, LinkerError, SignatureError

if TYPE_CHECKING:
    from naiad.aot.kernel import Compiled, compile
    from naiad.aot.linker import Linked, link

__all__ = ["AotError", "Compiled", "Linked", "LinkerError", "SignatureError", "compile", "link"]
_HOME = {"Compiled": "kernel", "compile": "kernel", "Linked": "linker", "link": "linker"}


def __getattr__(name: str) -> Any:
    """What brings the compiler comes when it is asked for: the command line only looks at the errors."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"naiad.aot.{_HOME[name]}"), name)
