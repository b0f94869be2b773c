"""A backend from outside: found by its target, compiled through its stages, launched by its driver, with its limits."""

from dataclasses import dataclass

import numpy as np
import pytest

import naiad
from naiad import knobs
from naiad.backends import Backend, BaseBackend, GPUTarget, backends, find, register, unregister
from naiad.backends.driver import DriverBase, driver, driver_for
from naiad.compiler import ASTSource
from naiad.errors import OutOfResources
from naiad.runtime.jit import JITFunction
from tests.runtime.kernels import add


@dataclass(frozen=True)
class Options:
    num_warps: int = 4
    wanted: int = 0
    debug: bool = False

    def hash(self):
        return repr(self)


class TextBackend(BaseBackend):
    """Counts; its code is the source's name."""

    binary_ext = "bin"
    ran: list[str] = []

    @staticmethod
    def supports_target(target):
        return target.backend == "text"

    def hash(self):
        return "text"

    def parse_options(self, options):
        return Options(**{name: value for name, value in options.items() if name in ("num_warps", "wanted", "debug")})

    def add_stages(self, stages, options, language=None):
        def ttir(module, metadata):
            self.ran.append("ttir")
            return f"module of {module.name}"

        def code(text, metadata):
            self.ran.append("bin")
            metadata["shared"] = options.wanted
            return text.encode()

        stages |= {"ttir": ttir, "bin": code}


class TextDriver(DriverBase):
    launches: list[tuple] = []

    class utils:
        @staticmethod
        def get_device_properties(device):
            return {"max_shared_mem": 1000}

        @staticmethod
        def load_binary(name, code, shared, device):
            return "module", code, 10, 0, 256

    def __init__(self):
        self.launcher_cls = lambda src, metadata: lambda *args: self.launches.append(args)

    @classmethod
    def is_active(cls):
        return False

    def get_current_target(self):
        return GPUTarget("text", 1, 32)

    def get_active_torch_device(self):
        return None

    def get_benchmarker(self):
        return None

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 77


class Remote:
    """An array on the device."""

    dtype = np.dtype("f4")
    device = "text:0"

    def data_ptr(self):
        return 64


@pytest.fixture
def text(monkeypatch):
    """The backend, and its driver as the active one. Its IR is the source itself."""
    monkeypatch.setattr(ASTSource, "make_ir", lambda self, target, options: self)
    register("text", Backend(TextBackend, TextDriver))
    TextBackend.ran.clear()
    TextDriver.launches.clear()
    before = driver.active
    driver.set_active(TextDriver())
    yield GPUTarget("text", 1, 32)
    driver.set_active(before)
    unregister("text")


def test_targets_find_their_backend(text):
    assert isinstance(find(text), TextBackend) and "text" in backends
    assert type(find(GPUTarget("cpu", "", 1))).__name__ == "CPUBackend"
    with pytest.raises(RuntimeError, match=r"0 compatible backends for target \(nowhere\)"):
        find(GPUTarget("nowhere", 0, 0))
    with pytest.raises(TypeError, match="must be a GPUTarget"):
        naiad.compile(ASTSource(add, {}), target="cpu")


def test_stages_run_once_and_the_cache_answers(text):
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    kernels = [naiad.compile(ASTSource(add, signature, {"BLOCK": 64}), target=text) for _ in range(2)]
    assert TextBackend.ran == ["ttir", "bin"]
    for kernel in kernels:
        assert kernel.asm["bin"] == kernel.kernel == b"module of add" and kernel.asm["ttir"] == "module of add"
        assert kernel.metadata.target == text and kernel.metadata.num_warps == 4 and kernel.name == "add"
    assert kernels[0].hash == kernels[1].hash


def test_the_driver_that_is_not_active_says_which_device_is_current(text, monkeypatch):
    driver.set_active(backends["cpu"].driver())
    monkeypatch.setattr(TextDriver, "get_current_device", lambda self: 1)
    x = Remote()
    with pytest.raises(ValueError, match="lie on text:0, and launches go to the current device, text:1"):
        add[(1,)](x, x, x, 3)
    monkeypatch.setattr(Remote, "device", "text:1")
    add[(1,)](x, x, x, 3)
    assert (text, 1) in add.device_caches and len(TextDriver.launches) == 1


def test_a_backend_that_is_replaced_has_no_part_in_launches(text):
    driver.set_active(backends["cpu"].driver())
    first = driver_for(text)
    register("text", Backend(TextBackend, TextDriver))
    assert driver_for(text) is not first


def test_launches_go_to_the_driver(text):
    x = Remote()
    function = JITFunction(add.fn)
    loads = []
    knobs.runtime.kernel_load_start_hook.add(start := lambda *args: loads.append(("start", args[0])))
    knobs.runtime.kernel_load_end_hook.add(end := lambda *args: loads.append(("end", args[0])))
    try:
        for _ in range(3):
            kernel = function[(2, 3)](x, x, x, 4)
    finally:
        knobs.runtime.kernel_load_start_hook.remove(start)
        knobs.runtime.kernel_load_end_hook.remove(end)
    assert loads == [("start", None), ("end", "module")]
    assert kernel.n_regs == 10 and kernel.module == "module"
    assert len(TextDriver.launches) == 3
    assert TextDriver.launches[0][:5] == (2, 3, 1, 77, b"module of add")


@pytest.mark.parametrize("options, what", [({"wanted": 2000}, "shared memory"), ({"num_warps": 16}, "threads")])
def test_what_a_device_does_not_have(text, options, what):
    kernel = JITFunction(add.fn).warmup(*[np.zeros(4, "f4")] * 3, 4, grid=(1,), **options)
    for _ in range(2):
        with pytest.raises(OutOfResources, match=f"out of resource: {what}, Required: "):
            kernel[(1,)](*[np.zeros(4, "f4")] * 3, 4, 64)


def test_unloading_is_told(text):
    told = []
    kernel = JITFunction(add.fn).warmup(*[np.zeros(4, "f4")] * 3, 4, grid=(1,))
    kernel._init_handles()
    knobs.runtime.kernel_unload_hook.add(hook := lambda *args: told.append(args[2]))
    try:
        kernel.__del__()
        kernel.__del__()
    finally:
        knobs.runtime.kernel_unload_hook.remove(hook)
    assert told == ["add"] and kernel.module is None
