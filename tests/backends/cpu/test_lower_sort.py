"""ttc.sort and ttc.transpose against numpy."""

import numpy as np
import pytest
from programs import TARGETS, Program, compiled, machine_of
from xdsl.dialects.builtin import UnitAttr

from naiad.backends.cpu.target import CpuTarget
from naiad.backends.cpu.toolchain import object_code
from naiad.ir.base import int_attr
from naiad.ir.evaluate import DTYPES

SIZES = (((3, 1), (3, 2), (5, 16), (2, 32), (2, 128), (2, 1024)), ((3, 4), (2, 64), (1, 2048)))
SLOW = ("i8", "i16", "bf16", "f8E4M3FN")
RUNNABLE = ("x86-64", "x86-64-v3", "host")


def sort_program(type, rows, n, **flags):
    p = Program(f"*{type}")
    on = {name: UnitAttr() for name, given in flags.items() if given}
    p.op("ttc.sort", p.args[0], rows=int_attr(rows, 64), n=int_attr(n, 64), **on)
    return p


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "f8E4M3FN"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts_as_numpy(cpu, type, descending):
    dtype = DTYPES[type]
    rng = np.random.default_rng(0)
    for rows, n in SIZES[type in SLOW][descending::2]:
        x = rng.integers(0, 256, rows * n * dtype.itemsize, dtype=np.uint8).view(dtype).reshape(rows, n)
        for signed in (True, False) if type[0] == "i" else (False,):
            got = x.copy()
            compiled(sort_program(type, rows, n, descending=descending, signed=signed), cpu)(got)
            view = x.astype(np.float64) if type[0] != "i" else x if signed else x.view(f"u{dtype.itemsize}")
            want = np.sort(view, axis=1)
            want = want[:, ::-1] if descending else want
            found = got.astype(np.float64) if type[0] != "i" else got.view(view.dtype)
            assert np.array_equal(found, want, equal_nan=type[0] != "i"), (rows, n, signed)


@pytest.mark.parametrize("type", ["f32", "f16"])
def test_rows_longer_than_the_scratch(type):
    n = 1 << 18
    x = np.random.default_rng(0).standard_normal((2, n)).astype(DTYPES[type])
    x[1, 3] = np.nan
    got = x.copy()
    compiled(sort_program(type, 2, n, descending=True))(got)
    assert np.array_equal(got, np.sort(x, axis=1)[:, ::-1], equal_nan=True)


@pytest.mark.parametrize("type, n", [("f32", 1024), ("f64", 256), ("i16", 4096)])
def test_another_row_is_fetched_meanwhile(type, n):
    """It only is: the row is sorted all the same."""

    def program():
        p = Program(f"*{type}", f"*{type}")
        p.op("ttc.sort", *p.args, rows=int_attr(1, 64), n=int_attr(n, 64), signed=UnitAttr())
        return p

    assert "call void @llvm.prefetch" in program().text(CpuTarget.host())
    x = np.random.default_rng(0).permutation(n).astype(DTYPES[type])
    got, other = x.copy(), np.ones(n, DTYPES[type])
    compiled(program())(got, other)
    assert np.array_equal(got, np.arange(n)) and np.all(other == 1)


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("n", [2, 16, 64, 1024])
def test_no_zero_changes_its_sign(cpu, descending, n):
    """-0 equals +0, and both are still there as often as before, among infinities and NaN."""
    x = np.random.default_rng(n).choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1], np.float32), (3, n))
    got = x.copy()
    compiled(sort_program("f32", 3, n, descending=descending), cpu)(got)
    want = np.sort(x, axis=1)[:, :: -1 if descending else 1]
    assert np.array_equal(got, want, equal_nan=True)
    for row, found in zip(x, got, strict=True):
        assert np.count_nonzero(np.signbit(row[row == 0])) == np.count_nonzero(np.signbit(found[found == 0]))


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", ["i8", "i16", "f32", "f64"])
def test_transpose(cpu, type):
    dtype = DTYPES[type]
    for m, n in ((1, 1), (1, 8), (2, 4), (16, 16), (64, 32), (8, 128)):
        p = Program(f"*{type}", f"*{type}", "i64", "i64")
        p.op("ttc.transpose", *p.args, m=int_attr(m, 64), n=int_attr(n, 64))
        x = np.random.default_rng(0).integers(0, 100, (m, n + 3)).astype(dtype)
        y = np.full((n, m + 5), 7, dtype)
        compiled(p, cpu)(x, y, n + 3, m + 5)
        assert np.array_equal(y[:, :m], x[:, :n].T) and np.all(y[:, m:] == 7)


@pytest.mark.parametrize("cpu", [*TARGETS, "znver4"])
def test_every_target_assembles(cpu):
    target = CpuTarget.named(cpu)
    for type in ("i8", "f16", "f32", "f64"):
        assert object_code(sort_program(type, 2, 256).text(target), machine_of(cpu))
        p = Program(f"*{type}", f"*{type}", "i64", "i64")
        p.op("ttc.transpose", *p.args, m=int_attr(32, 64), n=int_attr(32, 64))
        assert object_code(p.text(target), machine_of(cpu))
