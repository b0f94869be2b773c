"""The NVIDIA backend: ttir -> ttgir -> LLVM text -> PTX -> cubin. Needs no GPU, and ptxas for the last stage only."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from naiad import knobs
from naiad.backends.base import SOURCES, BaseBackend, GPUTarget, Language, Options, Stage
from naiad.errors import Explanation

__all__ = ["NvidiaBackend", "NvidiaOptions"]


CLUSTERS = (1, 2, 4, 8, 16)
"""How many CTAs a cluster may have."""


@dataclass(frozen=True)
class NvidiaOptions(Options):
    """The keywords of a launch that mean something on NVIDIA GPUs."""

    maxnreg: int | None = None
    enable_reflect_ftz: bool = True
    launch_pdl: bool = False
    backend_name: str = "cuda"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_ctas not in CLUSTERS:
            raise ValueError(f"num_ctas must be one of {CLUSTERS}, got {self.num_ctas}")

    @staticmethod
    def min_dot_size(left: Any, right: Any) -> tuple[int, int, int]:
        """The least M, N and K of a dot of these types: 32 bytes along K."""
        return 1, 1, 256 // left.scalar.primitive_bitwidth


class NvidiaBackend(BaseBackend):
    """Compiles for the compute capability `target.arch`: 80, 86, 89, 90, 100, 120."""

    binary_ext: ClassVar[str] = "cubin"
    sources: ClassVar[tuple[str, ...]] = SOURCES

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cuda"

    @staticmethod
    def arch_named(text: str) -> int | None:
        found = re.fullmatch(r"(?:sm_?)?(\d+)a?", text)
        return int(found.group(1)) if found else None

    @property
    def arch(self) -> int:
        """The compute capability: 90 is 9.0."""
        return int(self.target.arch)

    def hash(self) -> str:
        from naiad.backends.nvidia.tools import find_ptxas, ptxas_version

        path = find_ptxas(self.arch)
        return f"naiad-cuda-{self.arch}-ptxas-{ptxas_version(path) if path else 'none'}"

    def parse_options(self, options: dict[str, Any]) -> NvidiaOptions:
        given = {"arch": f"sm{self.arch}", **NvidiaOptions.known(options)}
        if self.arch == 90:  # its wgmma sums 8-bit floats in fewer bits than f32 has
            given.setdefault("max_num_imprecise_acc_default", 2**30)
        if self.arch >= 90:
            given.setdefault("deprecated_fp8_dot_operand_dtypes", ("fp8e4b15",))
        if given.get("num_ctas", 1) != 1 and self.arch < 90:
            raise ValueError(
                f"num_ctas > 1 requires NVIDIA SM90+ (Hopper). Current target is sm_{self.arch}. This "
                "configuration will fail. Please set num_ctas=1 or target an SM90+ GPU."
            )
        return NvidiaOptions(**given)

    def get_module_map(self) -> dict[str, Any]:
        return {}

    def add_stages(
        self, stages: dict[str, Stage], options: NvidiaOptions, language: Language = Language.TRITON
    ) -> None:
        stages["ttir"] = self.make_ttir
        stages["ttgir"] = lambda module, metadata: self.make_ttgir(module, metadata, options)
        stages["llir"] = lambda module, metadata: self.make_llir(module, metadata, options)
        stages["ptx"] = self.make_ptx
        stages["cubin"] = self.make_cubin

    @property
    def gpu(self) -> Any:
        from naiad.backends.nvidia.target import target_of

        return target_of(self.arch)

    def make_ttir(self, module: Any, metadata: dict[str, Any]) -> Any:
        """The common passes; block pointers and descriptors become plain pointers."""
        from naiad.backends.nvidia.pipeline import TTIR

        TTIR.run(module)
        return module

    def make_ttgir(self, module: Any, metadata: dict[str, Any], options: NvidiaOptions) -> Any:
        """Layouts, and the passes that need them."""
        from naiad.backends.nvidia.pipeline import ttgir_pipeline

        made = module.clone()
        ttgir_pipeline(self.gpu, options).run(made)
        return made

    def make_llir(self, module: Any, metadata: dict[str, Any], options: NvidiaOptions) -> str:
        from naiad.backends.nvidia.lower import lower_module

        lowered = lower_module(module.clone(), self.gpu, warps_of(module) or options.num_warps, options)
        metadata["name"], metadata["shared"] = lowered.name, lowered.shared
        metadata["num_warps"] = warps_of(module) or options.num_warps
        metadata["libraries"] = [*(path for _, path in options.extern_libs), *lowered.libraries]
        return lowered.text

    def make_ptx(self, text: str, metadata: dict[str, Any]) -> str:
        from naiad.backends.nvidia.toolchain import ptx_text
        from naiad.backends.nvidia.tools import find_libdevice

        own = [path for path in metadata.get("libraries", ()) if path != find_libdevice()]
        ptx = ptx_text(text, self.gpu, own)
        if knobs.nvidia.dump_nvptx:
            print(f"// PTX of {metadata.get('name', 'the kernel')}\n{ptx}")
        return ptx

    def make_cubin(self, ptx: str, metadata: dict[str, Any]) -> bytes:
        """Assembled by ptxas; without it, the PTX itself, which the driver compiles when it is loaded."""
        from naiad.backends.nvidia.tools import assemble, find_ptxas, ptxas_options

        if find_ptxas(self.gpu.arch) is None:
            return ptx.encode() + b"\0"
        cubin, said = assemble(ptx, self.gpu, ptxas_options())
        if knobs.nvidia.dump_ptxas_log:
            print(said)
        return cubin

    def adopt(self, stage: str, code: Any, metadata: dict[str, Any]) -> None:
        """The kernel's name, its warps, and the bytes of its parameters, which the launcher looks at."""
        if not isinstance(code, str | bytes):
            return
        from naiad.backends.nvidia.entry import entry_of

        if (entry := entry_of(stage, code)) is None:
            said = Explanation(KERNELS.get(stage, "an entry"), "none", "mend the file that takes this stage's place")
            raise ValueError("\n".join([f"the {stage} has no kernel", *said.lines()]))
        metadata["name"], metadata["parameters"] = entry.name, list(entry.sizes)
        if entry.threads:
            metadata["num_warps"] = entry.threads // 32

    def derive(self, name: str, asm: Mapping[str, Any], metadata: Any) -> str | bytes | None:
        """`sass`: the machine code as text, by nvdisasm."""
        if name != "sass":
            return None
        from naiad.backends.nvidia.tools import disassemble

        return disassemble(asm["cubin"])


KERNELS = {"llir": "define ptx_kernel void @name(...)", "ptx": ".visible .entry name(...)"}
"""How code begins a kernel."""


def warps_of(module: Any) -> int | None:
    """The number of warps that a ttgir module says."""
    found = module.attributes.get("ttg.num-warps")
    return None if found is None else found.value.data
