"""The emulator as naiad's only device: host tensors are its memory, kernels are compiled for an NVIDIA GPU.

    from tests.nvidia.emulator import device; device.install(90)

Programs written for naiad on the CPU, Triton's own tests among them, then run the code of the NVIDIA backend.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .machine import Memory, launch


class HostMemory(Memory):
    """The storages of host tensors, at their own addresses."""

    kept: tuple[np.ndarray, ...] = ()

    def __init__(self, storages: dict[int, int]):
        import ctypes

        super().__init__()
        self.storages = storages
        self.starts = np.array(sorted(storages), np.int64)
        sizes = [storages[int(s)] for s in self.starts]
        self.offsets = np.cumsum([4096, *[-(-n // 256) * 256 + 256 for n in sizes]])
        self.sizes = np.array(sizes, np.int64)
        self.bytes = np.zeros(int(self.offsets[-1]) + 512, np.uint8)
        self.mapped = np.zeros(len(self.bytes), bool)
        self.views = [
            np.ctypeslib.as_array((ctypes.c_uint8 * n).from_address(int(s)))
            for s, n in zip(self.starts, sizes, strict=True)
        ]
        for view, at in zip(self.views, self.offsets, strict=False):
            self.bytes[at : at + len(view)] = view
            self.mapped[at : at + len(view)] = True

    def put(self, array: np.ndarray) -> int:
        """Makes room for one more array before the launch; it stays where it is."""
        kept = array.copy()
        self.kept = (*self.kept, kept)
        type(self).__init__(self, {**self.storages, kept.ctypes.data: kept.nbytes})
        return kept.ctypes.data

    def locate(self, addresses: np.ndarray) -> np.ndarray:
        if not len(self.starts):
            return np.full(len(addresses), -1, np.int64)
        which = np.clip(np.searchsorted(self.starts, addresses, "right") - 1, 0, None)
        inside = addresses - self.starts[which]
        return np.where((inside >= 0) & (inside < self.sizes[which]), inside + self.offsets[which], -1)

    def write_back(self) -> None:
        for view, at in zip(self.views, self.offsets, strict=False):
            view[:] = self.bytes[at : at + len(view)]


def storages(args: Any) -> Iterator[tuple[int, int]]:
    """(address, bytes) of the memory behind each tensor or array among arguments."""
    for value in args:
        if isinstance(value, tuple | list):
            yield from storages(value)
        elif hasattr(value, "untyped_storage"):
            storage = value.untyped_storage()
            if storage.nbytes():
                yield storage.data_ptr(), storage.nbytes()
        elif isinstance(value, np.ndarray):
            yield value.ctypes.data, value.nbytes
        elif hasattr(value, "base"):
            yield from storages([value.base])


def install(capability: int = 90) -> None:
    """Makes the emulator what the name `cpu` means to naiad."""
    import naiad.backends as registry
    from naiad.backends.base import GPUTarget
    from naiad.backends.cpu.device import CPUDriver
    from naiad.backends.driver import driver
    from naiad.backends.nvidia.compiler import NvidiaBackend
    from naiad.backends.nvidia.parameters import parameters_of

    from ..harness import packed

    class EmulatedBackend(NvidiaBackend):
        binary_ext = "ptx"

        @staticmethod
        def supports_target(target: GPUTarget) -> bool:
            return target.backend == "cpu"

        @property
        def arch(self) -> int:
            return capability

        def hash(self) -> str:
            return f"emulated-{capability}"

        def add_stages(self, stages: dict, options: Any, language: Any = None) -> None:
            super().add_stages(stages, options)
            del stages["cubin"]

    class EmulatedLauncher:
        def __init__(self, src: Any, metadata: Any):
            self.parameters, self.metadata = list(parameters_of(src)), metadata

        def __call__(self, x, y, z, stream, function, packed_metadata, metadata, enter, leave, *args) -> None:
            if enter:
                enter(metadata)
            memory = HostMemory(dict(storages(args)))
            values = [packed(p.convert(args), p.code) for p in self.parameters]
            launch(function, (x, y, z), values, self.metadata.shared, memory, self.metadata.num_ctas)
            memory.write_back()
            if leave:
                leave(metadata)

    class EmulatedDriver(CPUDriver):
        def __init__(self) -> None:
            super().__init__()
            self.launcher_cls = EmulatedLauncher
            self._target = GPUTarget("cpu", f"emulated-{capability}", 32)

        def load(self, name: str, code: Any, metadata: Any) -> tuple[Any, Any, int, int, int]:
            text = code.decode() if isinstance(code, bytes) else code
            return object(), text, 32, 0, 1024

    registry.backends.loaded["cpu"] = registry.Backend(EmulatedBackend, EmulatedDriver)
    registry.backends.names = ["cpu"]
    driver._default = driver._active = None
