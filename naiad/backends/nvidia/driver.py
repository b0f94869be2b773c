"""The CUDA driver through ctypes: loading cubins, launching, and the answers that Triton's `driver.active` gives.

Streams and the current device are torch's where torch is imported, else those of the CUDA context of this process.
"""

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from naiad.backends.base import GPUTarget
from naiad.backends.driver import DriverBase
from naiad.backends.launch.record import Form
from naiad.backends.nvidia.launcher import NvidiaLauncher, bind
from naiad.backends.nvidia.libcuda import CudaError, attribute, check, cuda, library, make_current
from naiad.errors import OutOfResources

__all__ = ["CudaError", "NvidiaDriver", "NvidiaLauncher"]

SHARED_OPTIN, MAJOR, MINOR, PROCESSORS, WARP, CLOCK, MEMORY_CLOCK, BUS, THREADS, REGISTERS = (
    97, 75, 76, 16, 10, 13, 36, 37, 1, 12)  # fmt: skip
MAX_DYNAMIC_SHARED, ANY_CLUSTER = 8, 14  # attributes of a function
PORTABLE_CTAS = 8
"""The largest cluster that every GPU with clusters has."""
STATIC_LIMIT = 49152
"""Bytes of shared memory that a kernel may have without asking for them."""


class NvidiaUtils:
    """The questions about devices and code that Triton's `driver.active.utils` answers."""

    @functools.cache  # noqa: B019
    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        names = {"max_shared_mem": SHARED_OPTIN, "multiprocessor_count": PROCESSORS, "warpSize": WARP,
                 "sm_clock_rate": CLOCK, "mem_clock_rate": MEMORY_CLOCK, "mem_bus_width": BUS,
                 "max_num_regs": REGISTERS, "max_threads_per_block": THREADS}  # fmt: skip
        return {name: attribute(which, device) for name, which in names.items()}

    def load_binary(self, name: str, code: bytes, shared: int, device: int) -> tuple[Any, Any, int, int, int]:
        """(module, function, registers, bytes spilled, most threads) of a cubin, or of PTX, ready to be launched."""
        make_current(device)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda().cuModuleLoadData(ctypes.byref(module), code))
        check(cuda().cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        found = [function_attribute(function, which) for which in (4, 3, 0)]
        if shared > STATIC_LIMIT:
            check(cuda().cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, shared))
        return module.value, function.value, found[0], found[1] // 4, found[2]

    def unload_module(self, module: Any) -> None:
        cuda().cuModuleUnload(ctypes.c_void_p(module))


def function_attribute(function: ctypes.c_void_p, which: int) -> int:
    """Registers (4), bytes of local memory (3), or the most threads (0) of a function."""
    value = ctypes.c_int()
    check(cuda().cuFuncGetAttribute(ctypes.byref(value), which, function))
    return value.value


class NvidiaDriver(DriverBase):
    """Runs kernels on the GPUs of this machine."""

    def __init__(self) -> None:
        self.utils = NvidiaUtils()
        self.launcher_cls = NvidiaLauncher
        self._torch: Any = None

    @property
    def torch(self) -> Any:
        """torch's C functions, where torch is imported and sees a GPU; None elsewhere, so far."""
        if self._torch is None:
            torch = sys.modules.get("torch")
            if torch is not None and torch.cuda.is_available():
                self._torch = torch._C
        return self._torch

    @classmethod
    def is_active(cls) -> bool:
        return library() is not None

    def get_current_device(self) -> int:
        torch = self._torch or self.torch
        return 0 if torch is None else torch._cuda_getDevice()

    def set_current_device(self, device: int) -> None:
        import torch

        torch.cuda.set_device(device)

    def get_current_stream(self, device: int | None = None) -> int:
        torch = self._torch or self.torch
        if torch is None:
            return 0
        return torch._cuda_getCurrentRawStream(torch._cuda_getDevice() if device is None else device)

    def bind(
        self, kernel: Any, grid: Sequence[int], form: Form, stream: int | None = None
    ) -> Callable[..., Any] | None:
        """The native launcher of a kernel that was just loaded on the current device; None where there is none.

        It launches on `stream`, by default on the one that is current at each launch. Somebody's own ways of launching,
        or of choosing streams, are left to Python, which asks for them.
        """
        own = {"get_current_stream", "get_current_device"} & set(vars(self)) or type(self) is not NvidiaDriver
        if own or self.torch is None or type(kernel.run) is not NvidiaLauncher:
            return None
        where = self.torch._cuda_getCurrentRawStream if stream is None else stream
        return bind(kernel.run, kernel.function, grid, self.get_current_device(), where, form)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return attribute(MAJOR, device), attribute(MINOR, device)

    def get_current_target(self) -> GPUTarget:
        return target_of_device(self.get_current_device())

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", self.get_current_device())

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Any]:
        from naiad.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer larger than the second-level cache, for `clear_cache`."""
        import torch

        return torch.empty(64 * 2**20, dtype=torch.int32, device="cuda")

    def clear_cache(self, cache: Any) -> None:
        cache.zero_()

    def load(self, name: str, code: bytes, metadata: Any) -> tuple[Any, Any, int, int, int]:
        """As the base says; registers that do not fit into the processor are told before the launch fails."""
        loaded = super().load(name, code, metadata)
        limit = self.utils.get_device_properties(self.get_current_device())["max_num_regs"]
        needed = loaded[2] * metadata.num_warps * 32
        if needed > limit:
            raise OutOfResources(needed, limit, "registers")
        if getattr(metadata, "num_ctas", 1) > PORTABLE_CTAS:
            check(cuda().cuFuncSetAttribute(ctypes.c_void_p(loaded[1]), ANY_CLUSTER, 1))
        return loaded


@functools.cache
def target_of_device(device: int) -> GPUTarget:
    return GPUTarget("cuda", 10 * attribute(MAJOR, device) + attribute(MINOR, device), 32)
