"""Running kernels: jit, launching, caches, tuning. The names of Triton's `triton.runtime`, imported when asked for."""

import importlib
from typing import Any

_NAMES = {
    "naiad.runtime.jit": ("JITFunction", "KernelInterface", "MockTensor", "TensorWrapper", "reinterpret"),
    "naiad.runtime.autotuner": ("Autotuner", "Config", "Heuristics", "autotune", "heuristics"),
    "naiad.runtime.cache": ("RedisRemoteCacheBackend", "RemoteCacheBackend"),
    "naiad.backends.driver": ("driver",),
    "naiad.errors": ("InterpreterError", "OutOfResources"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'naiad.runtime' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
