"""The texts of a compiled kernel, stage by stage, made when they are asked for."""

from collections.abc import Callable, ItemsView, ValuesView
from typing import Any


class Lazy:
    """A value that `make` gives when it is first asked for; `ready` if that is only to read it."""

    __slots__ = ("make", "ready")

    def __init__(self, make: Callable[[], Any], ready: bool = False) -> None:
        self.make, self.ready = make, ready


class AsmDict(dict[str, Any]):
    """Name of a stage to its text, or to its code as bytes; reading a value that is `Lazy` makes it."""

    def __init__(self, stages: dict[str, Any], derive: Callable[[str, "AsmDict"], Any] | None = None) -> None:
        super().__init__(stages)
        self._derive = derive

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if isinstance(value, Lazy):
            value = self[name] = value.make()
        return value

    def __missing__(self, name: str) -> Any:
        value = self._derive(name, self) if self._derive else None
        if value is None:
            raise KeyError(f"Unknown key: '{name}'; this kernel has {', '.join(self)}")
        self[name] = value
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process: the code, and the texts that need not be made for it."""
        ready = [name for name, value in dict.items(self) if not isinstance(value, Lazy) or value.ready]
        return AsmDict, ({name: self[name] for name in ready},)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return {name: self[name] for name in self}.values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return {name: self[name] for name in self}.items()


def text_of_module(module: Any) -> Any:
    """The text of a stage's result: IR in the syntax of its dialects; text and code as they are."""
    if isinstance(module, str | bytes):
        return module
    from naiad.ir.text import print_module

    return print_module(module)
