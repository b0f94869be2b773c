"""device_print on the CPU: one line an element, and what it says."""

import re

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl


@triton.jit
def show_scalar(x_ptr):
    tl.device_print("x", tl.load(x_ptr))


@triton.jit
def show_tile(x_ptr, N: tl.constexpr, HEX: tl.constexpr):
    tl.device_print("x", tl.load(x_ptr + tl.arange(0, N)), hex=HEX)


@triton.jit
def show_two(N: tl.constexpr):
    at = tl.arange(0, N)
    tl.device_print("both", at[:, None] * 2 + at[None, :] * 0, 7)


@triton.jit
def show_text():
    tl.device_print("no values, 100%")


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float64"])
def test_scalar(dtype: str, capfd: pytest.CaptureFixture[str]) -> None:
    text = "-5" if dtype.startswith("int") else "-5.000000"
    show_scalar[(1, 2)](np.array([-5], dtype))
    assert capfd.readouterr().out.splitlines() == [f"pid (0, {y}, 0) idx () x: {text}" for y in (0, 1)]


def test_tile(capfd: pytest.CaptureFixture[str]) -> None:
    show_tile[(1,)](np.arange(16, dtype=np.uint32) + 2**31, 16, False)
    assert capfd.readouterr().out.splitlines() == [f"pid (0, 0, 0) idx ({i:2}) x: {2**31 + i}" for i in range(16)]


def test_hexadecimal(capfd: pytest.CaptureFixture[str]) -> None:
    show_tile[(1,)](np.array([1, -1], np.int16), 2, True)
    assert [line.split()[-1] for line in capfd.readouterr().out.splitlines()] == ["0x0001", "0xffff"]


def test_operands_are_numbered(capfd: pytest.CaptureFixture[str]) -> None:
    show_two[(1,)](2)
    lines = capfd.readouterr().out.splitlines()
    assert [re.sub(r".*idx ", "", line) for line in lines] == [
        "(0, 0) both: (operand 0) 0", "(0, 1) both: (operand 0) 0", "(1, 0) both: (operand 0) 2",
        "(1, 1) both: (operand 0) 2", "() both: (operand 1) 7"]  # fmt: skip


def test_text_alone(capfd: pytest.CaptureFixture[str]) -> None:
    show_text[(1,)]()
    assert capfd.readouterr().out == "pid (0, 0, 0) no values, 100%\n"
