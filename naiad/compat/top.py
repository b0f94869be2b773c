"""Names of the package `triton` itself that naiad's own package does not have."""

from typing import Any

from naiad import knobs

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return knobs.naiad.triton_version
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
