"""Questions about the target that a kernel is compiled for. All are answered while it is compiled."""

import importlib
import re
from dataclasses import dataclass
from typing import Any

from naiad.language.builder import builder, is_building
from naiad.language.constexpr_function import constexpr_function

__all__ = ["current_target"]


@dataclass(frozen=True)
class Target:
    """The target in the options of a compilation: "cuda", "hip", "cpu" or "interpreter", and its architecture."""

    backend: str
    arch: Any
    warp_size: int


def current_target() -> Any:
    """The target that is compiled for, else that of the active driver (backend, arch, warp_size), else None."""
    options = builder().options if is_building() else None
    if options is not None and hasattr(options, "backend_name"):
        return Target(options.backend_name, _number(options.arch), getattr(options, "warp_size", 1))
    try:
        # On the host, in a kernel's globals say, the question goes to the driver, which the language is below of
        return importlib.import_module("naiad.backends.driver").driver.active.get_current_target()
    except RuntimeError:
        return None


def _number(arch: Any) -> Any:
    """90 for "sm_90a"; other names as they are."""
    found = re.fullmatch(r"sm_?(\d+)[a-z]?", arch) if isinstance(arch, str) else None
    return int(found[1]) if found else arch


current_target.__triton_builtin__ = True  # type: ignore[attr-defined]


@constexpr_function
def is_cuda() -> bool:
    """Whether the target is an NVIDIA GPU."""
    target = current_target()
    return target is not None and target.backend == "cuda"


@constexpr_function
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether the target is an NVIDIA GPU of compute capability major.minor or later."""
    target = current_target()
    return target is not None and target.backend == "cuda" and target.arch >= major * 10 + minor


@constexpr_function
def is_hip() -> bool:
    """Whether the target is an AMD GPU."""
    target = current_target()
    return target is not None and target.backend == "hip"


def _is_arch(arch: str) -> bool:
    target = current_target()
    return target is not None and target.arch == arch


@constexpr_function
def is_hip_cdna3() -> bool:
    return _is_arch("gfx942")


@constexpr_function
def is_hip_cdna4() -> bool:
    return _is_arch("gfx950")


@constexpr_function
def is_hip_gfx1250() -> bool:
    return _is_arch("gfx1250")


@constexpr_function
def is_cpu() -> bool:
    """Whether the target is the CPU."""
    target = current_target()
    return target is not None and target.backend == "cpu"
