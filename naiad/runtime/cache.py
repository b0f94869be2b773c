"""Cache managers of Triton's interface: groups of files under a key, in a folder or on a remote server.

naiad keeps its own entries in `compiler/store.py`; these are what TRITON_CACHE_MANAGER may name instead, and what
packages use for files of their own.
"""

from naiad import knobs
from naiad.compiler.keys import get_cache_key
from naiad.compiler.store import base32 as _base32
from naiad.compiler.version import version_key
from naiad.runtime.cache_files import CacheManager, FileCacheManager
from naiad.runtime.cache_remote import RedisRemoteCacheBackend, RemoteCacheBackend, RemoteCacheManager

__all__ = ["CacheManager", "FileCacheManager", "RedisRemoteCacheBackend", "RemoteCacheBackend", "RemoteCacheManager",
           "_base32", "default_cache_dir", "default_dump_dir", "default_override_dir", "get_cache_key",
           "get_cache_manager", "get_dump_manager", "get_override_manager", "knobs", "triton_key"]  # fmt: skip


def default_cache_dir() -> str:
    """Where compiled kernels go without TRITON_CACHE_DIR. (The three: names of Triton's earlier releases.)"""
    return knobs.cache.get_triton_dir("cache")


def default_override_dir() -> str:
    return knobs.cache.get_triton_dir("override")


def default_dump_dir() -> str:
    return knobs.cache.get_triton_dir("dump")


def get_cache_manager(key: str) -> CacheManager:
    """The manager of compiled files under a hexadecimal key."""
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key))


def get_override_manager(key: str) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), override=True)


def get_dump_manager(key: str) -> CacheManager:
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), dump=True)


def triton_key() -> str:
    """What stands for the compiler's version in keys."""
    return f"{knobs.naiad.triton_version}-{version_key()}"
