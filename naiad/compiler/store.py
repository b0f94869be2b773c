"""The cache of compiled kernels on disk: one file an entry, named by its key.

A file is written aside and renamed, and holds the hash of its content, so that many processes, a killed writer, a full
disk or a flipped byte cost a compilation at most: what is damaged is deleted and made again, what cannot be
written is not kept, with one warning. Nothing waits for the disk (no fsync): a file that a power cut left short is a
damaged one. `GroupStore` keeps entries in the cache managers of Triton's interface instead.
"""

import base64
import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from naiad import knobs
from naiad.compiler.eviction import make_room, mark_used
from naiad.environment import warn_once
from naiad.files import write_whole

MAGIC = b"naiad2\r\n"
SUFFIX = ".naiad"
DIGEST = 32


@dataclass(frozen=True)
class Entry:
    """A compiled kernel: its metadata, the stages that were kept (name to text or code), what its key was made of
    (`packed_text` of JSON), and the files that hold it."""

    metadata: dict[str, Any]
    stages: Mapping[str, str | bytes]
    parts: bytes = b""
    files: dict[str, str] = field(default_factory=dict)


class FileStore:
    """The files of a folder. Nothing here raises for what a disk may do."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def path(self, key: str) -> str:
        return os.path.join(self.folder, key + SUFFIX)

    def load(self, key: str) -> Entry | None:
        """The entry of `key`, or None; a damaged file is deleted."""
        path = self.path(key)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            warn_once(f"the cache cannot be read: {error}")
            return None
        mark_used(path)
        try:
            entry = decode(data, key)
        except ValueError as error:
            warn_once(f"the cache's file {path} is damaged ({error}); the kernel is compiled again")
            with contextlib.suppress(OSError):
                os.remove(path)
            return None
        return Entry(entry.metadata, entry.stages, entry.parts, {f"{entry.metadata.get('name', 'kernel')}.json": path})

    def save(self, key: str, entry: Entry) -> dict[str, str]:
        """Writes the entry; gives the files that hold it, none where it could not be written."""
        data = encode(entry, key)
        if not self.write(key, data):
            return {}
        make_room(self.folder, key, len(data))
        return {f"{entry.metadata.get('name', 'kernel')}.json": self.path(key)}

    def write(self, key: str, data: bytes) -> bool:
        """Puts the encoded entry where it belongs, at once or not at all; says whether that went well."""
        try:
            write_whole(self.path(key), data)
        except OSError as error:
            warn_once(f"compiled kernels are not kept: {error}")
            return False
        return True


class GroupStore:
    """An entry as a group of files in a cache manager (TRITON_CACHE_MANAGER), as Triton keeps it.

    The metadata holds the digests of the other files and of itself: a manager may bring them from anywhere.
    """

    def __init__(self, manager: Any, name: str) -> None:
        self.manager = manager
        self.name = name[:150]

    def load(self, key: str) -> Entry | None:
        """The group as an entry; None where there is none, or where it is not what was written."""
        try:
            group = self.manager.get_group(f"{self.name}.json") or {}
            if f"{self.name}.json" not in group:
                return None
        except Exception as error:  # of a manager of the user's: none of them is a reason not to compile
            warn_once(f"the cache ({type(self.manager).__name__}) cannot be read: {error!r}")
            return None
        try:
            return self._entry(key, group)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            warn_once(f"the cached kernel {self.name} ({base32(key)}) is damaged ({error}); it is compiled again")
            return None

    def _entry(self, key: str, group: Mapping[str, str]) -> Entry:
        files = {}
        for name, path in group.items():
            with open(path, "rb") as file:
                files[name.rpartition(".")[2]] = file.read()
        metadata = json.loads(files.pop("json"))
        if metadata.pop("digest") != _digest(metadata) or metadata.pop("entry_key") != key:
            raise ValueError("the metadata is not what was written")
        texts, digests = metadata.pop("text_stages"), metadata.pop("stage_digests")
        if {name: hashlib.sha256(data).hexdigest() for name, data in files.items()} != digests:
            raise ValueError("the code is not what was written")
        parts = bytes.fromhex(metadata.pop("key_parts"))
        stages = {name: data.decode() if name in texts else data for name, data in files.items()}
        return Entry(metadata, stages, parts, dict(group))

    def save(self, key: str, entry: Entry) -> dict[str, str]:
        contents = {name: data.encode() if isinstance(data, str) else data for name, data in entry.stages.items()}
        metadata = {
            **entry.metadata,
            "entry_key": key,
            "key_parts": entry.parts.hex(),
            "text_stages": [name for name, data in entry.stages.items() if isinstance(data, str)],
            "stage_digests": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
        }
        text = json.dumps({**metadata, "digest": _digest(metadata)}, default=vars)
        try:
            return self._put(key, text, entry)
        except Exception as error:
            said = error if isinstance(error, OSError) else repr(error)
            warn_once(f"compiled kernels are not kept: {said}")
            return {}

    def _put(self, key: str, metadata: str, entry: Entry) -> dict[str, str]:
        group = {}
        for name, data in entry.stages.items():
            group[f"{self.name}.{name}"] = self.manager.put(data, f"{self.name}.{name}", binary=isinstance(data, bytes))
        group[f"{self.name}.json"] = self.manager.put(metadata, f"{self.name}.json", binary=False)
        self.manager.put_group(f"{self.name}.json", group)
        make_room(knobs.cache.dir, key, sum(map(len, entry.stages.values())))
        return group


def store(key: str, name: str) -> FileStore | GroupStore:
    """Where the entry of `key` is kept: what `knobs.cache` says now."""
    if manager := knobs.cache.manager_class:
        return GroupStore(manager(base32(key)), name)
    return FileStore(knobs.cache.dir)


def base32(key: str) -> str:
    """A hexadecimal key in fewer letters, as Triton names folders."""
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def encode(entry: Entry, key: str) -> bytes:
    """magic, sha256 of the rest, length of the header, header (JSON), stages (texts compressed), parts of the key."""
    parts = {
        name: (zlib.compress(data.encode(), 1) if isinstance(data, str) else data)
        for name, data in entry.stages.items()
    }
    sizes = [[name, len(part), isinstance(entry.stages[name], str)] for name, part in parts.items()]
    header = json.dumps({"key": key, "metadata": entry.metadata, "stages": sizes}, default=vars).encode()
    body = b"".join([len(header).to_bytes(8, "little"), header, *parts.values(), entry.parts])
    return MAGIC + hashlib.sha256(body).digest() + body


def decode(data: bytes, key: str | None = None) -> Entry:
    """The entry in the content of a file. ValueError where it is damaged, or that of another key."""
    start = len(MAGIC) + DIGEST
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("not a file of this cache")
    body = memoryview(data)[start:]
    if hashlib.sha256(body).digest() != data[len(MAGIC) : start]:
        raise ValueError("the content is not what was written")
    size = int.from_bytes(body[:8], "little")
    header = json.loads(bytes(body[8 : 8 + size]))
    if key is not None and header["key"] != key:
        raise ValueError("the entry of another key")
    at, stages = 8 + size, {}
    for name, length, text in header["stages"]:
        stages[name] = _Compressed(bytes(body[at : at + length])) if text else bytes(body[at : at + length])
        at += length
    return Entry(header["metadata"], stages, bytes(body[at:]))


class _Compressed(bytes):
    """A text that is decompressed when it is asked for."""

    def text(self) -> str:
        return zlib.decompress(self).decode()


def packed_text(text: str) -> bytes:
    """A text as an entry keeps it."""
    return _Compressed(zlib.compress(text.encode(), 1))


def text_of(stage: Any) -> Any:
    """A stage's text or code as it was given to `save`."""
    return stage.text() if isinstance(stage, _Compressed) else stage


def parts_of(entry: Entry) -> dict[str, Any]:
    """What the entry's key was made of; empty where that was not kept (entries that are not kernels)."""
    return json.loads(zlib.decompress(entry.parts)) if entry.parts else {}


def _digest(metadata: Mapping[str, Any]) -> str:
    """A digest of what JSON makes of the metadata."""
    return hashlib.sha256(json.dumps(metadata, default=vars, sort_keys=True).encode()).hexdigest()
