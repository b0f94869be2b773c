"""TRITON_INTERPRET=1: the Python body of a kernel runs on numpy tiles, so print() and breakpoint() work inside of it.

builder.py answers what the language emits, with a rule an op (elementwise, make, shape, memory, reduce, dot, ...);
rewrite.py and kernel_python.py give Python's own constructs the meaning that they have in a kernel; launch.py runs the
grid.
"""

from naiad.runtime.interpreter.function import InterpretedFunction
from naiad.runtime.interpreter.launch import launch

__all__ = ["InterpretedFunction", "launch"]
