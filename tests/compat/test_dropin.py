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
from naiad.compat.table import ALIASES, FACADES

ROOT = str(Path(__file__).parent.parent.parent)


def run(code, **environment):
    """Runs code in a new Python; gives what it printed."""
    env = {**os.environ, "PYTHONPATH": ROOT, **environment}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def dropin():
    """`triton` means naiad during the test; what was imported under that name before comes back."""
    before = {name: module for name, module in sys.modules.items() if name == "triton" or name.startswith("triton.")}
    for name in before:
        del sys.modules[name]
    naiad.compat.install()
    yield
    naiad.compat.uninstall()
    sys.modules.update(before)


@pytest.mark.parametrize("name", [*FACADES, *ALIASES, "triton.language.extra.libdevice", "triton.language.extra.cuda",
                                  "triton.language.core", "triton.language.math", "triton.language.random",
                                  "triton.language.standard", "triton.language.semantic",
                                  "triton.language.target_info", "triton.language.extra"])  # fmt: skip
def test_modules(dropin, name):
    spec = importlib.util.find_spec(name)
    assert spec is not None
    module = importlib.import_module(name)
    assert module is sys.modules[name]
    exec(f"from {name} import *", {})


NAMES = {
    "triton": "jit autotune heuristics Config cdiv next_power_of_2 constexpr_function compile JITFunction "
    "KernelInterface reinterpret TensorWrapper MockTensor OutOfResources InterpreterError TritonError "
    "CompilationError set_allocator AsyncCompileMode FutureKernel must_use_result language runtime testing tools knobs "
    "compiler backends errors __version__",
    "triton.runtime": "driver Autotuner Config Heuristics JITFunction KernelInterface MockTensor OutOfResources "
    "RedisRemoteCacheBackend RemoteCacheBackend TensorWrapper autotune heuristics reinterpret jit autotuner "
    "cache errors interpreter _allocation _async_compile",
    "triton.runtime.jit": "JITFunction JITCallable KernelInterface KernelParam MockTensor TensorWrapper reinterpret "
    "jit constexpr_function mangle_type type_canonicalisation_dict get_jit_fn_file_line native_specialize_impl",
    "triton.runtime.autotuner": "Autotuner Config Heuristics autotune heuristics OutOfResources PTXASError",
    "triton.runtime.cache": "FileCacheManager RemoteCacheManager get_cache_manager triton_key _base32 CacheManager",
    "triton.runtime.errors": "OutOfResources InterpreterError PTXASError AutotunerError",
    "triton.runtime._allocation": "NullAllocator set_allocator set_profile_allocator",
    "triton.compiler": "ASTSource IRSource CompiledKernel CompilationError compile make_backend LazyDict get_cache_key "
    "compiler errors code_generator",
    "triton.compiler.compiler": "ASTSource IRSource CompiledKernel compile make_backend triton_key GPUTarget",
    "triton.compiler.errors": "CompilationError CompileTimeAssertionFailure UnsupportedLanguageConstruct",
    "triton.backends": "backends BaseBackend DriverBase Backend compiler driver",
    "triton.backends.compiler": "BaseBackend GPUTarget Language",
    "triton.backends.driver": "DriverBase GPUDriver",
    "triton.testing": "do_bench do_bench_cudagraph Benchmark perf_report assert_close nvsmi get_dram_gbps "
    "get_max_simd_tflops get_max_tensorcore_tflops Mark",
    "triton.tools.tensor_descriptor": "TensorDescriptor",
    "triton.tools.mxfp": "MXFP4Tensor MXScaleTensor",
    "triton.tools.ragged_tma": "create_ragged_descriptor load_ragged store_ragged atomic_add_ragged",
    "triton._utils": "find_paths_if get_iterable_path is_namedtuple canonicalize_dtype validate_block_shape",
    "triton._C.libtriton": "getenv getenv_bool get_cache_invalidating_env_vars native_specialize_impl",
    "triton.knobs": "CompileTimes HookChain base_knobs env_bool env_str env_opt_bool env_opt_str refresh_knobs "
    "propagate_env build redis cache compilation autotuning runtime language nvidia amd proton",
    "triton.language": "constexpr load store arange program_id float32 dot sum core math extra",
}


@pytest.mark.parametrize("module", NAMES)
def test_names(dropin, module):
    pytest.importorskip("torch") if "mxfp" in module else None
    found = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []
    for name in NAMES[module].split():
        exec(f"from {module} import {name}", {})


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


def test_a_missing_name_is_named(dropin):
    import triton

    with pytest.raises(AttributeError, match=r"module 'triton' has no attribute 'nothing': naiad"):
        _ = triton.nothing
    with pytest.raises(ImportError, match=r"cannot import name 'nothing' from 'triton\.runtime\.jit'"):
        exec("from triton.runtime.jit import nothing")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'triton\.profiler': naiad"):
        import triton.profiler
    with pytest.raises(AttributeError, match="nothing"):
        _ = importlib.import_module("triton.language").nothing


def test_versions(dropin):
    import triton

    assert triton.__version__ == importlib.metadata.version("triton") == "3.6.0"
    with knobs.naiad.scope():
        naiad.compat.install(version="3.9.1")
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


def _fail(text):
    print("on stderr", file=sys.stderr, flush=True)
    raise ValueError(text + os.environ["NAIAD_TEST_WORD"])


def test_call_in_a_process_of_its_own():
    from naiad.compat.internal_testing import run_in_process

    result = run_in_process(_fail, ("a",), env={"NAIAD_TEST_WORD": "b"})
    assert isinstance(result.exc, ValueError) and str(result.exc) == "ab"
    assert "on stderr" in result.driver_stderr_output


def test_questions_about_the_target(dropin):
    from triton import _internal_testing as asked

    assert asked.get_current_target().backend == "cpu" and asked.is_cpu() and not asked.is_interpreter()
    assert not (asked.is_cuda() or asked.is_hopper_or_newer() or asked.is_hip() or asked.is_hip_cdna3())
