"""Measuring and comparing: do_bench on the CPU and on GPUs, perf_report, assert_close."""

import functools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from naiad.arrays import empty, random, to_float64
from naiad.backends.driver import driver
from naiad.report import Benchmark, Mark, perf_report

__all__ = ["Benchmark", "Mark", "assert_close", "do_bench", "do_bench_cudagraph", "empty", "get_dram_gbps",
           "get_max_simd_tflops", "get_max_tensorcore_tflops", "nvsmi", "perf_report", "random",
           "to_float64"]  # fmt: skip

LEAST_CALLS = 10
"""Calls that are timed where they fit in the time asked for, though clearing the caches does not."""
MODES = ("min", "max", "mean", "median", "all")


def _summary(times: list[float], quantiles: Sequence[float] | None, mode: str) -> Any:
    """The times (ms) as asked for: quantiles (one value where there is one), all, or a statistic."""
    if quantiles is not None:
        values = [_quantile(sorted(times), q) for q in quantiles]
        return values[0] if len(values) == 1 else values
    if mode == "all":
        return times
    statistic: Any = {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}[mode]
    return statistic(times)


def _quantile(ordered: list[float], q: float) -> float:
    """The q-quantile, between the two nearest of the sorted times."""
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Times calls of `fn` in ms: after `warmup` ms of calls, for about `rep` ms, with caches cleared before each.

    quantiles: which to give (a single one is given bare); else return_mode (min, max, mean, median, all) says what.
    grad_to_none: tensors whose grad is dropped before each call.
    """
    if return_mode not in MODES:
        raise ValueError(f"return_mode is one of {', '.join(MODES)}, not {return_mode!r}")
    if driver.active.get_current_target().backend == "cpu":
        times = _times_on_cpu(fn, warmup, rep, grad_to_none)
    else:
        times = _times_on_device(fn, warmup, rep, grad_to_none)
    return _summary(times, quantiles, return_mode)


def _times_on_cpu(fn: Callable[[], Any], warmup: float, rep: float, grads: Sequence[Any] | None) -> list[float]:
    """A launch is done when it returns: the clock is the processor's."""
    cache = driver.active.get_empty_cache_for_benchmark()

    def once() -> float:
        for tensor in grads or ():
            tensor.grad = None
        start = time.perf_counter()
        fn()
        return (time.perf_counter() - start) * 1e3

    fn()
    estimate = max(statistics.fmean(once() for _ in range(3)), 1e-4)
    for _ in range(max(1, min(1000, int(warmup / estimate)))):
        fn()
    times: list[float] = []
    start = time.perf_counter()
    least = max(1, min(LEAST_CALLS, int(rep / estimate)))
    while len(times) < least or (time.perf_counter() - start) * 1e3 < rep:  # clearing may take longer than the call
        driver.active.clear_cache(cache)
        times.append(once())
    return times


def _times_on_device(fn: Callable[[], Any], warmup: float, rep: float, grads: Sequence[Any] | None) -> list[float]:
    """Events in the device's queue around each call."""
    interface, active = driver.active.get_device_interface(), driver.active
    cache = active.get_empty_cache_for_benchmark()
    fn()
    interface.synchronize()
    first, last = (interface.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(5):
        active.clear_cache(cache)
        fn()
    last.record()
    interface.synchronize()
    estimate = max(first.elapsed_time(last) / 5, 1e-4)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    events = []
    for _ in range(max(1, int(rep / estimate))):
        for tensor in grads or ():
            tensor.grad = None
        active.clear_cache(cache)
        events.append(tuple(interface.Event(enable_timing=True) for _ in range(2)))
        events[-1][0].record()
        fn()
        events[-1][1].record()
    interface.synchronize()
    return [start.elapsed_time(end) for start, end in events]


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Times `fn` in ms, replayed from a CUDA graph, so that the time of launching does not count."""
    if driver.active.get_current_target().backend != "cuda":
        raise RuntimeError("do_bench_cudagraph needs a CUDA device; do_bench works everywhere")
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        estimate = max(do_bench(fn, warmup=5, rep=5, grad_to_none=grad_to_none), 1e-4)
        calls = 1000 if estimate == 0 else max(1, int(rep / estimate))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                for tensor in grad_to_none or ():
                    tensor.grad = None
                fn()
        torch.cuda.synchronize()
        times = []
        for _ in range(10):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / calls)
    return _summary(times, quantiles, return_mode)


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = "") -> None:
    """Raises AssertionError unless the arrays agree within atol + rtol * |y|, by default 1e-2 and 0 as in Triton.

    Takes torch tensors, numpy arrays and numbers; a message says how many elements differ, and the largest error.
    """
    import numpy as np

    a, b = _as_numpy(x), _as_numpy(y)
    atol = 1e-2 if atol is None else atol(b) if callable(atol) else atol
    rtol = 0.0 if rtol is None else rtol(b) if callable(rtol) else rtol
    if a.size > 1 or b.size > 1:
        np.testing.assert_allclose(a, b, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)
    elif not np.allclose(a, b, atol=atol, rtol=rtol, equal_nan=True):
        raise AssertionError(f"{err_msg} {x} is not close to {y} (atol={atol}, rtol={rtol})")


def _as_numpy(x: Any) -> Any:
    import numpy as np

    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = x.float() if "bfloat16" in str(x.dtype) or "float8" in str(x.dtype) else x
        return x.numpy()
    return np.asarray(x)


def nvsmi(attributes: Sequence[str]) -> list[int]:
    """What nvidia-smi says of a GPU: `nvsmi(["clocks.max.sm"])`."""
    import subprocess

    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attributes)}", "--format=csv,noheader,nounits"]
    return [int(value) for value in subprocess.check_output(command).decode().split(",")]


@functools.cache
def _properties(device: int) -> dict[str, int]:
    return driver.active.utils.get_device_properties(device)


def get_dram_gbps(device: int | None = None) -> float:
    """The device's memory bandwidth in GB/s, from its clocks."""
    facts = _properties(driver.active.get_current_device() if device is None else device)
    return facts["mem_clock_rate"] * facts["mem_bus_width"] * 2 / 1e6 / 8


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """The most TFLOP/s of the matrix units, from `clock_rate` in kHz."""
    return _tflops(dtype, clock_rate, device, {"float32": 1024, "float16": 2048, "bfloat16": 2048, "8": 4096})


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """The most TFLOP/s without matrix units, from `clock_rate` in kHz."""
    return _tflops(dtype, clock_rate, device, {"float32": 256, "float16": 512, "bfloat16": 512, "8": 512})


def _tflops(dtype: Any, clock_rate: float, device: int | None, per_core: dict[str, int]) -> float:
    cores = _properties(driver.active.get_current_device() if device is None else device)["multiprocessor_count"]
    name = str(dtype).split(".")[-1]
    operations = per_core.get(name) or per_core["8"]
    return operations * cores * clock_rate / 1e9
