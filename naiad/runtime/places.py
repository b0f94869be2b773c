"""Where the arguments of a launch lie: on which devices, as far as they are arrays at all."""

from collections.abc import Iterable, Iterator
from typing import Any

from naiad.backends.arguments import array_of, device_of, is_array
from naiad.language.function import Function
from naiad.runtime.mock import MockTensor

__all__ = ["arrays_in", "is_of_host", "places_of"]

NUMBERS = (int, float, str, bool, type(None))
NO_ARRAYS = (*NUMBERS, Function, MockTensor)
_of_host: set[type] = set(NUMBERS)
"""Types whose values lie nowhere or in the host's memory, as far as they were met."""
_tensors: set[type] = set()
"""torch's: with data_ptr() and device."""
_meanings: dict[Any, tuple[str, int]] = {}
"""What torch.device objects mean."""


def is_of_host(argument: Any) -> bool:
    """Whether it is known at a glance that the argument is no array, or one in the host's memory."""
    return type(argument) in _of_host or getattr(argument, "is_cpu", False)


def places_of(arguments: Iterable[Any]) -> set[tuple[str, int]]:
    """The kinds and indices of the devices that arrays among the arguments lie on."""
    devices: dict[Any, Any] = {}
    places: set[tuple[str, int]] = set()
    for x in arguments:
        kind = type(x)
        if kind in _tensors:
            devices[x.device] = x
        elif kind not in NUMBERS:
            arrays = list(arrays_in(x))
            places.update(map(device_of, arrays))
            _learn(kind, bool(arrays))
    for device, x in devices.items():
        place = _meanings.get(device)
        if place is None:
            place = _meanings[device] = device_of(x)
        places.add(place)
    return places


def _learn(kind: type, is_array: bool) -> None:
    """Keeps what can be said of all arguments of a type."""
    if kind.__module__.startswith("torch") and hasattr(kind, "data_ptr") and hasattr(kind, "device"):
        _tensors.add(kind)
    elif kind.__module__ == "numpy" or not (is_array or issubclass(kind, tuple)):
        _of_host.add(kind)


def arrays_in(argument: Any) -> Iterator[Any]:
    """The arrays of an argument: itself, that of a descriptor, those in a tuple."""
    if isinstance(argument, tuple):
        for part in argument:
            yield from arrays_in(part)
    elif not isinstance(argument, NO_ARRAYS) and is_array(held := array_of(argument)):
        yield held
