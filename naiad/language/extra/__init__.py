"""Functions of one target: tl.extra.cuda, tl.extra.hip, tl.extra.cpu; and libdevice, which every target has."""

from naiad.language.extra import cpu, cuda, hip, libdevice

__all__ = ["cpu", "cuda", "hip", "libdevice"]
