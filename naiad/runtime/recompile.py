"""NAIAD_DEBUG=recompile: a line on stderr for each cause of a compilation: what differs from the nearest one before.

A kernel is known by its name, so that one whose file was edited and loaded again is compared with what it was.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from naiad import knobs
from naiad.language.function import Function

KEPT = 64
"""Compilations of a kernel that are remembered."""


@dataclass(frozen=True)
class Compiled:
    """What one compilation depended on."""

    arguments: dict[str, str]
    options: dict[str, Any]
    function: dict[str, Any]
    variables: dict[str, str] = field(default_factory=knobs.cache_invalidating_values)

    def causes(self, before: "Compiled") -> Iterator[str]:
        """What is another than it was, in words."""
        yield from _changes("", before.arguments, self.arguments)
        yield from _changes("option ", before.options, self.options)
        yield from _changes("variable ", before.variables, self.variables)
        was, now = before.function, self.function
        yield from _changes("global ", was["globals"], now["globals"])
        if was["source"] != now["source"]:
            yield f"its source was edited{_first_change(was['source'], now['source'])}"
        elif was["line"] != now["line"]:
            yield f"line {was['line']} of its file was where it begins, is {now['line']}"
        for name, key in now["dependencies"].items():
            if was["dependencies"].get(name, key) != key:
                yield f"{name}, which it calls, was edited or moved, or reads another global"


_seen: dict[tuple[str, Any], list[Compiled]] = {}


def explain(function: Any, target: Any, seen: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Says why `function` is compiled for what `seen` says of the arguments."""
    arguments = {name: text_of(*pair) for name, pair in zip(function.arg_names, seen, strict=True)}
    now = Compiled(arguments, {name: value for name, value in options.items() if value}, function.described())
    earlier = _seen.setdefault((function._fn_name, target), [])
    for line in lines(now, earlier):
        print(f"naiad: {function.__name__} is compiled {line}", file=sys.stderr)
    earlier.append(now)
    del earlier[:-KEPT]


def lines(now: Compiled, earlier: list[Compiled]) -> list[str]:
    """The causes, against the compilation that has the fewest; of several the latest."""
    if not earlier:
        return ["for the first time"]
    causes = min((list(now.causes(before)) for before in reversed(earlier)), key=len)
    causes = causes or ["nothing differs, it was dropped from the cache in memory"]
    return [f"again: {cause}" for cause in causes]


def _changes(what: str, before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    for name in {**before, **now}:
        was, is_ = before.get(name, "not given"), now.get(name, "not given")
        if was != is_:
            yield f"{what}{name} was {was}, is {is_}"


def _first_change(was: str, now: str) -> str:
    """The first line that differs, as it is now."""
    old, new = was.splitlines(), now.splitlines()
    for i, line in enumerate(new):
        if i >= len(old) or old[i] != line:
            return f", from line {i + 1} on: {line.strip()}"
    return ", which lost its last lines"


def text_of(kind: Any, known: Any) -> str:
    """An argument's specialisation in words: `*fp32 divisible by 16`, `i32`, `the i32 1`, `constexpr 64`."""
    if isinstance(kind, tuple):
        return f"({', '.join(map(text_of, kind, known))})"
    if kind == "constexpr":
        return f"constexpr {_value(known)}"
    if known == 1 and known is not True:
        return f"the {kind} 1"
    letters = known if isinstance(known, str) else ""
    aligned = " divisible by 16" if "D" in letters and "=" not in letters else ""
    rest = letters if "=" in letters else letters.replace("D", "")
    return f"{kind}{aligned}{' ' if rest else ''}{rest}"


def _value(frozen: Any) -> str:
    """A frozen constant as it was before."""
    if not isinstance(frozen, tuple) or len(frozen) != 2 or not isinstance(frozen[0], type):
        return repr(frozen)
    kind, value = frozen
    if kind is float:
        import struct

        return repr(struct.unpack("<d", value)[0])
    if issubclass(kind, Function):
        return f"a function ({value[:8]})"  # what it is a hash of
    if issubclass(kind, tuple | list) and isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    return repr(value)
