"""The CUDA driver through ctypes: loading cubins, launching, and the answers that Triton's `driver.active` gives.

Streams and the current device are torch's where torch is imported, else those of the CUDA context of this process.
"""

import ctypes
import functools
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

from naiad.backends.base import GPUTarget
from naiad.backends.driver import DriverBase
from naiad.backends.nvidia.parameters import parameters_of
from naiad.errors import OutOfResources

__all__ = ["CudaError", "NvidiaDriver", "NvidiaLauncher"]

SHARED_OPTIN, MAJOR, MINOR, PROCESSORS, WARP, CLOCK, MEMORY_CLOCK, BUS, THREADS, REGISTERS = (
    97, 75, 76, 16, 10, 13, 36, 37, 1, 12)  # fmt: skip
MAX_DYNAMIC_SHARED = 8  # attribute of a function
STATIC_LIMIT = 49152
"""Bytes of shared memory that a kernel may have without asking for them."""


class CudaError(RuntimeError):
    """A call of the driver failed."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """libcuda, initialised; None where there is no driver or no GPU."""
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            cuda = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value:
            return cuda
        return None
    return None


def check(code: int) -> None:
    """Raises CudaError with the driver's words for a result that is not success."""
    if code:
        text = ctypes.c_char_p()
        cuda = library()
        if cuda is not None:
            cuda.cuGetErrorString(code, ctypes.byref(text))
        raise CudaError(f"CUDA error {code}: {(text.value or b'unknown').decode()}")


def cuda() -> ctypes.CDLL:
    """libcuda; CudaError where there is none."""
    found = library()
    if found is None:
        raise CudaError("there is no CUDA driver with a GPU here: CUDA kernels can be compiled, but not run")
    return found


@functools.cache
def context(device: int) -> ctypes.c_void_p:
    """The primary context of a device, which torch uses too."""
    made = ctypes.c_void_p()
    check(cuda().cuDevicePrimaryCtxRetain(ctypes.byref(made), device))
    return made


def make_current(device: int) -> None:
    """Has this thread use a device's primary context, if it has no context."""
    current = ctypes.c_void_p()
    check(cuda().cuCtxGetCurrent(ctypes.byref(current)))
    if not current.value:
        check(cuda().cuCtxSetCurrent(context(device)))


def attribute(which: int, device: int) -> int:
    value = ctypes.c_int()
    check(cuda().cuDeviceGetAttribute(ctypes.byref(value), which, device))
    return value.value


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

    @classmethod
    def is_active(cls) -> bool:
        return library() is not None

    def get_current_device(self) -> int:
        torch = sys.modules.get("torch")
        return torch.cuda.current_device() if torch is not None and torch.cuda.is_available() else 0

    def set_current_device(self, device: int) -> None:
        import torch

        torch.cuda.set_device(device)

    def get_current_stream(self, device: int | None = None) -> int:
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available():
            return 0
        return torch._C._cuda_getCurrentRawStream(self.get_current_device() if device is None else device)

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

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:
        return args

    def load(self, name: str, code: bytes, metadata: Any) -> tuple[Any, Any, int, int, int]:
        """As the base says; registers that do not fit into the processor are told before the launch fails."""
        loaded = super().load(name, code, metadata)
        limit = self.utils.get_device_properties(self.get_current_device())["max_num_regs"]
        needed = loaded[2] * metadata.num_warps * 32
        if needed > limit:
            raise OutOfResources(needed, limit, "registers")
        return loaded


@functools.cache
def target_of_device(device: int) -> GPUTarget:
    return GPUTarget("cuda", 10 * attribute(MAJOR, device) + attribute(MINOR, device), 32)


class NvidiaLauncher:
    """Launches one kernel, with all of its parameters' arguments in order.

    The values lie in one buffer, packed at once; the driver gets an array of pointers into it.
    """

    def __init__(self, src: Any, metadata: Any) -> None:
        self.lock = threading.Lock()
        self.parameters = list(parameters_of(src))
        self.packer = struct.Struct("<" + "".join(p.code for p in self.parameters))
        self.buffer = ctypes.create_string_buffer(max(8, self.packer.size))
        start = ctypes.addressof(self.buffer)
        self.pointers = (ctypes.c_void_p * max(1, len(self.parameters)))(
            *[start + 8 * n for n in range(len(self.parameters))]
        )
        self.threads, self.shared = 32 * metadata.num_warps, metadata.shared
        self.cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
        self.entry = cuda().cuLaunchCooperativeKernel if self.cooperative else cuda().cuLaunchKernel
        unsigned = ctypes.c_uint
        tail = [ctypes.c_void_p] * 2 if self.cooperative else [ctypes.c_void_p] * 3
        self.entry.argtypes = [ctypes.c_void_p, *[unsigned] * 7, *tail]

    def __call__(
        self, x: int, y: int, z: int, stream: int, function: Any, packed: Any, metadata: Any, enter: Any, leave: Any,
        *args: Any,
    ) -> None:  # fmt: skip
        if x * y * z == 0:
            return
        if enter:
            enter(metadata)
        values = [p.convert(args) for p in self.parameters]
        last = () if self.cooperative else (None,)
        with self.lock:  # the call lets other threads run, and they would write into the buffer
            self.packer.pack_into(self.buffer, 0, *values)
            code = self.entry(function, x, y, z, self.threads, 1, 1, self.shared, stream, self.pointers, *last)
        if code:
            check(code)
        if leave:
            leave(metadata)
