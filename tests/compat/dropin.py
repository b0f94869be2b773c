"""The drop-in for the length of a block."""

import contextlib
import sys
from collections.abc import Iterator

import naiad.compat


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """`triton` means naiad within the block; what was imported under that name before comes back after it."""
    before = {name: module for name, module in sys.modules.items() if name == "triton" or name.startswith("triton.")}
    for name in before:
        del sys.modules[name]
    naiad.compat.install()
    try:
        yield
    finally:
        naiad.compat.uninstall()
        sys.modules.update(before)
