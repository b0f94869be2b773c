"""Loads and stores of every form on every runnable target; masked-off lanes must touch nothing."""

import ctypes
import mmap

import numpy as np
import pytest
from programs import Program, compiled, type_of

from naiad.ir.evaluate import DTYPES

RUNNABLE = ("x86-64", "x86-64-v3", "host")
ELEMENTS = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "f8E4M3FN")


def random_of(type, n, seed=0):
    dtype = DTYPES[type]
    if dtype.kind == "b":
        return np.random.default_rng(seed).random(n) < 0.5
    return np.random.default_rng(seed).integers(0, 120, n * dtype.itemsize, dtype=np.uint8).view(dtype)


def guarded(array, at_end=True):
    """The array's bytes just before (or after) a page that must not be touched: (address, the map, view)."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None)
    for k in (0, 2):
        assert libc.mprotect(ctypes.c_void_p(base + k * page), ctypes.c_size_t(page), 0) == 0
    place = base + 2 * page - array.nbytes if at_end else base + page
    view = np.frombuffer((ctypes.c_char * array.nbytes).from_address(place), array.dtype)
    view[:] = array
    return memory, view


def masked_copy(type, lanes):
    p = Program(f"*{type}", f"*{type}", "i32")
    x, y, n = p.args
    limit = p.op("ttc.splat", n, type=f"{lanes}xi32")
    mask = p.op("arith.cmpi", p.op("ttc.iota", type=f"{lanes}xi32"), limit, type=f"{lanes}xi1", predicate="slt")
    p.store(y, p.load(x, f"{lanes}x{type}", mask), mask)
    return p


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", ELEMENTS)
def test_masked_lanes_touch_no_memory(cpu, type):
    lanes = 16
    kernel = compiled(masked_copy(type, lanes), cpu)
    for n in (1, 7, 15, 16):
        source = random_of(type, n, n)
        _keep_x, x = guarded(source)
        _keep_y, y = guarded(np.zeros_like(source))
        kernel(x, y, np.int32(n))
        assert y.tobytes() == source.tobytes()
    kernel(0, 0, np.int32(0))  # null pointers, no lane


@pytest.mark.parametrize("cpu", RUNNABLE)
def test_masked_load_gives_other_or_zero(cpu):
    p = Program("*f32", "*f32", "*f32")
    mask = p.op("arith.cmpi", p.op("ttc.iota", type="16xi32"), p.const(5, "16xi32"), type="16xi1", predicate="ult")
    p.store(p.args[1], p.load(p.args[0], "16xf32", mask, p.const(-1.5, "16xf32")))
    p.store(p.args[2], p.load(p.args[0], "16xf32", mask))
    x, y, z = np.arange(1, 6, dtype=np.float32), np.ones(16, np.float32), np.ones(16, np.float32)
    compiled(p, cpu)(x, y, z)
    assert y.tolist() == [1, 2, 3, 4, 5] + [-1.5] * 11 and z.tolist() == [1, 2, 3, 4, 5] + [0] * 11


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("step", [-3, -1, 2, 3, 5])
@pytest.mark.parametrize("type", ["i8", "f16", "f32", "i64"])
def test_strided_load_and_store(cpu, step, type):
    lanes, masked = 8, [False, True]
    dtype = DTYPES[type]
    for use_mask in masked:
        p = Program(f"*{type}", f"*{type}", f"*{type}", "*i1")
        mask = p.load(p.args[3], f"{lanes}xi1") if use_mask else None
        value = p.load(p.args[0], f"{lanes}x{type}", mask, step=step)
        p.store(p.args[1], value)
        p.store(p.args[2], value, mask, step=step)
        flags = np.array([1, 0, 1, 1, 0, 0, 0, 0], bool) if use_mask else np.ones(lanes, bool)
        span = random_of(type, (lanes - 1) * abs(step) + 1, 3)
        _keep, view = guarded(span, at_end=step > 0)
        start = 0 if step > 0 else len(span) - 1
        out, scattered = np.zeros(lanes, dtype), np.zeros(len(span), dtype)
        kernel = compiled(p, cpu)
        kernel(view.ctypes.data + start * dtype.itemsize, out, scattered.ctypes.data + start * dtype.itemsize, flags)
        picked = span[start::step][:lanes] if step > 0 else span[::step][:lanes]
        assert out.tobytes() == np.where(flags, picked, np.zeros((), dtype)).astype(dtype).tobytes()
        back = scattered[start::step][:lanes] if step > 0 else scattered[::step][:lanes]
        assert back.tobytes() == out.tobytes()


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("type", ["i1", "i8", "bf16", "f32", "f64"])
def test_gather_and_scatter_under_a_mask(cpu, type):
    lanes, dtype = 16, DTYPES[type]
    p = Program(f"*{type}", f"*{type}", "*i64", "*i1")
    x, y, places, flags = p.args
    offsets = p.load(places, f"{lanes}xi64")
    mask = p.load(flags, f"{lanes}xi1")
    pointers = type_of(f"{lanes}x*{type}")

    def at(base):
        return p.op("tt.addptr", p.op("ttc.splat", base, type=pointers), offsets, type=pointers)

    value = p.op("ttc.gather", at(x), mask, type=f"{lanes}x{type}", operandSegmentSizes=(segments(1, 1, 0)))
    p.op("ttc.scatter", at(y), value, mask, operandSegmentSizes=segments(1, 1, 1))
    rng = np.random.default_rng(0)
    x, index = random_of(type, 64, 5), rng.integers(0, 64, lanes)
    on = rng.random(lanes) < 0.6
    index[5], on[4:6] = index[4], True  # the higher lane wins
    index[~on] += 1 << 40
    y = np.zeros(64, dtype)
    compiled(p, cpu)(x, y, index, on)
    want = np.zeros(64, dtype)
    want[index[on]] = x[index[on]]
    assert y.tobytes() == want.tobytes()


def segments(*sizes):
    from naiad.ir.base import segments as make

    return make(*sizes)


@pytest.mark.parametrize("cpu", RUNNABLE)
def test_scalar_access_under_a_mask(cpu):
    p = Program("*f32", "*f32", "i1")
    x, y, on = p.args
    p.store(y, p.load(x, "f32", on, p.const(4.0, "f32")))
    p.store(x, p.const(9.0, "f32"), on)
    out = np.zeros(1, np.float32)
    kernel = compiled(p, cpu)
    kernel(0, out, 0)
    assert out[0] == 4
    x = np.full(1, 2.5, np.float32)
    kernel(x, out, 1)
    assert out[0] == 2.5 and x[0] == 9


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("align", [None, 64])
def test_streaming_stores(cpu, align):
    p = Program("*f32", "*f32")
    how = {"stream": True} | ({"align": align} if align else {})
    p.loop(0, 256, 16, [], lambda i: p.store(p.at(p.args[1], i), p.load(p.at(p.args[0], i), "16xf32"), **how))
    x = np.random.default_rng(0).standard_normal(256).astype(np.float32)
    room = np.zeros(300, np.float32)
    first = -room.ctypes.data % 64 // 4 + (0 if align else 1)
    kernel = compiled(p, cpu)
    assert ("nontemporal" in kernel.text) == (align is not None)
    kernel(x, room[first : first + 256])
    assert np.array_equal(room[first : first + 256], x)
