"""Functions of the CPU: its device library answers to the names of CUDA's libdevice."""

from naiad.language.extra import libdevice

__all__ = ["libdevice"]
