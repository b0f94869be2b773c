"""`naiad env`: every environment variable that naiad knows, its value now, its default, and what it is for."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from naiad import knobs
from naiad.environment import NvidiaTool, env_base


@dataclass(frozen=True)
class Row:
    """A variable. `value` is None where it cannot be read, with the reason in `error`; `without_effect` says why a
    variable of Triton's means nothing here."""

    variable: str
    knob: str
    type: str
    value: Any
    default: Any
    is_set: bool
    meaning: str
    without_effect: str = ""
    error: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as a JSON list, one object a variable")
    parser.set_defaults(action=show)


def show(args: argparse.Namespace) -> int:
    """Prints the table; what is set is marked by a star."""
    if args.json:
        print(json.dumps([asdict(row) for row in rows()], indent=2))
        return 0
    group = ""
    for row in rows():
        if group != (group := row.knob.partition(".")[0]):
            print(f"{group}: {type(knobs.groups()[group]).__doc__}")
        value = row.error or f"{row.value!r}" + ("" if row.value == row.default else f" (default {row.default!r})")
        print(f"  {'*' if row.is_set else ' '} {row.variable} ({row.type}) = {value}\n      {row.meaning}")
        if row.without_effect:
            print(f"      without effect: {row.without_effect}")
    return 0


def rows() -> Iterator[Row]:
    """The table, group by group."""
    for name, group in knobs.groups().items():
        for field, knob in group.knob_descriptors.items():
            yield _row(f"{name}.{field}", group, field, knob)


def _row(name: str, group: Any, field: str, knob: env_base[Any]) -> Row:
    default, value, error = _plain(knob.fallback()), None, ""
    try:
        value = _plain(getattr(group, field))
    except (RuntimeError, ImportError, AttributeError) as problem:
        error = f"({problem})"
    is_set = knob.is_set() or field in vars(group)
    return Row(knob.key, name, knob.type_name, value, default, is_set, knob.doc, knob.unused, error)


def _plain(value: Any) -> Any:
    """As JSON can hold it."""
    if isinstance(value, NvidiaTool):
        return value.path
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    return value
