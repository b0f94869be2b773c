"""Copies of the arrays that trial runs may change: made once in a tuning, put back before each run and at the end.

What is copied of an array is the memory from its first element to its last. On a GPU without room for it, the copy
lies in the host's memory.
"""

import ctypes
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import Any

from naiad.backends.arguments import address, device_of, is_array
from naiad.errors import AutotunerError
from naiad.runtime.mock import TensorWrapper

__all__ = ["Snapshot", "fill_with_zeros"]

PutBack = Callable[[], Any]
ADVICE = "set NAIAD_TUNE_RESTORE=0, or restore_written=False in autotune, to tune without putting arrays back"


class Snapshot:
    """The content of arrays as it was when each of them was first named."""

    def __init__(self) -> None:
        self.copies: dict[tuple[Any, ...], tuple[str, PutBack]] = {}
        self.for_hooks = False
        """Whether there are copies of all arrays, for what hooks may do before it is known what the kernel writes."""

    def cover(self, name: str, arrays: Iterable[Any]) -> None:
        """Copies those of the arrays of the argument `name` that were not copied before."""
        for array in arrays:
            array = array.base if isinstance(array, TensorWrapper) else array
            where = _place(array)
            if where[0] and where not in self.copies:
                self.copies[where] = name, _copied(name, array)

    def restore(self, names: Collection[str] | None = None) -> None:
        """Puts the content back, of all arrays or those of the arguments `names`; on a GPU, in its queue."""
        for name, put_back in self.copies.values():
            if names is None or name in names:
                put_back()

    def forget_hooks(self, names: Collection[str]) -> None:
        """Puts back what hooks may have written, and from then on looks after the arguments `names` only."""
        if not self.for_hooks:
            return
        self.for_hooks = False
        self.restore()
        kept = {name.partition(".")[0] for name in names}
        self.copies = {where: copy for where, copy in self.copies.items() if copy[0].partition(".")[0] in kept}


def _place(array: Any) -> tuple[Any, ...]:
    """What tells arrays apart: where they begin, and which elements they have from there on."""
    steps = array.stride() if hasattr(array, "stride") else getattr(array, "strides", "")
    return address(array), str(getattr(array, "dtype", "")), str(getattr(array, "shape", "")), str(steps)


def _copied(name: str, array: Any) -> PutBack:
    try:
        if hasattr(array, "as_strided"):
            return _of_tensor(array)
        if device_of(array)[0] == "cpu" and hasattr(array, "nbytes"):
            return _of_memory(array)
        copy = array.copy()
    except (MemoryError, RuntimeError) as error:
        raise AutotunerError(f"there is no room for a copy of the argument {name} ({error}); {ADVICE}") from error
    except (AttributeError, TypeError):
        warnings.warn(f"naiad: {name} ({type(array).__name__}) cannot be put back after trial runs", stacklevel=2)
        return lambda: None
    return lambda: array.__setitem__(..., copy)


def _of_tensor(tensor: Any) -> PutBack:
    """A tensor of torch. `data` is the same memory without autograd, which would count the writing as the user's."""
    memory = tensor.data
    if not memory.is_contiguous():
        last = sum((size - 1) * stride for size, stride in zip(memory.shape, memory.stride(), strict=True))
        memory = memory.as_strided((last + 1,), (1,))
    try:
        copy = memory.clone()
    except RuntimeError:  # torch's errors about memory are of this kind
        if memory.device.type == "cpu":
            raise
        copy = memory.cpu()
    return lambda: memory.copy_(copy)


def _of_memory(array: Any) -> PutBack:
    """An array in the host's memory, of any library; where it has gaps or runs backwards, by its own methods."""
    flags = getattr(array, "flags", None)
    if flags is not None and not (flags["C_CONTIGUOUS"] or flags["F_CONTIGUOUS"]):
        copy = array.copy()
        return lambda: array.__setitem__(..., copy)
    place, size = address(array), array.nbytes
    content = ctypes.create_string_buffer(size)
    ctypes.memmove(content, place, size)
    return lambda: ctypes.memmove(place, content, size)


def fill_with_zeros(name: str, array: Any) -> None:
    """Zeroes the array that is the argument `name`, for `reset_to_zero`."""
    array = array.base if isinstance(array, TensorWrapper) else array
    if not is_array(array):
        raise TypeError(f"reset_to_zero of autotune: expected an array, found {array!r} for the argument {name}")
    if hasattr(array, "zero_"):
        array.data.zero_()
    else:
        array[...] = 0
