"""Cache managers of Triton's interface: groups of files under a key, in a folder or on a remote server.

naiad keeps its own entries in `compiler/store.py`; these are what TRITON_CACHE_MANAGER may name instead, and what
packages use for files of their own.
"""

import functools
import json
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from naiad import knobs
from naiad.compiler.compiler import get_cache_key, version_key
from naiad.compiler.store import base32 as _base32

__all__ = ["CacheManager", "FileCacheManager", "RedisRemoteCacheBackend", "RemoteCacheBackend", "RemoteCacheManager",
           "_base32", "get_cache_key", "get_cache_manager", "get_dump_manager", "get_override_manager", "knobs",
           "triton_key"]  # fmt: skip


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
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _make_path(self, filename: str) -> str:
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename: str) -> bool:
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename: str) -> str | None:
        return self._make_path(filename) if self.has_file(filename) else None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Written aside and renamed: a reader sees all of it or nothing."""
        path = self._make_path(filename)
        os.makedirs(self.cache_dir, exist_ok=True)
        aside = f"{path}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp"
        with open(aside, "xb") as file:
            file.write(data if isinstance(data, bytes) else str(data).encode())
        os.replace(aside, path)
        return path

    def get_group(self, filename: str) -> dict[str, str] | None:
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as file:
            group = json.load(file).get("child_paths")
        return group if group and all(map(os.path.exists, group.values())) else None

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}", binary=False)


class RemoteCacheBackend:
    """A store on another machine: name of a file to its content, under one key."""

    def __init__(self, key: str) -> None:
        self.key = key

    def get(self, filenames: Iterable[str]) -> Mapping[str, bytes]:
        """The content of those files that are there."""
        raise NotImplementedError

    def put(self, filename: str, data: bytes) -> Any:
        raise NotImplementedError


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """A redis server, at `knobs.redis`."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        import redis

        self._redis = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _get_key(self, filename: str) -> str:
        return knobs.redis.key_format.format(key=self.key, filename=filename)

    def get(self, filenames: Iterable[str]) -> Mapping[str, bytes]:
        names = list(filenames)
        found = self._redis.mget([self._get_key(name) for name in names])
        return {name: data for name, data in zip(names, found, strict=True) if data is not None}

    def put(self, filename: str, data: bytes) -> Any:
        self._redis.set(self._get_key(filename), data)


class RemoteCacheManager(CacheManager):
    """Files on the store that `knobs.cache.remote_manager_class` names, written to a local folder when asked for."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        backend = knobs.cache.remote_manager_class
        if not backend:
            raise RuntimeError(
                "Unable to instantiate RemoteCacheManager, TRITON_REMOTE_CACHE_BACKEND doesn't point to a valid class"
            )
        self._local_only = dump or override
        self._backend = backend(key)
        self._files = FileCacheManager(key, override=override, dump=dump)

    def get_file(self, filename: str) -> str | None:
        if self._local_only:
            return self._files.get_file(filename)
        found = self._backend.get([filename])
        return self._files.put(found[filename], filename) if filename in found else None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        content = data if isinstance(data, bytes) else str(data).encode()
        if not self._local_only:
            self._backend.put(filename, content)
        return self._files.put(content, filename)

    def get_group(self, filename: str) -> dict[str, str] | None:
        if self._local_only:
            return self._files.get_group(filename)
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path) as file:
            names = list(json.load(file).get("child_paths") or ())
        found = self._backend.get(names)
        if not names or set(found) != set(names):
            return None
        return {name: self._files.put(data, name) for name, data in found.items()}

    def put_group(self, filename: str, group: dict[str, str]) -> str | None:
        if self._local_only:
            return self._files.put_group(filename, group)
        return self.put(json.dumps({"child_paths": sorted(group)}), f"__grp__{filename}")


def get_cache_manager(key: str) -> CacheManager:
    """The manager of compiled files under a hexadecimal key."""
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key))


def get_override_manager(key: str) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), override=True)


def get_dump_manager(key: str) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), dump=True)


@functools.cache
def triton_key() -> str:
    """What stands for the compiler's version in keys."""
    return f"{knobs.naiad.triton_version}-{version_key()}"
