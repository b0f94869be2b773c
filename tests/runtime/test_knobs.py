"""knobs: reading and writing the environment, scopes, and that the table is complete and typed."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import naiad
from naiad import environment, knobs

ROOT = str(Path(__file__).parent.parent.parent)


@pytest.fixture
def group(monkeypatch):
    class example_knobs(knobs.base_knobs):
        text = knobs.env_str("NAIAD_TEST_TEXT", "word")
        flag = knobs.env_bool("NAIAD_TEST_FLAG", True)
        maybe = knobs.env_opt_str("NAIAD_TEST_MAYBE")
        either = knobs.env_opt_bool("NAIAD_TEST_EITHER")
        count = knobs.env_int("NAIAD_TEST_COUNT", 3)

    for knob in example_knobs().knob_descriptors.values():
        monkeypatch.setenv(knob.key, "x")
        monkeypatch.delenv(knob.key)
    return example_knobs()


def test_defaults_then_environment_then_assigned(group, monkeypatch):
    assert group.knobs == {"text": "word", "flag": True, "maybe": None, "either": None, "count": 3}
    monkeypatch.setenv("NAIAD_TEST_FLAG", "no")
    monkeypatch.setenv("NAIAD_TEST_COUNT", "7")
    assert (group.flag, group.count) == (False, 7)
    group.count = 9
    assert (group.count, os.environ["NAIAD_TEST_COUNT"]) == (9, "9")
    group.flag = True
    assert os.environ["NAIAD_TEST_FLAG"] == "1"
    knobs.naiad.remote_timeout = 2.5
    assert os.environ["NAIAD_REMOTE_TIMEOUT"] == "2.5"


def test_propagation_can_be_turned_off(group, monkeypatch):
    monkeypatch.setattr(knobs, "propagate_env", False)
    group.text = "other"
    assert group.text == "other" and "NAIAD_TEST_TEXT" not in os.environ
    group.text = knobs.env
    assert group.text == "word"


def test_copy_and_reset_are_apart(group, monkeypatch):
    monkeypatch.setattr(knobs, "propagate_env", False)
    group.flag = False
    twin = group.copy()
    twin.text = "twin"
    assert (group.text, twin.flag) == ("word", False)
    assert twin.reset().knobs["flag"] is True and group.flag is False


def test_scope_restores_values_and_environment(group):
    group.text = "before"
    with group.scope():
        group.text = "inside"
        del group.flag
        group.count = 5
    assert (group.text, os.environ["NAIAD_TEST_TEXT"], group.count) == ("before", "before", 3)
    assert "NAIAD_TEST_COUNT" not in os.environ


@pytest.mark.parametrize("word, value", [("1", True), ("YES", True), ("on", True), ("0", False), ("off", False)])
def test_truth(group, monkeypatch, word, value):
    monkeypatch.setenv("NAIAD_TEST_EITHER", word)
    assert group.either is value


def test_what_is_no_truth_value_is_false_and_said(group, monkeypatch):
    monkeypatch.setattr(environment, "_said", set())
    monkeypatch.setenv("NAIAD_TEST_EITHER", "perhaps")
    with pytest.warns(RuntimeWarning, match="NAIAD_TEST_EITHER=perhaps is taken as 0"):
        assert group.either is False


def test_a_number_that_is_none_says_so(group, monkeypatch):
    monkeypatch.setenv("NAIAD_TEST_COUNT", "many")
    with pytest.raises(RuntimeError, match="NAIAD_TEST_COUNT=many: expected int"):
        _ = group.count


def test_cache_folders_follow_the_home(monkeypatch):
    with knobs.cache.scope():
        knobs.cache.reset()
        for name in ("TRITON_HOME", "TRITON_CACHE_DIR", "TRITON_DUMP_DIR", "TRITON_OVERRIDE_DIR"):
            os.environ.pop(name, None)
        assert knobs.cache.dir == os.path.join(os.path.expanduser("~/"), ".triton/cache")
        knobs.cache.home_dir = "/somewhere"
        assert knobs.cache.dump_dir == "/somewhere/.triton/dump"


def test_cached_variables_change_on_refresh_only(monkeypatch):
    before = knobs.runtime.debug
    monkeypatch.setattr(knobs, "runtime", knobs.runtime.copy())
    monkeypatch.setenv("TRITON_DEBUG", "0" if before else "1")
    assert knobs.runtime.debug is before
    knobs.refresh_knobs()
    assert knobs.runtime.debug is not before


def test_classes_are_checked(monkeypatch):
    with knobs.cache.scope():
        monkeypatch.setenv("TRITON_CACHE_MANAGER", "collections:OrderedDict")
        del knobs.cache.manager_class
        with pytest.raises(RuntimeError, match="not of type 'CacheManager'"):
            _ = knobs.cache.manager_class


def test_every_variable_has_a_type_and_a_meaning():
    seen: dict[str, str] = {}
    for name, each in knobs.groups().items():
        for field, knob in each.knob_descriptors.items():
            assert knob.doc and knob.type_name, f"{name}.{field}"
            assert knob.key not in seen, f"{name}.{field} and {seen[knob.key]} read the same variable"
            seen[knob.key] = f"{name}.{field}"


def test_what_invalidates_the_cache(monkeypatch):
    monkeypatch.delenv("TRITON_F32_DEFAULT", raising=False)
    before = knobs.cache_invalidating_values()
    monkeypatch.setenv("TRITON_F32_DEFAULT", "ieee")
    assert knobs.cache_invalidating_values() == {**before, "TRITON_F32_DEFAULT": "ieee"}


def test_hooks_run_in_order_and_once():
    calls, chain = [], knobs.HookChain(reversed=True)
    assert not chain

    def first():
        calls.append(1)

    chain.add(first)
    chain.add(first)
    chain.add(lambda: calls.append(2))
    chain()
    assert calls == [2, 1] and chain


def test_variables_without_effect_are_said_once(monkeypatch):
    monkeypatch.setattr(environment, "_said", set())
    monkeypatch.setenv("MLIR_ENABLE_DIAGNOSTICS", "remarks")
    monkeypatch.setenv("TRITON_HIP_USE_ASYNC_COPY", "1")
    with pytest.warns(RuntimeWarning, match="has no effect") as said:
        knobs.refresh_knobs()
    texts = " ".join(str(warning.message) for warning in said)
    assert len(said) == 2 and "MLIR_ENABLE_DIAGNOSTICS" in texts and "TRITON_HIP_USE_ASYNC_COPY" in texts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        knobs.refresh_knobs()
    with knobs.amd.scope(), pytest.warns(RuntimeWarning, match="AMDGCN_USE_BUFFER_OPS has no effect: naiad"):
        knobs.amd.use_buffer_ops = False


def test_a_variable_without_effect_is_said_at_import():
    command = [sys.executable, "-c", "import naiad"]
    variables = {**os.environ, "PYTHONPATH": ROOT, "TRITON_ENABLE_LLVM_DEBUG": "1", "TRITON_CACHE_DIR": "/tmp"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert done.stderr.count("TRITON_ENABLE_LLVM_DEBUG has no effect") == 1
    variables.pop("TRITON_ENABLE_LLVM_DEBUG")
    assert not subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stderr


def test_every_variable_is_read_somewhere():
    """In the package beside the table, by `group.field`, or by its name where a child process or C reads it."""
    files = [path for path in (Path(ROOT) / "naiad").rglob("*.py") if path.name not in ("knobs.py", "environment.py")]
    texts = "\n".join(path.read_text() for path in files)
    others = {"cache.home_dir": "the other folders follow it", "naiad.as_triton": "sitecustomize reads it"}
    for name, group in knobs.groups().items():
        for field, knob in group.knob_descriptors.items():
            where = f"{name}.{field}"
            if not knob.unused and where not in others:
                read = rf"\b(knobs\.{name}|settings)\.{field}\b|\"{knob.key}\""
                assert re.search(read, texts), f"nobody reads {where} ({knob.key})"


def test_the_table_has_the_variables_of_the_peer():
    peer = pytest.importorskip("triton.knobs")
    found = {name: group for name, group in vars(peer).items() if isinstance(group, peer.base_knobs)}
    ours = knobs.groups()
    for name, group in found.items():
        for field, knob in group.knob_descriptors.items():
            assert ours[name].knob_descriptors[field].key == knob.key, f"{name}.{field}"


@pytest.mark.parametrize("text", ["no_such_module:Class", "os:path", "os:no_such_class", ":Class", "word"])
def test_a_class_that_is_not_there_names_its_variable(monkeypatch, text):
    monkeypatch.setenv("TRITON_CACHE_MANAGER", text)
    with pytest.raises(environment.SettingError, match="TRITON_CACHE_MANAGER"):
        _ = knobs.cache.manager_class


def test_a_number_below_the_least(monkeypatch):
    monkeypatch.setenv("NAIAD_NUM_THREADS", "-3")
    with pytest.raises(RuntimeError, match="Unable to use NAIAD_NUM_THREADS=-3: expected an int from 0 on"):
        _ = knobs.naiad.num_threads


def test_words_without_a_meaning_are_told(monkeypatch):
    monkeypatch.setattr(environment, "_said", set())
    monkeypatch.setenv("NAIAD_DEBUG", "recompile,recompil")
    with pytest.warns(RuntimeWarning, match="NAIAD_DEBUG has a word 'recompil' without a meaning: expected recompile"):
        assert knobs.naiad.debug == "recompile,recompil"


def test_a_knob_that_there_is_not_is_told(monkeypatch):
    monkeypatch.setattr(environment, "_said", set())
    with knobs.autotuning.scope(), pytest.warns(RuntimeWarning, match=r"knobs.autotuning has no prnt: .* cache, print"):
        knobs.autotuning.prnt = True


def test_hooks_are_functions():
    with pytest.raises(TypeError, match="a hook is a function, and 5 is none"):
        knobs.runtime.launch_enter_hook.add(5)
    for group, name in ((knobs.runtime, "launch_exit_hook"), (knobs.autotuning, "listener")):
        with pytest.raises(TypeError, match=f"{name} is a function or None, not 'text'"):
            setattr(group, name, "text")


def test_an_architecture_that_no_backend_has(monkeypatch):
    import numpy as np

    from tests.runtime.kernels import write_scalar

    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm_wrong")
    with pytest.raises(RuntimeError, match=r"TRITON_OVERRIDE_ARCH=sm_wrong: no backend of .* has this architecture"):
        naiad.jit(write_scalar.fn).warmup(np.float64, 3, grid=(1,))


def test_a_dump_folder_that_cannot_be_written():
    import numpy as np

    from tests.runtime.kernels import write_scalar

    compiled_nowhere_yet = naiad.jit(write_scalar.fn)
    with knobs.compilation.scope(), knobs.cache.scope():  # assigned, since what other tests assigned hides variables
        knobs.compilation.dump_ir = knobs.compilation.always_compile = True
        knobs.cache.dump_dir = "/dev/null/dump"
        with pytest.raises(RuntimeError, match="TRITON_DUMP_DIR cannot be written"):
            compiled_nowhere_yet.warmup(np.int16, 3, grid=(1,))
