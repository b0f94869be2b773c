"""The drop-in: module names, identity, versions, missing names, and an installed triton that stays out of it."""

import importlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import naiad
import naiad.compat
from naiad import knobs
from naiad.backends import Backend, backends, register, unregister
from naiad.backends.base import GPUTarget
from naiad.compat.table import ALIASES, FACADES
from tests.compat.dropin import installed

ROOT = str(Path(__file__).parent.parent.parent)


def run(code, **environment):
    """Runs code in a new Python; gives what it printed."""
    env = {**os.environ, "PYTHONPATH": ROOT, **environment}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def dropin():
    with installed():
        yield


def needs_torch(name):
    """Skips for the one module that is about torch's tensors, where there is no torch."""
    if name == "triton.tools.mxfp":
        pytest.importorskip("torch", reason=f"{name} is made of torch's tensors")


@pytest.mark.parametrize("name", [*FACADES, *ALIASES, "triton.language.extra.libdevice", "triton.language.extra.cuda",
                                  "triton.language.core", "triton.language.math", "triton.language.random",
                                  "triton.language.standard", "triton.language.semantic",
                                  "triton.language.target_info", "triton.language.extra"])  # fmt: skip
def test_modules(dropin, name):
    needs_torch(name)
    spec = importlib.util.find_spec(name)
    assert spec is not None
    module = importlib.import_module(name)
    assert module is sys.modules[name]
    exec(f"from {name} import *", {})


def test_they_are_naiads_own(dropin):
    import triton
    import triton.language as tl
    from triton import knobs as their_knobs
    from triton.runtime.jit import JITFunction

    assert tl is importlib.import_module("naiad.language") is triton.language
    assert their_knobs is knobs is triton.knobs
    assert JITFunction is naiad.JITFunction is triton.JITFunction
    import triton.runtime.driver

    assert triton.runtime.driver.active.get_current_target().backend == "cpu"


def test_a_name_is_looked_up_once(dropin):
    import triton

    assert "cdiv" not in vars(triton) and "testing" not in vars(triton)
    assert triton.cdiv is naiad.cdiv and vars(triton)["cdiv"] is naiad.cdiv
    assert triton.runtime.driver is vars(triton.runtime)["driver"] and triton.testing is vars(triton)["testing"]
    assert triton.__version__ and "__version__" not in vars(triton)  # a setting


def test_a_missing_name_is_named(dropin):
    import triton

    with pytest.raises(AttributeError, match=r"module 'triton' has no attribute 'nothing': naiad"):
        _ = triton.nothing
    with pytest.raises(ImportError, match=r"cannot import name 'nothing' from 'triton\.runtime\.jit'"):
        exec("from triton.runtime.jit import nothing")
    with pytest.raises(AttributeError, match=r"module 'triton' has no attribute 'autotun': .* it has autotune"):
        _ = triton.autotun
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'triton\.profiler': Proton is not there"):
        import triton.profiler
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'triton\.experimental': .* Gluon"):
        from triton.experimental import gluon  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"'triton\.language\.extra\.xpu': naiad has the functions of cuda"):
        import triton.language.extra.xpu
    with pytest.raises(AttributeError, match="nothing"):
        _ = importlib.import_module("triton.language").nothing


def test_who_asks_for_a_module_that_is_missing_gets_none(dropin):
    find_spec = importlib.util.find_spec
    assert find_spec("triton.profiler") is None and find_spec("triton.language.extra.xpu") is None
    assert find_spec("triton.experimental") is None and find_spec("triton.language") is not None
    with pytest.raises(ModuleNotFoundError):
        find_spec("triton.experimental.gluon")  # as for any module below one that does not exist


def test_versions(dropin):
    import triton

    assert triton.__version__ == importlib.metadata.version("triton") == "3.6.0"
    with knobs.naiad.scope():
        key = triton.compiler.compiler.triton_key()
        naiad.compat.install(version="3.9.1")
        assert triton.compiler.compiler.triton_key() == key.replace("3.6.0", "3.9.1", 1) != key
        assert triton.__version__ == importlib.metadata.version("triton") == "3.9.1"
    assert importlib.metadata.version("numpy")


def test_a_spec_can_fill_a_fresh_module(dropin):
    for name in ("triton.language.extra.libdevice", "triton.testing"):
        spec = importlib.util.find_spec(name)
        fresh = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(fresh)
        assert hasattr(fresh, "tanh" if "libdevice" in name else "do_bench")


def test_backends_by_name(dropin):
    from triton.backends import backends
    from triton.backends.compiler import GPUTarget

    backend = backends["cpu"]
    assert backend.driver.is_active() and backend.compiler.supports_target(GPUTarget("cpu", "", 1))
    assert "cpu" in backends and [name for name, _ in backends.items()] == list(backends)


def test_the_active_driver(dropin):
    import triton

    active = triton.runtime.driver.active
    facts = active.utils.get_device_properties(active.get_current_device())
    assert facts["multiprocessor_count"] >= 1 and {"max_shared_mem", "max_num_regs", "warpSize"} <= set(facts)
    assert active.get_current_stream(0) == 0 and callable(active.get_benchmarker())
    torch = pytest.importorskip("torch")
    assert active.get_active_torch_device() == torch.device("cpu") and active.get_device_interface() is torch.cpu

    class Other:
        pass

    other = Other()
    triton.runtime.driver.set_active(other)
    try:
        assert triton.runtime.driver.active is other
    finally:
        triton.runtime.driver.reset_active()


def test_one_driver_is_active(dropin):
    class Driver(type(backends["cpu"].driver())):
        here = True

        @classmethod
        def is_active(cls):
            return cls.here

    import triton

    def active():
        return [backend.driver for backend in triton.backends.backends.values() if backend.driver.is_active()]

    assert len(active()) == 1 == len(active()) and active()[0] is type(triton.runtime.driver.active)
    register("other", Backend(backends["cpu"].compiler, Driver))
    try:
        assert active() == [Driver]
        triton.runtime.driver.reset_active()  # what was chosen stays until it is looked for again
        assert type(triton.runtime.driver.active) is not Driver
        importlib.reload(sys.modules["triton.runtime.driver"])
        assert triton.runtime.driver._active is None and type(triton.runtime.driver.active) is Driver
        Driver.here = False
        assert active() == [backends["cpu"].driver]
    finally:
        unregister("other")
        importlib.reload(sys.modules["triton.runtime.driver"])
    assert triton.runtime.driver.active.get_current_target().backend == "cpu"


def test_amd_is_imported_and_compiles_nothing(dropin):
    import triton
    from triton.backends.amd.compiler import HIPBackend
    from triton.backends.amd.driver import HIPDriver

    target = GPUTarget("hip", "gfx942", 64)
    backend = HIPBackend(target)
    options = backend.parse_options({"waves_per_eu": 2})
    assert (options.waves_per_eu, options.arch) == (2, "gfx942") and not HIPDriver.is_active()
    with pytest.raises(NotImplementedError, match=r"no backend for AMD GPUs.*gfx942"):
        backend.add_stages({}, options)
    with pytest.raises(RuntimeError, match=r"0 compatible backends for target \(hip\).*naiad compiles for cuda"):
        triton.compile(triton.compiler.ASTSource(triton.jit(test_versions), {}), target=target)


def test_nothing_is_imported_before_it_is_used():
    code = """
        import sys, naiad.compat
        naiad.compat.install()
        import triton
        print([m for m in ("torch", "xdsl", "llvmlite", "naiad.language", "triton.language") if m in sys.modules])
        triton.jit, triton.language
        print([m for m in ("torch", "xdsl", "llvmlite") if m in sys.modules], "triton.language" in sys.modules)
    """
    assert run(code) == "[]\n[] True"


def test_an_installed_triton_is_left_alone(tmp_path):
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("secret = 1\n")
    (tmp_path / "triton" / "hidden.py").write_text("")
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import naiad.compat
        naiad.compat.install()
        import triton
        print(hasattr(triton, "secret"), triton.__version__)
        try:
            import triton.hidden
        except ModuleNotFoundError as error:
            print(error)
        naiad.compat.uninstall()
        import triton
        print(triton.secret)
        try:
            naiad.compat.install()
        except RuntimeError as error:
            print(str(error)[:27])
    """
    lines = run(code).splitlines()
    assert lines[0] == "False 3.6.0" and "triton.hidden" in lines[1]
    assert lines[2:] == ["1", "triton was imported already"]


KERNEL = """
import sys
import numpy as np
import triton
import triton.language as tl
from helper import SIZE

@triton.jit
def kernel(out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, i * i)

out = np.zeros(SIZE, "i4")
kernel[(1,)](out, SIZE)
assert (out == np.arange(SIZE) ** 2).all()
print(sys.argv[1:], __name__, triton.__version__)
"""


@pytest.mark.parametrize("how", [["-m", "naiad", "run"], ["-m", "naiad", "run", "-m"]])
def test_naiad_run(tmp_path, how):
    (tmp_path / "script.py").write_text(KERNEL)
    (tmp_path / "helper.py").write_text("SIZE = 16\n")
    script = "script" if how[-1] == "-m" else str(tmp_path / "script.py")
    env = {**os.environ, "PYTHONPATH": ROOT, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, *how, script, "a", "--flag"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.stdout.strip() == "['a', '--flag'] __main__ 3.6.0", done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.py"], "there is no file none.py; for a module say `naiad run -m none.py`"),
        (["."], "the folder . has no __main__.py"),
        (["-m", "no_such_module"], "there is no module no_such_module"),
        (["-m", "no.such.module"], "there is no module no.such.module"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_line(tmp_path, monkeypatch, capsys, words, said):
    from naiad.tools import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(naiad.compat, "install", lambda children: None)
    assert cli.main(["run", *words]) == 2
    assert capsys.readouterr().err == f"naiad run: {said}\n"


def _fail(text):
    print("on stderr", file=sys.stderr, flush=True)
    raise ValueError(text + os.environ["NAIAD_TEST_WORD"])


def test_call_in_a_process_of_its_own():
    from naiad.compat.internal_testing import run_in_process

    result = run_in_process(_fail, ("a",), env={"NAIAD_TEST_WORD": "b"})
    assert isinstance(result.exc, ValueError) and str(result.exc) == "ab"
    assert "on stderr" in result.driver_stderr_output
    result = run_in_process(_fail, ("a" * 1_000_000,), env={"NAIAD_TEST_WORD": "b"})  # more than a pipe holds
    assert len(str(result.exc)) == 1_000_001
    with pytest.raises(RuntimeError, match="ended with status 3 and without a result"):
        run_in_process(os._exit, (3,))
    assert isinstance(run_in_process(_fail_strangely).exc, RuntimeError)


def _fail_strangely():
    class Local(Exception):
        """No other process finds it."""

    raise Local("words")


def test_questions_about_the_target(dropin):
    from triton import _internal_testing as asked

    assert asked.get_current_target().backend == "cpu" and asked.is_cpu() and not asked.is_interpreter()
    assert not (asked.is_cuda() or asked.is_hopper_or_newer() or asked.is_hip() or asked.is_hip_cdna3())
