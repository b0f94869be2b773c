"""Loading and launching kernels through ctypes: arguments in their slots, the whole grid, assertions that fail."""

import math
import os
import struct
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from naiad.backends.cpu import driver, host
from naiad.backends.cpu.loader import LoadError
from naiad.backends.cpu.toolchain import Machine, object_code

# Each program p: out[p] = p, by the first argument; out[programs..] = the grid, by program 0.
GRID = """
define void @grid(i64 %begin, i64 %end, ptr %slots) {
entry:
  %xp = getelementptr i64, ptr %slots, i64 0
  %yp = getelementptr i64, ptr %slots, i64 1
  %zp = getelementptr i64, ptr %slots, i64 2
  %op = getelementptr i64, ptr %slots, i64 4
  %x = load i64, ptr %xp
  %y = load i64, ptr %yp
  %z = load i64, ptr %zp
  %out = load ptr, ptr %op
  %xy = mul i64 %x, %y
  %n = mul i64 %xy, %z
  br label %next
next:
  %p = phi i64 [ %begin, %entry ], [ %p1, %next ]
  %at = getelementptr i64, ptr %out, i64 %p
  %old = load i64, ptr %at
  %new = add i64 %old, %p
  store i64 %new, ptr %at
  %p1 = add i64 %p, 1
  %more = icmp slt i64 %p1, %end
  br i1 %more, label %next, label %last
last:
  %is_last = icmp eq i64 %end, %n
  br i1 %is_last, label %tell, label %done
tell:
  %t0 = getelementptr i64, ptr %out, i64 %n
  %t1 = getelementptr i64, ptr %t0, i64 1
  %t2 = getelementptr i64, ptr %t0, i64 2
  store i64 %x, ptr %t0
  store i64 %y, ptr %t1
  store i64 %z, ptr %t2
  br label %done
done:
  ret void
}
"""
FAILS = """
define void @fails(i64 %begin, i64 %end, ptr %slots) {
  %sp = getelementptr i64, ptr %slots, i64 3
  %np = getelementptr i64, ptr %slots, i64 4
  %status = load ptr, ptr %sp
  %n = load i64, ptr %np
  store i64 %n, ptr %status
  ret void
}
"""
HERE = Machine.of(host.host())


@pytest.mark.parametrize("cost", [0.0, 100.0, 1e9])
@pytest.mark.parametrize("grid", [(1,), (7,), (3, 5), (2, 3, 4), (1000,), (257, 3)])
def test_every_program_of_the_grid(grid, cost):
    kernel = driver.load(object_code(GRID, HERE), {"name": "grid", "cost": cost})
    programs = math.prod(grid)
    out = np.zeros(programs + 3, np.int64)
    kernel.launch(grid, driver.packer(["*i64"])([out.ctypes.data]))
    assert (out[:programs] == np.arange(programs)).all()
    assert tuple(out[programs:]) == (*grid, 1, 1, 1)[:3]


@pytest.mark.parametrize("grid", [(0,), (0, 4), (3, 0, 2)])
def test_an_empty_grid_runs_nothing(grid):
    kernel = driver.load(object_code(GRID, HERE), {"name": "grid"})
    kernel.launch(grid, driver.slot("*i64", 0))


@pytest.mark.parametrize("grid", [(), (1, 2, 3, 4), (-1,), (2**31,)])
def test_what_is_no_grid_is_refused(grid):
    with pytest.raises(ValueError, match="a grid is one to three sizes"):
        driver.extents(grid)


def test_a_failed_assertion_raises_its_message():
    kernel = driver.load(object_code(FAILS, HERE), {"name": "fails", "asserts": ["first", "n must be even"]})
    kernel.launch((1,), driver.slot("i64", 0))
    with pytest.raises(RuntimeError, match="n must be even"):
        kernel.launch((1,), driver.slot("i64", 2))
    with pytest.raises(RuntimeError, match="kernel fails ended with status 9"):
        kernel.launch((1,), driver.slot("i64", 9))


def test_missing_kernels_and_damage_are_load_errors():
    with pytest.raises(LoadError, match="'other'"):
        driver.load(object_code(GRID, HERE), {"name": "other"})
    with pytest.raises(LoadError):
        driver.load(b"", {"name": "grid"})


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("*fp32", 2**63 + 5, struct.pack("<Q", 2**63 + 5)),
        ("i32", -1, b"\xff" * 8),
        ("i8", 200, struct.pack("<q", 200)),
        ("u64", 2**64 - 1, b"\xff" * 8),
        ("i1", True, b"\x01" + bytes(7)),
        ("fp32", 0.1, np.float32(0.1).tobytes() + bytes(4)),
        ("fp32", 1e300, np.float32(np.inf).tobytes() + bytes(4)),
        ("fp16", 1 / 3, np.float16(1 / 3).tobytes() + bytes(6)),
        ("fp16", -1e6, np.float16(-np.inf).tobytes() + bytes(6)),
        ("fp64", 0.1, np.float64(0.1).tobytes()),
    ],
)
def test_slots(kind, value, expected):
    assert driver.slot(kind, value) == expected


def test_bfloat16_is_correctly_rounded():
    halfway = 1 + 2.0**-8
    assert driver.bfloat16(halfway) == 0x3F80
    assert driver.bfloat16(halfway + 2.0**-40) == 0x3F81
    assert driver.bfloat16(halfway - 2.0**-40) == 0x3F80
    assert driver.bfloat16(math.inf) == 0x7F80 and driver.bfloat16(-math.inf) == 0xFF80
    assert driver.bfloat16(1e39) == 0x7F80 and driver.bfloat16(math.nan) == 0x7FC0
    values = np.random.default_rng(0).standard_normal(2000).astype(np.float32)
    assert [driver.bfloat16(float(v)) for v in values] == values.astype(ml_dtypes.bfloat16).view(np.uint16).tolist()


PORTABLE = """
from naiad.backends.cpu import system
system.elf_machine = lambda: 0
import ctypes, sys
from naiad.backends.cpu import driver, launcher, pool
kernel = driver.load(open(sys.argv[1], "rb").read(), {"name": "grid", "cost": 1e9})
out = (ctypes.c_int64 * 103)()
kernel.launch((10, 10), driver.slot("*i64", ctypes.addressof(out)))
assert list(out) == [*range(100), 10, 10, 1]
print(type(pool.runner()).__name__, launcher.native_code(), "llvmlite" in sys.modules)
"""


def test_systems_without_native_parts(tmp_path):
    """What macOS and Windows get: LLVM's loader, Python's threads, no native launcher."""
    (tmp_path / "grid.o").write_bytes(object_code(GRID, HERE))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "NAIAD_NUM_THREADS": "3"}
    command = [sys.executable, "-c", PORTABLE, str(tmp_path / "grid.o")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["PythonPool", "None", "True"], done.stderr
