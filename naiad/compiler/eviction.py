"""Keeping the cache's folder below NAIAD_CACHE_SIZE: what was used least recently goes first, an entry at a time.

A hit pays nothing for it. A write looks at the folder when its key says so (one in 64, so that it takes no shared
count among processes) or when this process has written a good part of the limit since its last look; the folder may
be larger than the limit by that much. What another process is reading stays readable; what two delete at once is gone.
"""

import contextlib
import math
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass

from naiad import knobs
from naiad.files import LEFTOVER

ENTRY, MARK = ".naiad", ".naiad"
"""How the names of entries end; the file that says that a folder is one of naiad's
cache managers' (the folder may be shared with Triton, whose files are not ours to delete)."""
NATIVE, MEMO = "native", "version-"
LOOKS = 64
SHARE = 32
"""A process looks again after it has written this part of the limit."""
KEPT = 0.9
"""How much of the limit an eviction leaves, so that the next write is not the next eviction."""
LIVES = {"leftover": 3600.0, "memo": 30 * 86400.0}
"""Seconds after which a file that was being written has lost its writer; a digest is then made again, if it is used."""
USED = 3600.0
"""How exact the time of last use is. Many mounts do not keep it, so a hit does, once in this many seconds."""

_written: dict[str, int] = {}


@dataclass(frozen=True)
class Group:
    """What is kept and deleted as one: an entry (`kernel`), a cache manager's folder (`files`), native code that naiad
    itself needs (`native`), a digest of naiad's files (`memo`), or what a killed writer left (`leftover`)."""

    path: str
    kind: str
    size: int
    used: float
    written: float

    def delete(self) -> None:
        """Deletes it. A folder disappears at once; nothing is raised where another process was faster."""
        if self.kind in ("kernel", "native", "memo") or os.path.isfile(self.path):
            with contextlib.suppress(OSError):
                os.remove(self.path)
            return
        gone = f"{self.path}.{os.getpid()}.{os.urandom(4).hex()}{LEFTOVER}"
        with contextlib.suppress(OSError):
            os.rename(self.path, gone)
            shutil.rmtree(gone, ignore_errors=True)


def mark_used(path: str) -> bool:
    """Sets the time of last use, at most once in USED seconds (that of writing stays). False where there is no file."""
    try:
        facts = os.stat(path)
    except OSError:
        return False
    if time.time() - max(facts.st_atime, facts.st_mtime) > USED:
        with contextlib.suppress(OSError):
            os.utime(path, ns=(time.time_ns(), facts.st_mtime_ns))
    return True


def make_room(folder: str, key: str, size: int) -> None:
    """To be called after `size` bytes were written for the hexadecimal `key`."""
    limit = knobs.naiad.cache_size
    if limit <= 0:
        return
    _written[folder] = _written.get(folder, 0) + size
    if int(key[:8], 16) % LOOKS and _written[folder] * SHARE < limit:
        return
    _written[folder] = 0
    evict(folder, limit)


def evict(folder: str, limit: int, kept: float = KEPT) -> list[Group]:
    """Deletes what nobody will finish writing and, above `limit` bytes, down to `kept` of it; gives what it deleted."""
    found = list(groups(folder))
    gone = [group for group in found if time.time() - group.written > LIVES.get(group.kind, math.inf)]
    counted = sorted((group for group in found if group.kind in ("kernel", "files")), key=lambda group: group.used)
    total = sum(group.size for group in counted)
    if total > limit:
        for group in counted:
            if total <= limit * kept:
                break
            gone.append(group)
            total -= group.size
    for group in gone:
        group.delete()
    return gone


def groups(folder: str) -> Iterator[Group]:
    """All that is naiad's in a cache folder, in no order. What vanishes meanwhile is left out."""
    try:
        items = list(os.scandir(folder))
    except OSError:
        return
    for item in items:
        with contextlib.suppress(OSError):
            if item.is_dir():
                yield from _folder(item)
            elif kind := _kind(item.name):
                yield _group(item.path, kind, [item.stat()])


def _kind(name: str) -> str:
    """Of a file; empty where it is not naiad's."""
    if name.endswith(LEFTOVER) and (ENTRY in name or name.startswith(MEMO)):
        return "leftover"
    if name.endswith(ENTRY):
        return "kernel"
    return "memo" if name.startswith(MEMO) else ""


def _folder(item: os.DirEntry[str]) -> Iterator[Group]:
    if item.name == NATIVE:
        for file in os.scandir(item.path):
            yield _group(file.path, "native" if file.name.endswith(".o") else "leftover", [file.stat()])
    elif os.path.exists(os.path.join(item.path, MARK)):
        kind = "leftover" if item.name.endswith(LEFTOVER) else "files"
        if facts := [file.stat() for file in os.scandir(item.path)]:  # else another process is deleting it
            yield _group(item.path, kind, facts)


def _group(path: str, kind: str, facts: list[os.stat_result]) -> Group:
    written = max(fact.st_mtime for fact in facts)
    used = max(written, *(fact.st_atime for fact in facts))
    return Group(path, kind, sum(fact.st_size for fact in facts), used, written)
