"""`kernel.run(x, y, z, stream, function, ...)`, the launch that torch's Inductor makes: native from the second on."""

import types

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from naiad import knobs
from naiad.compiler import ASTSource
from naiad.compiler import compile as compile_kernel

SIGNATURE = {"x": "*fp32", "out": "*fp32", "n": "i32", "by": "fp32", "BLOCK": "constexpr"}


@triton.jit
def scale(x, out, n, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(n != 13, "unlucky")
    tl.store(out + i, tl.load(x + i, i < n) * by, i < n)


@pytest.fixture
def kernel():
    made = compile_kernel(ASTSource(scale, SIGNATURE, {"BLOCK": 64}), options={"debug": True})
    made._init_handles()
    return made


def launch(kernel, grid, *args, enter=None, leave=None):
    kernel.run(grid, 1, 1, 0, kernel.function, kernel.packed_metadata, None, enter, leave, *args)


def is_native(kernel, grid):
    return isinstance(kernel.run.repeated.by_grid[grid, 1, 1][1], types.BuiltinFunctionType)


def check(kernel, x, n=100, by=2.5, grid=2):
    out = np.full(128, np.nan, np.float32)
    launch(kernel, grid, x, out, n, by, 64)
    np.testing.assert_array_equal(out[:n], x[:n] * np.float32(by))
    assert np.isnan(out[n:]).all()


def test_repeated_launches(kernel):
    x = np.random.default_rng(0).standard_normal(130).astype(np.float32)
    for _ in range(4):
        check(kernel, x)
    assert is_native(kernel, 2)
    check(kernel, x, 99, 0.5)
    check(kernel, x[1:])  # not aligned: `run` leaves that to its caller
    check(kernel, x, 60, grid=1)
    for number in (np.int32(100), True):  # what native code does not know goes through Python
        out = np.zeros(128, np.float32)
        launch(kernel, 2, x, out, number, 1.0, 64)
        np.testing.assert_array_equal(out[: int(number)], x[: int(number)])
    launch(kernel, 2, x, out, 2**32 + 7, 3.0, 64)  # wraps, as ever
    np.testing.assert_array_equal(out[:7], x[:7] * 3)
    launch(kernel, 0, x, out, 100, 1.0, 64)


def test_tensors(kernel):
    torch = pytest.importorskip("torch")
    x, out = torch.randn(100), torch.empty(100)
    for factor in (1.0, 2.0, 3.0, 4.0):
        launch(kernel, 2, x, out, 100, factor, 64)
        assert torch.equal(out, x * factor)
    assert is_native(kernel, 2)
    with pytest.raises(RuntimeError, match="unlucky"):
        launch(kernel, 2, x, out, 13, 1.0, 64)


def test_hooks_and_other_code(kernel):
    x = np.ones(128, np.float32)
    for _ in range(3):
        check(kernel, x)
    seen = []
    launch(
        kernel, 2, x, x.copy(), 100, 1.0, 64, enter=lambda _: seen.append("enter"), leave=lambda _: seen.append("leave")
    )
    assert seen == ["enter", "leave"]
    kernel.run(2, 1, 1, 0, lambda grid, slots: seen.append(grid), None, None, None, None, x, x, 100, 1.0, 64)
    assert seen[-1] == (2, 1, 1)


def test_switched_off(kernel, monkeypatch):
    monkeypatch.setattr(knobs.naiad, "native_launch", False)
    x = np.ones(128, np.float32)
    for _ in range(3):
        check(kernel, x)
    assert not is_native(kernel, 2)


def test_many_grids(kernel):
    x = np.ones(128, np.float32)
    for grid in range(2, 600):
        check(kernel, x, grid=grid)
    assert len(kernel.run.repeated.by_grid) < 300
