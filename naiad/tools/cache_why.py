"""`naiad cache why NAME`: in which parts of the key the entries of one kernel differ."""

import argparse
import difflib
import re
import time
from collections.abc import Iterator
from typing import Any

from naiad import knobs
from naiad.tools.cache import Kept, counted, entries, shown_age

PARTS = {
    "source": "the kernel's source", "line": "the line that it starts in", "dependencies": "functions that it calls",
    "globals": "globals that it reads", "signature": "types of the arguments", "constants": "constants",
    "attributes": "what is known of the arguments (divisibility)", "options": "options of the launch",
    "environment": "environment variables", "target": "target", "toolchain": "the CPU's features, LLVM, other tools",
    "naiad": "naiad itself", "stages hook": "the stages hook", "pipeline hooks": "hooks of pipelines",
    "override": "ir_override",
}  # fmt: skip
"""Part of a key to what it is."""


def why(args: argparse.Namespace) -> int:
    """Each entry beside the earlier one that it differs from least. 1 where there is no such kernel."""
    found = [kept for kept in entries(args.name) if kept.parts]
    if not found:
        print(f"no kernel called {args.name} is in {knobs.cache.dir}")
        return 1
    print(f"{args.name}: {counted(len(found))}")
    for i, kept in enumerate(found):
        age = shown_age(time.time() - kept.group.written)
        print(f"\n{kept.key[:12]}  {age} ago  {kept.target}  {kept.signature}  {kept.options}".rstrip())
        if i == 0:
            print("    the first that is here")
            continue
        nearest = min(reversed(found[:i]), key=lambda other: len(differing(other, kept)))
        print(f"    beside {nearest.key[:12]}:")
        for line in explained(nearest, kept):
            print(f"    {line}")
    return 0


def differing(before: Kept, after: Kept) -> list[str]:
    """The parts of the key that are not the same."""
    return [part for part in PARTS if before.parts.get(part) != after.parts.get(part)]


def explained(before: Kept, after: Kept) -> Iterator[str]:
    """A line for each part that differs, and under it what differs in it."""
    parts = differing(before, after)
    if not parts:
        yield "the same in all that is recorded: a constant, a hook or a pass of the user's without a name of its own"
    for part in parts:
        old, new = before.parts.get(part), after.parts.get(part)
        yield f"{PARTS[part]} ({part}):"
        if part == "source":
            yield from (f"    {line}" for line in _edited(str(old), str(new)))
        elif isinstance(old, dict) or isinstance(new, dict):
            yield from (f"    {line}" for line in _changed(old or {}, new or {}))
        else:
            yield f"    {_short(old)} -> {_short(new)}"


def _edited(old: str, new: str) -> list[str]:
    """The lines that were taken away and put in."""
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
    return [line for line in lines if not line.startswith("@@")]


def _changed(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield f"{name}: {_short(old.get(name, 'nothing'))} -> {_short(new.get(name, 'nothing'))}"


def _short(value: Any) -> str:
    """Of a digest its first letters; of a long text both ends."""
    text = re.sub(r"\b([0-9a-f]{12})[0-9a-f]{28,}", r"\1", str(value))
    return text if len(text) <= 200 else f"{text[:120]} ... {text[-60:]}"
