"""The backends, by name, and which one compiles for a target. Importing this imports none of them."""

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from naiad import knobs
from naiad.backends.base import BaseBackend, GPUTarget
from naiad.backends.driver import DriverBase
from naiad.backends.driver import driver as drivers

__all__ = ["Backend", "BaseBackend", "DriverBase", "GPUTarget", "backends", "find", "register"]


@dataclass(frozen=True)
class Backend:
    """A target's two halves: what compiles, and what runs."""

    compiler: type[BaseBackend]
    driver: type[DriverBase]

    def is_active(self) -> bool:
        """Whether this machine has such a device."""
        return self.driver.is_active()


class InTree:
    """A Backend of naiad's own: each half is imported when it is asked for."""

    def __init__(self, compiler: str, driver: str, device: str = "", files: tuple[str, ...] = ()) -> None:
        self._paths = compiler, driver
        self._device, self._files = device, files

    def is_active(self) -> bool:
        """Whether this machine has such a device; a backend whose device is missing is not imported to say so."""
        return (not self._device or self._has_device()) and self.driver.is_active()

    def _has_device(self) -> bool:
        """Whether the driver's library finds a device. Where Linux has no file for one it is not asked: a fifth of a
        first call would go there."""
        if sys.platform == "linux" and self._device.partition(":")[0] not in sys.modules:
            with contextlib.suppress(OSError):
                if knobs.nvidia.libcuda_path is None and not any(f.startswith(self._files) for f in os.listdir("/dev")):
                    return False
        return _named(self._device)() is not None

    @cached_property
    def compiler(self) -> type[BaseBackend]:
        return _named(self._paths[0])

    @cached_property
    def driver(self) -> type[DriverBase]:
        return _named(self._paths[1])


# name -> ("module:class" of the compiler, of the driver, what gives None without a device, and how the names of the
# files begin that Linux has for one: by its driver, on a board, under Windows); a GPU before the CPU.
IN_TREE: dict[str, tuple[Any, ...]] = {
    "nvidia": (
        "naiad.backends.nvidia.compiler:NvidiaBackend",
        "naiad.backends.nvidia.driver:NvidiaDriver",
        "naiad.backends.nvidia.libcuda:library",
        ("nvidia", "nvhost", "nvmap", "dxg"),
    ),
    "cpu": ("naiad.backends.cpu.compiler:CPUBackend", "naiad.backends.cpu.device:CPUDriver"),
}


class Backends(Mapping[str, Backend | InTree]):
    """Name to backend."""

    def __init__(self) -> None:
        self.loaded: dict[str, Backend | InTree] = {}
        self.names = list(IN_TREE)

    def __getitem__(self, name: str) -> Backend | InTree:
        if name not in self.loaded:
            if name not in IN_TREE:
                raise KeyError(f"no backend is called {name!r}; there are {', '.join(self.names)}")
            self.loaded[name] = InTree(*IN_TREE[name])
        return self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self.names))

    def __len__(self) -> int:
        return len(self.names)


def _named(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


backends = Backends()


def register(name: str, backend: Backend) -> None:
    """Adds a backend from outside of naiad, before the CPU, or replaces the one of that name."""
    backends.loaded[name] = backend
    drivers.others.clear()
    if name not in backends.names:
        backends.names.insert(0, name)


def unregister(name: str) -> None:
    """Takes away what `register` added."""
    backends.loaded.pop(name, None)
    drivers.others.clear()
    if name not in IN_TREE:
        backends.names.remove(name)


def find(target: GPUTarget) -> BaseBackend:
    """The backend that compiles for `target`, the RuntimeError says why not. Installed plugins are asked last."""
    if target.backend in backends and (named := backends[target.backend].compiler).supports_target(target):
        return named(target)  # without importing the others
    found = [backend.compiler for backend in backends.values() if backend.compiler.supports_target(target)]
    if not found:
        _load_plugins()
        found = [backend.compiler for backend in backends.values() if backend.compiler.supports_target(target)]
    if len(found) != 1:
        known = ", ".join(backends)
        raise RuntimeError(
            f"{len(found)} compatible backends for target ({target.backend}) ({known}). There should only be one. "
            "naiad compiles for cuda (NVIDIA GPUs) and cpu; other targets need a backend of their own"
        )
    return found[0](target)


def _load_plugins() -> None:
    """Registers what the entry points `naiad.backends` name: each an object of type Backend."""
    from importlib.metadata import entry_points

    for point in entry_points(group="naiad.backends"):
        if point.name not in backends.names:
            register(point.name, point.load())
