"""Errors that only the interpreter raises."""

from naiad.errors import InterpreterError


class NotOneNumber(InterpreterError, ValueError):
    """Python asked a tile of several elements for its truth or its number."""


class NotLiftable(Exception):
    """The bits of a 16-bit float were asked for while it is held in 32."""


class DeviceAssertionError(RuntimeError, AssertionError):
    """`tl.device_assert` found its condition false."""
