"""Trying, measuring and comparing kernels: do_bench, perf_report, assert_close, makers of arrays, and `check`.

`check(kernel, args, grid)` runs a kernel on the interpreter, the CPU and the GPU, if there is one, and says where the
results part.
"""

from naiad.arrays import empty, random, to_float64
from naiad.report import Benchmark, Mark, perf_report
from naiad.testing.bench import do_bench, do_bench_cudagraph, do_bench_cudagraph_proton, do_bench_proton
from naiad.testing.check import Checked, CheckFailed, Difference, check
from naiad.testing.close import assert_close
from naiad.testing.device import (
    cuda_memcheck,
    get_dram_gbps,
    get_max_simd_tflops,
    get_max_tensorcore_tflops,
    nvsmi,
    set_gpu_clock,
)

__all__ = ["Benchmark", "CheckFailed", "Checked", "Difference", "Mark", "assert_close", "check", "cuda_memcheck",
           "do_bench", "do_bench_cudagraph", "do_bench_cudagraph_proton", "do_bench_proton", "empty", "get_dram_gbps",
           "get_max_simd_tflops", "get_max_tensorcore_tflops", "nvsmi", "perf_report", "random", "set_gpu_clock",
           "to_float64"]  # fmt: skip
