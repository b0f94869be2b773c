"""How long a configuration takes, found out with as few runs as will do.

The first run says how many more there are: what is clearly slower than the best so far gets none, what is slow a few,
and all configurations together have `TOTAL_MS` for what goes beyond.
"""

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from naiad import knobs
from naiad.backends.base import GPUTarget
from naiad.backends.driver import driver, driver_for

__all__ = ["QUANTILES", "Effort", "clock_for", "compare", "is_ours", "measure", "quantiles"]

QUANTILES = (0.5, 0.2, 0.8)
CLEARLY_SLOWER = 3.0
"""A configuration that takes so many times the best time is dropped."""
SLOW_MS = 250.0
"""A run that takes so long is measured by that run: what only first runs do is little beside it."""
TOTAL_MS = 5000.0
MOST_MS = 50.0
"""What a configuration gets of it at most: the nearly best are told apart by `compare`."""
LEAST, MOST = 3, 1000
"""How many runs of a quick kernel are timed."""
AT_MOST = 3.0
"""So many times the time that it has, a configuration takes for LEAST runs, putting arrays back included."""
NEARLY, CONTENDERS, COMPARING_MS = 1.25, 5, 250.0
"""Up to CONTENDERS configurations within so much of the best are compared for so long."""


class Effort:
    """For how long configurations are run, in ms: `warmup` before, `rep` while their time is taken."""

    def __init__(self, count: int, warmup: float | None = None, rep: float | None = None) -> None:
        share = TOTAL_MS / max(count, 1)
        self.rep = min(MOST_MS, share) if rep is None else float(rep)
        self.warmup = self.rep / 4 if warmup is None else float(warmup)


class Runs(Protocol):
    """What can be run and timed: a Trial."""

    target: Any

    def prepare(self) -> None: ...
    def launch(self) -> None: ...
    def finish(self) -> None: ...


class HostClock:
    """For a device on which a launch is done when it returns."""

    def __init__(self, active: Any) -> None:
        self.active, self.cache = active, active.get_empty_cache_for_benchmark()

    def times(self, trial: Runs, count: int, cold: bool = True) -> list[float]:
        """The times of `count` runs in ms; `cold`: with nothing of the last run in the caches."""
        found = []
        for _ in range(count):
            trial.prepare()
            if cold:
                self.active.clear_cache(self.cache)
            start = time.perf_counter()
            trial.launch()
            found.append((time.perf_counter() - start) * 1e3)
            trial.finish()
        return found


class DeviceClock(HostClock):
    """For a device with a queue: events around each launch."""

    def times(self, trial: Runs, count: int, cold: bool = True) -> list[float]:
        interface = self.active.get_device_interface()
        events = [[interface.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        for start, end in events:
            trial.prepare()
            if cold:
                self.active.clear_cache(self.cache)
            start.record()
            trial.launch()
            end.record()
            trial.finish()
        interface.synchronize()
        return [start.elapsed_time(end) for start, end in events]


def clock_for(target: Any) -> HostClock:
    """The clock of the device that code for `target` runs on; None: the active one, or what interprets kernels."""
    if target is None:
        target = GPUTarget("cpu", "", 1) if knobs.runtime.interpret else driver.active.get_current_target()
    active = driver_for(target)
    return HostClock(active) if target.backend == "cpu" else DeviceClock(active)


def measure(trial: Runs, clock: HostClock, effort: Effort, best: float) -> list[float]:
    """The times of runs of a configuration in ms, few where it cannot become the best, whose time is `best`."""
    limit = CLEARLY_SLOWER * best
    first = clock.times(trial, 1)
    if first[0] >= SLOW_MS:
        return first
    start = time.perf_counter()
    times = clock.times(trial, 1)
    whole = max((time.perf_counter() - start) * 1e3, 1e-3)
    if min(first + times) > limit:
        return times
    times += clock.times(trial, 1)
    if min(times) > limit:
        return times
    clock.times(trial, min(MOST, int(effort.warmup / whole)), cold=False)
    least = min(LEAST, int(AT_MOST * effort.rep / whole))
    more = clock.times(trial, min(MOST, max(least, int(effort.rep / whole))))
    return more if len(more) >= LEAST else times + more  # the first go through Python, and make the native launcher


def compare(clock: HostClock, runs: Mapping[Any, list[float]]) -> dict[Any, list[float]]:
    """The trials that are nearly as quick as the best, with the times of more runs added.

    They run in turns, so that what else the machine does at the time does not choose between them.
    """
    ordered = sorted(runs, key=lambda trial: min(runs[trial]))
    near = [trial for trial in ordered[:CONTENDERS] if min(runs[trial]) <= NEARLY * min(runs[ordered[0]])]
    if len(near) < 2 or sum(min(runs[trial]) for trial in near) > COMPARING_MS:
        return {}
    found = {trial: list(runs[trial]) for trial in near}
    end = time.perf_counter() + COMPARING_MS / 1e3
    while time.perf_counter() < end:
        for trial in near:
            found[trial] += clock.times(trial, 1)
    return found


def quantiles(times: list[float]) -> list[float]:
    """The times at QUANTILES."""
    import numpy

    return [float(value) for value in numpy.quantile(times, QUANTILES)]


def is_ours(bench: Callable[..., Any]) -> bool:
    """Whether a benchmark is naiad's own `do_bench`, in the place of which `measure` times only what must be."""
    bench = bench.func if isinstance(bench, functools.partial) else bench
    module, name = getattr(bench, "__module__", ""), getattr(bench, "__qualname__", "")
    return name == "do_bench" and f"{module}.".startswith("naiad.testing.")
