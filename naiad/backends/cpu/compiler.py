"""The CPU backend: ttir -> ttcir (loops over vectors) -> LLVM text -> object."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from naiad import knobs
from naiad.backends.base import BaseBackend, GPUTarget, Language, Options, Stage
from naiad.backends.cpu.host import PROFILES, HostCPU, host, profile


@dataclass(frozen=True)
class CPUOptions(Options):
    """The keywords of a launch that mean something here; those about warps and stages are taken, and change nothing."""

    warp_size: int = 1
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4b15", "fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")
    backend_name: str = "cpu"


class CPUBackend(BaseBackend):
    """Compiles for the CPU that `target.arch` names: that of this machine where it is empty or "host"."""

    binary_ext: ClassVar[str] = "obj"
    sources: ClassVar[tuple[str, ...]] = (
        "language/**", "ir/**", "analysis/**", "passes/", "passes/common/**", "passes/ttir/**",
        "lowering/", "backends/", "backends/cpu/**", "backends/launch/", "compiler/**", "rounding.py", "errors.py",
        "grid.py", "files.py",
    )  # fmt: skip
    idle_options: ClassVar[frozenset[str]] = frozenset(
        ("num_warps", "num_ctas", "num_stages", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim", "kpack",
         "num_buffers_warp_spec", "num_consumer_groups", "schedule_hint", "launch_pdl", "enable_reflect_ftz")
    )  # fmt: skip

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cpu"

    @staticmethod
    def arch_named(text: str) -> str | None:
        return text if text in PROFILES else None

    @cached_property
    def machine(self) -> HostCPU:
        arch = self.target.arch
        return host() if arch in ("", "host", 0, host().name) else profile(str(arch))

    def hash(self) -> str:
        return f"naiad-cpu-{self.machine.name}-{self.machine.feature_string}-{self._amx}"

    @property
    def _amx(self) -> bool:
        from naiad.backends.cpu.host import amx_ready

        return self.machine == host() and amx_ready()

    def parse_options(self, options: dict[str, Any]) -> CPUOptions:
        return CPUOptions(**CPUOptions.known(options))

    def add_stages(self, stages: dict[str, Stage], options: CPUOptions, language: Language = Language.TRITON) -> None:
        stages["ttir"] = self.make_ttir
        stages["ttcir"] = self.make_ttcir
        stages["llir"] = self.make_llir
        stages["obj"] = self.make_obj

    def make_ttir(self, module: Any, metadata: dict[str, Any]) -> Any:
        """The common passes."""
        from naiad.passes.ttir import POINTERS

        POINTERS.run(module)
        return module

    def make_ttcir(self, module: Any, metadata: dict[str, Any]) -> Any:
        """Tiles become loops."""
        from naiad.backends.cpu.cost import scalar_operations
        from naiad.backends.cpu.lower import assert_messages
        from naiad.backends.cpu.tiles.lower import tiles_to_loops

        made = tiles_to_loops(module, self._cpu_target())
        [kernel] = [op for op in made.ops if op.name == "tt.func"]
        metadata["name"] = kernel.properties["sym_name"].data
        metadata["asserts"] = assert_messages(made)
        metadata["cost"] = scalar_operations(kernel)
        return made

    def make_llir(self, module: Any, metadata: dict[str, Any]) -> str:
        from naiad.backends.cpu.lower import lower

        return lower(module, self._cpu_target())

    def make_obj(self, text: str, metadata: dict[str, Any]) -> bytes:
        from naiad.backends.cpu.toolchain import PASSES, Machine, object_code

        return object_code(text, Machine.of(self.machine), () if knobs.passes.disable_llvm else PASSES)

    def derive(self, name: str, asm: Mapping[str, Any], metadata: Any) -> str | bytes | None:
        """`asm`: the assembly text, made when it is asked for."""
        if name != "asm":
            return None
        from naiad.backends.cpu.toolchain import PASSES, Machine, assembly

        return assembly(asm["llir"], Machine.of(self.machine), () if knobs.passes.disable_llvm else PASSES)

    def _cpu_target(self) -> Any:
        from naiad.backends.cpu.target import CpuTarget

        return CpuTarget.of(self.machine, self._amx)


__all__ = ["CPUBackend", "CPUOptions"]
