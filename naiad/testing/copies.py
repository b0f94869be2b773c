"""Copies of a kernel's arguments in memory of their own, with poison around and between them.

The arrays among the arguments (also those of descriptors and in tuples) become regions of bytes; those that share
memory share it in the copy. Around every region, and between the rows of a strided array, lies a byte that the caller
chooses, so that what a kernel writes there, reads from there, or leaves out is seen. Alignment stays as it was.
"""

import copy
import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naiad.backends.arguments import address, device_of
from naiad.backends.signature import canonicalize_dtype

MARGIN = 4096
"""Bytes of poison before and after each region."""


@dataclass(frozen=True)
class View:
    """An array among the arguments: what it is called (`x`, `pair[1]`, `desc.base`) and where it lies in its region."""

    name: str
    region: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    def of(self, memory: np.ndarray) -> np.ndarray:
        """The array in a region's bytes."""
        return np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)

    def bytes_of(self, memory: np.ndarray) -> np.ndarray:
        """The bytes of the elements, in a dimension more."""
        return np.ndarray((*self.shape, self.dtype.itemsize), np.uint8, memory, self.offset, (*self.strides, 1))


@dataclass(frozen=True)
class Spoiled:
    """Bytes that no array has and that the kernel wrote."""

    where: str
    count: int


class Run:
    """One copy of all arguments on a device: "cpu", or "cuda"."""

    def __init__(self, plan: "Plan", device: str, poison: int, outputs: Sequence[str]) -> None:
        self.plan, self.poison = plan, poison
        self.memory = [_filled(len(region.initial) + 2 * MARGIN + 64, poison) for region in plan.regions]
        self.starts = [MARGIN + region.start % 64 for region in plan.regions]  # as aligned as it was
        for memory, start, region in zip(self.memory, self.starts, plan.regions, strict=True):
            inside = memory[start : start + len(region.initial)]
            inside[region.covered] = region.initial[region.covered]
        for view in plan.views:
            if view.name in outputs:
                view.bytes_of(self.region(view.region))[...] = poison
        self.device = device
        self.there = [_on_device(memory, device) for memory in self.memory] if device != "cpu" else []

    def region(self, index: int) -> np.ndarray:
        return self.memory[index][self.starts[index] :]

    def array(self, view: View, original: Any) -> Any:
        """The copy that stands for an array: numpy's for numpy's on the host, else torch's."""
        if self.device == "cpu" and isinstance(original, np.ndarray):
            return view.of(self.region(view.region))
        import torch

        if not isinstance(original, torch.Tensor):
            original = torch.from_numpy(np.zeros(1, view.dtype))
        held = self.there[view.region] if self.there else torch.from_numpy(self.memory[view.region])
        width = view.dtype.itemsize
        start = (self.starts[view.region] + view.offset) // width
        made = torch.empty(0, dtype=original.dtype, device=held.device)
        return made.set_(held.untyped_storage(), start, view.shape, tuple(step // width for step in view.strides))

    def fetch(self) -> "Run":
        """Brings what a GPU wrote to the host."""
        for memory, there in zip(self.memory, self.there, strict=False):
            memory[:] = there.cpu().numpy()
        return self

    def values(self, view: View) -> np.ndarray:
        return view.of(self.region(view.region))

    def spoiled(self) -> Iterator[Spoiled]:
        """What was written where no array is."""
        for i, region in enumerate(self.plan.regions):
            memory, start = self.memory[i], self.starts[i]
            end = start + len(region.initial)
            names = ", ".join(view.name for view in self.plan.views if view.region == i)
            parts = {
                "before the first element of": memory[:start],
                "between the elements of": memory[start:end][~region.covered],
                "behind the last element of": memory[end:],
            }
            for where, part in parts.items():
                if count := int((part != self.poison).sum()):
                    yield Spoiled(f"{where} {names}", count)


@dataclass
class Region:
    """Memory that arrays lie in: its device and first address, its bytes, and which of them some array has."""

    device: tuple[str, int]
    start: int
    initial: np.ndarray
    covered: np.ndarray


class Plan:
    """The arrays among some arguments, by name."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments = arguments
        found: list[tuple[str, Any]] = []
        for name, value in arguments.items():
            _replaced(name, value, lambda name, array: found.append((name, array)))
        extents = [(name, array, *_extent(array)) for name, array in found]
        self.regions: list[Region] = []
        self.views: list[View] = []
        for name, array, low, high in sorted(extents, key=lambda entry: (str(device_of(entry[1])), entry[2])):
            self._add(name, array, low, high)
        for view in self.views:
            region = self.regions[view.region]
            view.bytes_of(region.covered.view(np.uint8))[...] = 1

    def _add(self, name: str, array: Any, low: int, high: int) -> None:
        last, device = self.regions[-1] if self.regions else None, device_of(array)
        if last is None or last.device != device or not last.start <= low < last.start + len(last.initial):
            self.regions.append(last := Region(device, low, _bytes(array, low, high), np.zeros(high - low, bool)))
        elif high > last.start + len(last.initial):
            last.initial = _bytes(array, last.start, high)
            last.covered = np.zeros(high - last.start, bool)
        view = View(name, len(self.regions) - 1, address(array) - last.start, *_form(array))
        self.views.append(view)

    def run(self, device: str, poison: int, outputs: Sequence[str]) -> tuple[Run, dict[str, Any]]:
        """A copy, and the arguments with it."""
        made = Run(self, device, poison, outputs)
        views = {view.name: view for view in self.views}
        copies = {
            name: _replaced(name, value, lambda name, array: made.array(views[name], array))
            for name, value in self.arguments.items()
        }
        return made, copies


def _replaced(name: str, value: Any, make: Callable[[str, Any], Any]) -> Any:
    """The argument with `make(name, array)` in the place of each of its arrays."""
    if isinstance(value, tuple):
        parts = [_replaced(f"{name}[{i}]", part, make) for i, part in enumerate(value)]
        return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)
    if isinstance(value, np.ndarray) or hasattr(value, "untyped_storage"):
        return make(name, value)
    if hasattr(value, "base") and (hasattr(value, "block_shape") or hasattr(value, "data_ptr")):
        made = copy.copy(value)
        object.__setattr__(made, "base", _replaced(f"{name}.base", value.base, make))
        return made
    if hasattr(value, "data_ptr") or (hasattr(value, "__array_interface__") and not isinstance(value, np.generic)):
        raise TypeError(f"{name}: check copies numpy arrays and torch tensors, not a {type(value).__name__}")
    return value


def numpy_dtype(kind: Any) -> np.dtype:
    """The dtype of numpy, or of ml_dtypes, for one of torch."""
    if isinstance(kind, np.dtype):
        return kind
    short = canonicalize_dtype(kind)
    if short[0] in "iu":
        return np.dtype(bool if short == "i1" else f"{'u' if short[0] == 'u' else ''}int{short[1:]}")
    from naiad.runtime.interpreter.arguments import named_dtype
    from naiad.runtime.interpreter.tiles import element_of

    return element_of(named_dtype(short))


def _form(array: Any) -> tuple[tuple[int, ...], tuple[int, ...], np.dtype]:
    """Shape, strides in bytes, dtype."""
    dtype = numpy_dtype(array.dtype)
    strides = array.strides if isinstance(array, np.ndarray) else [dtype.itemsize * step for step in array.stride()]
    return tuple(array.shape), tuple(strides), dtype


def _extent(array: Any) -> tuple[int, int]:
    """The address of the first byte, and that after the last, of the elements."""
    shape, strides, dtype = _form(array)
    first = address(array)
    if 0 in shape:
        return first, first
    steps = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
    return first + sum(s for s in steps if s < 0), first + sum(s for s in steps if s > 0) + dtype.itemsize


def _bytes(array: Any, low: int, high: int) -> np.ndarray:
    """The memory between two addresses, which `array` lies in, on the host."""
    if low == high:
        return np.zeros(0, np.uint8)
    if device_of(array)[0] == "cpu":
        return np.frombuffer(ctypes.string_at(low, high - low), np.uint8).copy()
    import torch

    storage = array.untyped_storage()
    whole = torch.empty(0, dtype=torch.uint8, device=array.device).set_(storage)
    start = low - storage.data_ptr()
    return whole[start : start + high - low].cpu().numpy()


def _filled(count: int, byte: int) -> np.ndarray:
    """So many bytes of this value, at a multiple of 64."""
    memory = np.full(count + 64, byte, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:count]


def _on_device(memory: np.ndarray, device: str) -> Any:
    import torch

    return torch.from_numpy(memory).to(device)
