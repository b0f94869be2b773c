"""Launchers in C for NVIDIA GPUs, against a libcuda that records: code, arguments, sizes, attributes, errors."""

import ctypes
import importlib.util
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naiad import aot
from naiad.backends.nvidia.tools import find_ptxas

from . import kernels
from .build import gcc, library

HERE = Path(__file__).parent
needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="there is no ptxas to make cubins with")
MATMUL = "*fp32:16, *fp16:16, *fp16:16, i32, i32, i32, i32:16, i32:16, i32:16, 64, 64, 64"


class Driver:
    """The library of launchers and the recording libcuda in it."""

    def __init__(self, folder: Path, *files: Path) -> None:
        sources = [file for file in files if file.suffix == ".c"]
        for source in sources:
            text = source.read_text()
            source.write_text(text.replace("<cuda.h>", f'"{HERE / "cuda.h"}"'))
        self.library = library(folder / "launchers.so", HERE / "fake_cuda.c", *sources)

    def launch(self, name: str, stream: int, *args: Any, sizes: str = "") -> int:
        """The result of a launcher. sizes: what struct calls each parameter of the kernel."""
        count = (ctypes.c_uint8 * 17).in_dll(self.library, "fake_bytes")
        count[:] = [*(struct.calcsize(code) for code in sizes), *[0] * (17 - len(sizes))]
        return self.library[name](ctypes.c_void_p(stream), *args)

    def parameters(self, codes: str) -> list[Any]:
        """What the kernel was given, read as struct's codes."""
        slots = bytes((ctypes.c_uint64 * 16).in_dll(self.library, "fake_slots"))
        return [struct.unpack_from(f"<{code}", slots, 8 * i)[0] for i, code in enumerate(codes)]

    def number(self, name: str, kind: Any = ctypes.c_int) -> int:
        return kind.in_dll(self.library, name).value

    @property
    def sizes(self) -> list[int]:
        """Grid, block, shared memory."""
        return list((ctypes.c_uint32 * 7).in_dll(self.library, "fake_sizes"))

    @property
    def attributes(self) -> list[list[int]]:
        """Number and first words of the launch's attributes."""
        found = ((ctypes.c_uint32 * 4) * 8).in_dll(self.library, "fake_attributes")
        return [list(row) for row in found][: self.number("fake_attribute_count")]


@needs_ptxas
@pytest.mark.parametrize("target", ["cuda:80", "cuda:90:32"])
def test_the_code_is_in_the_source(target: str, tmp_path: Path) -> None:
    made = aot.compile(kernels.matmul, MATMUL, "(M + BM - 1) / BM, (N + BN - 1) / BN", target=target)
    assert made.kind == "cubin" and made.code.startswith(b"\x7fELF") and made.kernel_name == "matmul"
    driver = Driver(tmp_path, *made.write(tmp_path / "matmul"))
    pointers = [ctypes.c_uint64(2**40 + 16 * i) for i in range(3)]
    assert driver.launch(made.name, 0x7000, *pointers, 100, 65, -3, 64, 80, 96, sizes="QQQiiiiii") == 0
    assert driver.sizes == [2, 2, 1, 128, 1, 1, made.shared]
    assert driver.parameters("QQQiiiiii") == [2**40, 2**40 + 16, 2**40 + 32, 100, 65, -3, 64, 80, 96]
    assert driver.number("fake_stream", ctypes.c_uint64) == 0x7000
    assert (ctypes.c_char * 128).in_dll(driver.library, "fake_name").value == b"matmul"
    image = driver.number("fake_image", ctypes.c_void_p)
    assert ctypes.string_at(image, len(made.code)) == made.code
    assert driver.number("fake_shared") == (made.shared if made.shared > 49152 else 0)


@needs_ptxas
def test_large_shared_memory_is_asked_for(tmp_path: Path) -> None:
    types = MATMUL.replace("64, 64, 64", "128, 128, 64")
    made = aot.compile(kernels.matmul, types, "1", target="cuda:80", num_warps=8, num_stages=4)
    assert made.shared > 49152
    driver = Driver(tmp_path, *made.write(tmp_path / "matmul"))
    assert driver.library[f"load_{made.name}"]() == 0
    assert driver.number("fake_shared") == made.shared


@pytest.fixture(scope="module")
def scalars(tmp_path_factory: pytest.TempPathFactory) -> tuple[aot.Compiled, Driver]:
    folder = tmp_path_factory.mktemp("scalars")
    types = "*fp64, fp16, bf16, fp32, fp64, i1, i8, u64, 'no', i32:1"
    made = aot.compile(kernels.scalars, types, "word / 2, stream, 1", target="cuda:80", num_warps=2)
    return made, Driver(folder, *made.write(folder / "scalars"))


def test_scalars(scalars: tuple[aot.Compiled, Driver]) -> None:
    """Floats that C lacks are rounded; what is always 1 is no parameter, but the grid may name it."""
    made, driver = scalars
    f, d = ctypes.c_float, ctypes.c_double
    args = (ctypes.c_uint64(8), f(0.1), f(0.1), f(0.1), d(0.1), ctypes.c_int8(4), ctypes.c_int8(-3), ctypes.c_uint64(9))
    assert driver.launch(made.name, 0, *args, sizes="QHHfd?bQ") == 0
    half = int(np.float16(0.1).view(np.uint16))
    assert driver.parameters("QHHfdBbQ") == [8, half, 0x3DCD, float(np.float32(0.1)), 0.1, 1, -3, 9]
    assert driver.sizes == [4, 1, 1, 64, 1, 1, made.shared]


def test_sizes_of_grids(scalars: tuple[aot.Compiled, Driver]) -> None:
    made, driver = scalars
    f, d, byte = ctypes.c_float(0), ctypes.c_double(0), ctypes.c_int8(0)
    before = driver.number("fake_launches", ctypes.c_uint64)
    for word, result in ((0, 0), (2**33, 1), (2**63, 1)):
        args = (ctypes.c_uint64(8), f, f, f, d, byte, byte, ctypes.c_uint64(word))
        assert driver.launch(made.name, 0, *args) == result
    assert driver.number("fake_launches", ctypes.c_uint64) == before


def test_the_driver_refuses(scalars: tuple[aot.Compiled, Driver]) -> None:
    """Its result is the launcher's; unloading twice, and launching after it, are fine."""
    made, driver = scalars
    load, unload = driver.library[f"load_{made.name}"], driver.library[f"unload_{made.name}"]
    assert load() == unload() == unload() == 0
    result = ctypes.c_int.in_dll(driver.library, "fake_result")
    result.value = 2
    args = [ctypes.c_uint64(8), *[ctypes.c_float(0)] * 3, ctypes.c_double(0), 0, 0, ctypes.c_uint64(2)]
    assert load() == 2 and driver.launch(made.name, 0, *args) == 2
    result.value = 0
    assert driver.launch(made.name, 0, *args) == 0


def test_attributes_of_the_launch(tmp_path: Path) -> None:
    options = {"launch_pdl": True, "launch_cooperative_grid": True}
    made = aot.compile(kernels.places, "*i32", "3, 2, 1", target="cuda:90", **options)
    driver = Driver(tmp_path, *made.write(tmp_path / "places"))
    assert driver.launch(made.name, 5, ctypes.c_uint64(64), sizes="Q") == 0
    assert driver.sizes[:6] == [3, 2, 1, 128, 1, 1] and driver.parameters("Q") == [64]
    assert sorted(row[:2] for row in driver.attributes) == [[2, 1], [6, 1]]


def test_linked(tmp_path: Path) -> None:
    """The dispatcher for a GPU: pointers are integers there."""
    types = "*i32{}, i32{}, 32"
    made = [aot.compile(kernels.checked, types.format(*hints), "n", target="cuda:80", num_warps=1)
            for hints in [("", ""), (":16", ""), (":16", ":1")]]  # fmt: skip
    files = [file for one in made for file in one.write(tmp_path / "checked")]
    files += aot.link([one.header for one in made]).write(tmp_path / "checked")
    driver = Driver(tmp_path, *files)
    for pointer, n, sizes in ((8, 5, "Qi"), (16, 5, "Qi"), (16, 1, "Q")):
        assert driver.launch("checked_default", 1, ctypes.c_uint64(pointer), n, sizes=sizes) == 0
        assert driver.parameters(sizes) == [pointer, n][: len(sizes)] and driver.sizes[0] == n
    assert driver.number("fake_loaded") == 3
    assert driver.library.unload_checked() == 0 and driver.number("fake_loaded") == 0
    assert driver.launch("checked", 1, ctypes.c_uint64(16), 1, 1) == 1


def test_with_the_real_header(tmp_path: Path) -> None:
    """The one that Triton's wheel brings: a launch with attributes, and one without."""
    spec = importlib.util.find_spec("triton")
    places = [Path(place, "backends/nvidia/include") for place in (spec and spec.submodule_search_locations) or ()]
    places = [place for place in places if (place / "cuda.h").exists()]
    if not places:
        pytest.skip("there is no cuda.h: Triton's wheel has one")
    for options in ({}, {"num_ctas": 2, "launch_pdl": True}):
        made = aot.compile(kernels.places, "*i32:16", "1", target="cuda:90", **options)
        _, source = made.write(tmp_path / "places")
        gcc("-std=c11", "-fsyntax-only", "-isystem", places[0], source)


def test_headers_are_c_plus_plus_too(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    made = aot.compile(kernels.places, "*i32", "1", target="cuda:80")
    [header, _] = made.write(tmp_path / "places")
    (tmp_path / "main.cpp").write_text(f'#include "{header.name}"\n#include "{header.name}"\nint main() {{}}\n')
    command = ["g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", HERE, tmp_path / "main.cpp"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_ptxas_the_source_holds_ptx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naiad.backends.nvidia.tools.find_ptxas", lambda arch=80: None)
    made = aot.compile(kernels.places, "*i32:16", "1", target="cuda:80")
    assert made.kind == "ptx" and b".target sm_80" in made.code and made.code.endswith(b"\0")
    _, source = made.write(tmp_path / "places")
    gcc("-std=c99", "-pedantic", "-fsyntax-only", "-I", HERE, source)


def test_clusters(tmp_path: Path) -> None:
    """A grid of clusters has as many blocks more; the sizes of a cluster are attributes of the launch."""
    made = aot.compile(kernels.places, "*i32", "3, 2", target="cuda:90", num_ctas=2)
    driver = Driver(tmp_path, *made.write(tmp_path / "places"))
    assert driver.launch(made.name, 5, ctypes.c_uint64(64), sizes="Q") == 0
    assert driver.sizes[:6] == [6, 2, 1, 128, 1, 1]
    assert [4, 2, 1, 1] in driver.attributes
    assert ":warps4xstages3xctas2\n" in made.header
