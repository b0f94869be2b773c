"""Tuning leaves no trace: a launch that is tuned changes the arrays once, whatever was tried before."""

import threading
import types

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.errors import AutotunerError, CompilationError
from naiad.runtime.tuning.snapshot import Snapshot
from tests.runtime.kernels import scale_in_place

SIX = [naiad.Config({"BLOCK": block}) for block in (32, 64, 128, 256, 512, 1024)]
TWO = SIX[:2]


def three_calls(call, quantiles):
    for _ in range(3):
        call()
    return [1.0] * len(quantiles)


def grid(meta):
    return (naiad.cdiv(meta["n"], meta["BLOCK"]),)


@naiad.jit
def increment(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)


@naiad.jit
def count_up(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + i, i < n, other=0), 0))
    tl.static_assert(BLOCK != 128)


@pytest.mark.parametrize("bench", [None, three_calls], ids=["ours", "a benchmark of the user's"])
def test_an_update_in_place_happens_once(bench):
    kernel = naiad.autotune(SIX, key=["n"], do_bench=bench)(increment)
    x = np.arange(2000, dtype="f4")
    for turn in (1, 2):
        kernel[grid](x, 2000)
        assert (x == np.arange(2000) + turn).all()
    assert len(kernel.configs_timings) == 6


def test_atomics_and_a_configuration_that_fails_in_the_middle():
    kernel = naiad.autotune(SIX[:4], key=["n"], do_bench=three_calls)(count_up)
    x, total = np.arange(300, dtype="i4"), np.full(1, 7, "i4")
    kernel[grid](x, total, 300)
    assert total[0] == 7 + x.sum() and (x == np.arange(300)).all()
    [(config, reason)] = kernel.reasons.items()
    assert config is SIX[2] and reason.endswith("in count_up: static_assert failed")


def test_a_run_that_fails_after_it_wrote():
    """The arrays are put back when a launch raises, and when the tuning as a whole does."""
    kernel = naiad.autotune(TWO, key=["n"], do_bench=lambda call, quantiles: [call(), 1 / 0])(increment)
    x = np.zeros(100, "f4")
    with pytest.raises(ZeroDivisionError):
        kernel[grid](x, 100)
    assert (x == 0).all() and not kernel.cache


def test_with_torch():
    """Tensors that autograd watches, that have gaps, or whose elements share memory."""
    torch = pytest.importorskip("torch")
    kernel = naiad.autotune(TWO, key=["n"], do_bench=three_calls)(increment)
    leaf = torch.zeros(100, requires_grad=True)
    version = leaf._version
    kernel[grid](leaf, 100)
    assert (leaf == 1).all() and leaf._version == version
    every_second = torch.zeros(200)[::2]  # the kernel writes the first half of what lies beneath
    kernel[grid](every_second, 99)
    assert every_second.as_strided((200,), (1,)).tolist() == [1.0] * 99 + [0.0] * 101
    shared = torch.zeros(1, 120).expand(3, 120)
    kernel[grid](shared, 120)
    assert (shared == 1).all()
    wrapped = naiad.reinterpret(torch.zeros(90, dtype=torch.int32), tl.float32)
    kernel[grid](wrapped, 90)
    assert (wrapped.base.view(torch.float32) == 1).all()


def test_tensors_that_begin_together_and_differ_in_their_steps():
    torch = pytest.importorskip("torch")
    memory = torch.arange(32.0)
    saved = Snapshot()
    for steps in ((4, 1), (8, 1)):
        saved.cover("x", [memory.as_strided((4, 4), steps)])
    memory[:28] = 0
    saved.restore()
    assert memory.tolist() == list(range(32))


@naiad.jit
def in_parts(pair, desc, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(pair[1] + i, tl.load(pair[1] + i, i < n) + tl.load(pair[0] + i, i < n), i < n)
    desc.store([0], desc.load([0]) + 1)


def test_tuples_and_descriptors():
    torch = pytest.importorskip("torch")
    from naiad.tools.tensor_descriptor import TensorDescriptor

    kernel = naiad.autotune(SIX[1:3], key=["n"], do_bench=three_calls)(in_parts)
    first, second, described = torch.ones(64), torch.zeros(64), torch.zeros(16)
    kernel[(1,)]((first, second), TensorDescriptor.from_tensor(described, [16]), 64)
    assert (second == 1).all() and (described == 1).all() and (first == 1).all()


@naiad.jit
def through_table(table, n, BLOCK: tl.constexpr):
    x = tl.load(table).to(tl.pointer_type(tl.float32))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)


def test_a_pointer_from_memory():
    """What it points at is not known: all arrays that are arguments are put back, here the table itself too."""
    kernel = naiad.autotune(TWO, key=["n"], do_bench=three_calls)(through_table)
    memory = np.zeros(65, "i8")
    memory[0] = memory.ctypes.data + 8
    kernel[grid](memory, 100)
    assert (memory[1:].view("f4")[:100] == 1).all() and memory[0] == memory.ctypes.data + 8


def test_only_what_is_written_is_copied_and_once(monkeypatch):
    from naiad.runtime.tuning import snapshot

    copied = []
    original = snapshot._copied
    monkeypatch.setattr(snapshot, "_copied", lambda name, array: copied.append(name) or original(name, array))
    kernel = naiad.autotune(SIX[:2] + SIX[3:], key=["n"])(count_up)
    kernel[grid](np.ones(300, "i4"), np.zeros(1, "i4"), 300)
    assert copied == ["total"]


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_the_switch(how):
    with knobs.naiad.scope():
        knobs.naiad.tune_restore = how != "variable"
        off = None if how == "variable" else False
        kernel = naiad.autotune(TWO, key=["n"], do_bench=three_calls, restore_written=off)(increment)
        named = naiad.autotune(TWO, key=["n"], do_bench=three_calls, restore_written=off, restore_value=["x"])(
            increment
        )
    x = np.zeros(10, "f4")
    kernel[grid](x, 10)
    assert (x == 7).all()
    named[grid](x, 10)
    assert (x == 8).all()


def test_hooks_keep_their_meaning():
    """A hook of the user's runs before each run and sees the arrays as they were; what it does to them is seen."""
    seen = []

    def before(arguments, reset_only=False):
        seen.append(float(arguments["x"][0]))
        arguments["x"][:] += 0 if reset_only else 10

    kernel = naiad.autotune(TWO, key=["n"], pre_hook=before)(increment)
    x = np.zeros(10, "f4")
    kernel[grid](x, 10)
    assert (x == 1).all() and len(seen) > 6 and set(seen) == {0.0}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_hook_of_one_configuration_does_not_spoil_the_others(jobs):
    def clear(arguments):
        arguments["x"][:] = 0

    times = iter((1.0, 2.0, 3.0))
    configs = [SIX[0], *(naiad.Config({"BLOCK": block}, pre_hook=clear) for block in (64, 128))]
    kernel = naiad.autotune(configs, key=["n"], do_bench=lambda call, quantiles: [call(), next(times)][1:] * 3)(
        increment
    )
    x = np.arange(100, dtype="f4")
    with knobs.naiad.scope():
        knobs.naiad.tune_jobs = jobs
        kernel[grid](x, 100)
    assert kernel.best_config is SIX[0] and (x == np.arange(100) + 1).all()


def test_putting_back_is_not_timed(monkeypatch):
    import time

    from naiad.runtime.tuning.snapshot import Snapshot

    original = Snapshot.restore
    monkeypatch.setattr(Snapshot, "restore", lambda self, names=None: time.sleep(0.1) or original(self, names))
    kernel = naiad.autotune(TWO, key=["n"])(scale_in_place)
    kernel[grid](np.ones(100, "f4"), 100, 0.5)
    assert min(times[1] for times in kernel.configs_timings.values()) < 50


def test_no_configuration_can_run():
    kernel = naiad.autotune([SIX[2], naiad.Config({"BLOCK": 128}, num_warps=3)], key=["n"], do_bench=three_calls)(
        count_up
    )
    total = np.zeros(1, "i4")
    with pytest.raises(AutotunerError) as error:
        kernel[grid](np.ones(300, "i4"), total, 300)
    text = str(error.value)
    assert "none of the 2 configurations of count_up can run here" in text and "num_warps: 3" in text
    assert "num_warps must be a power of 2" in text and "static_assert" in text and total[0] == 0


def test_threads_that_tune_one_kernel_take_turns():
    """The trials of one are not runs of the other, and each update happens once."""
    threads, inside, kernel = [], [], None

    def launch(x):
        kernel[grid](x, x.size)

    def bench(call, quantiles):
        inside.append(threading.current_thread())
        if not threads:  # in the midst of the first tuning
            threads.append(threading.Thread(target=launch, args=(second,)))
            threads[0].start()
            threads[0].join(0.2)
        call()
        assert set(inside) == {threading.current_thread()} and kernel.nargs["x"] is call.args[0]
        inside.pop()
        return [1.0]

    kernel = naiad.autotune(TWO, key=["n"], do_bench=bench)(increment)
    first, second = np.zeros(1000, "f4"), np.zeros(1100, "f4")
    launch(first)
    threads[0].join()
    assert (first == 1).all() and (second == 1).all() and len(kernel.cache) == 2 and kernel.nargs is None


def test_a_kernel_does_not_call_what_is_tuned():
    tuned = naiad.autotune(TWO, key=["n"])(increment)
    scope = {**globals(), "tuned": tuned}
    outer = naiad.jit(types.FunctionType(calls_tuned.__code__, scope, "calls_tuned"))
    with pytest.raises(CompilationError, match=r"keep the @triton.jit function under a name of its own and call that"):
        outer.warmup(np.float32, 8, grid=(1,))


def calls_tuned(x, n):
    tuned(x, n, 8)  # noqa: F821
