"""Kernels compiled ahead of time for the CPU, in programs of C and in libraries: numbers against float64, threads,
errors."""

import ctypes
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naiad import aot
from naiad.backends.cpu.host import host

from . import kernels
from .build import library, pointer, program, run

ADD = """
#include <stdio.h>
#include <stdlib.h>
#include "add.h"
int main(int count, char **words)
{
    int n = atoi(words[1]);
    float *x = malloc(4 * n), *y = malloc(4 * n), *out = malloc(4 * n);
    if (fread(x, 4, n, stdin) != (size_t)n || fread(y, 4, n, stdin) != (size_t)n)
        return 2;
    if (add_default(atoi(words[2]), x, y, out, n) != NAIAD_OK)
        return 3;
    fwrite(out, 4, n, stdout);
    unload_add();
    return 0;
}
"""
MATMUL = """
#include <stdio.h>
#include <stdlib.h>
#include "matmul.h"
int main(int count, char **words)
{
    int m = atoi(words[1]), n = atoi(words[2]), k = atoi(words[3]), algorithm = atoi(words[4]);
    float *a = malloc(4 * m * k), *b = malloc(4 * k * n), *c = malloc(4 * m * n);
    if (load_matmul() || fread(a, 4 * k, m, stdin) != (size_t)m || fread(b, 4 * n, k, stdin) != (size_t)k)
        return 2;
    if (matmul(0, c, a, b, m, n, k, k, n, n, algorithm) != 0)
        return 3;
    fwrite(c, 4 * n, m, stdout);
    return matmul(0, c, a, b, m, n, k, k, n, n, matmul_get_num_algos()) == NAIAD_INVALID_VALUE ? 0 : 4;
}
"""
MATMUL_TYPES = "*fp32, *fp32, *fp32, i32, i32, i32, i32, i32, i32"
MATMUL_GRID = "(M + BM - 1) / BM, (N + BN - 1) / BN, 1"


def compiled(fn: Any, signature: str, grid: Any, **options: Any) -> aot.Compiled:
    return aot.compile(fn, signature, grid, target=options.pop("target", "cpu"), **options)


def loaded(folder: Path, made: aot.Compiled) -> tuple[ctypes.CDLL, Any]:
    """(the library of a kernel, its launcher)."""
    shared = library(folder / "kernel.so", *made.write(folder / "kernel"))
    return shared, getattr(shared, made.name)


def linked(folder: Path, name: str, *made: aot.Compiled) -> list[Path]:
    """The files of kernels and of their dispatcher."""
    files = [file for one in made for file in one.write(folder / name)]
    return [*files, *aot.link([one.header for one in made]).write(folder / name)]


def test_add_in_a_program_of_c(tmp_path: Path) -> None:
    grid = "(n + 255) / 256, 1, 1"
    types = "*fp32{0}, *fp32{0}, *fp32{0}, i32{1}, 256"
    variants = [compiled(kernels.add, types.format(*hints), grid) for hints in [(":16", ":16"), (":16", ""), ("", "")]]
    command = program(tmp_path / "add", ADD, *linked(tmp_path, "add", *variants))
    for n, threads in ((1, 0), (31, 3), (4096, 2), (100_003, 3)):
        x, y = np.random.default_rng(n).standard_normal((2, n), dtype=np.float32)
        out = np.frombuffer(run(command, n, threads, data=x.tobytes() + y.tobytes()), np.float32)
        np.testing.assert_array_equal(out, x + y)


def test_products_in_a_program_of_c(tmp_path: Path) -> None:
    """Two algorithms of one kernel, which differ in their tiles."""
    made = [compiled(kernels.matmul, f"{MATMUL_TYPES}, {tile}", MATMUL_GRID) for tile in ("16, 32, 16", "32, 32, 32")]
    command = program(tmp_path / "matmul", MATMUL, *linked(tmp_path, "matmul", *made))
    for m, n, k, algorithm in ((1, 1, 1, 0), (37, 53, 71, 0), (37, 53, 71, 1), (64, 64, 64, 1)):
        random = np.random.default_rng(m)
        a, b = random.standard_normal((m, k), dtype=np.float32), random.standard_normal((k, n), dtype=np.float32)
        out = run(command, m, n, k, algorithm, data=a.tobytes() + b.tobytes())
        expected = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(np.frombuffer(out, np.float32).reshape(m, n), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("cpu", ["native", "generic", "x86-64-v3"])
def test_softmax_for_several_cpus(cpu: str, tmp_path: Path) -> None:
    if not host().is_x86 and cpu.startswith("x86"):
        pytest.skip("this is no x86-64 machine")
    made = compiled(kernels.softmax, "*fp32, *fp32, i32, i32, i32, 128", "rows, 1, 1", target=f"cpu:{cpu}")
    shared, launch = loaded(tmp_path, made)
    if shared[f"load_{made.name}"]() != 0:
        pytest.skip(f"this machine is no {cpu}")
    x = np.random.default_rng(0).standard_normal((67, 101), dtype=np.float32)
    out = np.full_like(x, np.nan)
    assert launch(0, pointer(out), pointer(x), 67, 101, 101) == 0
    power = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, power / power.sum(1, keepdims=True), rtol=1e-5)


def test_objects_need_libc_and_libm_only(tmp_path: Path) -> None:
    """And are position independent, and need no executable stack: the linker warns of both."""
    made = compiled(kernels.softmax, "*fp32, *fp32, i32, i32, i32, 128", "rows, 1, 1")
    _, source, code = made.write(tmp_path / "kernel")
    shared = library(tmp_path / "kernel.so", source, code)
    assert shared[made.name]
    names = subprocess.run(["nm", "-u", code], capture_output=True, text=True, check=True).stdout.split()[1::2]
    libraries = [ctypes.CDLL("libc.so.6"), ctypes.CDLL("libm.so.6")]
    assert not [name for name in names if not any(hasattr(lib, name) for lib in libraries)]
    exported = subprocess.run(["nm", "-D", "--defined-only", tmp_path / "kernel.so"], capture_output=True, text=True)
    assert "naiad_pool" not in exported.stdout


HALVES = [0.1, -65519.0, 65520.0, 6.1e-5, 5.97e-8, 2.98e-8, 2.99e-8, float("inf"), -0.0, 1.00048828125, 1e-30]


def test_every_kind_of_scalar(tmp_path: Path) -> None:
    """Floats that C lacks are rounded to nearest even, narrow integers arrive whole; a name that C or the launcher uses
    is no trouble."""
    import ml_dtypes

    types = "*fp64, fp16, bf16, fp32, fp64, i1, i8, u64, 'sign', i32"
    made = compiled(kernels.scalars, types, (1,))
    assert "float half, float brain, float single, double double_, int8_t flag, int8_t byte" in made.header
    _, launch = loaded(tmp_path, made)
    f, d = ctypes.c_float, ctypes.c_double
    out = np.full(9, np.nan)
    for value in HALVES:
        args = (f(value), f(value), f(value), d(value), ctypes.c_int8(2), ctypes.c_int8(-3), ctypes.c_uint64(2**63), -5)
        assert launch(1, pointer(out), *args) == 0
        single = np.float32(value)
        with np.errstate(over="ignore"):
            expected = [float(single.astype(kind)) for kind in (np.float16, ml_dtypes.bfloat16, np.float32)]
        assert list(out) == [*expected, value, 1.0, -3.0, 2.0**63, -5.0, -1.0], value


def test_grids(tmp_path: Path) -> None:
    made = compiled(kernels.places, "*i32", ("7", 5, "3"))
    assert made.grid == ("7", "5", "3")
    _, launch = loaded(tmp_path, made)
    for threads in (1, 2, 5, 0):
        out = np.full(105, -1, np.int32)
        assert launch(threads, pointer(out)) == 0
        z, y, x = np.meshgrid(range(3), range(5), range(7), indexing="ij")
        np.testing.assert_array_equal(out, (x + 100 * y + 10000 * z).ravel())


def test_grids_of_arguments(tmp_path: Path) -> None:
    """An empty grid runs nothing, an impossible one is an error."""
    made = compiled(kernels.softmax, "*fp32, *fp32, i32, i32, i32, 128", "rows * (BLOCK / 128)")
    shared, launch = loaded(tmp_path, made)
    assert launch(0, None, None, 0, 1, 1) == 0
    assert launch(0, None, None, -1, 1, 1) == -1
    message = shared[f"{made.name}_error"]
    message.restype = ctypes.c_char_p
    assert b"the grid has a negative size" in message(-1)
    assert message(0) == b"no error"


def test_an_assertion_fails(tmp_path: Path) -> None:
    made = compiled(kernels.checked, "*i32, i32, 32", "(n + 31) / 32", debug=True)
    shared, launch = loaded(tmp_path, made)
    message = shared[f"{made.name}_error"]
    message.restype = ctypes.c_char_p
    x = np.arange(8, 1008, dtype=np.int32)
    assert launch(0, pointer(x), 1000) == 0
    x[900] = 7
    assert message(launch(0, pointer(x), 1000)) == b'device-side assert triggered: no "seven" here'
    x[900] = -7
    assert message(launch(0, pointer(x), 1000)) == b"device-side assert triggered: negative"


def test_without_debug_there_are_no_assertions(tmp_path: Path) -> None:
    _, launch = loaded(tmp_path, compiled(kernels.checked, "*i32, i32, 32", "(n + 31) / 32"))
    x = np.full(40, 7, np.int32)
    assert launch(0, pointer(x), 40) == 0
    assert (x == 8).all()


def test_a_kernel_without_arguments(tmp_path: Path) -> None:
    made = compiled(kernels.empty, "", (3,))
    _, launch = loaded(tmp_path, made)
    assert launch(0) == 0


def test_descriptors_are_several_arguments(tmp_path: Path) -> None:
    kind = "tensordesc<fp32[16, 16]>"
    made = compiled(kernels.copy_tiles, f"{kind}, {kind}", (1,))
    assert "void *source, int32_t source_shape_0, int32_t source_shape_1, int64_t source_strides_0" in made.header
    _, launch = loaded(tmp_path, made)
    kinds = [ctypes.c_int32, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64]
    x, out = np.random.default_rng(0).standard_normal((9, 20), dtype=np.float32), np.zeros((16, 16), np.float32)
    shape = [[kind(n) for kind, n in zip(kinds, given, strict=True)] for given in ((9, 13, 20, 1), (16, 16, 16, 1))]
    assert launch(0, pointer(x), *shape[0], pointer(out), *shape[1]) == 0
    np.testing.assert_array_equal(out[:9, :13], x[:, :13])
    assert not out[9:].any() and not out[:, 13:].any()


def launches(folder: Path, threads: int) -> Any:
    """A function that runs a large addition on so many threads, and says whether the result is right."""
    made = compiled(kernels.add, "*fp32, *fp32, *fp32, i32, 1024", "(n + 1023) / 1024")
    shared, launch = loaded(folder, made)

    def once(seed: int) -> bool:
        x, y = np.random.default_rng(seed).standard_normal((2, 300_001), dtype=np.float32)
        out = np.full_like(x, np.nan)
        return launch(threads, pointer(x), pointer(y), pointer(out), x.size) == 0 and bool((out == x + y).all())

    once.unload = shared[f"unload_{made.name}"]  # type: ignore[attr-defined]
    return once


def test_many_threads_launch_at_once_and_unload(tmp_path: Path) -> None:
    once = launches(tmp_path, 4)
    good = []
    callers = [threading.Thread(target=lambda s=s: good.extend([once(s + i) for i in range(10)])) for s in range(4)]
    for caller in callers:
        caller.start()
    for i in range(10):
        once.unload()
        good.append(once(i))
    for caller in callers:
        caller.join()
    assert len(good) == 50 and all(good)


def test_a_child_after_fork(tmp_path: Path) -> None:
    """The child has no workers any more, and makes its own."""
    made = compiled(kernels.add, "*fp32, *fp32, *fp32, i32, 1024", "(n + 1023) / 1024")
    files = made.write(tmp_path / "add")
    main = f"""
#include <sys/wait.h>
#include <unistd.h>
#include "{files[0].name}"
static float x[1 << 20], out[1 << 20];
static int wrong(int round)
{{
    int count = {made.name}(3, x, x, out, 1 << 20);
    for (int i = 0; i < 1 << 20; i++)
        count += out[i] != 2 * x[i];
    for (int i = 0; i < 1 << 20; i++)
        out[i] = round;
    return count != 0;
}}
int main(void)
{{
    int status;
    for (int i = 0; i < 1 << 20; i++)
        x[i] = (float)i;
    if (wrong(1))
        return 1;
    if (fork() == 0)
        return wrong(2) || wrong(3) ? 2 : 0;
    if (wait(&status) < 0 || status)
        return 3;
    return wrong(4);
}}
"""
    run(program(tmp_path / "fork", main, *files))


def test_the_number_of_threads_is_in_the_environment(tmp_path: Path) -> None:
    """A program counts its threads after a launch."""
    made = compiled(kernels.add, "*fp32, *fp32, *fp32, i32, 1024", "(n + 1023) / 1024")
    files = made.write(tmp_path / "add")
    main = f"""
#include <dirent.h>
#include <stdio.h>
#include "{files[0].name}"
static float x[1 << 20];
int main(void)
{{
    int count = 0;
    if ({made.name}(0, x, x, x, 1 << 20))
        return 1;
    DIR *folder = opendir("/proc/self/task");
    while (readdir(folder))
        count++;
    closedir(folder);
    printf("%d", count - 2);
    return 0;
}}
"""
    command = program(tmp_path / "count", main, *files)
    for threads in ("1", "3"):
        said = subprocess.run([command], env={**os.environ, "NAIAD_NUM_THREADS": threads}, capture_output=True)
        assert said.stdout.decode() == threads


def test_another_machine_is_compiled_for() -> None:
    """Its launcher does not ask for features: what the name says is the least that such machines have."""
    made = compiled(kernels.add, "*fp32, *fp32, *fp32, i32, 1024", "1", target="cpu:aarch64")
    assert made.code.startswith(b"\x7fELF") and made.code[18:20] == bytes([183, 0])
    assert "__builtin_cpu_supports" not in made.source
    assert "1024), warps4xstages3, for cpu:generic" in made.header


def test_another_cpu_is_refused(tmp_path: Path) -> None:
    """Code for what this CPU lacks does not run: the launcher asks first."""
    if not host().is_x86:
        pytest.skip("this is no x86-64 machine")
    made = compiled(kernels.add, "*fp32, *fp32, *fp32, i32, 1024", "1", target="cpu:x86-64-v4")
    _, source, code = made.write(tmp_path / "add")
    source.write_text(source.read_text().replace('__builtin_cpu_supports("avx512f")', "0"))
    shared = library(tmp_path / "add.so", source, code)
    assert shared[made.name](0, None, None, None, 5) == -2
    assert shared[f"load_{made.name}"]() == -2
