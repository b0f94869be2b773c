"""`naiad demo`: the kernels of examples/ compiled, checked and timed on this machine."""

from naiad.demo.main import main

__all__ = ["main"]
