"""Where an array lies: addresses of everything that can be a pointer argument, without importing torch or numpy."""

import ctypes
from typing import Any


def array_of(argument: Any) -> Any:
    """The array behind a tensor descriptor; any other argument is itself."""
    return argument.base if hasattr(argument, "block_shape") else argument


def is_array(argument: Any) -> bool:
    """Whether `argument` can be a pointer: data_ptr() and dtype, an array interface, or dlpack."""
    if not hasattr(argument, "dtype") or isinstance(argument, type):
        return False
    return any(
        hasattr(argument, name)
        for name in ("data_ptr", "__array_interface__", "__cuda_array_interface__", "__dlpack__")
    )


def address(argument: Any) -> int:
    """The address of an array's first element; 0 for an empty tensor, as its data_ptr() says."""
    try:
        return argument.data_ptr()
    except AttributeError:
        pass
    for name in ("__array_interface__", "__cuda_array_interface__"):
        interface = getattr(argument, name, None)
        if interface is not None:
            return interface["data"][0] if argument.size else 0
    if hasattr(argument, "__dlpack__"):
        return dlpack_address(argument)
    raise TypeError(f"{type(argument).__name__} has no address: it needs data_ptr(), an array interface, or dlpack")


def device_of(argument: Any) -> tuple[str, int]:
    """The kind of device that an array, or what a descriptor describes, lives on (cpu, cuda, ...) and its index."""
    argument = array_of(argument)
    if (device := getattr(argument, "device", None)) is not None:
        if isinstance(kind := getattr(device, "type", None), str):
            return kind, device.index or 0
        if isinstance(device, str):
            kind, _, index = device.partition(":")
            return kind, int(index or 0)
    if hasattr(argument, "__cuda_array_interface__"):
        return "cuda", getattr(device, "id", 0)
    if not hasattr(argument, "__array_interface__") and hasattr(argument, "__dlpack_device__"):
        kind, index = argument.__dlpack_device__()
        return {1: "cpu", 2: "cuda", 3: "cpu", 10: "hip"}.get(int(kind), f"dlpack:{int(kind)}"), index
    return "cpu", 0


class _DLTensor(ctypes.Structure):
    """The head of DLPack's managed tensor. Source: dlpack.h, version 0.8 (the unversioned capsule)."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


def dlpack_address(argument: Any) -> int:
    """The address in the capsule that `argument` gives; the capsule is dropped, so the array stays its owner's."""
    capsule = argument.__dlpack__()
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(read(capsule, b"dltensor"))
    return (tensor.data or 0) + tensor.byte_offset
