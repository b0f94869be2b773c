"""What is wrong with an `@autotune` or `@heuristics` is said in its words, and leaves the arrays as they were."""

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.errors import AutotunerError
from tests.runtime.kernels import scale_in_place

SMALL, LARGE = naiad.Config({"BLOCK": 32}), naiad.Config({"BLOCK": 128})


def bench(call, quantiles):
    call()
    return [1.0] * len(quantiles)


def launched(configs=(SMALL, LARGE), key=("n",), keywords=None, **options):
    """The buffer after a tuned launch, which takes 1 to 3."""
    kernel = naiad.autotune(configs, key, **{"do_bench": bench, **options})(scale_in_place)
    buffer = np.ones(100, "f4")
    try:
        kernel[lambda meta: (naiad.cdiv(meta["n"], meta["BLOCK"]),)](buffer, 100, 2.0, **(keywords or {}))
    except Exception:
        assert (buffer == 1).all(), "a tuning that failed left a trace"
        raise
    return buffer


WRONG = {
    "a dict for a Config": ({"configs": [{"BLOCK": 32}, LARGE]}, TypeError, "expected a list of triton.Config, found"),
    "a key that is no name": ({"key": ["n", 3]}, TypeError, "key of autotune: expected a list of names.*found 3"),
    "what is not pruned by": ({"prune_configs_by": {"early": None}}, ValueError, "expected only perf_model, top_k"),
    "pruned by no dict": ({"prune_configs_by": [1]}, TypeError, "prune_configs_by of autotune: expected a dict"),
    "pruning without return": ({"prune_configs_by": {"early_config_prune": lambda *a, **k: None}}, TypeError,
                               "found None; return one"),
    "pruning to nothing": ({"prune_configs_by": {"early_config_prune": lambda *a, **k: []}}, AutotunerError,
                           "should return at least one"),
    "a model without return": ({"prune_configs_by": {"perf_model": lambda **k: None, "top_k": 1}}, TypeError,
                               "expected a time, found None"),
    "none of the best": ({"prune_configs_by": {"perf_model": lambda **k: 1, "top_k": 0}}, TypeError, "this one is 0"),
    "zeroing a number": ({"reset_to_zero": ["n"]}, TypeError, "expected an array, found 100 for the argument n"),
    "a benchmark without return": ({"do_bench": lambda f, quantiles: None}, TypeError, "a time in ms.*found None"),
    "a benchmark without number": ({"do_bench": lambda f, quantiles: float("nan")}, AutotunerError, "gave no time"),
    "given twice": ({"keywords": {"BLOCK": 64}}, ValueError, "Conflicting meta-parameters: BLOCK"),
    "an option given twice": ({"keywords": {"num_warps": 8}}, ValueError, "Conflicting meta-parameters: num_warps"),
    "the only configuration twice": ({"configs": [SMALL], "keywords": {"BLOCK": 64}}, ValueError, "BLOCK: 32"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_says_what_was_expected(case):
    options, kind, said = WRONG[case]
    with pytest.raises(kind, match=said):
        launched(**options)


@pytest.mark.parametrize("what", ["key", "reset_to_zero", "restore_value"])
def test_a_name_that_the_kernel_has_not(what):
    with pytest.warns(UserWarning, match=f"{what} of autotune names 'size', and the kernel takes buffer, n, rate"):
        if what == "key":
            assert (launched(key=["size"]) == 3).all()
            return
        with pytest.raises(ValueError, match=f"{what} of autotune names 'size'"):
            launched(**{what: ["size"]})


@pytest.mark.parametrize("what", ["key", "reset_to_zero", "restore_value"])
def test_one_name_is_a_list_of_one(what):
    assert (launched(**{what: "buffer"}) == (1 if what == "reset_to_zero" else 3)).all()
    assert naiad.autotune([SMALL], key=None)(scale_in_place).keys == []


def failing(*args, **keywords):
    raise ZeroDivisionError("mine")


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"prune_configs_by": {"early_config_prune": failing}}, "in early_config_prune of autotune"),
        ({"prune_configs_by": {"perf_model": failing, "top_k": 1}}, "in perf_model of autotune"),
        ({"pre_hook": failing}, "while tuning scale_in_place, with the configuration BLOCK: 32"),
        ({"post_hook": failing}, "while tuning scale_in_place, with the configuration BLOCK: 32"),
        ({"configs": [LARGE, naiad.Config({"BLOCK": 8}, pre_hook=failing)]}, "with the configuration BLOCK: 8"),
        ({"do_bench": failing}, "while tuning scale_in_place"),
    ],
)
def test_an_error_of_a_function_of_the_users_says_where(options, note):
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        launched(**options)
    assert any(note in said for said in caught.value.__notes__)


def test_an_array_of_times():
    assert (launched(do_bench=lambda call, quantiles: np.ones(3)) == 3).all()


@pytest.mark.parametrize("others", [[LARGE], [], [naiad.Config({"BLOCK": 64}, pre_hook=lambda named: None)]])
def test_what_the_hook_of_a_configuration_that_loses_writes_is_put_back(others):
    def spoil(named):
        named["buffer"][:] = 50

    def slow_for_spoilt(call, quantiles):
        call()
        return [100.0 if call.config.pre_hook is spoil else 1.0]

    spoiling = naiad.Config({"BLOCK": 8}, pre_hook=spoil)
    buffer = launched([spoiling, *others] if others else [spoiling], do_bench=slow_for_spoilt)
    assert (buffer == (3 if others else 101)).all()


@pytest.mark.parametrize("decorate", [naiad.autotune([SMALL], ["n"]), naiad.heuristics({"BLOCK": lambda named: 8})])
def test_what_is_no_kernel_is_not_decorated(decorate):
    with pytest.raises(
        TypeError, match=r"expected a @triton.jit function, found .*write @triton\..* above @triton.jit"
    ):
        decorate(failing)


@pytest.mark.parametrize("values", [5, {"BLOCK": 8}])
def test_heuristics_are_functions(values):
    with pytest.raises(TypeError, match="expected a dict of functions of the arguments"):
        naiad.heuristics(values)


def test_a_heuristic_that_fails_says_which():
    kernel = naiad.heuristics({"BLOCK": lambda named: named["size"]})(scale_in_place)
    with pytest.raises(KeyError, match="size") as caught:
        kernel[(1,)](np.ones(4, "f4"), 4, 2.0)
    assert "in the heuristic for BLOCK, which is called with a dict of buffer, n, rate" in caught.value.__notes__[0]


def test_a_configuration_has_a_dict():
    with pytest.raises(TypeError, match=r"triton\.Config: expected a dict"):
        naiad.Config(None)


def test_an_array_in_the_key_stands_for_its_shape():
    kernel = naiad.autotune([SMALL, LARGE], key=["buffer"], do_bench=bench)(scale_in_place)
    for size in (10, 20, 10):
        kernel[(1,)](np.ones(size, "f4"), size, 2.0)
    assert sorted(key[0] for key in kernel.cache) == [(10,), (20,)]


def test_the_interpreter_loses_what_a_compilation_would(monkeypatch):
    monkeypatch.setattr(knobs.runtime, "interpret", True)
    kernel = naiad.jit(scale_in_place.fn)
    wrong = naiad.Config({"BLOCK": 100})
    tuned = naiad.autotune([wrong, LARGE], key=["n"], do_bench=bench)(kernel)
    buffer = np.ones(100, "f4")
    tuned[(1,)](buffer, 100, 2.0)
    assert (buffer == 3).all() and tuned.best_config is LARGE
    assert tuned.reasons[wrong].endswith("in scale_in_place: ValueError: arange's range must be a power of 2")


def test_a_constant_of_a_configuration_may_be_a_list():
    @naiad.jit
    def add_first(x, STEPS: tl.constexpr):
        tl.store(x, tl.load(x) + STEPS[0])

    configs = [naiad.Config({"STEPS": [step]}) for step in (1, 1, 2)]
    assert configs[0] == configs[1] != configs[2]
    kernel = naiad.autotune(configs, key=[], do_bench=bench)(add_first)
    x = np.zeros(1, "f4")
    kernel[(1,)](x)
    assert x[0] == 1
