"""Ahead-of-time compilation: a kernel as C to build into a program that needs no Python.

`compile` gives the code of one specialisation with a launcher in C around it; `link` writes the function that chooses
among several. The commands `naiad compile` and `naiad link` (naiad/tools) write their results to files.
"""

from naiad.aot.errors import AotError, LinkerError, SignatureError
from naiad.aot.kernel import Compiled, compile
from naiad.aot.link import Linked, link

__all__ = ["AotError", "Compiled", "Linked", "LinkerError", "SignatureError", "compile", "link"]
