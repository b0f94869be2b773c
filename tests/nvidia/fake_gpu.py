"""A machine with two GPUs that only record: libcuda in C, and torch's tensors of the CPU, said to lie there.

For tests of the launch on machines without a GPU.
"""

import ctypes
import dataclasses
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from naiad.backends.arguments import device_of
from naiad.backends.driver import driver as drivers
from naiad.backends.launch import guards, record, torch_tensor
from naiad.backends.nvidia import driver, launcher, libcuda
from naiad.runtime import devices, places

STREAM = 0x7000
"""The stream of GPU 0; that of GPU 1 comes next."""


def build(folder: Path) -> ctypes.CDLL:
    """libcuda; skips where there is no C compiler."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc to build the stand-in of libcuda with")
    made = folder / "libcuda_fake.so"
    source = Path(__file__).with_name("fake_cuda.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", made, source], check=True)
    return ctypes.CDLL(str(made))


class FakeGPU:
    """The machine. `device`: the current one; `place`: where the tensors say that they are."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library, self.device, self.place, self.streams = library, 0, 0, [STREAM, STREAM + 1]
        self.asked: list[int] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Puts it in the place of the real one for a test."""
        for name in ("launches", "loads"):
            self.number(f"fake_{name}").value = 0
        self.set("fake_current", 0x1000)
        self.set("fake_result", 0, ctypes.c_int)
        for module in (libcuda, driver):
            monkeypatch.setattr(module, "library", lambda: self.library)
        self.forget()
        active = driver.NvidiaDriver()
        active._torch = SimpleNamespace(_cuda_getDevice=lambda: self.device, _cuda_getCurrentRawStream=self.stream)
        monkeypatch.setattr(drivers, "_active", active)
        self.tensors(monkeypatch)

    @staticmethod
    def forget() -> None:
        """Drops what the process has learnt about its GPUs: before a test, and after it."""
        for cached in (libcuda.context, driver.target_of_device, launcher.native_code):
            cached.cache_clear()

    def tensors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """torch's tensors of the CPU lie on the GPU, for Python and for native code."""
        for module in (devices, guards, places):
            monkeypatch.setattr(module, "device_of", self.device_of)
        monkeypatch.setattr(places, "_meanings", NoMemory())
        monkeypatch.setattr(places, "_tensors", set())
        real = torch_tensor.torch_tensors()
        if real is not None:
            address = lambda name: ctypes.cast(self.library[name], ctypes.c_void_p).value  # noqa: E731
            getters = (address("fake_device_type"), *real.getters[1:3], address("fake_device_index"))
            mine = dataclasses.replace(real, getters=getters)
            for module in (guards, record):
                monkeypatch.setattr(module, "torch_tensors", lambda: mine)

    def device_of(self, argument: Any) -> tuple[str, int]:
        """Tensors lie on the GPU; where all else lies is what the real one says."""
        return ("cuda", self.place) if hasattr(argument, "data_ptr") else device_of(argument)

    def stream(self, device: int) -> int:
        self.asked.append(device)
        return self.streams[device]

    def use(self, device: int) -> None:
        """What torch.cuda.set_device does."""
        self.device = device
        self.set("fake_current", 0x1000 + device)

    def move(self, device: int) -> None:
        """Tensors lie on this GPU from now on."""
        self.place = device
        self.set("fake_index", device, ctypes.c_int)

    def number(self, name: str, kind: Any = ctypes.c_uint64) -> Any:
        return kind.in_dll(self.library, name)

    def set(self, name: str, value: int, kind: Any = ctypes.c_uint64) -> None:
        self.number(name, kind).value = value

    @property
    def launches(self) -> int:
        return self.number("fake_launches").value

    def slots(self, count: int) -> list[int]:
        return list((ctypes.c_uint64 * 32).in_dll(self.library, "fake_slots"))[:count]

    @property
    def config(self) -> list[int]:
        """Grid, block, shared memory."""
        return list((ctypes.c_uint32 * 7).in_dll(self.library, "fake_config"))

    @property
    def attributes(self) -> dict[int, list[int]]:
        """Those of the launch: number to its first words."""
        count = self.number("fake_attributes", ctypes.c_uint32).value
        ids = (ctypes.c_uint32 * 8).in_dll(self.library, "fake_attribute_ids")
        words = ((ctypes.c_uint32 * 3) * 8).in_dll(self.library, "fake_attribute_words")
        return {ids[i]: list(words[i]) for i in range(count)}


class NoMemory(dict):
    """Remembers nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass
