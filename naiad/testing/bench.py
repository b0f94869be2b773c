"""do_bench: how long a call takes, on the CPU by the clock, on a GPU by events in its queue, with cold caches."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from naiad.backends.driver import driver

LEAST_CALLS = 10
"""Calls that are timed where they fit in the time asked for, though clearing the caches does not."""
MODES = ("min", "max", "mean", "median", "all")


def summary(times: list[float], quantiles: Sequence[float] | None, mode: str) -> Any:
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


def check_request(fn: Any, quantiles: Any, mode: str) -> None:
    """Raises TypeError or ValueError where there is nothing to call, or the result is asked for as it cannot be."""
    if not callable(fn):
        raise TypeError(
            f"do_bench times calls of a function: expected one, as lambda: kernel[grid](x, n), found {fn!r}"
        )
    if mode not in MODES:
        raise ValueError(f"return_mode is one of {', '.join(MODES)}, not {mode!r}")
    if quantiles is not None and not hasattr(quantiles, "__iter__"):
        raise TypeError(f"quantiles: expected a list such as [0.5, 0.2, 0.8], found {quantiles!r}")
    if any(not 0 <= q <= 1 for q in quantiles or ()):
        raise ValueError(f"Quantiles must be in the range [0, 1], and {quantiles} are not")


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
    check_request(fn, quantiles, return_mode)
    measure = _times_on_cpu if driver.active.get_current_target().backend == "cpu" else _times_on_device
    return summary(measure(fn, warmup, rep, grad_to_none), quantiles, return_mode)


def _times_on_cpu(fn: Callable[[], Any], warmup: float, rep: float, grads: Sequence[Any] | None) -> list[float]:
    """A launch is done when it returns: the clock is the processor's."""
    cache = driver.active.get_empty_cache_for_benchmark()

    def once() -> float:
        _drop(grads)
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
        _drop(grads)
        active.clear_cache(cache)
        events.append(tuple(interface.Event(enable_timing=True) for _ in range(2)))
        events[-1][0].record()
        fn()
        events[-1][1].record()
    interface.synchronize()
    return [start.elapsed_time(end) for start, end in events]


def _drop(grads: Sequence[Any] | None) -> None:
    for tensor in grads or ():
        tensor.grad = None


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Times `fn` in ms, replayed from a CUDA graph, so that the time of launching does not count."""
    check_request(fn, quantiles, return_mode)
    if driver.active.get_current_target().backend != "cuda":
        raise RuntimeError("do_bench_cudagraph needs a CUDA device; do_bench works everywhere")
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        for tensor in grad_to_none or ():
            tensor.detach_().requires_grad_(True)
            tensor.grad = None
        estimate = _queued(fn, 5) / 5
        calls = 1000 if estimate == 0 else max(1, int(rep / estimate))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                _drop(grad_to_none)
                fn()
        torch.cuda.synchronize()
        times = [_queued(graph.replay, 1) / calls for _ in range(10)]
    return summary(times, quantiles, return_mode)


def _queued(fn: Callable[[], Any], calls: int) -> float:
    """Milliseconds between the events before and after some calls."""
    import torch

    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        fn()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def do_bench_proton(*args: Any, **keywords: Any) -> Any:
    """Triton measures with its profiler, Proton, here."""
    raise RuntimeError("do_bench_proton needs Triton's profiler Proton, which naiad has not; use do_bench")


def do_bench_cudagraph_proton(*args: Any, **keywords: Any) -> Any:
    """Triton measures with its profiler, Proton, here."""
    raise RuntimeError(
        "do_bench_cudagraph_proton needs Triton's profiler Proton, which naiad has not; use do_bench_cudagraph"
    )
