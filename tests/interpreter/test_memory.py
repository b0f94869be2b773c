"""Loads, stores, block pointers and descriptors: what is masked off touches nothing, what is outside is not written."""

import mmap

import numpy as np
import pytest

import naiad.language as tl
from naiad.errors import InterpreterError

from .interpreted import INTEGERS, jit, numbers, poisoned


@jit
def masked_wild(x, o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    wild = tl.where(i < n, x + i, tl.full([BLOCK], 0, tl.int64).to(x.dtype) + (i.to(tl.int64) << 40))
    tl.store(o + i, tl.load(wild, mask=i < n, other=-1.5))


def test_masked_off_lanes_touch_nothing():
    x, out = np.arange(5, dtype=np.float32), poisoned(16, "float32")
    masked_wild[(1,)](x, out, 5, BLOCK=16)
    assert out.tolist() == [0, 1, 2, 3, 4, *[-1.5] * 11]


@jit
def copy(x, o, n, START: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i * STEP, tl.load(x + START + i * STEP, mask=i < n), mask=i < n)


@pytest.mark.parametrize("name", [*INTEGERS, "float16", "bfloat16", "float32", "float64", "float8e5", "bool"])
@pytest.mark.parametrize("step", [1, 3])
def test_strided_copy_leaves_the_rest(name, step):
    rng = np.random.default_rng(0)
    x = rng.random(64) < 0.5 if name == "bool" else numbers(rng, name, 64)
    out = np.zeros(64, x.dtype) if name == "bool" else poisoned(64, name)
    before = out.copy()
    copy[(1,)](x, out, 13, 2, step, BLOCK=16)
    want = before
    want[: 13 * step : step] = x[2 : 2 + 13 * step : step]
    assert out.tobytes() == want.tobytes()


def test_unaligned_memory():
    raw = np.zeros(4 * 32 + 1, np.uint8)
    x = raw[1:].view(np.float32)
    x[:] = np.arange(32)
    out = poisoned(64, "float32").view(np.uint8)[3:131].view(np.float32)
    copy[(1,)](x, out, 16, 0, 1, BLOCK=16)
    assert out[:16].tolist() == list(range(16))


@jit
def without_other(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i % 2 == 0))


def test_masked_off_lanes_read_zero():
    out = poisoned(8, "float32")
    without_other[(1,)](np.full(8, 5, np.float32), out, BLOCK=8)
    assert out.tolist() == [5, 0] * 4


@jit
def collide(o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i // 4, i)


def test_of_two_lanes_the_later_stays():
    out = poisoned(4, "int32")
    collide[(1,)](out, BLOCK=16)
    assert out.tolist() == [3, 7, 11, 15]


@jit
def scalar_access(x, o, flag):
    v = tl.load(x, mask=flag)
    tl.store(o, v + 1)
    tl.store(o + 1, 9, mask=flag)


def test_scalars():
    x, out = np.array([4], np.int64), poisoned(2, "int64")
    scalar_access[(1,)](x, out, True)
    assert out.tolist() == [5, 9]
    scalar_access[(1,)](x, out, False)
    assert out.tolist() == [1, 9]


@jit
def as_bool(x, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i))


def test_any_number_is_true():
    out = np.zeros(4, bool)
    as_bool[(1,)](np.array([0, 256, 7, -1]), out, BLOCK=4)
    assert out.view(np.uint8).tolist() == [0, 1, 1, 1]


@jit
def through_pointers(pointers, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = tl.load(pointers + i).to(tl.pointer_type(tl.float32))
    tl.store(o + i, tl.load(p + 1))


def test_pointers_in_memory():
    arrays = [np.array([i, i + 0.5], np.float32) for i in range(4)]
    pointers = np.array([a.ctypes.data for a in arrays])
    out = poisoned(4, "float32")
    through_pointers[(1,)](pointers, out, BLOCK=4)
    assert out.tolist() == [0.5, 1.5, 2.5, 3.5]


@jit
def out_of_memory(x, o):
    tl.store(o, tl.load(x + (tl.program_id(0).to(tl.int64) << 45)))


def test_a_wrong_pointer_is_an_error():
    x, out = np.ones(4, np.float32), poisoned(1, "float32")
    with pytest.raises(
        InterpreterError, match=r"(?s)test_memory.py:\d+: in out_of_memory.*load from an address outside of memory"
    ):
        out_of_memory[(2,)](x, out)
    assert out[0] == 1


@jit
def blocks(x, o, m, n, M: tl.constexpr, N: tl.constexpr, PAD: tl.constexpr, TRANSPOSED: tl.constexpr):
    row = tl.program_id(0) * M
    source = tl.make_block_ptr(x, (m, n), (n, 1), (row - 1, -2), (M, N), (1, 0))
    source = tl.advance(source, (1, 2))
    total = tl.zeros((M, N), tl.float32)
    for _ in range(0, n, N):
        tile = tl.load(source, boundary_check=(0, 1), padding_option=PAD)
        total += tl.where(tile == tile, tile, 100.0)
        source = tl.advance(source, (0, N))
    if TRANSPOSED:
        target = tl.make_block_ptr(o, (N, m), (m, 1), (0, row), (N, M), (1, 0))
        tl.store(target, tl.trans(total), boundary_check=(1,))
    else:
        target = tl.make_block_ptr(o, (m, N), (N, 1), (row, 0), (M, N), (1, 0))
        tl.store(target, total, boundary_check=(0,))


@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("transposed", [False, True])
def test_block_pointers(padding, transposed):
    m, n = 11, 21
    x = np.random.default_rng(1).standard_normal((m, n)).astype(np.float32)
    out = np.full((8, m) if transposed else (m, 8), np.nan, np.float32)
    blocks[(3,)](x, out, m, n, 4, 8, padding, transposed)
    padded = np.pad(x, ((0, 0), (0, 3)), constant_values=0.0 if padding == "zero" else 100.0)
    want = padded[:, :8] + padded[:, 8:16] + padded[:, 16:]
    assert np.array_equal(out.T if transposed else out, want)


@jit
def descriptors(x, o, m, n, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [n, 1], [M, N])
    target = tl.make_tensor_descriptor(o, [m, n], [n, 1], [M, N])
    for column in range(0, n, N):
        tile = source.load([tl.program_id(0) * M - 1, column])
        target.store([tl.program_id(0) * M - 1, column], tile * 2)


def test_descriptors():
    m, n = 9, 20
    x = np.random.default_rng(2).standard_normal((m, n)).astype(np.float32)
    out = np.full((m, n), np.nan, np.float32)
    descriptors[(3,)](x, out, m, n, 4, 8)
    assert np.array_equal(out, x * 2)


@jit
def row_moves(x, o, rows, m, n, R: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [n, 1], [1, N])
    target = tl.make_tensor_descriptor(o, [m, n], [n, 1], [1, N])
    at = tl.load(rows + tl.arange(0, R))
    tile = source.gather(at, 4)
    target.scatter(tile + 1, at, 4)


def test_descriptor_rows():
    m, n = 12, 16
    x = np.random.default_rng(3).standard_normal((m, n)).astype(np.float32)
    out = np.zeros((m, n), np.float32)
    rows = np.array([3, 0, 11, 5, 20, -1, 7, 2], np.int32)
    row_moves[(1,)](x, out, rows, m, n, 8, 8)
    want = np.zeros_like(out)
    inside = [r for r in rows if 0 <= r < m]
    want[inside, 4:12] = x[inside, 4:12] + 1
    assert np.array_equal(out, want)


@jit
def descriptor_atomics(o, m, n, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    target = tl.make_tensor_descriptor(o, [m, n], [n, 1], [M, N])
    value = (tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :] + tl.program_id(0)).to(o.dtype.element_ty)
    if KIND == "add":
        target.atomic_add([0, 0], value)
    elif KIND == "max":
        target.atomic_max([0, 0], value)
    else:
        target.atomic_xor([0, 0], value)


@pytest.mark.parametrize("kind", ["add", "max", "xor"])
def test_descriptor_atomics(kind):
    out = np.full((3, 8), 5, np.uint32)
    descriptor_atomics[(4,)](out, 3, 8, kind, 4, 8)
    value = np.arange(24, dtype=np.uint32).reshape(3, 8)
    want = np.full((3, 8), 5, np.uint32)
    for program in range(4):
        want = {"add": np.add, "max": np.maximum, "xor": np.bitwise_xor}[kind](want, value + np.uint32(program))
    assert np.array_equal(out, want)


@jit
def add_to(x, o):
    tl.atomic_add(o, tl.load(x))


@pytest.mark.parametrize("kernel", [lambda x, o: copy[(1,)](x, o, 8, 0, 1, BLOCK=8), lambda x, o: add_to[(1,)](x, o)])
def test_a_read_only_array_is_read_only(kernel):
    """A memory map of a file that is read-only would end the process."""
    out, locked = np.zeros(8, "f4"), np.frombuffer(mmap.mmap(-1, 64, access=mmap.ACCESS_READ), "f4")[:8]
    kernel(locked, out)
    with pytest.raises(InterpreterError, match=r"o, an array that is read-only; pass o.copy\(\)"):
        kernel(out, locked)


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_what_has_no_memory_is_named():
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    out, whole = torch.zeros(8), torch.ones(8)
    with pytest.raises(RuntimeError, match="argument x: Cannot access data pointer"):
        add_to[(1,)](whole.to_sparse(), out)
    with FakeTensorMode():
        fake = torch.ones(8)
    with pytest.raises(InterpreterError, match="load from an address outside of memory: 0x0"):
        add_to[(1,)](fake, out)
    with pytest.raises(TypeError, match="argument o: an array of dtype >f4 has the bytes"):
        add_to[(1,)](whole, np.zeros(8, ">f4"))
