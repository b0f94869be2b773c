"""The grid of a kernel compiled ahead of time: expressions in C of the launcher's arguments and the constants."""

import re
from collections.abc import Sequence
from typing import Any

from naiad.aot.arguments import Argument, c_name
from naiad.aot.errors import SignatureError
from naiad.aot.signature import Entry, split

__all__ = ["constants_text", "parse_grid"]

WORDS = frozenset((
    "int", "long", "short", "unsigned", "signed", "char", "sizeof", "int32_t", "int64_t", "uint32_t", "uint64_t",
    "size_t",
))  # fmt: skip


def parse_grid(grid: str | int | Sequence[Any], entries: Sequence[Entry], items: Sequence[Argument]) -> tuple[str, ...]:
    """The three sizes as C. They may name arguments and constants (numbers): `"(n + BLOCK - 1) / BLOCK, 1, 1"`."""
    parts = split(grid) if isinstance(grid, str) else [grid] if isinstance(grid, int) else list(grid)
    texts = [str(part).strip() for part in parts]
    if not 1 <= len(texts) <= 3 or not all(texts):
        raise SignatureError("a grid is one to three sizes", expected="such as '(n + 1023) / 1024, 1, 1'",
                             found=repr(grid))  # fmt: skip
    names = {entry.name for entry in entries if is_number(entry)} | {item.name for item in items}
    names |= {entry.name for entry in entries if not entry.is_constant}
    return tuple(_checked(text, names) for text in (*texts, "1", "1")[:3])


def _checked(text: str, names: set[str]) -> str:
    if "//" in text:
        raise SignatureError(f"the size {text!r} of the grid is an expression in C, where // begins a comment",
                             advice="write / , which rounds down there")  # fmt: skip
    if re.search(r"[;{}#\\\n\"]|/\*", text) or text.count("(") != text.count(")"):
        raise SignatureError(f"the size {text!r} of the grid is no expression in C")
    for match in re.finditer(r"\b[A-Za-z_]\w*\b(?!\s*\()", text):
        if match[0] not in names and match[0] not in WORDS:
            raise SignatureError(f"the grid names {match[0]!r}, which is no argument of the launcher",
                                 expected=", ".join(sorted(names)) or "numbers", found=text)  # fmt: skip
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda match: c_name(match[0]) if match[0] in names else match[0], text)


def is_number(entry: Entry) -> bool:
    return entry.is_constant and isinstance(entry.value, int | float)


def constants_text(entries: Sequence[Entry], grid: Sequence[str]) -> str:
    """Lines that declare the constants that the grid names, and arguments that are always 1."""
    used = set(re.findall(r"\b[A-Za-z_]\w*\b", " ".join(grid)))
    lines = []
    for entry in entries:
        name = c_name(entry.name)
        if name in used and (entry.hint == 1 or is_number(entry)):
            value = 1 if entry.hint == 1 else entry.value
            kind = "double" if isinstance(value, float) else "int64_t"
            lines.append(f"    const {kind} {name} = {value if isinstance(value, float) else int(value)};\n")
    return "".join(lines)
