"""Groups of files under a key in a folder: Triton's interface of a cache, and its usual implementation.

A file is written aside, flushed to the disk and renamed: a reader sees all of it or nothing, also after a power cut (a
file alone has no checksum). A group knows the digests of its files, and one that is damaged does not exist.
"""

import contextlib
import hashlib
import json
import os
from abc import ABC, abstractmethod
from typing import Any

from naiad import knobs
from naiad.compiler.eviction import MARK, mark_used
from naiad.files import write_whole


class CacheManager(ABC):
    """Files under one key. A group is a set of files that belong together."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key

    @abstractmethod
    def get_file(self, filename: str) -> str | None:
        """The path of a file, or None."""

    @abstractmethod
    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Keeps a file; gives its path."""

    @abstractmethod
    def get_group(self, filename: str) -> dict[str, str] | None:
        """Name to path of a group's files; None unless all are there."""

    @abstractmethod
    def put_group(self, filename: str, group: dict[str, str]) -> str | None:
        """Says which files belong together."""


class FileCacheManager(CacheManager):
    """Files in a folder of `knobs.cache.dir`, or of the dump or override folder."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        root = knobs.cache.dump_dir if dump else knobs.cache.override_dir if override else knobs.cache.dir
        if not root:
            raise RuntimeError("Could not create or locate cache dir")
        self.cache_dir = os.path.join(root, key)
        self.lock_path = None if override else os.path.join(self.cache_dir, "lock")
        self._is_evictable = not (dump or override)
        if not override:
            with contextlib.suppress(OSError):  # put says what is wrong
                self._make_folder()

    def _make_folder(self) -> None:
        """Makes the folder, marked as one that `naiad cache` may delete."""
        os.makedirs(self.cache_dir, exist_ok=True)
        if self._is_evictable:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(os.path.join(self.cache_dir, MARK), os.O_CREAT | os.O_EXCL | os.O_WRONLY))

    def _make_path(self, filename: str) -> str:
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename: str) -> bool:
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename: str) -> str | None:
        path = self._make_path(filename)
        return path if mark_used(path) else None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Written aside and renamed. OSError where the disk refuses."""
        content = data if isinstance(data, bytes) else str(data).encode()
        try:
            return self._write(content, filename)
        except FileNotFoundError:  # evicted by another process since the folder was made
            return self._write(content, filename)

    def _write(self, content: bytes, filename: str) -> str:
        path = self._make_path(filename)
        self._make_folder()
        write_whole(path, content, lasting=True)
        return path

    def get_group(self, filename: str) -> dict[str, str] | None:
        """Name to path. None where a file is missing, or not what it was when the group was put together."""
        record = self.get_file(f"__grp__{filename}")
        if record is None:
            return None
        try:
            with open(record, encoding="utf-8") as file:
                told = json.load(file)
            names, digests = told["child_paths"], told.get("digests", {})
            paths = {name: self._present(name, names) for name in names}
            if not paths or any(digest_of(paths[name]) != digest for name, digest in digests.items()):
                return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # damaged: whoever asks makes it again
            return None
        return paths if all(map(os.path.exists, paths.values())) else None

    def _present(self, name: str, told: Any) -> str:
        """Where a file of the group is: in this folder (which may have been moved), else where it was."""
        here = self._make_path(name)
        return here if os.path.exists(here) or not isinstance(told, dict) else told[name]

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        digests = {name: digest_of(path) for name, path in group.items() if os.path.exists(path)}
        return self.put(json.dumps({"child_paths": group, "digests": digests}), f"__grp__{filename}", binary=False)


def digest_of(path: str) -> str:
    """The SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
