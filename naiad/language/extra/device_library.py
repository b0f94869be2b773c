"""Makes the functions of a device library from its table, each on its first use.

GPUs call the library by its symbols. The CPU and the interpreter have none, and compute the same functions (portable/).
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from naiad.errors import explain
from naiad.language.builtin import builtin
from naiad.language.casts import cast_to
from naiad.language.external import Symbols, call_symbol, resolve
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
        return _call(name, library, [to_tensor(a) for a in args])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name}` of the device library, for each element."
    return builtin(call)


def _call(name: str, library: str | None, values: list[tensor]) -> tensor:
    from naiad.language.target_info import current_target

    target = current_target()
    backend = "cuda" if target is None else target.backend
    if backend not in _TABLES:
        symbols = table("cuda").get(name) or table("hip")[name]
        return _compute(name, values, symbols)
    chosen = library or backend
    if name not in table(chosen):
        raise explain(
            NotImplementedError(f"libdevice.{name} does not exist on {chosen}"),
            expected=f"a function of the device library of {chosen}",
            found=f"{name}, which is one of {next(other for other in _TABLES if name in table(other))}'s",
            advice="choose by the target: `if tl.target_info.is_cuda(): ... else: ...`",
        )
    return call_symbol("", "", values, table(chosen)[name])


def _compute(name: str, values: list[tensor], symbols: Symbols) -> tensor:
    from naiad.language.extra.portable import FUNCTIONS  # not imported until one is called

    values, _, result = resolve(values, symbols)
    return cast_to(FUNCTIONS[name](*values), result)


def names(library: str | None) -> list[str]:
    """The names of a library's functions, or of all."""
    return sorted(set().union(*(table(candidate) for candidate in ([library] if library else _TABLES))))
