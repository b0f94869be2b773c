"""Triton's variables that mean nothing in naiad, with the reason: setting one gives a warning instead of silence.

Those that `triton.knobs` has as attributes stand in `knobs` with `unused=`; here are the reasons that several share,
and the variables that Triton reads elsewhere. (What only Triton's own build or tests read is left out.)
"""

from naiad.environment import base_knobs, env_opt_str

NO_AMD = "naiad does not compile for AMD GPUs yet"
NO_PROFILER = "naiad has no profiler of its own; `launch_enter_hook` and perf or Nsight see its kernels"
NO_HEADERS = "launchers are compiled without C, so no header or library of CUDA is needed"
NO_TENSOR_MEMORY = "naiad's code for sm_100 does not use tensor memory"
NO_PLUGINS = "passes are added in Python, see NAIAD_PIPELINE"
NO_SANITIZER = "naiad has no sanitizer; TRITON_INTERPRET=1 finds accesses that are out of bounds"
NO_LLVM_DEBUG = "llvmlite's LLVM is a release build, which has no debug output"
NO_THREADS = "naiad's compiler runs in the thread that asks for a kernel"
NO_DIAGNOSTICS = "every error of naiad says its place and shows the source"
NO_PARTITIONS = "naiad prints no schedules of warps"
NO_MIR = "naiad gives LLVM text to LLVM and has no step at its machine IR"
OWN_POOL = "naiad's own threads run the grid on the CPU, see NAIAD_NUM_THREADS"
OWN_MATH = "naiad writes its own vector functions and products, with stated errors"

_IGNORED = {
    "ALLOW_LHS_TMEM_LAYOUT_CONVERSION": ("left operands of products in tensor memory", NO_TENSOR_MEMORY),
    "DISABLE_MMA_V5": ("no tcgen05 instructions", NO_TENSOR_MEMORY),
    "LLVM_PASS_PLUGIN_PATH": ("a plugin of LLVM", NO_PLUGINS),
    "TRITON_PLUGIN_PATHS": ("plugins of Triton", NO_PLUGINS),
    "TRITON_PLUGIN_VERSION_CHECK": ("check the version of plugins", NO_PLUGINS),
    "LLVM_ENABLE_TIMING": ("time of each pass of LLVM", "it runs four passes; MLIR_ENABLE_TIMING times naiad's"),
    "TRITON_ENABLE_LLVM_DEBUG": ("LLVM's debug output", NO_LLVM_DEBUG),
    "TRITON_LLVM_DEBUG_ONLY": ("debug output of some passes of LLVM", NO_LLVM_DEBUG),
    "MLIR_DISABLE_MULTITHREADING": ("passes in one thread", NO_THREADS),
    "MLIR_ENABLE_DIAGNOSTICS": ("which diagnostics are printed", NO_DIAGNOSTICS),
    "MLIR_ENABLE_REMARK": ("remarks of passes", NO_DIAGNOSTICS),
    "TRITON_ENABLE_PYTHON_STACKTRACE": (
        "Python's stack where C++ crashes",
        "naiad is Python: it is in the traceback",
    ),
    "TRITON_PARTITION_SCHEDULING_DUMP_DATA_ONLY": ("print schedules of warps", NO_PARTITIONS),
    "TRITON_PARTITION_SCHEDULING_DUMP_LOOP_ONLY": ("print schedules of warps", NO_PARTITIONS),
    "TRITON_PARTITION_SCHEDULING_ENABLE_DUMP_DOT": ("draw schedules of warps", NO_PARTITIONS),
    "TRITON_CONSAN_INIT_ALLOCATIONS": ("the sanitizer of concurrency", NO_SANITIZER),
    "TRITON_GSAN_SEED": ("the sanitizer of global memory", NO_SANITIZER),
    "TRITON_GSAN_CLOCK_BUFFER_SIZE": ("the sanitizer of global memory", NO_SANITIZER),
    "TRITON_DISABLE_OPENMP": ("triton-cpu: one thread", OWN_POOL),
    "TRITON_LOCAL_LIBOMP_PATH": ("triton-cpu: folder of libomp", OWN_POOL),
    "TRITON_CPU_FAST_MATH": ("triton-cpu: inexact mathematics", OWN_MATH),
    "TRITON_CPU_UKERNELS_LIB": ("triton-cpu: library of products", OWN_MATH),
    "TRITON_CPU_DOT_PROD_HORIZ_SUM": ("triton-cpu: how products are summed", OWN_MATH),
    "TRITON_CPU_ASSUME_IN_BOUNDS": ("triton-cpu: no bounds in loops", "naiad decides from the masks"),
    "TRITON_SYS_PATH": ("triton-cpu: folder of its C compiler's headers", NO_HEADERS),
    "TRITON_ROCPROFILER_SDK_LIB_PATH": ("the profiler on AMD", NO_PROFILER),
}


class ignored_knobs(base_knobs):
    """Variables that Triton reads outside of its knobs, and that have no effect here."""


for _key, (_doc, _why) in _IGNORED.items():
    _knob = env_opt_str(_key, None, _doc, unused=_why)
    _knob.__set_name__(ignored_knobs, _key.lower())
    setattr(ignored_knobs, _key.lower(), _knob)
