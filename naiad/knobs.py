"""Every environment variable that naiad reads: name, type, default, and a line of what it is for.

The groups are Triton's, and one more; `environment` says how they work. `naiad env` prints this table with the values.
"""

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from naiad.environment import (
    Env,
    NvidiaTool,
    base_knobs,
    changed,
    env_base,
    env_bool,
    env_cached,
    env_class,
    env_float,
    env_int,
    env_nvidia_tool,
    env_opt_bool,
    env_opt_str,
    env_size,
    env_str,
    env_words,
    getenv,
)
from naiad.hooks import CompileTimes, HookChain
from naiad.ignored import NO_AMD, NO_HEADERS, NO_MIR, NO_PROFILER, NO_SANITIZER, ignored_knobs

__all__ = ["CompileTimes", "Env", "HookChain", "NvidiaTool", "base_knobs", "env_base", "env_opt_bool", "getenv"]

env = Env()
propagate_env: bool = True


class build_knobs(base_knobs):
    """Native code around kernels."""

    cc = env_opt_str("CC", None, "C compiler for what needs one (naiad's kernels and launchers do not)")
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH", None, "folder of the CUDA C runtime's headers", unused=NO_HEADERS)
    cudart_path = env_opt_str("TRITON_CUDART_PATH", None, "folder of the CUDA runtime", unused=NO_HEADERS)
    impl: Callable[..., str] | None = None

    @property
    def backend_dirs(self) -> set[str]:
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    """The remote cache in redis."""

    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}", "name of an entry in redis")
    host = env_str("TRITON_REDIS_HOST", "localhost", "host of the redis server")
    port = env_int("TRITON_REDIS_PORT", 6379, "port of the redis server")


class cache_knobs(base_knobs):
    """Where files go."""

    home_dir = env_str("TRITON_HOME", lambda: os.path.expanduser("~/"), "folder that holds .triton")
    dump_dir = env_str("TRITON_DUMP_DIR", lambda: _folder("dump"), "where TRITON_KERNEL_DUMP writes")
    override_dir = env_str("TRITON_OVERRIDE_DIR", lambda: _folder("override"), "where TRITON_KERNEL_OVERRIDE reads")
    dir = env_str("TRITON_CACHE_DIR", lambda: _folder("cache"), "the cache of compiled kernels")
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager", "class that keeps compiled kernels")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend", "class of a remote cache")

    def get_triton_dir(self, name: str) -> str:
        return os.path.join(self.home_dir, ".triton", name)


def _folder(name: str) -> str:
    return cache.get_triton_dir(name)


class compilation_knobs(base_knobs):
    """Compiling."""

    override = env_bool("TRITON_KERNEL_OVERRIDE", False, "replace a stage by a file of the override folder")
    dump_ir = env_bool("TRITON_KERNEL_DUMP", False, "write every stage of every kernel into the dump folder")
    dump_ir_extract_di_local_variables = env_bool(
        "LLVM_EXTRACT_DI_LOCAL_VARIABLES", False, "variables in debug info", unused="naiad's debug information is lines"
    )
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY", False, "keep only the last stage in the cache")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE", False, "compile even where the cache has the kernel")
    use_ir_loc = env_opt_str(
        "USE_IR_LOC",
        None,
        "stage whose text gives the line numbers",
        unused="line numbers are those of the Python source",
    )
    enable_asan = env_bool("TRITON_ENABLE_ASAN", False, "address sanitizer (AMD)", unused=NO_SANITIZER)
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO", False, "no line numbers in the code", True)
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING", False, "compiler frames in tracebacks")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", False, "kernels read any global", True)
    instrumentation_mode = env_cached(
        env_str("TRITON_INSTRUMENTATION_MODE", "", "passes that instrument kernels", unused=NO_SANITIZER)
    )
    listener: Callable[..., None] | None = None


class autotuning_knobs(base_knobs):
    """Tuning."""

    cache = env_bool("TRITON_CACHE_AUTOTUNING", False, "keep timings on disk for every tuned kernel")
    print = env_bool("TRITON_PRINT_AUTOTUNING", False, "print what tuning measured and chose")
    listener: Callable[..., None] | None = None


class runtime_knobs(base_knobs):
    """Launching."""

    interpret = env_bool("TRITON_INTERPRET", False, "run kernels in Python on numpy, without compiling")
    debug = env_cached(env_bool("TRITON_DEBUG", False, "device_assert and overflow checks at run time"))
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH", None, "compile for this architecture, not the device's", True)

    launch_enter_hook: Any = HookChain()
    launch_exit_hook: Any = HookChain(reversed=True)
    kernel_load_start_hook: Any = HookChain()
    kernel_load_end_hook: Any = HookChain(reversed=True)
    kernel_unload_hook: Any = HookChain(reversed=True)
    jit_cache_hook: Callable[..., bool | None] | None = None
    jit_post_compile_hook: Callable[..., bool | None] | None = None
    add_stages_inspection_hook: Callable[..., Any] | None = None


class language_knobs(base_knobs):
    """Defaults of the language."""

    fp32_default = env_opt_str("TRITON_F32_DEFAULT", None, "precision of tl.dot on f32 (ieee, tf32, tf32x3)", True)
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True, "contract a*b+c into one fused operation")


class nvidia_knobs(base_knobs):
    """NVIDIA's tools."""

    cuobjdump = env_nvidia_tool("cuobjdump", "cuobjdump program")
    nvdisasm = env_nvidia_tool("nvdisasm", "nvdisasm program")
    ptxas = env_nvidia_tool("ptxas", "ptxas program")
    ptxas_blackwell = env_nvidia_tool("ptxas-blackwell", "ptxas program for sm_100 and later")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP", False, "print the PTX of each kernel")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT", False, "ptxas without optimisation", True)
    ptxas_options = env_opt_str("PTXAS_OPTIONS", None, "more options for ptxas", True)
    mock_ptx_version = env_opt_str(
        "TRITON_MOCK_PTX_VERSION", None, "write PTX as for this CUDA release",
        unused="the version of the PTX follows from the architecture, whatever ptxas there is",
    )  # fmt: skip
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG", False, "print what ptxas says")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH", None, "libdevice bitcode", True)
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH", None, "folder of libcuda.so.1 (or its path)")
    disable_mma_v3 = env_bool("DISABLE_MMA_V3", False, "no wgmma: products on sm_90 as on sm_89", True)


class amd_knobs(base_knobs):
    """AMD's tools."""

    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True, "buffer loads and stores", unused=NO_AMD)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True, "buffer atomics", unused=NO_AMD)
    buffer_ops_analyze_small_tensor_range = env_bool(
        "AMDGCN_ANALYZE_SMALL_TENSOR_RANGE", False, "32-bit ranges", unused=NO_AMD
    )
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP", False, "print the assembly of each kernel", unused=NO_AMD)
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH", None, "path of libamdhip64.so", unused=NO_AMD)
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG", None, "ping-pong schedules", unused=NO_AMD)
    use_in_thread_transpose = env_opt_bool(
        "TRITON_HIP_USE_IN_THREAD_TRANSPOSE", None, "transpose in registers", unused=NO_AMD
    )
    use_async_copy = env_bool("TRITON_HIP_USE_ASYNC_COPY", False, "asynchronous copies to LDS", unused=NO_AMD)
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS", False, "no packed operations", unused=NO_AMD)
    dump_mir = env_opt_str("TRITON_DUMP_MIR", None, "folder for LLVM's machine IR", unused=NO_MIR)
    swap_mir = env_opt_str("TRITON_SWAP_MIR", None, "folder of machine IR to take instead", unused=NO_MIR)
    swap_mir_enable_misched = env_bool("TRITON_SWAP_MIR_ENABLE_MISCHED", False, "schedule that", unused=NO_MIR)


class proton_knobs(base_knobs):
    """The profiler (not part of naiad; the names answer)."""

    disable = env_bool("TRITON_PROTON_DISABLE", False, "no profiling", unused=NO_PROFILER)
    cupti_lib_dir = env_opt_str("TRITON_CUPTI_LIB_PATH", None, "folder of libcupti", unused=NO_PROFILER)
    cupti_lib_blackwell_dir = env_opt_str(
        "TRITON_CUPTI_LIB_BLACKWELL_PATH", None, "the same for sm_100", unused=NO_PROFILER
    )
    profile_buffer_size = env_int("TRITON_PROFILE_BUFFER_SIZE", 2**26, "bytes of a buffer", unused=NO_PROFILER)
    profile_metric_buffer_size = env_int(
        "TRITON_PROFILE_METRIC_BUFFER_SIZE", 2**26, "bytes of a buffer for metrics", unused=NO_PROFILER
    )
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True, "NVTX ranges", unused=NO_PROFILER)
    enable_hw_trace = env_bool("TRITON_ENABLE_HW_TRACE", False, "traces by the hardware", unused=NO_PROFILER)


class passes_knobs(base_knobs):
    """The passes from ttir on, and LLVM's (Triton reads these variables outside of its knobs)."""

    dump = env_str("MLIR_ENABLE_DUMP", "", "print the IR before each pass: 1, or the name of the only kernel meant")
    dump_path = env_opt_str("MLIR_DUMP_PATH", None, "file to which MLIR_ENABLE_DUMP appends; without it stderr")
    timing = env_bool("MLIR_ENABLE_TIMING", False, "print the time of each pass on stderr")
    reproducer_path = env_opt_str("TRITON_REPRODUCER_PATH", None, "file for the IR on which a pass fails")
    dump_llvm = env_bool("LLVM_IR_ENABLE_DUMP", False, "print the LLVM text of each kernel on stderr")
    disable_llvm = env_bool("DISABLE_LLVM_OPT", False, "no passes of LLVM before its code generator", True)
    pipeline = env_str("NAIAD_PIPELINE", "", "functions that change pipelines: package.module:function, ...", True)


class naiad_knobs(base_knobs):
    """What only naiad has."""

    num_threads = env_int("NAIAD_NUM_THREADS", 0, "threads that a launch on the CPU uses; 0: all cores", least=0)
    default_backend = env_opt_str("TRITON_DEFAULT_BACKEND", None, "backend that is active: cpu, nvidia, ...")
    cpu_backend = env_bool("TRITON_CPU_BACKEND", False, "triton-cpu's way to say TRITON_DEFAULT_BACKEND=cpu")
    native_launch = env_bool("NAIAD_NATIVE_LAUNCH", True, "launch through compiled launchers; 0: through Python only")
    debug = env_words("NAIAD_DEBUG", ("recompile",), "words, with commas: recompile (say what caused a compilation)")
    cache_size = env_size(
        "NAIAD_CACHE_SIZE",
        10 * 10**9,
        "what the cache may hold, as 500MB; the least recently used goes; 0: no limit",
    )
    remote_timeout = env_float("NAIAD_REMOTE_TIMEOUT", 1.0, "seconds that the remote cache has for an answer")
    as_triton = env_bool("NAIAD_AS_TRITON", False, "children of `naiad run` get the drop-in; set to 0 to keep it away")
    tune_jobs = env_int(
        "NAIAD_TUNE_JOBS",
        0,
        "processes that compile what is tuned; 1: this one; 0: others where that is worth it",
        least=0,
    )
    tune_restore = env_bool("NAIAD_TUNE_RESTORE", True, "tuning puts back the arrays that a kernel writes")
    triton_version = env_str("NAIAD_TRITON_VERSION", "3.6.0", "triton.__version__ under the drop-in")


build, redis, cache, compilation = build_knobs(), redis_knobs(), cache_knobs(), compilation_knobs()
autotuning, runtime, language = autotuning_knobs(), runtime_knobs(), language_knobs()
nvidia, amd, proton, naiad = nvidia_knobs(), amd_knobs(), proton_knobs(), naiad_knobs()
passes, ignored = passes_knobs(), ignored_knobs()


def groups() -> dict[str, base_knobs]:
    """The groups as they are now (a group may be replaced by a copy)."""
    return {name: group for name, group in globals().items() if isinstance(group, base_knobs)}


def refresh_knobs() -> None:
    """Reads the variables again that are read at import."""
    for group in groups().values():
        for name, knob in group.knob_descriptors.items():
            if isinstance(knob, env_cached):
                group.__dict__[name] = knob.of.get()
    warn_of_ignored()


def warn_of_ignored() -> None:
    """Says, once for each, which variables are set that have no effect."""
    for knob in _UNUSED:
        if knob.is_set():
            knob.warn()


class _Knobs(ModuleType):
    """This module: replacing a group is a change like any other."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        changed()


sys.modules[__name__].__class__ = _Knobs


def cache_invalidating_values() -> dict[str, str]:
    """The variables that compiled code depends on, where they differ from their default. Each compilation asks."""
    found = {}
    for name, field, knob in _INVALIDATING:
        group = globals()[name]
        if (field in vars(group) or knob.is_set()) and (value := getattr(group, field)) != knob.fallback():
            found[knob.key] = str(value)
    return found


_KNOBS = [(name, field, knob) for name, group in groups().items() for field, knob in group.knob_descriptors.items()]
_INVALIDATING = [row for row in _KNOBS if row[2].invalidates]
_UNUSED = [knob for _, _, knob in _KNOBS if knob.unused]
warn_of_ignored()
