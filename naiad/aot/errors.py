"""What a user of ahead-of-time compilation can get wrong."""

from naiad.errors import Explanation, TritonError

__all__ = ["AotError", "LinkerError", "SignatureError"]


class AotError(TritonError):
    """A kernel cannot be compiled ahead of time as was asked: the reason, then what was expected, found, and to do."""

    def __init__(self, reason: str, *, expected: str = "", found: str = "", advice: str = "") -> None:
        super().__init__("\n".join((reason, *Explanation(expected, found, advice).lines())))


class SignatureError(AotError):
    """The signature, the constants or the grid do not fit the kernel."""


class LinkerError(AotError):
    """Headers that cannot be linked into one dispatcher."""
