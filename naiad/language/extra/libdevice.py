"""Functions of the target's device library, under the names of CUDA's libdevice: sin, erfinv, j0, add_rz and so on."""

from typing import Any

from naiad.language.extra import device_library as _library


def __getattr__(name: str) -> Any:
    try:
        return _library.function(name, None)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return _library.names(None)
