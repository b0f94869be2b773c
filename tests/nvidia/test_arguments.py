"""Arrays of other libraries on a GPU, what a GPU has too little of, and a machine without one. Its stand-in records."""

import ctypes
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad.backends.nvidia import libcuda, tools
from naiad.backends.nvidia.libcuda import CudaError
from naiad.errors import OutOfResources, PTXASError

from .fake_gpu import FakeGPU

torch = pytest.importorskip("torch", reason="the stand-in of the GPU has torch's tensors")


@pytest.fixture
def gpu(gpu):
    gpu.set("fake_parameters", 3)
    return gpu


class LikeCupy:
    """An array of cupy: a dtype of numpy's, the interface, a device with a number."""

    def __init__(self, address, dtype=np.float32, size=32):
        self.dtype, self.size, self.device = np.dtype(dtype), size, SimpleNamespace(id=0)
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "<f4", "data": (address, False), "version": 3}


class LikeJax:
    """An array of jax whose dtype the interface cannot say: dlpack is left, and the device is a platform."""

    def __init__(self, address, dtype=ml_dtypes.bfloat16, size=32):
        self.dtype, self.size, self.address = np.dtype(dtype), size, address
        self.device = SimpleNamespace(platform="gpu", id=0)

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("no bfloat16")

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **keywords):
        words = [self.address - 16, 2, 1, 0, 0, 16]  # data, device, rank, shape, strides, byte offset
        self.tensor = (ctypes.c_uint64 * 16)(*words)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


def copying():
    @naiad.jit
    def copy(x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    return copy


@pytest.mark.parametrize("kind", [LikeCupy, LikeJax])
def test_arrays_of_other_libraries(gpu, kind):
    kernel, handles = copying(), []
    for turn in range(4):
        x, y = (kind(0x7F0000000000 + 4096 * n + 1024 * turn) for n in range(2))
        handles.append(kernel[(2,)](x, y, 20 + turn, BLOCK=32))
        addresses = [0x7F0000000000 + 4096 * n + 1024 * turn for n in range(2)]
        assert gpu.slots(2) == addresses and gpu.slots(3)[2] & 0xFFFFFFFF == 20 + turn
    element = "bf16" if kind is LikeJax else "f32"
    assert f"!tt.ptr<{element}> {{tt.divisibility = 16" in handles[0].asm["ttgir"]
    odd = kernel[(2,)](kind(0x7F0000000004), kind(0x7F0000002000), 20, BLOCK=32)
    assert odd is not handles[0] and gpu.slots(1) == [0x7F0000000004] and gpu.launches == 5


def test_an_empty_array_is_null(gpu):
    copying()[(1,)](LikeCupy(0, size=0), LikeCupy(0x7F0000000000), 20, BLOCK=32)
    assert gpu.slots(2) == [0, 0x7F0000000000]


def transposing():
    @naiad.jit
    def transpose(x, y, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(y + i[:, None] + N * i[None, :], tl.load(x + i[:, None] * N + i[None, :]))

    return transpose


def test_too_much_shared_memory_is_told_with_numbers(gpu, monkeypatch):
    x = torch.zeros(64)
    handle = transposing().warmup(x, x, N=64, grid=(1,))
    assert handle.metadata.shared > 0
    handle.metadata.shared = 300_000
    for _ in range(2):
        with pytest.raises(
            OutOfResources, match=r"shared memory, Required: 300000, Hardware limit: 232448.*block sizes"
        ):
            handle[(1,)](x, x)
    assert gpu.launches == 0


def test_too_many_registers_and_threads_are_told_with_numbers(gpu, monkeypatch):
    from naiad.backends.nvidia import driver

    x, attribute = torch.zeros(64), driver.function_attribute
    monkeypatch.setattr(driver, "function_attribute", lambda f, which: 255 if which == 4 else attribute(f, which))
    with pytest.raises(OutOfResources, match=r"registers, Required: 130560, Hardware limit: 65536.*maxnreg"):
        copying()[(1,)](x, x, 20, BLOCK=32, num_warps=16)
    with pytest.raises(OutOfResources, match=r"threads, Required: 2048, Hardware limit: 1024.*num_warps"):
        copying()[(1,)](x, x, 20, BLOCK=32, num_warps=64)
    assert gpu.launches == 0


@pytest.mark.parametrize("kind", [LikeCupy, LikeJax])
def test_without_a_driver_an_array_on_a_gpu_is_refused(monkeypatch, kind):
    monkeypatch.setattr(libcuda, "library", lambda: None)
    FakeGPU.forget()
    for _ in range(2):
        with pytest.raises(CudaError, match=r"no CUDA driver with a GPU here.*can be compiled, but not run"):
            copying()[(1,)](kind(0x7F0000000000), kind(0x7F0000001000), 20, BLOCK=32)


def test_a_ptxas_that_is_too_old_is_told(monkeypatch, tmp_path):
    old = tmp_path / "ptxas"
    old.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "Cuda compilation tools, release 10.1, V10.1.243"; exit 0; fi\n'
        "echo 'ptxas fatal   : Unsupported .version 8.6; current version is 6.4' >&2; exit 255\n"
    )
    old.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(old))
    assert tools.find_ptxas(90) == str(old)
    target = SimpleNamespace(arch=90, cpu="sm_90a")
    with pytest.raises(PTXASError, match=rf"ptxas 10.1.243 at {old} is too old for PTX 8.6: .*current version is 6.4"):
        tools.assemble(".version 8.6\n.target sm_90a\n", target)
