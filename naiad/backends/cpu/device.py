"""The CPU as a device: the driver that is active where there is no GPU, and the launcher that any launch can take."""

import struct
from collections.abc import Callable
from typing import Any

from naiad.backends.arguments import address
from naiad.backends.base import GPUTarget
from naiad.backends.cpu import driver as native
from naiad.backends.cpu.host import host
from naiad.backends.cpu.pool import thread_count
from naiad.backends.cpu.repeated import Repeated
from naiad.backends.driver import DriverBase
from naiad.backends.signature import Path, passed

# What code that was written for GPUs divides by, and chooses block sizes from: an SM's numbers, but for the core count.
PROPERTIES = {
    "max_shared_mem": 232448, "max_num_regs": 65536, "warpSize": 32, "max_threads_per_block": 1024,
    "sm_clock_rate": 3_000_000, "mem_clock_rate": 3_200_000, "mem_bus_width": 128,
}  # fmt: skip


# Kinds of arguments that struct packs as they are.
FORMATS = {"i32": "i4x", "i64": "q", "u64": "Q", "fp32": "f4x", "fp64": "d", "i1": "?7x"}


class CPUUtils:
    """The questions about the device that Triton's `driver.active.utils` answers."""

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        return {**PROPERTIES, "multiprocessor_count": thread_count()}

    def unload_module(self, module: Any) -> None:
        """Code goes when its kernel goes."""


class CPUDriver(DriverBase):
    """Runs kernels in this process. There is one device, and one stream, on which a launch is done when it returns."""

    def __init__(self) -> None:
        self.utils = CPUUtils()
        self.launcher_cls = CPULauncher
        self._target = GPUTarget("cpu", host().name, 1)

    @classmethod
    def is_active(cls) -> bool:
        """Where no other device is: of the backends, exactly one is active."""
        from naiad.backends import backends

        return not any(backend.is_active() for name, backend in backends.items() if name != "cpu")

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        import torch

        return torch.cpu

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return 0, 0

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: Any) -> None:
        """For Triton's interface: there is one."""

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_benchmarker(self) -> Callable[..., Any]:
        from naiad.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer of the size of a large last-level cache, for `clear_cache`."""
        import numpy

        return numpy.empty(64 * 2**20, dtype=numpy.uint8)

    def clear_cache(self, cache: Any) -> None:
        """Writes the buffer, so that nothing else is left in the caches."""
        cache.fill(0)

    def load(self, name: str, code: bytes, metadata: Any) -> tuple[Any, Any, int, int, int]:
        """Maps the object into memory. Registers: the vector registers that a CPU has; threads: one runs a program."""
        kernel = native.load(code, vars(metadata))
        return kernel, kernel.launch, 32, 0, 1


class CPULauncher:
    """Launches one kernel, with all of its parameters' arguments in order."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self.slots = list(passed(src))
        kinds = [kind for _, kind in self.slots]
        self.pack = native.packer(kinds)
        flat = all(len(path) == 1 for path, _ in self.slots) and all(
            kind[0] == "*" or kind in FORMATS for kind in kinds
        )
        self.quick = struct.Struct("<" + "".join(FORMATS.get(kind, "Q") for kind in kinds)).pack if flat else None
        self.places: list[tuple[Any, bool]] = [(path[0], kind[0] == "*") for path, kind in self.slots]
        simple = {path[0]: slot for slot, (path, _) in enumerate(self.slots) if len(path) == 1}
        self.repeated = Repeated(list(src.signature.values()), simple, self.arguments)

    def arguments(self, args: tuple[Any, ...]) -> bytes:
        """The slots after the header."""
        if self.quick:
            try:
                return self.quick(*[address(args[i]) if pointer else args[i] for i, pointer in self.places])
            except (struct.error, OverflowError):  # a value that is rounded or wraps
                pass
            except IndexError:
                least = 1 + max(i for i, _ in self.places)
                raise TypeError(f"the kernel takes {least} arguments at least, and {len(args)} were given") from None
        return self.pack([value_at(args, path, kind) for path, kind in self.slots])

    def __call__(
        self, x: int, y: int, z: int, stream: int, function: Any, packed: Any, metadata: Any, enter: Any, leave: Any,
        *args: Any,
    ) -> None:  # fmt: skip
        known, again = self.repeated.by_grid.get((x, y, z), (None, None))
        if again is not None and known is function and not enter and not leave:
            again(*args)
            return
        if x * y * z == 0:
            return
        if enter:
            enter(metadata)
        function((x, y, z), self.arguments(args))
        if leave:
            leave(metadata)
        self.repeated.served((x, y, z), function, args)


def value_at(args: Any, path: Path, kind: str) -> Any:
    """The value at a path, an address for a pointer."""
    value = args
    for step in path:
        value = getattr(value, step) if isinstance(step, str) else value[step]
    return address(value) if kind[0] == "*" else value
