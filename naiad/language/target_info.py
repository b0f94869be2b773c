"""Questions about the target that a kernel is compiled for. All are answered while it is compiled."""

from typing import Any

from naiad.language.constexpr_function import constexpr_function

__all__ = ["current_target"]


def current_target() -> Any:
    """The target that is compiled for, else that of the active driver (backend, arch, warp_size), else None."""
    from naiad.language.builder import builder, is_building

    target = getattr(builder().options, "target", None) if is_building() else None
    return target if target is not None else _driver_target()


def _driver_target() -> Any:
    # The driver is part of the runtime, which is above the language: it is asked when it is there
    import importlib
    import importlib.util

    if importlib.util.find_spec("naiad.runtime.driver") is None:
        return None
    try:
        return importlib.import_module("naiad.runtime.driver").active.get_current_target()
    except RuntimeError:
        return None


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
