"""Who gives kernels the global memory that they ask for beside their arguments (`triton.set_allocator`)."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

Allocator: TypeAlias = Callable[[int, int, int | None], Any]
"""(bytes, alignment, stream) to an object with data_ptr()."""


class NullAllocator:
    """The allocator while none was set."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        raise RuntimeError(
            "Kernel requires a runtime memory allocation, but no allocator was set. "
            "Use triton.set_allocator to specify an allocator."
        )


class _Holder:
    """An allocator in `get` and `set`."""

    def __init__(self, allocator: Allocator) -> None:
        self.allocator = allocator

    def get(self) -> Allocator:
        return self.allocator

    def set(self, allocator: Allocator) -> None:
        self.allocator = allocator

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        return self.allocator(size, alignment, stream)


_NULL_ALLOCATOR = NullAllocator()
_allocator: ContextVar[Allocator] = ContextVar("naiad_allocator", default=_NULL_ALLOCATOR)
_profile_allocator = _Holder(_NULL_ALLOCATOR)


def set_allocator(allocator: Allocator) -> None:
    """Sets who gives kernels global memory at their launch, in this context."""
    if not callable(allocator):
        raise TypeError(f"an allocator is a function (bytes, alignment, stream) -> array, and {allocator!r} is none")
    _allocator.set(allocator)


def set_profile_allocator(allocator: Allocator | None) -> None:
    """Sets who gives memory to instrumented kernels; None takes it back."""
    _profile_allocator.set(_NULL_ALLOCATOR if allocator is None else allocator)
