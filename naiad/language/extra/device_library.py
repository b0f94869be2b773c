"""Makes the functions of a device library from its table, each on its first use."""

from collections.abc import Callable
from functools import cache
from typing import Any

from naiad.language.builtin import builtin
from naiad.language.external import Symbols, call_symbol
from naiad.language.extra.symbols import Row, amd, nvidia
from naiad.language.promotion import to_tensor
from naiad.language.tensor import tensor

_TABLES: dict[str, Callable[[], dict[str, list[Row]]]] = {"cuda": nvidia, "hip": amd}


@cache
def table(library: str) -> dict[str, Symbols]:
    """The functions of "cuda" or "hip" by name."""
    rows = _TABLES[library]()
    return {name: {arguments: (symbol, result) for arguments, symbol, result in found} for name, found in rows.items()}


@cache
def function(name: str, library: str | None) -> Callable[..., tensor]:
    """The function `name` of a library, of that of the target where it is None. Raises KeyError if none has it."""
    if not any(name in table(candidate) for candidate in ([library] if library else _TABLES)):
        raise KeyError(name)

    def call(*args: Any) -> tensor:
        chosen = library or _library_of_target()
        if name not in table(chosen):
            raise NotImplementedError(f"libdevice.{name} does not exist on {chosen}")
        return call_symbol("", "", [to_tensor(a) for a in args], table(chosen)[name])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name}` of the device library, for each element."
    return builtin(call)


def _library_of_target() -> str:
    from naiad.language.target_info import current_target

    target = current_target()
    return "hip" if target is not None and target.backend == "hip" else "cuda"  # the CPU answers to libdevice's names


def names(library: str | None) -> list[str]:
    """The names of a library's functions, or of all."""
    return sorted(set().union(*(table(candidate) for candidate in ([library] if library else _TABLES))))
