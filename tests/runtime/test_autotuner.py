"""Tuning on the CPU: choice, keys, restoring, pruning, hooks, the cache; heuristics."""

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.errors import AutotunerError, OutOfResources
from tests.runtime.kernels import add, scale_in_place, write_scalar

CONFIGS = [naiad.Config({"BLOCK": 32}), naiad.Config({"BLOCK": 128}, num_warps=8)]


class Bench:
    """A benchmark that calls three times and takes the larger block for the faster one."""

    def __init__(self):
        self.count = 0

    def __call__(self, call, quantiles):
        self.count += 1
        for _ in range(3):
            call()
        return [1.0 / self.count] * len(quantiles)


def grid(meta):
    return (naiad.cdiv(meta["n"], meta["BLOCK"]),)


def test_the_fastest_is_kept_for_each_key():
    bench = Bench()
    kernel = naiad.autotune(CONFIGS, key=["n"], do_bench=bench)(add)
    for n in (100, 100, 300, 100):
        x, out = np.ones(n, "f4"), np.zeros(n, "f4")
        kernel[grid](x, x, out, n)
        assert (out == 2).all()
        assert kernel.best_config is CONFIGS[1]
    assert bench.count == 4 and len(kernel.cache) == 2
    kernel[grid](x=x.astype("f8"), y=x, out=np.zeros(300, "f4"), n=300)
    assert len(kernel.cache) == 3
    assert kernel.base_fn is add.fn and kernel.fn is add and kernel.configs == CONFIGS and kernel.keys == ["n"]


@pytest.mark.parametrize("by_name", [False, True])
def test_a_buffer_is_changed_once(by_name):
    kernel = naiad.autotune(CONFIGS, key=["n"], restore_value=["buffer"], do_bench=Bench())(scale_in_place)
    buffer = np.linspace(1, 2, 300, dtype="f4")
    want = buffer.copy()
    for _ in range(3):
        kernel[grid](buffer=buffer, n=300, rate=0.5) if by_name else kernel[grid](buffer, 300, 0.5)
        want = want * np.float32(0.5) + 1
        np.testing.assert_allclose(buffer, want, rtol=1e-6)


def test_the_default_benchmark():
    kernel = naiad.autotune(CONFIGS, key=["n"], restore_value=["buffer"])(scale_in_place)
    buffer = np.ones(10, "f4")
    kernel[grid](buffer, 10, 2.0)
    assert (buffer == 3).all()


def test_reset_to_zero_and_none():
    @naiad.jit
    def accumulate(out, other, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(out + i, i < n) + 1.0, i < n)

    kernel = naiad.autotune(CONFIGS, key=["n"], reset_to_zero=["out", "other"], do_bench=Bench())(accumulate)
    out = np.full(8, 5.0, "f4")
    kernel[(1,)](out, None, 8)
    assert (out == 1).all()


def test_pruning():
    def early(configs, named_args, **kwargs):
        assert named_args["x"] is x and kwargs["n"] == 64
        return [c for c in configs if c.kwargs["BLOCK"] < 100]

    x, out = np.ones(64, "f4"), np.zeros(64, "f4")
    bench = Bench()
    kernel = naiad.autotune(CONFIGS, ["n"], prune_configs_by={"early_config_prune": early}, do_bench=bench)(add)
    kernel[grid](x, x, out, n=64)
    assert bench.count == 1 and kernel.best_config is CONFIGS[0]
    model = {"perf_model": lambda BLOCK, **kwargs: BLOCK, "top_k": 1}
    kernel = naiad.autotune(CONFIGS, ["n"], prune_configs_by=model, do_bench=bench)(add)
    kernel[grid](x, x, out, 64)
    assert bench.count == 2 and kernel.best_config is CONFIGS[0] and (out == 2).all()
    model = {"perf_model": lambda BLOCK, **kwargs: BLOCK, "top_k": 0.1}  # of so few configurations, less than one
    kernel = naiad.autotune(CONFIGS, ["n"], prune_configs_by=model, do_bench=bench)(add)
    kernel[grid](x, x, out, 64)
    assert kernel.best_config is CONFIGS[0]
    kernel = naiad.autotune(CONFIGS, ["n"], prune_configs_by={"early_config_prune": lambda *a, **k: []})(add)
    with pytest.raises(naiad.TritonError) as error:
        kernel[grid](x, x, out, 64)
    assert str(error.value) == (
        "Autotuner error: No valid autotuner configs after pruning. "
        "`early_config_prune` should return at least one config."
    )
    assert kernel.nargs is None  # the arrays of the call are not held


def test_a_configuration_that_cannot_run_only_loses():
    @naiad.jit
    def picky(out, n, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK < 100)
        tl.store(out, BLOCK)

    out = np.zeros(1, "i4")
    kernel = naiad.autotune(CONFIGS, ["n"], do_bench=Bench())(picky)
    kernel[(1,)](out, 5)
    assert out[0] == 32
    kernel = naiad.autotune([naiad.Config({"BLOCK": 256}), naiad.Config({"BLOCK": 512})], ["n"], do_bench=Bench())(
        picky
    )
    with pytest.raises(AutotunerError, match="none of the 2 configurations"):
        kernel[(1,)](out, 5)


def test_hooks_get_the_error():
    seen = []
    failing = [naiad.Config({}, pre_hook=lambda args: (_ for _ in ()).throw(OutOfResources(4096, 1024, "threads")))]
    tuned = naiad.autotune(
        [naiad.Config({"value": 3}), naiad.Config({"value": 4})],
        key=[],
        pre_hook=lambda args, reset_only=False: seen.append(("pre", args["value"], reset_only)),
        post_hook=lambda args, exception: seen.append(("post", args["value"], exception)),
        do_bench=lambda call, quantiles: (call(), [1.0, 1.0, 1.0])[1],
    )(write_scalar)
    out = np.zeros(1, "i4")
    tuned[(1,)](out)
    assert seen == [("pre", 3, False), ("post", 3, None), ("pre", 4, False), ("post", 4, None), ("pre", 3, True)]
    assert out[0] == 3
    assert "out of resource: threads, Required: 4096" in str(_raised(failing[0].pre_hook))


def _raised(function):
    with pytest.raises(OutOfResources) as error:
        function({})
    return error.value


def test_listener_and_the_cache_of_timings():
    heard = []
    with knobs.autotuning.scope():
        knobs.autotuning.listener = lambda **facts: heard.append(facts)
        out = np.zeros(8, "f4")
        bench = Bench()
        kernel = naiad.autotune(CONFIGS, ["n"], do_bench=bench, cache_results=True)(add)
        kernel[grid](out, out, out, 8)
        kernel[grid](out, out, out, 8)
        kernel.cache.clear()
        kernel[grid](out, out, out, 8)
        knobs.autotuning.listener = None
    assert [(facts["cache_hit"], facts["duration"] is None) for facts in heard] == [(False, False), (True, True)]
    assert bench.count == 2 and heard[1]["best_config"] == CONFIGS[1] and len(heard[1]["configs_timings"]) == 2
    assert heard[0]["fn"] is add


def test_the_table(capsys):
    with knobs.autotuning.scope():
        knobs.autotuning.print = True
        out = np.zeros(8, "f4")
        naiad.autotune(CONFIGS, ["n"], do_bench=Bench())(add)[grid](out, out, out, 8)
    text = capsys.readouterr().out
    assert "best config selected: BLOCK: 128, num_warps: 8" in text and text.count(" ms  BLOCK") == 2


def test_conflicts_and_deprecated_parameters():
    kernel = naiad.autotune(CONFIGS, ["n"], do_bench=Bench())(add)
    out = np.zeros(8, "f4")
    with pytest.raises(ValueError, match="Conflicting meta-parameters: BLOCK"):
        kernel[(1,)](out, out, out, 8, BLOCK=16)
    with pytest.warns(DeprecationWarning):
        naiad.autotune(CONFIGS, ["n"], warmup=1, rep=1)(add)[grid](out, out, out, 8)


def test_heuristics_below_and_above():
    values = {"BLOCK": lambda args: naiad.next_power_of_2(args["n"])}
    x = np.ones(50, "f4")
    for kernel in (
        naiad.heuristics(values)(add),
        naiad.autotune([naiad.Config({}), naiad.Config({}, num_warps=8)], ["n"], do_bench=Bench())(
            naiad.heuristics(values)(add)
        ),
    ):
        out = np.zeros(50, "f4")
        for _ in range(3):
            kernel[lambda meta: (naiad.cdiv(50, meta["BLOCK"]),)](x, x, out, 50)
        assert (out == 2).all()


def test_configs_are_values():
    a, b = naiad.Config({"B": 1}, num_warps=2), naiad.Config({"B": 1}, num_warps=2)
    assert a == b and hash(a) == hash(b) and a != naiad.Config({"B": 2})
    assert a.all_kwargs() == {"B": 1, "num_warps": 2, "num_ctas": 1, "num_stages": 3}
    assert str(a) == "B: 1, num_warps: 2, num_ctas: 1, num_stages: 3, maxnreg: None"


def test_warmup_compiles_every_configuration():
    out = np.zeros(8, "f4")
    kernels = naiad.autotune(CONFIGS, ["n"])(add).warmup(out, out, out, 8, grid=grid)
    assert [kernel.metadata.num_warps for kernel in kernels] == [4, 8] and not out.any()


@naiad.jit
def staged(out, num_stages: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), num_stages)


def test_what_is_the_same_code_is_timed_once():
    bench = Bench()
    options = [{"num_warps": 1}, {"num_warps": 2}, {"num_stages": 4}]
    configs = [naiad.Config({"BLOCK": block}, **option) for block in (32, 64) for option in options]
    kernel = naiad.autotune(configs, ["n"], do_bench=bench)(add)
    x, out = np.ones(100, "f4"), np.zeros(100, "f4")
    kernel[grid](x, x, out, 100)
    assert bench.count == 2 and (out == 2).all()
    assert kernel.best_config is configs[3] and list(kernel.configs_timings) == configs

    hook = naiad.Config({"BLOCK": 32}, num_warps=1, pre_hook=lambda arguments: None)
    bench = Bench()
    naiad.autotune([configs[0], hook], ["n"], do_bench=bench)(add)[grid](x, x, out, 100)
    assert bench.count == 2  # one of them calls a function

    bench = Bench()
    kernel = naiad.autotune([naiad.Config({"BLOCK": 32}, num_stages=n) for n in (2, 3)], [], do_bench=bench)(staged)
    kernel[(1,)](np.zeros(32, "f4"))
    assert bench.count == 2  # the kernel itself reads it
