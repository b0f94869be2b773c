"""What tuning measures, with how many runs, what it keeps on disk, and what it says."""

import math
import re

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.base import GPUTarget
from naiad.errors import OutOfResources
from naiad.runtime.tuning.legality import refusal
from naiad.runtime.tuning.measure import DeviceClock, Effort, HostClock, compare, measure
from tests.runtime.kernels import add

CONFIGS = [naiad.Config({"BLOCK": block}) for block in (32, 64, 128)]


class Clock(HostClock):
    """A clock whose runs take the given time; it counts them."""

    def __init__(self, *times: float) -> None:
        self.script, self.runs = list(times), 0

    def times(self, trial, count, cold=True):
        self.runs += count
        return [self.script.pop(0) if len(self.script) > 1 else self.script[0] for _ in range(count)]


@pytest.mark.parametrize(
    ("times", "best", "runs"),
    [
        ((2000.0,), math.inf, 1),  # so slow that one run says it
        ((2000.0,), 1000.0, 1),
        ((31.0,), 10.0, 2),  # clearly slower than the best
        ((31.0, 9.0), 10.0, None),  # only the first run was
        ((9.0, 9.0, 31.0), 10.0, None),
    ],
)
def test_the_first_runs_say_how_many_more(times, best, runs):
    clock = Clock(*times)
    found = measure(None, clock, Effort(8, warmup=0, rep=0.1), best)
    assert len(found) <= clock.runs and set(found) <= set(times)
    assert clock.runs == runs if runs else clock.runs > 3


def test_quick_kernels_are_run_often_and_for_a_bounded_time():
    clock = Clock(0.001)
    assert len(measure(None, clock, Effort(8), math.inf)) > 100
    assert Effort(8).rep == 50 and Effort(1000).rep == 5 and Effort(1000, rep=7).rep == 7


def test_those_nearly_the_best_run_in_turns():
    order = []

    class Turns(Clock):
        def times(self, trial, count, cold=True):
            order.append(trial)
            return [5.0 if trial == "a" else 1.0]

    found = compare(Turns(), {"slow": [9.0, 9.0], "a": [1.1, 1.1], "b": [1.2, 1.2]})
    assert list(found) == ["a", "b"] and order[:4] == ["a", "b", "a", "b"]
    assert np.median(found["a"]) == 5.0 and np.median(found["b"]) == 1.0
    assert compare(Turns(), {"a": [1.0], "b": [2.0]}) == {}


def test_a_queue_is_timed_by_events():
    """What surrounds a launch is not between its events, and the queue is waited for once."""
    log = []

    class Queue:
        """The device's interface, its driver, an event and a trial, all in one: it notes down what is asked of it."""

        def __getattr__(self, name):
            return lambda *args, **keywords: log.append(name) or (3.0 if name == "elapsed_time" else self)

    assert DeviceClock(Queue()).times(Queue(), 2) == [3.0, 3.0]
    run = ["prepare", "clear_cache", "record", "launch", "record", "finish"]
    assert log[log.index("prepare") :] == [*run, *run, "synchronize", "elapsed_time", "elapsed_time"]
    log.clear()
    DeviceClock(Queue()).times(Queue(), 1, cold=False)
    assert "clear_cache" not in log


@naiad.jit
def spin(out, n, BLOCK: tl.constexpr):
    total = 0.0
    for i in range(n * (1024 // BLOCK)):
        total = total * 0.999 + i
    tl.store(out, total)


def test_slow_configurations_are_run_once():
    calls = []
    configs = [naiad.Config({"BLOCK": block}, pre_hook=lambda a: calls.append(a["BLOCK"])) for block in (1024, 32)]
    kernel = naiad.autotune(configs, key=["n"])(spin)
    kernel[(1,)](np.zeros(1, "f4"), 6_000_000)  # about 24 and 750 ms
    assert calls.count(32) <= 3 < calls.count(1024) and kernel.best_config is configs[0]


class Bench:
    def __init__(self):
        self.seen = []

    def __call__(self, call, quantiles):
        call()
        self.seen.append(None)
        return [1.0 + len(self.seen)] * 3


def run(configs, bench, n=64, kernel=add):
    tuner = naiad.autotune(configs, key=["n"], do_bench=bench, cache_results=True)(kernel)
    out = np.zeros(n, "f4")
    tuner[lambda meta: (naiad.cdiv(meta["n"], meta["BLOCK"]),)](out, out, out, n)
    return tuner


def test_times_are_kept_for_each_configuration():
    bench = Bench()
    first = run(CONFIGS[:2], bench)
    assert len(bench.seen) == 2 and first.best_config is CONFIGS[0]
    again = run([CONFIGS[1], CONFIGS[0]], bench)  # in another order: nothing is measured
    assert len(bench.seen) == 2 and again.best_config is CONFIGS[0]
    assert again.configs_timings == first.configs_timings
    more = run(CONFIGS, bench)  # one more: only that is
    assert len(bench.seen) == 3 and len(more.configs_timings) == 3
    run(CONFIGS[:1] + CONFIGS[2:], bench)
    assert len(bench.seen) == 3
    run(CONFIGS, bench, n=65)  # another key
    assert len(bench.seen) == 6
    hooked = naiad.Config({"BLOCK": 32}, pre_hook=lambda arguments: None)
    for _ in range(2):  # a hook has no text: such a configuration is measured each time
        run([CONFIGS[1], hooked], bench)
    assert len(bench.seen) == 8


@naiad.jit
def picky(x, y, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK != 64, "64 is out of fashion")
    tl.store(out, n)


def test_reasons_are_kept_too():
    bench = Bench()
    reasons = [run(CONFIGS, bench, kernel=picky).reasons for _ in range(2)]
    assert len(bench.seen) == 2 and reasons[0] == reasons[1]
    assert re.fullmatch(r".*test_tuning_times.py:\d+:5: in picky: 64 is out of fashion", reasons[0][CONFIGS[1]])


def test_the_table_and_the_progress(capsys):
    with knobs.autotuning.scope():
        knobs.autotuning.print = True
        run([*CONFIGS, naiad.Config({"BLOCK": 32}, num_warps=3)], Bench(), kernel=picky)
        run([*CONFIGS, naiad.Config({"BLOCK": 32}, num_warps=3)], Bench(), kernel=picky)
    out, err = capsys.readouterr()
    lines = out.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("Triton autotuning for function picky"))
    assert lines[start + 1].startswith("with key as (64,") and lines[start + 2].startswith("finished after ")
    assert re.match(r"\* +2.0000 ms  BLOCK: 32, num_warps: 4", lines[start + 3])
    assert re.match(r" +3.0000 ms  BLOCK: 128", lines[start + 4])
    assert re.match(r" +cannot run  BLOCK: 64", lines[start + 5]) and lines[start + 6].endswith("64 is out of fashion")
    assert re.match(r" +cannot run  BLOCK: 32, num_warps: 3", lines[start + 7])
    assert lines[start + 8].endswith("num_warps must be a power of 2, got 3")
    assert lines[start + 9] == f"best config selected: {CONFIGS[0]};"
    assert "taken from the cache," in out
    assert "naiad: tuning picky: timing 4 configurations" in err


class FakeGPU:
    """What legality asks of a device: its backend, its target, its properties."""

    def __init__(self, threads: int = 1024) -> None:
        from naiad.backends.nvidia.compiler import NvidiaBackend

        self.target = GPUTarget("cuda", 90, 32)
        self.backend = NvidiaBackend(self.target)
        self.driver = self.utils = self
        self.threads = threads

    def get_current_device(self) -> int:
        return 0

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_threads_per_block": self.threads}


def test_what_is_not_legal_is_not_compiled():
    gpu = FakeGPU()
    assert refusal(gpu, {"num_warps": 32}) is None
    error = refusal(gpu, {"num_warps": 64})
    assert isinstance(error, OutOfResources) and "threads, Required: 2048, Hardware limit: 1024" in str(error)
    assert refusal(gpu, {"num_warps": 64, "ir_override": "k.ttgir"}) is None  # the file says how many there are
    assert "power of 2" in str(refusal(gpu, {"num_warps": 3}))
    assert refusal(FakeGPU(512), {"num_warps": 32}) is not None
    compiled = []
    with knobs.runtime.scope():
        knobs.runtime.jit_cache_hook = lambda **facts: compiled.append(facts["compile"]["num_warps"])
        picky.device_caches.clear()
        tuner = run([naiad.Config({"BLOCK": 32}, num_warps=warps) for warps in (3, 64, 1)], Bench(), kernel=picky)
        knobs.runtime.jit_cache_hook = None
    assert compiled == [64]  # warps mean nothing on a CPU: 1 is the same code, and any number of them is legal
    assert list(tuner.reasons.values()) == ["num_warps must be a power of 2, got 3"]


def test_hooks_are_told_of_what_is_not_tried():
    told = []
    tuner = naiad.autotune(
        [naiad.Config({"BLOCK": 32}, num_warps=3), CONFIGS[0]],
        key=["n"],
        do_bench=Bench(),
        pre_hook=lambda arguments, reset_only=False: told.append(None),
        post_hook=lambda arguments, exception: told.append(exception),
    )(add)
    out = np.zeros(8, "f4")
    tuner[(1,)](out, out, out, 8)
    assert told[0] is None and isinstance(told[1], AssertionError) and told[2:4] == [None, None]
