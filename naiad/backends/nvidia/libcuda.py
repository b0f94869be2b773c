"""libcuda through ctypes: finding it, its errors, and the context of a device."""

import ctypes
import functools
import os

from naiad import knobs

__all__ = ["CudaError", "attribute", "check", "context", "cuda", "current_context", "library", "make_current"]


NAME = "libcuda.so.1"


class CudaError(RuntimeError):
    """A call of the driver failed."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """libcuda, of TRITON_LIBCUDA_PATH if that is set, initialised; None where there is no driver or no GPU."""
    folder = knobs.nvidia.libcuda_path
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll") if folder is None else (os.path.join(folder, NAME),):
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


def current_context() -> int:
    """The handle of this thread's context; 0 where it has none."""
    current = ctypes.c_void_p()
    check(cuda().cuCtxGetCurrent(ctypes.byref(current)))
    return current.value or 0


def make_current(device: int) -> None:
    """Has this thread use a device's primary context, if it has no context."""
    if not current_context():
        check(cuda().cuCtxSetCurrent(context(device)))


def attribute(which: int, device: int) -> int:
    value = ctypes.c_int()
    check(cuda().cuDeviceGetAttribute(ctypes.byref(value), which, device))
    return value.value
