"""Names of `triton.backends.nvidia`: classes of naiad's backend under Triton's names, and questions about ptxas."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from naiad import knobs
from naiad.backends.base import BaseBackend, GPUTarget, Language
from naiad.backends.driver import GPUDriver
from naiad.backends.nvidia.compiler import NvidiaBackend as CUDABackend
from naiad.backends.nvidia.compiler import NvidiaOptions as CUDAOptions
from naiad.errors import PTXASError

__all__ = ["BaseBackend", "CUDABackend", "CUDAOptions", "GPUDriver", "GPUTarget", "Language", "PTXASError",
           "file_hash", "get_ptxas", "get_ptxas_version", "include_dirs", "knobs",
           "libcuda_dirs", "library_dirs", "ptx_get_version", "sm_arch_from_capability",
           "ty_to_cpp"]  # fmt: skip
dirname = os.path.dirname(os.path.abspath(__file__))
include_dirs: list[str] = [
    folder
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
    if home and os.path.exists(os.path.join(folder := os.path.join(home, "include"), "cuda.h"))
]
"""Where cuda.h is: the CUDA toolkit's. naiad itself needs none."""
libraries = ["libcuda.so.1"]
_DRIVER = {"CudaDriver": "NvidiaDriver", "CudaUtils": "NvidiaUtils", "CudaLauncher": "NvidiaLauncher"}


def __getattr__(name: str) -> Any:
    if name in _DRIVER:
        from naiad.backends.nvidia import driver

        return getattr(driver, _DRIVER[name])
    if name == "compile_module_from_src":
        from naiad.compat import build

        return build.compile_module_from_src
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_ptxas(arch: int) -> Any:
    """The ptxas for a compute capability (90), with `path` and `version`. RuntimeError if there is none."""
    return knobs.nvidia.ptxas_blackwell if arch >= 100 else knobs.nvidia.ptxas


def get_ptxas_version(arch: int) -> str:
    """What that ptxas says of itself."""
    return get_ptxas(arch).version


def ptx_get_version(cuda_version: str) -> int:
    """The newest PTX (86 for 8.6) that a release of the CUDA toolkit (`12.8`) reads."""
    major, minor = map(int, cuda_version.split(".")[:2])
    if major == 12:
        return 80 + minor if minor < 6 else 80 + minor - 1
    if major >= 13:
        return 90 + (major - 13) * 10 + minor
    if major == 11:
        return 70 + minor
    raise RuntimeError(f"PTX is read by CUDA 11 and later, not by {cuda_version}")


def sm_arch_from_capability(capability: int) -> str:
    """`sm_90a` for 90: with the suffix of instructions that only this chip has, from 90 on."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


def file_hash(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def libcuda_dirs() -> Sequence[str]:
    """The folder of the libcuda that this process uses. RuntimeError where there is none."""
    from naiad.backends.nvidia import libcuda

    if (given := knobs.nvidia.libcuda_path) is not None:
        return [given]
    if libcuda.library() is None:
        raise RuntimeError("libcuda.so.1 was not found: there is no NVIDIA driver, or set TRITON_LIBCUDA_PATH")
    with open("/proc/self/maps") as file:
        paths = [line.split(maxsplit=5)[5].strip() for line in file if "libcuda.so" in line]
    return sorted({os.path.dirname(path) for path in paths})


library_dirs = libcuda_dirs


def ty_to_cpp(ty: str) -> str:
    """The C++ type that a launcher has for a signature's type."""
    if ty.startswith("*"):
        return "CUdeviceptr"
    if ty == "nvTmaDesc" or ty.startswith("tensordesc"):
        return "CUtensorMap"
    if ty in ("fp16", "bf16", "fp32", "f32", "fp64"):
        return "double"
    sign, bits = ty[:1], ty[1:]
    if sign not in ("i", "u") or bits not in ("1", "8", "16", "32", "64"):
        raise KeyError(ty)
    return f"{'u' if sign == 'u' else ''}int{8 if bits == '1' else bits}_t"
