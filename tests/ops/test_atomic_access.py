"""Atomic loads, stores and polls on the CPU and in the interpreter."""

import re
import threading

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from naiad.backends.base import GPUTarget
from naiad.compiler import ASTSource


def copy(x_ptr, out_ptr, n, N: tl.constexpr):
    at = tl.arange(0, N)
    mask = at < n
    x = tl.atomic_load(x_ptr + at, mask)
    tl.atomic_store(out_ptr + at, x, mask, sem="relaxed")


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
def test_load_and_store(dtype: str, interpret: bool) -> None:
    x = np.random.default_rng(0).standard_normal(32).astype(np.float64) * 1e6
    x = x.astype(dtype) if dtype.startswith("float") else np.abs(x).astype(dtype)
    out = np.full_like(x, 77)
    triton.jit(copy, interpret=interpret)[(1,)](x, out, 20, 32)
    np.testing.assert_array_equal(out, np.where(np.arange(32) < 20, x, np.full_like(x, 77)))


@triton.jit
def relay(flags_ptr, out_ptr):
    """Each program waits for the one before it."""
    pid = tl.program_id(0)
    if pid > 0:
        tl.atomic_poll(flags_ptr + pid - 1, 1)
    tl.store(out_ptr + pid, tl.load(out_ptr + pid - 1) + 1 if pid > 0 else 1)
    tl.atomic_store(flags_ptr + pid, 1)


def test_programs_wait_for_each_other() -> None:
    flags, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
    relay[(64,)](flags, out)
    np.testing.assert_array_equal(out, np.arange(1, 65))


@triton.jit
def look(flag_ptr, out_ptr):
    tl.store(out_ptr, tl.atomic_poll(flag_ptr, 1, timeout_ns=0).to(tl.int32))


@pytest.mark.parametrize("value", [0, 1])
def test_poll_that_looks_once(value: int) -> None:
    flag, out = np.array([value], np.int32), np.full(1, 77, np.int32)
    look[(1,)](flag, out)
    assert out[0] == value


def wait_for(flag_ptr, out_ptr, timeout, N: tl.constexpr):
    at = tl.arange(0, N) if N else 0
    tl.store(out_ptr + at, tl.atomic_poll(flag_ptr + at, 1, timeout_ns=timeout).to(tl.int32))


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("timeout", [0, 3_000_000])
@pytest.mark.parametrize("flags", [[1], [0], [1, 0, 1, 1], [1, 1, 1, 1]])
def test_poll_gives_up(flags: list[int], timeout: int, interpret: bool) -> None:
    memory, out = np.array(flags, np.int64), np.full(len(flags), 77, np.int32)
    triton.jit(wait_for, interpret=interpret)[(1,)](memory, out, timeout, len(flags) if len(flags) > 1 else 0)
    np.testing.assert_array_equal(out, flags)


def test_poll_sees_what_comes_in_time() -> None:
    kernel = triton.jit(wait_for)
    flags, out = np.ones(8, np.int32), np.zeros(8, np.int32)
    kernel[(1,)](flags, out, 10_000_000_000, 8)  # compiled before the clock runs
    flags[2:], out[:] = 0, 0
    sender = threading.Timer(0.02, lambda: flags.fill(1))
    sender.start()
    kernel[(1,)](flags, out, 10_000_000_000, 8)
    sender.join()
    assert out.all()


def test_poll_on_a_gpu_asks_one_clock() -> None:
    """Each thread has its own: all take the latest, which they learn from each other, or some would leave the loop."""
    kernel = triton.jit(wait_for)
    signature = {"flag_ptr": "*i32", "out_ptr": "*i32", "timeout": "i64", "N": "constexpr"}
    source = ASTSource(kernel, signature, {"N": 0})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    clocks = ptx.split("%globaltimer;")
    assert len(clocks) == 3  # before the loop, and in it
    for after in clocks[1:]:
        assert re.search(r"shfl\.sync(.|\n)*st\.shared(.|\n)*bar\.sync(.|\n)*ld\.shared", after)
