"""How native code reads a torch tensor: torch's C interface, and where a Python tensor keeps the C++ one.

The interface (torch/csrc/inductor/aoti_torch/c/shim.h) is stable; the place is not written down anywhere, so it is
found by looking, and checked on several tensors. If anything is not as expected, native code leaves tensors alone.
"""

import ctypes
import functools
import os
import sys
from dataclasses import dataclass
from typing import Any

GETTERS = ("aoti_torch_get_device_type", "aoti_torch_get_dtype", "aoti_torch_get_data_ptr",
           "aoti_torch_get_device_index")  # fmt: skip
DEVICE_TYPES = {"cpu": 0, "cuda": 1}  # c10/core/DeviceType.h, part of the stable interface
PLACES = (16, 24)  # the field itself after the object's head; or, in older versions, after a flag "borrowed"


@dataclass(frozen=True)
class TorchTensors:
    """`classes` whose objects may be read in place; `place` of the C++ tensor in them (bytes); addresses of GETTERS."""

    classes: tuple[type, ...]
    place: int
    getters: tuple[int, ...]

    @property
    def words(self) -> tuple[int, ...]:
        return (self.place, *self.getters)

    def dtype_number(self, tensor: Any) -> int:
        """torch's number of the tensor's dtype."""
        return self.ask(1, tensor, ctypes.c_int32(-1))

    def ask(self, getter: int, tensor: Any, answer: Any) -> int:
        """What the getter says; RuntimeError if it reports an error."""
        call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(self.getters[getter])
        if call(id(tensor) + self.place, ctypes.addressof(answer)):
            raise RuntimeError(f"torch: {GETTERS[getter]} failed")
        return answer.value or 0


def torch_tensors() -> TorchTensors | None:
    """How to read tensors; None if torch is not imported (yet), or is not as expected."""
    return found() if "torch" in sys.modules else None


@functools.cache
def found() -> TorchTensors | None:
    torch: Any = sys.modules["torch"]
    try:
        library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
        getters = tuple(ctypes.cast(library[name], ctypes.c_void_p).value or 0 for name in GETTERS)
    except (OSError, AttributeError):
        return None
    trials = [torch.empty(5, dtype=dtype)[1:] for dtype in (torch.float32, torch.int8, torch.bfloat16)]
    trials.append(torch.nn.Parameter(torch.empty(3, dtype=torch.float64)))
    for place in PLACES:
        if all(holds(place, trial) for trial in trials):
            tensors = TorchTensors((torch.Tensor, torch.nn.Parameter), place, getters)
            return tensors if all(agrees(tensors, trial) for trial in trials) else None
    return None


def holds(place: int, tensor: Any) -> bool:
    """Whether the object has the pointer to its C++ tensor at `place`."""
    inside = type(tensor).__basicsize__ >= place + 8
    return inside and ctypes.c_uint64.from_address(id(tensor) + place).value == tensor._cdata


def agrees(tensors: TorchTensors, tensor: Any) -> bool:
    """Whether the getters say what Python says."""
    on_cpu = tensors.ask(0, tensor, ctypes.c_int32(-1)) == DEVICE_TYPES["cpu"]
    return on_cpu and tensors.ask(2, tensor, ctypes.c_void_p()) == tensor.data_ptr()
