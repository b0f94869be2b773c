"""A cache on another machine, in redis or in a store of the user's, in front of the files of this one.

The remote one is asked first, as in Triton. Whatever it does, a launch does not fail for it and hardly waits: where it
is gone, slow or damaged, the local files serve, with one warning, and it is left alone for a while.
"""

import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from naiad import knobs
from naiad.environment import SettingError, warn_once
from naiad.runtime.cache_files import CacheManager, FileCacheManager, digest_of

REST = 30.0
"""Seconds for which a remote cache that failed is not asked again."""
TRAILER = b"\0naiad1\0"
_rests: dict[type, float] = {}
"""Class of a backend to when it may be asked again (time.monotonic)."""


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
    """A redis server, at `knobs.redis`; each answer has `knobs.naiad.remote_timeout` seconds.

    A value is the content and, after it, its digest: what another program or an accident left is not taken for a file.
    """

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self._redis = _client(knobs.redis.host, knobs.redis.port, knobs.naiad.remote_timeout)

    def _get_key(self, filename: str) -> str:
        return knobs.redis.key_format.format(key=self.key, filename=filename)

    def get(self, filenames: Iterable[str]) -> Mapping[str, bytes]:
        names = list(filenames)
        found = self._redis.mget([self._get_key(name) for name in names]) if names else []
        return {name: self._checked(name, data) for name, data in zip(names, found, strict=True) if data is not None}

    def _checked(self, filename: str, data: bytes) -> bytes:
        content, trailer = data[: -len(TRAILER) - 32], data[-len(TRAILER) - 32 :]
        if trailer != TRAILER + hashlib.sha256(content).digest():
            raise DamagedError(f"what redis has as {self._get_key(filename)} is not what was put there")
        return content

    def put(self, filename: str, data: bytes) -> Any:
        self._redis.set(self._get_key(filename), data + TRAILER + hashlib.sha256(data).digest())


class DamagedError(ValueError):
    """A remote cache answered, with something that is not what was put there."""


class RemoteCacheManager(CacheManager):
    """Files on the store that `knobs.cache.remote_manager_class` names, and in a local folder as they come and go."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        backend = knobs.cache.remote_manager_class
        if not backend:
            raise RuntimeError(
                "Unable to instantiate RemoteCacheManager, TRITON_REMOTE_CACHE_BACKEND doesn't point to a valid class"
            )
        self._local_only = dump or override
        self._files = FileCacheManager(key, override=override, dump=dump)
        self._backend: Any = None if self._local_only else self._connected(backend, key)
        self._local_only |= self._backend is None

    def _connected(self, backend: Any, key: str) -> Any:
        """The store for a key; None where it is resting, or there is none to be had."""
        if time.monotonic() < _rests.get(backend, 0.0):
            return None
        try:
            return backend(key)
        except SettingError:
            raise
        except Exception as error:  # of any library, as in `_asked`
            _rests[backend] = time.monotonic() + REST
            name = getattr(backend, "__name__", "")
            warn_once(f"the remote cache ({name}) fails: {error}; the local one serves", about=f"{name} False")
            return None

    def get_file(self, filename: str) -> str | None:
        try:
            found = self._fetched([filename])
        except _Unavailable as failure:
            return self._served(failure, self._files.get_file(filename))
        return self._files.put(found[filename], filename) if filename in found else None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        content = data if isinstance(data, bytes) else str(data).encode()
        self._send({filename: content})
        return self._files.put(content, filename)

    def get_group(self, filename: str) -> dict[str, str] | None:
        record = f"__grp__{filename}"
        try:
            found = self._fetched([record])
            if record not in found:
                return None
            names, digests = _group_record(found[record])
            files = self._fetched(names)
            if set(files) != set(names):
                return None
            if wrong := [name for name in digests if hashlib.sha256(files[name]).hexdigest() != digests[name]]:
                raise _Unavailable(DamagedError(f"{wrong[0]} is not what was put there"))
        except _Unavailable as failure:
            return self._served(failure, self._files.get_group(filename), record)
        paths = {name: self._files.put(data, name) for name, data in files.items()}
        self._files.put(found[record], record)  # last: what it names is there
        return paths

    def put_group(self, filename: str, group: dict[str, str]) -> str | None:
        if self._local_only:
            return self._files.put_group(filename, group)
        local = {name: path for name in sorted(group) if (path := self._files.get_file(name)) is not None}
        record = {"child_paths": sorted(group), "digests": {name: digest_of(path) for name, path in local.items()}}
        return self.put(json.dumps(record), f"__grp__{filename}")

    def _fetched(self, names: list[str]) -> dict[str, bytes]:
        """What the remote cache has of these files. _Unavailable where it does not answer, or not sensibly."""
        if self._local_only:
            raise _Unavailable(None)
        found = self._asked(self._backend.get, names)
        if not isinstance(found, Mapping):
            raise _Unavailable(DamagedError(f"get() gave {type(found).__name__}, not a mapping"))
        kept = {name: found[name] for name in names if name in found}
        if wrong := [name for name, data in kept.items() if not isinstance(data, bytes | bytearray | memoryview)]:
            raise _Unavailable(DamagedError(f"{wrong[0]} is {type(kept[wrong[0]]).__name__}, not bytes"))
        return {name: bytes(data) for name, data in kept.items()}

    def _send(self, files: Mapping[str, bytes]) -> None:
        """Puts files into the remote cache, as far as it takes them."""
        try:
            for name, data in files.items():
                if not self._local_only:
                    self._asked(self._backend.put, name, data)
        except _Unavailable as failure:
            self._served(failure, None)

    def _asked(self, call: Callable[..., Any], *args: Any) -> Any:
        """One question to the remote cache, unless it is resting."""
        kind = type(self._backend)
        if time.monotonic() < _rests.get(kind, 0.0):
            raise _Unavailable(None)
        try:
            return call(*args)
        except DamagedError as error:
            raise _Unavailable(error) from error
        except Exception as error:  # of any library: none of them is a reason not to compile
            _rests[kind] = time.monotonic() + REST
            raise _Unavailable(error) from error

    def _served(self, failure: "_Unavailable", local: Any, record: str = "") -> Any:
        """The local answer, with one warning. What is damaged at the other end is replaced by what is sound here."""
        if failure.reason is not None:
            name, reason = type(self._backend).__name__, failure.reason
            said = f"the remote cache ({name}) fails: {reason}; the local one serves"
            warn_once(said, about=f"{name} {type(reason) is DamagedError}")
        if isinstance(failure.reason, DamagedError) and local:
            paths = {**local, record: self._files.get_file(record)} if record else {os.path.basename(local): local}
            self._send({name: _content(path) for name, path in paths.items() if path})
        return local


class _Unavailable(Exception):
    """The remote cache cannot serve now. `reason`: what it did, None where it was not even asked."""

    def __init__(self, reason: Exception | None) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _group_record(data: bytes) -> tuple[list[str], dict[str, str]]:
    """The names of a group's files, and the digests that are known of them."""
    try:
        told = json.loads(data)
        names = [str(name) for name in told["child_paths"]]
        return names, {name: digest for name, digest in told.get("digests", {}).items() if name in names}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _Unavailable(DamagedError(f"a group's record cannot be read ({error})")) from error


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@functools.cache
def _client(host: str, port: int, timeout: float) -> Any:
    """One client for all keys: it keeps its connections, also apart after a fork."""
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise SettingError(
            "TRITON_REMOTE_CACHE_BACKEND names redis, whose package is not installed: pip install 'naiad[redis]'"
        ) from error
    return redis.Redis(
        host=host, port=port, socket_timeout=timeout, socket_connect_timeout=timeout, retry=Retry(NoBackoff(), 0)
    )
