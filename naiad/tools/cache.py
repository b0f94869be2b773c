"""`naiad cache`: what is in the cache of compiled kernels, why it is there, and how to be rid of it."""

import argparse
import base64
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from naiad import knobs
from naiad.compiler.eviction import Group, evict, groups
from naiad.compiler.store import Entry, decode, parts_of
from naiad.environment import parse_size

__all__ = ["Kept", "add_commands", "counted", "entries", "shown_age", "shown_size"]
AGES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
KINDS = {"kernel": "entries", "files": "folders of cache managers", "native": "launchers and other native code",
         "leftover": "unfinished files", "memo": "digests of naiad's files"}  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """An entry on disk. `entry` is None where the file is damaged, with the reason in `fault`."""

    group: Group
    key: str
    entry: Entry | None
    fault: str = ""

    @property
    def name(self) -> str:
        return str(self.entry.metadata.get("name", "?")) if self.entry else "?"

    @cached_property
    def parts(self) -> dict[str, Any]:
        """What the key was made of."""
        return parts_of(self.entry) if self.entry else {}

    @property
    def target(self) -> str:
        target = self.entry.metadata.get("target", {}) if self.entry else {}
        return f"{target.get('backend', '-')}:{target.get('arch', '-')}"

    @property
    def signature(self) -> str:
        """The parameters with their types, and values where they are constants."""
        constants = self.parts.get("constants", {})
        types = {name: text.strip("'\"") for name, text in self.parts.get("signature", {}).items()}
        told = [f"{name}={constants[name]}" if name in constants and type_ == "constexpr"
                else f"{name}: {type_}" + (f" = {constants[name]}" if name in constants else "")
                for name, type_ in types.items()]  # fmt: skip
        return f"({', '.join(told)})" if types else ""

    @property
    def options(self) -> str:
        """The options of the launch that are not the backend's own."""
        usual = _usual_options(self.target.partition(":")[0])
        told = self.parts.get("options", {})
        return " ".join(f"{name}={text}" for name, text in told.items() if usual.get(name) != text)


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Declares the commands under `naiad cache`; without one it is `info`."""
    from naiad.tools import cache_archive, cache_why

    parser.set_defaults(action=info)
    commands = parser.add_subparsers(dest="what", metavar="COMMAND")
    commands.add_parser("info", help="where it is, how much is in it").set_defaults(action=info)
    ls = commands.add_parser("ls", help="a line an entry: age, size, target, kernel, signature, options")
    ls.add_argument("name", nargs="?", help="only kernels of this name")
    ls.set_defaults(action=list_entries)
    why = commands.add_parser("why", help="why a kernel was compiled again: how its entries' keys differ")
    why.add_argument("name")
    why.set_defaults(action=cache_why.why)
    commands.add_parser("clear", help="delete all that is naiad's").set_defaults(action=clear)
    prune = commands.add_parser("prune", help="delete what was not used for long, or the oldest beyond a size")
    prune.add_argument("--size", type=_size, help="keep at most this much: 500MB, 2GB (default: NAIAD_CACHE_SIZE)")
    prune.add_argument("--age", type=_age, help="delete what was not used for this long: 12h, 7d, 4w")
    prune.set_defaults(action=prune_entries)
    cache_archive.add_commands(commands)


def info(args: argparse.Namespace) -> int:
    """The folder, the limit, and what is in it by kind."""
    found = list(groups(knobs.cache.dir))
    limit, manager = knobs.naiad.cache_size, knobs.cache.manager_class
    print(f"folder   {knobs.cache.dir}")
    print(f"limit    {shown_size(limit) if limit > 0 else 'none'} (NAIAD_CACHE_SIZE)")
    if manager:
        print(f"manager  {manager.__module__}:{manager.__qualname__} (TRITON_CACHE_MANAGER)")
    for kind, words in KINDS.items():
        some = [group for group in found if group.kind == kind]
        if some or kind == "kernel":
            print(f"{words}: {len(some)}, {shown_size(sum(group.size for group in some))}")
    used = Counter(_period(time.time() - group.used) for group in found if group.kind in ("kernel", "files"))
    print("used     " + ", ".join(f"{used[period]} {period}" for period in PERIODS))
    return 0


PERIODS = {"in the last hour": 3600.0, "today": 86400.0, "in the last week": 7 * 86400.0, "longer ago": float("inf")}


def _period(age: float) -> str:
    return next(period for period, most in PERIODS.items() if age < most)


def list_entries(args: argparse.Namespace) -> int:
    """Oldest first. 1 where a kernel was asked for that is not there."""
    count = 0
    for kept in entries(args.name):
        count += 1
        age, size = shown_age(time.time() - kept.group.written), shown_size(kept.group.size)
        words = [kept.name + kept.signature, kept.options] if kept.entry else [f"damaged: {kept.fault}"]
        print(f"{age:>6}  {size:>9}  {kept.key[:12]}  {kept.target:<12}  {'  '.join(filter(None, words))}")
    if args.name and not count:
        print(f"no kernel called {args.name} is in {knobs.cache.dir}")
    return int(bool(args.name) and not count)


def clear(args: argparse.Namespace) -> int:
    """Deletes all that is naiad's; what else is in the folder stays."""
    found = list(groups(knobs.cache.dir))
    for group in found:
        group.delete()
    print(_deleted(found))
    return 0


def prune_entries(args: argparse.Namespace) -> int:
    """By time of last use, and by size."""
    gone = []
    if args.age is not None:
        old = time.time() - args.age
        gone = [group for group in groups(knobs.cache.dir) if group.kind != "native" and group.used < old]
        for group in gone:
            group.delete()
    limit = args.size if args.size is not None else knobs.naiad.cache_size
    if args.size is not None or (args.age is None and limit > 0):
        gone += evict(knobs.cache.dir, limit, kept=1.0)
    print(_deleted(gone))
    return 0


def _deleted(gone: list[Group]) -> str:
    count = len([group for group in gone if group.kind != "memo"])
    return f"{counted(count)} deleted from {knobs.cache.dir}, {shown_size(sum(group.size for group in gone))}"


def entries(name: str | None = None) -> Iterator[Kept]:
    """The compiled kernels (and tunings) that the cache holds, in the order in which they were written."""
    for group in sorted(groups(knobs.cache.dir), key=lambda group: group.written):
        if group.kind == "kernel":
            found = [_read_entry(group)]
        else:
            found = list(_read_folder(group)) if group.kind == "files" else []
        yield from (kept for kept in found if name is None or name == kept.name)


def _read_entry(group: Group) -> Kept:
    key = os.path.basename(group.path).partition(".")[0]
    try:
        with open(group.path, "rb") as file:
            return Kept(group, key, decode(file.read(), key))
    except (OSError, ValueError) as error:
        return Kept(group, key, None, str(error))


def _read_folder(group: Group) -> Iterator[Kept]:
    """What a cache manager's folder holds of compiled kernels; files that packages keep there are theirs."""
    folder = os.path.basename(group.path)
    try:
        key = base64.b32decode(folder + "=" * (-len(folder) % 8)).hex()
        names = [name for name in os.listdir(group.path) if name.startswith("__grp__") and name.endswith(".json")]
    except (OSError, ValueError):
        return
    for name in names:
        try:
            with open(os.path.join(group.path, name.removeprefix("__grp__")), "rb") as file:
                metadata = json.load(file)
            if metadata.get("entry_key") == key:
                yield Kept(group, key, Entry(metadata, {}, bytes.fromhex(metadata["key_parts"])))
        except (OSError, ValueError, KeyError, AttributeError) as error:
            yield Kept(group, key, None, str(error))


def _usual_options(backend: str) -> dict[str, str]:
    """A backend's options where a launch names none; empty where there is no such backend."""
    from naiad.backends import find
    from naiad.backends.base import GPUTarget

    arch: int | str = 90 if backend == "cuda" else "host" if backend == "cpu" else ""
    try:
        return {name: repr(value) for name, value in vars(find(GPUTarget(backend, arch, 32)).parse_options({})).items()}
    except (RuntimeError, ValueError, KeyError):
        return {}


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _age(text: str) -> float:
    """Seconds: `30m`, `12h`, `7d`, `4w`, or a number of seconds."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in AGES else (text, "s")
    try:
        return float(number) * AGES[unit]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no age: expected a number and s, m, h, d or w") from None


def counted(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def shown_size(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, {"B": "kB", "kB": "MB", "MB": "GB", "GB": "TB"}[unit]
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def shown_age(seconds: float) -> str:
    for unit, size in reversed(AGES.items()):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
