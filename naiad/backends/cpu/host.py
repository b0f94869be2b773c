"""What the CPU of this machine can do, read without LLVM, so that a cache hit needs no llvmlite.

`host()` reads the kernel's list of features once; `profile(name)` gives the same value for a CPU that is not this one,
for cross assembly and for tests. The name that LLVM is given is chosen from the features: a virtual machine may hide
what it runs on, and LLVM's own guess then names an older family.
"""

import ctypes
import functools
import platform
import sys
from dataclasses import dataclass

# Features by LLVM's name -> how Linux spells them in /proc/cpuinfo. The list holds what code generation can use.
X86_FEATURES = {
    "sse3": "pni", "ssse3": "ssse3", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "popcnt": "popcnt", "cx16": "cx16",
    "sahf": "lahf_lm", "avx": "avx", "avx2": "avx2", "fma": "fma", "f16c": "f16c", "bmi": "bmi1", "bmi2": "bmi2",
    "lzcnt": "abm", "movbe": "movbe", "adx": "adx", "aes": "aes", "pclmul": "pclmulqdq", "sha": "sha_ni",
    "gfni": "gfni", "vaes": "vaes", "vpclmulqdq": "vpclmulqdq", "avx512f": "avx512f", "avx512bw": "avx512bw",
    "avx512cd": "avx512cd", "avx512dq": "avx512dq", "avx512vl": "avx512vl", "avx512ifma": "avx512ifma",
    "avx512vbmi": "avx512vbmi", "avx512vbmi2": "avx512_vbmi2", "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg", "avx512vpopcntdq": "avx512_vpopcntdq", "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16", "avxvnni": "avx_vnni", "avxvnniint8": "avx_vnni_int8", "avxifma": "avx_ifma",
    "amx-tile": "amx_tile", "amx-bf16": "amx_bf16", "amx-int8": "amx_int8", "amx-fp16": "amx_fp16",
}  # fmt: skip
ARM_FEATURES = {
    "fp-armv8": "fp", "neon": "asimd", "lse": "atomics", "fullfp16": "asimdhp", "dotprod": "asimddp",
    "bf16": "bf16", "i8mm": "i8mm", "fp16fml": "asimdfhm", "sve": "sve", "sve2": "sve2",
}  # fmt: skip

V2 = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf")
V3 = (*V2, "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe")
V4 = (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
ICELAKE = (*V4, "avx512vnni", "avx512vbmi", "avx512vbmi2", "avx512ifma", "avx512bitalg", "avx512vpopcntdq", "gfni")
# Name of a CPU -> what it has, oldest first: `host()` takes the last one that it has all of.
INTEL = {
    "x86-64": (), "x86-64-v2": V2, "haswell": V3, "skylake-avx512": V4, "cascadelake": (*V4, "avx512vnni"),
    "icelake-server": ICELAKE, "sapphirerapids": (*ICELAKE, "avx512bf16", "avx512fp16", "avxvnni"),
}  # fmt: skip
AMD = {
    "x86-64": (), "x86-64-v2": V2, "znver3": V3, "znver4": (*ICELAKE, "avx512bf16"),
    "znver5": (*ICELAKE, "avx512bf16", "avxvnni"),
}  # fmt: skip
AMX = ("amx-tile", "amx-bf16", "amx-int8")
# CPUs that tests and cross compilation name: architecture, LLVM's name, features.
PROFILES = {
    **{name: ("x86_64", name, has) for name, has in (AMD | INTEL).items()},
    "x86-64-v3": ("x86_64", "x86-64-v3", V3),
    "x86-64-v4": ("x86_64", "x86-64-v4", V4),
    "sapphirerapids": ("x86_64", "sapphirerapids", (*INTEL["sapphirerapids"], *AMX)),
    "aarch64": ("aarch64", "generic", ("neon",)),
    "neoverse-n1": ("aarch64", "neoverse-n1", ("neon", "lse", "fullfp16", "dotprod")),
}


@dataclass(frozen=True)
class HostCPU:
    """A CPU as code generation sees it: LLVM's names for the machine, the CPU and its features, and what follows."""

    name: str
    features: frozenset[str]
    triple: str
    vector_bytes: int

    @property
    def feature_string(self) -> str:
        """LLVM's feature list: everything known is said, so that `name` only chooses the scheduling."""
        if not self.triple.startswith("x86_64"):
            return ",".join(f"+{f}" for f in sorted(self.features))
        known = [("+" if f in self.features else "-") + f for f in X86_FEATURES]
        return ",".join(["+64bit", "+cx8", "+sse2", *known])

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith("x86_64")

    @property
    def has_fma(self) -> bool:
        return "fma" in self.features or "neon" in self.features

    @property
    def has_avx2(self) -> bool:
        return "avx2" in self.features

    @property
    def has_avx512(self) -> bool:
        """The set that vector code counts on: 64-byte registers, bytes and words, and the shorter forms."""
        return {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= self.features

    @property
    def has_amx_bf16(self) -> bool:
        return {"amx-tile", "amx-bf16"} <= self.features

    @property
    def has_amx_int8(self) -> bool:
        return {"amx-tile", "amx-int8"} <= self.features


@functools.cache
def host() -> HostCPU:
    """The CPU of this process."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        words, vendor = x86_words()
        features = frozenset(f for f, word in X86_FEATURES.items() if word in words)
        table = AMD if "AMD" in vendor or "Hygon" in vendor else INTEL
        name = [name for name, has in table.items() if features.issuperset(has)][-1]
        return described(name, features, host_triple("x86_64"))
    if machine in ("aarch64", "arm64"):
        words = frozenset(cpuinfo().get("Features", "fp asimd").split())
        features = frozenset(f for f, word in ARM_FEATURES.items() if word in words)
        name = "apple-m1" if sys.platform == "darwin" else "generic"
        return described(name, features, host_triple("aarch64"))
    raise NotImplementedError(f"naiad has no CPU code generation for {machine!r}; x86-64 and aarch64 are supported")


def profile(name: str) -> HostCPU:
    """The CPU called `name` in PROFILES, on Linux: what cross assembly is given. ValueError if there is none."""
    if name not in PROFILES:
        raise ValueError(f"unknown CPU {name!r}; known: {', '.join(PROFILES)}")
    machine, llvm_name, features = PROFILES[name]
    return described(llvm_name, frozenset(features), f"{machine}-unknown-linux-gnu")


def described(name: str, features: frozenset[str], triple: str) -> HostCPU:
    """The HostCPU with the vector width that its features allow (bytes): 64 AVX-512, 32 AVX2, else 16."""
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features:
        return HostCPU(name, features, triple, 64)
    return HostCPU(name, features, triple, 32 if "avx2" in features else 16)


def host_triple(machine: str) -> str:
    """LLVM's triple for this system. Windows gets ELF objects: they are loaded from memory, never by its linker."""
    if sys.platform == "darwin":
        return f"{'arm64' if machine == 'aarch64' else machine}-apple-darwin"
    return f"{machine}-pc-windows-msvc-elf" if sys.platform == "win32" else f"{machine}-unknown-linux-gnu"


def cpuinfo() -> dict[str, str]:
    """The first processor of /proc/cpuinfo, empty where there is no such file (the rest of a long file is not read)."""
    fields: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if not line.strip():
                    break
                key, _, value = line.partition(":")
                fields[key.strip()] = value.strip()
    except OSError:
        pass
    return fields


def x86_words() -> tuple[frozenset[str], str]:
    """(features in Linux's spelling, vendor) of this x86-64 machine; only what the system says it saves is listed."""
    if fields := cpuinfo():
        return frozenset(fields.get("flags", "").split()), fields.get("vendor_id", "")
    if sys.platform == "darwin":
        said = darwin_sysctl("machdep.cpu.features") + darwin_sysctl("machdep.cpu.leaf7_features")
        spelled = {"avx1.0": "avx", "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "lahf": "lahf_lm"}
        return frozenset(spelled.get(word, word) for word in [*said, "abm", "lahf_lm"]), "GenuineIntel"
    if sys.platform == "win32":
        present = ctypes.windll.kernel32.IsProcessorFeaturePresent  # 40: AVX2 (then with FMA and BMI), 41: AVX-512F
        v3 = frozenset(X86_FEATURES[f] for f in (V3 if present(40) else V2))
        return v3, platform.processor()
    return frozenset(), ""


def darwin_sysctl(name: str) -> list[str]:
    """The words of a string sysctl, in lower case; empty if there is none."""
    libc, size = ctypes.CDLL(None), ctypes.c_size_t(4096)
    text = ctypes.create_string_buffer(4096)
    failed = libc.sysctlbyname(name.encode(), text, ctypes.byref(size), None, ctypes.c_size_t(0))
    return [] if failed else text.value.decode().lower().split()


@functools.cache
def amx_ready() -> bool:
    """Asks the kernel for AMX tile registers, once per process, and says whether code may use them.

    Linux gives the 8 KB of tile state only to a process that asked (arch_prctl, ARCH_REQ_XCOMP_PERM, 18); threads that
    exist inherit the permission. A process whose signal stacks are too small is refused.
    """
    if not sys.platform.startswith("linux") or not (host().has_amx_bf16 or host().has_amx_int8):
        return False
    return ctypes.CDLL(None, use_errno=True).syscall(158, 0x1023, 18) == 0
