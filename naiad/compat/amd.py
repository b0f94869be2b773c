"""Names of `triton.backends.amd`, for code that imports them anywhere: naiad compiles nothing for AMD GPUs."""

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from naiad import knobs
from naiad.backends.base import BaseBackend, GPUTarget, Language, Options, Stage
from naiad.backends.driver import GPUDriver

__all__ = ["BaseBackend", "GPUDriver", "GPUTarget", "HIPBackend", "HIPDriver", "HIPLauncher", "HIPOptions", "HIPUtils",
           "Language", "knobs"]  # fmt: skip
TEXT = "naiad has no backend for AMD GPUs: its targets are cuda (NVIDIA) and cpu"


@dataclass(frozen=True)
class HIPOptions(Options):
    """The keywords of a launch that AMD's backend takes."""

    num_stages: int = 2
    warp_size: int = 64
    sanitize_overflow: bool = True
    waves_per_eu: int = 0
    matrix_instr_nonkdim: int = 0
    kpack: int = 1
    allow_flush_denorm: bool = False
    backend_name: str = "hip"
    instrumentation_mode: str = ""
    schedule_hint: str = "none"


class HIPBackend(BaseBackend):
    """What says that there is no such backend, as soon as something is to be compiled."""

    binary_ext: ClassVar[str] = "hsaco"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "hip"

    def hash(self) -> str:
        return f"naiad-hip-{self.target.arch}"

    def parse_options(self, options: dict[str, Any]) -> HIPOptions:
        return HIPOptions(**{"arch": self.target.arch, **HIPOptions.known(options)})

    def add_stages(self, stages: dict[str, Stage], options: Any, language: Language = Language.TRITON) -> NoReturn:
        raise NotImplementedError(f"{TEXT}; asked for {self.target}")


class HIPUtils:
    """Questions about devices that are not there."""

    def __init__(self) -> None:
        raise RuntimeError(f"no AMD GPU is reached from here: {TEXT}")


class HIPLauncher(HIPUtils):
    """Launches nothing."""


class HIPDriver(GPUDriver):
    """A driver that is never active."""

    def __init__(self) -> None:
        raise RuntimeError(f"no AMD GPU is reached from here: {TEXT}")

    @classmethod
    def is_active(cls) -> bool:
        return False
