"""What is looked at in the arrays of a launch before a kernel gets their addresses: memory that may be written.

Native launchers look at the same: what has no address, or is not to be written, goes to Python.
"""

from collections.abc import Iterator
from typing import Any

from naiad.backends.arguments import array_of

__all__ = ["check_memory"]

NUMBERS = frozenset((int, float, str, bool, type(None)))


def check_memory(function: Any, kernel: Any, bound: tuple[Any, ...]) -> None:
    """Refuses tensors without memory (of FakeTensorMode, of a storage that was resized), and arrays of numpy that are
    read-only (a memory map may be) where the kernel writes: the kernel would end the process."""
    written = getattr(getattr(kernel, "metadata", None), "writes", None) or ()
    for name, value in zip(function.arg_names, bound, strict=True):
        if type(value) not in NUMBERS:
            for path, array in _parts(name, value):
                _check_array(f"{function.__name__}: argument {path}", array, path in written)


def _parts(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays in an argument: their names in a kernel's metadata, and they."""
    if isinstance(value, tuple):
        for i, part in enumerate(value):
            yield from _parts(f"{path}.{i}", part)
    else:
        yield path, array_of(value)


def _check_array(what: str, array: Any, is_written: bool) -> None:
    if hasattr(array, "data_ptr") and not array.data_ptr() and hasattr(array, "numel") and array.numel():
        raise ValueError(
            f"{what}: expected a tensor in memory, found a {type(array).__name__} of {array.numel()} elements whose "
            "address is 0; launch with tensors that hold data (for torch.compile, wrap the launch in "
            "torch.library.triton_op)"
        )
    if is_written and not getattr(getattr(array, "flags", None), "writeable", True):
        raise ValueError(f"{what}: the kernel writes it, and the array is read-only; pass a copy: x.copy()")
