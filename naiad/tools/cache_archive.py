"""`naiad cache export` and `import`: entries as one file, for other machines with the same versions.

The archive is a tar of the entries as they are on disk. Their keys name no path and no time, so the machine that gets
them finds them where naiad, LLVM, the kernels and the target are the same. Like the cache itself it holds code that
will be run: import what you trust.
"""

import argparse
import io
import json
import os
import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

from naiad import knobs
from naiad.compiler.store import SUFFIX, Entry, FileStore, decode, parts_of
from naiad.files import LEFTOVER
from naiad.tools.cache import counted, entries, shown_size

MANIFEST = "naiad-cache.json"
NAME = re.compile(r"[0-9a-f]{64}\.naiad")
LARGEST = 2**31
"""Bytes; no entry is larger."""


def add_commands(commands: Any) -> None:
    """Declares the two commands."""
    export = commands.add_parser("export", help="write the entries, or those of some kernels, into one file")
    export.add_argument("file")
    export.add_argument("names", nargs="*", metavar="NAME", help="kernels (default: all)")
    export.set_defaults(action=export_entries)
    bring = commands.add_parser("import", help="take in the entries of a file that `export` wrote (and that you trust)")
    bring.add_argument("file")
    bring.set_defaults(action=import_entries)


def export_entries(args: argparse.Namespace) -> int:
    """Sound entries only. 1 where there is nothing to write."""
    chosen = [kept for kept in entries() if kept.entry and kept.group.kind == "kernel"
              and (not args.names or kept.name in args.names)]  # fmt: skip
    if missing := sorted(set(args.names) - {kept.name for kept in chosen}):
        print(f"no kernel called {', '.join(missing)} is in {knobs.cache.dir}")
        return 1
    if not chosen:
        print(f"no kernel is in {knobs.cache.dir}")
        return 1
    from naiad import __version__

    manifest = {"naiad": __version__, "entries": len(chosen), "names": sorted({kept.name for kept in chosen})}
    aside = Path(f"{args.file}.{os.getpid()}{LEFTOVER}")
    try:
        with tarfile.open(aside, "w:gz", compresslevel=4) as archive:
            _add(archive, MANIFEST, json.dumps(manifest).encode())
            for kept in chosen:
                _add(archive, kept.key + SUFFIX, Path(kept.group.path).read_bytes())
        aside.replace(args.file)
    finally:
        aside.unlink(missing_ok=True)
    print(f"{counted(len(chosen))} written to {args.file}, {shown_size(os.path.getsize(args.file))}")
    return 0


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    """Puts in a file without times and owners, so that the same entries make the same archive."""
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def import_entries(args: argparse.Namespace) -> int:
    """Each entry is checked before it is taken in; 1 where the file is no archive, or an entry of it is not kept."""
    store, count = FileStore(knobs.cache.dir), Counter[str]()
    try:
        with tarfile.open(args.file) as archive:
            if archive.next() is None or archive.getmembers()[0].name != MANIFEST:
                raise ValueError("it does not begin with naiad's manifest")
            for member in archive:
                if member.name != MANIFEST:
                    count[_take(store, archive, member)] += 1
    except (OSError, tarfile.TarError, ValueError, EOFError) as error:
        print(f"{args.file} is no archive of `naiad cache export`, or is damaged: {error}")
        return 1
    strange = count["of no use here"]
    print(f"{counted(count['new'] + strange)} imported into {knobs.cache.dir}; {count['present']} were there already")
    if strange:
        print(f"{counted(strange)} of them can serve only machines with another naiad, LLVM or CPU")
    if count["damaged"]:
        print(f"{counted(count['damaged'])} left out, which the file holds damaged")
    if count["unwritten"]:
        print(f"{counted(count['unwritten'])} could not be written")
    return int(count["damaged"] + count["unwritten"] > 0)


def _take(store: FileStore, archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    """Takes in one entry; says how it was."""
    file = archive.extractfile(member) if member.isfile() else None
    if file is None or not NAME.fullmatch(member.name) or member.size > LARGEST:
        return "damaged"
    data, key = file.read(), member.name.removesuffix(SUFFIX)
    try:
        entry = decode(data, key)
    except ValueError:
        return "damaged"
    if os.path.exists(store.path(key)):
        return "present"
    if not store.write(key, data):  # which has said why
        return "unwritten"
    return "new" if _fits(entry) else "of no use here"


def _fits(entry: Entry) -> bool:
    """Whether a compilation on this machine can ask for the entry."""
    from naiad.backends import find
    from naiad.backends.base import GPUTarget
    from naiad.compiler.version import version

    if not (parts := parts_of(entry)):
        return True  # a tuning: nothing is recorded of it
    try:
        backend = find(GPUTarget(**entry.metadata["target"]))
    except (RuntimeError, ValueError, TypeError, KeyError):
        return False
    now = version(backend.sources)
    return parts["naiad"] == now.naiad and parts["toolchain"] == f"{backend.hash()} {now.libraries}"
