"""What a driver is (a device that runs kernels), and which one is active."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from naiad import knobs
from naiad.errors import OutOfResources

if TYPE_CHECKING:
    from naiad.backends.base import GPUTarget


class DriverBase(ABC):
    """One kind of device. `utils.load_binary` and `launcher_cls` make a compiled kernel callable."""

    utils: Any
    launcher_cls: Any

    @classmethod
    @abstractmethod
    def is_active(cls) -> bool:
        """Whether this machine has such a device."""

    @abstractmethod
    def get_current_target(self) -> "GPUTarget":
        """What to compile for."""

    @abstractmethod
    def get_active_torch_device(self) -> Any:
        """The torch.device that tensors for this driver live on."""

    @abstractmethod
    def get_benchmarker(self) -> Callable[..., Any]:
        """The function that tuning measures with: (call, quantiles=...) to milliseconds."""

    @abstractmethod
    def get_current_device(self) -> int:
        """The index of the device that launches go to."""

    @abstractmethod
    def get_current_stream(self, device: int | None = None) -> int:
        """The handle of the queue that launches go to."""

    def load(self, name: str, code: bytes, metadata: Any) -> tuple[Any, Any, int, int, int]:
        """(module, function, registers, spills, most threads) of code. OutOfResources past the device's limits."""
        device = self.get_current_device()
        limit = self.utils.get_device_properties(device)["max_shared_mem"]
        if metadata.shared > limit:
            raise OutOfResources(metadata.shared, limit, "shared memory")
        loaded = self.utils.load_binary(name, code, metadata.shared, device)
        threads = metadata.num_warps * metadata.target.warp_size
        if threads > loaded[4]:
            raise OutOfResources(threads, loaded[4], "threads")
        return loaded

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:
        """For Triton's interface: descriptors are passed as they are."""
        return args

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C++ type of a signature's type, for launchers in C."""
        if ty.startswith(("*", "tensordesc")):
            return "void*"
        if ty in ("fp16", "bf16", "fp32", "fp64", "f32", "f64"):
            return "double"
        bits = {"i1": 8, "u1": 8}.get(ty) or int("".join(filter(str.isdigit, ty)) or 0)
        return f"{'u' if ty.startswith('u') or ty == 'i1' else ''}int{bits}_t"


class GPUDriver(DriverBase):
    """A driver whose devices and streams are torch's."""

    def __init__(self) -> None:
        import torch

        self.get_device_capability = torch.cuda.get_device_capability
        self.get_current_device = torch.cuda.current_device  # type: ignore[method-assign]
        self.set_current_device = torch.cuda.set_device
        self.get_current_stream = torch._C._cuda_getCurrentRawStream  # type: ignore[method-assign, assignment]

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: int | None) -> Any:
        """Zeroed memory for a profiler's records, made on the stream (a handle; 0 is the default one)."""
        import torch

        device, torch_device = self.get_active_torch_device(), self.get_device_interface()
        queue = torch_device.ExternalStream(stream, device) if stream else torch_device.default_stream(device)
        with torch_device.stream(queue):
            memory = torch.zeros(size, dtype=torch.int8, device=device)
        if stream:
            memory.record_stream(queue)
        return memory


class DriverConfig:
    """The active driver: by default that of the first backend with a device here, a GPU before the CPU."""

    def __init__(self) -> None:
        self._default: Any = None
        self._active: Any = None
        self.others: dict[str, Any] = {}
        """Name of a backend to the driver that `driver_for` made."""

    @property
    def default(self) -> Any:
        if self._default is None:
            from naiad.backends import backends

            if name := knobs.naiad.default_backend or ("cpu" if knobs.naiad.cpu_backend else None):
                self._default = _named_driver(name)
                return self._default
            found = next((backend.driver for backend in backends.values() if backend.is_active()), None)
            if found is None:
                raise RuntimeError("0 active drivers ([]). There should only be one.")
            self._default = found()
        return self._default

    @property
    def active(self) -> Any:
        if self._active is None:
            self._active = self.default
        return self._active

    def set_active(self, driver: Any) -> None:
        """Makes `driver` (anything that answers like a DriverBase) the active one."""
        self._active = driver

    def reset_active(self) -> None:
        self._active = self.default

    def forget(self) -> None:
        """The devices are looked for again when one is asked for."""
        self._default = self._active = None
        self.others.clear()


def _named_driver(name: str) -> Any:
    """The driver that TRITON_DEFAULT_BACKEND asks for."""
    from naiad.backends import backends

    if name not in backends:
        raise RuntimeError(f"TRITON_DEFAULT_BACKEND={name}: no backend has that name; there are {', '.join(backends)}")
    if not backends[name].is_active():
        raise RuntimeError(f"TRITON_DEFAULT_BACKEND={name}: this machine has no device for it")
    return backends[name].driver()


driver = DriverConfig()


def driver_for(target: "GPUTarget") -> Any:
    """The driver that runs code for `target`: the active one, or else that of the backend that compiles for it."""
    active = driver.active
    if active.get_current_target().backend == target.backend:
        return active
    if target.backend not in driver.others:
        from naiad.backends import backends

        found = [backend.driver for backend in backends.values() if backend.compiler.supports_target(target)]
        if not found:
            raise RuntimeError(f"no driver runs code for {target.backend}")
        driver.others[target.backend] = found[0]()
    return driver.others[target.backend]
