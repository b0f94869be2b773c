"""What stands for naiad and the libraries under it in a key: the content of the files that a target's code depends on.

Reading them at each start would be slow. So the digest of their content is remembered in the cache's folder, beside a
digest of what the file system says of them (path, size, times, inode): an edit changes that, and they are read again.
The key itself has no path and no time in it: another machine with the same files has the same key.
"""

import contextlib
import functools
import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from naiad import knobs
from naiad.backends.base import SOURCES
from naiad.files import write_whole

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARIES = ("llvmlite", "xdsl")
SETTLED_NS = 2_000_000_000
"""A file that changed less than this ago may change again without a trace: what was read of it is not remembered."""

Facts = list[tuple[str, os.stat_result]]
"""Relative path to what the file system says, in the order of the paths."""


@dataclass(frozen=True)
class Version:
    """Digests of naiad's own files and of what it stands on (Python, LLVM, xDSL)."""

    naiad: str
    libraries: str

    @property
    def key(self) -> str:
        return f"{self.naiad}{self.libraries}"


def version_key(sources: Sequence[str] = SOURCES) -> str:
    """The text that goes into keys. `sources`: the parts of naiad that count, as in SOURCES."""
    return version(tuple(sources)).key


@functools.cache
def version(sources: tuple[str, ...] = SOURCES, root: str = ROOT) -> Version:
    """What the key holds for these parts of the naiad in `root`, once a process."""
    own, libraries = facts(root, sources), _libraries()
    seen = _seen([*own, *libraries])
    memo = os.path.join(knobs.cache.dir, f"version-{_digest(root, *sources)[:16]}")
    if known := _recall(memo, seen):
        return known
    found = Version(_content(own, root), _digest(*_releases(), _content(libraries)))
    newest = max((max(stat.st_mtime_ns, stat.st_ctime_ns) for _, stat in [*own, *libraries]), default=0)
    if time.time_ns() - newest > SETTLED_NS:
        _remember(memo, seen, found)
    return found


def facts(root: str, sources: Sequence[str]) -> Facts:
    """The Python files that `sources` name in `root`."""
    found: Facts = []
    folders = []
    for source in sources:
        if source.endswith(".py"):
            found.append((source, os.stat(os.path.join(root, source))))
        else:
            folders.append((source.removesuffix("**").rstrip("/"), source.endswith("**")))
    while folders:
        folder, below = folders.pop()
        for item in os.scandir(os.path.join(root, folder)):
            if item.name.endswith(".py"):
                found.append((f"{folder}/{item.name}", item.stat()))
            elif below and item.is_dir():
                folders.append((f"{folder}/{item.name}", True))
    found.sort(key=lambda fact: fact[0])
    return found


def _releases() -> list[str]:
    """Python's release and those of the libraries, as installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = [f"python {sys.version_info[0]}.{sys.version_info[1]}"]
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return found


def _libraries() -> Facts:
    """A file of each library: installing another release writes it anew. None of it is imported."""
    return [fact for name in LIBRARIES if (fact := _installed_file(name)) is not None]


def _installed_file(library: str) -> tuple[str, os.stat_result] | None:
    """Looks in the folders of sys.path: asking the import system takes ten times as long, and comes last."""
    for folder in sys.path:
        path = os.path.join(folder, library, "__init__.py")
        try:
            return path, os.stat(path)
        except OSError:
            continue
    spec = importlib.util.find_spec(library)
    return None if spec is None or not spec.origin else (spec.origin, os.stat(spec.origin))


def _seen(files: Facts) -> str:
    """A digest of what the file system says of files. A change time cannot be set back, unlike a modification time."""
    told = [f"{path} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino}" for path, s in files]
    return _digest(*told)


def _content(files: Facts, root: str = "") -> str:
    """A digest of the files' content and of their names: paths below `root`, else without their folders' folder."""
    digest = hashlib.sha256()
    for path, _ in files:
        with open(os.path.join(root, path), "rb") as file:
            data = file.read()
        name = path if root else "/".join(path.split(os.sep)[-2:])
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _recall(memo: str, seen: str) -> Version | None:
    """What was remembered of files that look like this; None where nothing was, or the memo is damaged."""
    try:
        with open(memo, "rb") as file:  # Latin-1, as ASCII: importing another codec would take longer than all else
            words = file.read().decode("latin-1").split()
    except OSError:
        return None
    if len(words) != 4 or words[0] != seen or words[3] != _digest(*words[:3]):
        return None
    return Version(words[1], words[2])


def _remember(memo: str, seen: str, found: Version) -> None:
    """A folder that cannot be written costs the next process the reading."""
    words = [seen, found.naiad, found.libraries]
    with contextlib.suppress(OSError):
        write_whole(memo, " ".join([*words, _digest(*words)]).encode())
