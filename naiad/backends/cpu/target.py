"""What a CPU offers to the lowering: vector width, instructions, and the shapes of its register microkernels.

Rules ask a target questions (`has_masked_memory(16)`), they never look at names or feature strings.
"""

from dataclasses import dataclass
from functools import cache, cached_property

from naiad.backends.cpu import host as machine
from naiad.backends.cpu.host import HostCPU


@dataclass(frozen=True)
class CpuTarget:
    """A CPU to write code for. `amx`: this process may use the tile registers (the features alone do not say so)."""

    arch: str
    cpu: str
    features: frozenset[str]
    vector_bytes: int
    amx: bool = False

    @classmethod
    def of(cls, cpu: HostCPU, amx: bool = False) -> "CpuTarget":
        """The target that `cpu` describes."""
        arch = "x86_64" if cpu.is_x86 else "aarch64"
        return cls(arch, cpu.name, cpu.features, cpu.vector_bytes, amx and cpu.has_amx_bf16)

    @classmethod
    def host(cls) -> "CpuTarget":
        """The CPU that this process runs on."""
        return host_target()

    @classmethod
    def named(cls, name: str) -> "CpuTarget":
        """A profile of host.py, for cross compilation: "x86-64", "x86-64-v3", "x86-64-v4", "aarch64", ..."""
        cpu = machine.profile(name)
        return cls.of(cpu, amx=cpu.has_amx_bf16)

    def lanes(self, bits: int) -> int:
        """How many elements of `bits` bits fill a register."""
        return self.vector_bytes * 8 // max(bits, 8)

    @property
    def is_x86(self) -> bool:
        return self.arch == "x86_64"

    @cached_property
    def has_fma(self) -> bool:
        return "fma" in self.features or self.arch == "aarch64"

    @cached_property
    def has_half_conversion(self) -> bool:
        """Vector instructions between f16 and f32, rounded to nearest even."""
        return "f16c" in self.features or self.arch == "aarch64"

    @cached_property
    def has_avx2(self) -> bool:
        return "avx2" in self.features

    @cached_property
    def has_avx512(self) -> bool:
        return {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= self.features

    @cached_property
    def has_rounding(self) -> bool:
        """floor, ceil, rint as instructions."""
        return "sse4.1" in self.features or self.arch == "aarch64"

    @cached_property
    def has_bf16_dot(self) -> bool:
        """vdpbf16ps on 64-byte registers."""
        return self.has_avx512 and "avx512bf16" in self.features

    @cached_property
    def has_int8_dot(self) -> bool:
        """Dot products of four bytes: vpdpbusd on registers of `vector_bytes`, or sdot."""
        if self.arch == "aarch64":
            return "dotprod" in self.features
        return (self.has_avx512 and "avx512vnni" in self.features) or (self.has_avx2 and "avxvnni" in self.features)

    @cached_property
    def has_amx_bf16(self) -> bool:
        return self.amx and {"amx-tile", "amx-bf16"} <= self.features

    @cached_property
    def has_amx_int8(self) -> bool:
        return self.amx and {"amx-tile", "amx-int8"} <= self.features

    def has_masked_memory(self, bits: int) -> bool:
        """Whether one instruction loads and stores under a mask of `bits`-bit elements without touching the rest."""
        return self.has_avx512 or (self.has_avx2 and bits >= 32)

    @property
    def fast_gather(self) -> bool:
        """Whether the gather instruction beats scalar loads: on AVX-512 Intels, not on AMD's."""
        return self.has_avx512 and not self.cpu.startswith("znver")

    @property
    def function_attributes(self) -> str:
        """What every function is written with. Intel CPUs prefer 32-byte registers unless told."""
        width = self.vector_bytes * 8
        if not self.has_avx512:
            return "nounwind"
        return f'nounwind "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'

    def register_block(self, method: str) -> tuple[int, int]:
        """(rows, registers of columns) that a microkernel accumulates in: as many as fit beside its operands."""
        if self.has_avx512:
            return (4, 4)
        if self.arch == "aarch64":
            return (4, 4)
        return (4, 2) if method == "fma" else (2, 4)


@cache
def host_target() -> CpuTarget:
    return CpuTarget.of(machine.host(), amx=machine.amx_ready())
