"""The native launcher: what it lets through, what it leaves to the slow path, and that it loses no reference."""

import ctypes
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from naiad.backends.cpu import driver, host, launcher
from naiad.backends.cpu.launcher import Argument
from naiad.backends.cpu.system import has_native_launcher
from naiad.backends.cpu.toolchain import Machine, object_code
from naiad.runtime.specialize import specialize

torch = pytest.importorskip("torch", reason="torch's tensors are arguments here")
pytestmark = pytest.mark.skipif(not has_native_launcher(), reason="no native launcher on this platform")
HERE = Machine.of(host.host())

# Adds one to what @calls points at, and copies the first 12 arguments' slots there: what the kernel really got.
SEEN = ctypes.create_string_buffer(8 * 16)
SPY = f"""
define void @spy(i64 %begin, i64 %end, ptr %slots) {{
entry:
  %out = inttoptr i64 {ctypes.addressof(SEEN)} to ptr
  %n = sub i64 %end, %begin
  %o = atomicrmw add ptr %out, i64 %n seq_cst
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %from = getelementptr i64, ptr %slots, i64 %i
  %i1 = add i64 %i, 1
  %to = getelementptr i64, ptr %out, i64 %i1
  %v = load i64, ptr %from
  store i64 %v, ptr %to
  %more = icmp slt i64 %i1, 15
  br i1 %more, label %next, label %done
done:
  ret void
}}
"""
SLEEP = """
declare i32 @usleep(i32)
define void @sleep(i64 %begin, i64 %end, ptr %slots) {
  %x = call i32 @usleep(i32 100000)
  ret void
}
"""
FAILS = """
define void @fails(i64 %begin, i64 %end, ptr %slots) {
  %sp = getelementptr i64, ptr %slots, i64 3
  %status = load ptr, ptr %sp
  store i64 1, ptr %status
  ret void
}
"""
SLOTS = 12


@pytest.fixture(scope="module")
def spy():
    return driver.load(object_code(SPY, HERE), {"name": "spy", "cost": 1.0})


def arguments(values, constants=()):
    """As the runtime makes them: kinds and classes from the values."""
    made, slot = [], 0
    for index, value in enumerate(values):
        kind, seen = specialize(value) if index not in constants else ("constexpr", None)
        folded = kind == "constexpr" or seen == 1
        made.append(Argument(value, kind, seen, None if folded else slot))
        slot += not folded
    return made


class Call:
    """A launcher with a slow path that counts."""

    def __init__(self, kernel, values, keywords=(), constants=(), grid=(1,), slots=bytes(8 * SLOTS)):
        self.slow, self.handle = [], object()
        made = arguments(values, constants)
        self.native = launcher.bind(kernel, grid, made, keywords, slots, self.handle, self.fallback)

    def fallback(self, *args, **kwargs):
        self.slow.append((args, kwargs))
        return "slow"

    def fast(self, *args, **kwargs):
        """Whether the call ran natively."""
        before = launched()
        answer = self.native(*args, **kwargs)
        assert (answer is self.handle) == (launched() > before) == (answer != "slow")
        return answer is self.handle

    __call__ = fast


def launched():
    return ctypes.c_int64.from_buffer(SEEN).value


def slot(index):
    return SEEN.raw[8 * (1 + driver.HEADER_SLOTS + index) :][:8]


def aligned(shape, dtype=np.float32):
    """An array at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    return raw[-raw.ctypes.data % 64 :][:size].view(dtype).reshape(shape)


def test_tensors(spy):
    x, y = torch.zeros(64), torch.zeros(64)
    call = Call(spy, (x, y))
    assert call(x, y) and call(y, x)
    assert slot(0) == y.data_ptr().to_bytes(8, "little") and slot(1) == x.data_ptr().to_bytes(8, "little")
    assert call(x[4:], y)
    assert slot(0) == (x.data_ptr() + 16).to_bytes(8, "little")
    assert not call(x[1:], y), "not aligned"
    assert not call(x.double(), y) and not call(x.int(), y), "another dtype"
    assert not call(x.to("meta"), y), "another device"
    assert not call(x.numpy(), y) and not call(None, y) and not call(3, y) and not call("x", y)
    assert call.slow[0] == ((call.slow[0][0][0], y), {})


def test_unaligned_tensors_have_their_own_kernel(spy):
    x = torch.zeros(64)[1:]
    call = Call(spy, (x,))
    assert call(x) and not call(torch.zeros(64))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int8, torch.bool, torch.int64, torch.uint8])
def test_dtypes_of_tensors(spy, dtype):
    x = torch.zeros(64, dtype=dtype)
    call = Call(spy, (x,))
    assert call(x) and not call(torch.zeros(64))


def test_odd_tensors_take_the_slow_path(spy):
    class Mine(torch.Tensor):
        pass

    x = torch.zeros(64)
    call = Call(spy, (x,))
    assert not call(x.as_subclass(Mine)) and not call(torch.nn.Parameter(x))
    assert not call(torch.zeros(4).to_sparse())
    parameter = torch.nn.Parameter(torch.zeros(64))
    assert Call(spy, (parameter,))(parameter)
    assert launcher.bind(spy, (1,), arguments((x.as_subclass(Mine),)), (), bytes(8), None, print) is None


def test_tensors_whose_data_changes(spy):
    x = torch.zeros(64)
    call = Call(spy, (x,))
    assert call(x)
    x.data = torch.zeros(64)
    assert call(x) and slot(0) == x.data_ptr().to_bytes(8, "little")
    assert not call(torch.empty(0))  # whether memory is missing, or none is needed, is asked elsewhere


def test_arrays(spy):
    x, y = aligned(64), aligned(64, np.int32)
    call = Call(spy, (x, y))
    assert call(x, y) and slot(0) == x.ctypes.data.to_bytes(8, "little")
    assert call(x[4:], y) and not call(x[1:], y) and not call(y, x) and not call(x.astype(">f4"), y)
    assert not call(x.view(np.matrix) if hasattr(np, "matrix") else None, y)
    assert not call(torch.zeros(64), y)


def test_ints(spy):
    huge = 5 * 10**9 + 1
    call = Call(spy, (100, 2048, huge))
    assert call(100, 2048, huge)
    assert [int.from_bytes(slot(i), "little") for i in range(3)] == [100, 2048, huge]
    assert call(-3, -16, 2**63 - 1) and slot(0) == (-3).to_bytes(8, "little", signed=True)
    assert call(2**31 - 1, 0, 2**31 + 1)
    for other in (1, 16, 0, 2**31, -(2**31) - 1, 10**30, True, 3.0, None, np.int32(3), "3"):
        assert not call(other, 2048, huge), other
    for other in (1, 100, 2**31, 2.0):
        assert not call(100, other, huge), other
    for other in (7, 2**63, 2**31 - 1, 2**40, -(2**40) - 1):
        assert not call(100, 2048, other), other


def test_annotated_ints(spy):
    made = [Argument(5, "i64", None, 0, annotated=True), Argument(5, "i8", None, 1, annotated=True)]
    native = launcher.bind(spy, (1,), made, (), bytes(16), True, lambda *a: False)
    assert native(2**62, 127) and native(1, -128) and native(16, 0)
    assert not native(2**63, 0) and not native(0, 128)


def test_the_int_one_is_folded(spy):
    call = Call(spy, (1, 100))
    assert call(1, 100) and slot(0) == (100).to_bytes(8, "little")
    assert not call(2, 100) and not call(True, 100) and not call(1.0, 100)


def test_floats_and_bools(spy):
    call = Call(spy, (0.5, True))
    assert call(0.1, False)
    assert slot(0) == driver.slot("fp32", 0.1) and slot(1) == bytes(8)
    assert call(1e300, True) and slot(0) == driver.slot("fp32", 1e300) and slot(1) == driver.slot("i1", True)
    assert not call(1, True) and not call(0.1, 1) and not call(np.float64(0.1), True) and not call(0.1, None)
    made = [Argument(0.5, "fp64", None, 0, annotated=True)]
    native = launcher.bind(spy, (1,), made, (), bytes(8), None, print)
    native(0.1)
    assert slot(0) == driver.slot("fp64", 0.1)


def test_constants(spy):
    def function():
        pass

    big, text = 10**6, "relu"
    values = (big, 0.0, text, None, True, torch.float32, (1, "a"), float)
    call = Call(spy, values, constants=range(len(values)))
    assert call(*values)
    assert call(int("1000000"), 0.0, "".join(["re", "lu"]), None, True, torch.float32, values[6], float)
    for index, other in enumerate((big + 1, -0.0, "gelu", 0, 1, torch.float16, (1, "b"), int)):
        changed = list(values)
        changed[index] = other
        assert not call(*changed), other
    assert not call(float(big), *values[1:]) and not call(True, *values[1:])
    for changeable in ([1], {}, ([1],), function, object()):
        assert launcher.bind(spy, (1,), [Argument(changeable, "constexpr")], (), b"", None, print) is None


def test_keywords(spy):
    x = torch.zeros(64)
    call = Call(spy, (x, 64, 32), keywords=("n", "BLOCK"), constants=(2,))
    assert call(x, n=64, BLOCK=32)
    assert not call(x, BLOCK=32, n=64), "another order is another form"
    assert not call(x, 64, 32) and not call(x, n=64) and not call(x, n=64, BLOCK=33) and not call(x, n=64, C=32)
    assert not call(x, n=64, BLOCK=32, num_warps=4) and not call()
    assert call.slow[0] == ((x,), {"BLOCK": 32, "n": 64})
    assert call(x, **{"n": 64, "BLOCK": 32})


def test_slots_that_no_argument_fills_keep_their_value(spy):
    call = Call(spy, (100,), slots=bytes(8) + (77).to_bytes(8, "little") + bytes(80))
    assert call(100)
    assert slot(0) == (100).to_bytes(8, "little") and slot(1) == (77).to_bytes(8, "little")


def test_grids(spy):
    for grid, programs in (((3, 4, 5), 60), ((0,), 0), ((7,), 7)):
        call = Call(spy, (100,), grid=grid)
        before = launched()
        assert call.native(100) is call.handle and launched() - before == programs
    Call(spy, (100,), grid=(3, 4, 5)).native(100)
    assert np.frombuffer(SEEN.raw, np.int64)[1:4].tolist() == [3, 4, 5]


def test_a_failed_assertion_raises():
    kernel = driver.load(object_code(FAILS, HERE), {"name": "fails", "cost": 1.0, "asserts": ["x > 0"]})
    call = Call(kernel, (100,))
    for _ in range(3):
        with pytest.raises(RuntimeError, match="x > 0"):
            call.native(100)


def test_errors_of_the_slow_path_are_the_callers(spy):
    def fallback(*args):
        raise KeyError(args)

    native = launcher.bind(spy, (1,), arguments((100,)), (), bytes(8), None, fallback)
    with pytest.raises(KeyError, match="16"):
        native(16)


def test_launchers_chain(spy):
    x = torch.zeros(64)
    first = Call(spy, (x, 100))
    second = launcher.bind(spy, (1,), arguments((x, 16)), (), bytes(16), "second", first.native)
    assert second(x, 16) == "second" and second(x, 100) is first.handle and second(x, "?") == "slow"


def test_native_launching_can_be_turned_off(spy):
    call = Call(spy, (100,))
    launcher.native_enabled(False)
    try:
        assert not call(100)
    finally:
        launcher.native_enabled(True)
    assert call(100)


def test_large_launches_give_up_the_gil():
    kernel = driver.load(object_code(SLEEP, HERE), {"name": "sleep", "cost": 1e9})
    call, ticks, stop = Call(kernel, (100,)), [0], threading.Event()

    def tick():
        while not stop.is_set():
            ticks[0] += 1
            stop.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    call.native(100)
    during = ticks[0] - before
    stop.set()
    thread.join()
    assert during > 10


def counts(*objects):
    return [sys.getrefcount(thing) for thing in objects]


def test_no_reference_is_lost_or_kept(spy):
    x, y, big, text, number = torch.zeros(64), aligned(64), 10**6 + 7, "some text", 12345.5
    call = Call(spy, (x, y, big, number, text), constants=(4,))
    things = (x, y, big, text, number, call.handle, x.dtype, y.dtype, None, True, call.fallback.__func__)
    for _ in range(10):
        call.native(x, y, big, number, text)
        call.native(x, y, big, number, "other")
    call.slow.clear()
    before = counts(*things)
    for _ in range(1000):
        call.native(x, y, big, number, text)
    assert counts(*things) == before
    for _ in range(1000):
        call.native(x[1:], y, big, number, text)
        call.native(x, y, big, number, "other")
        call.slow.clear()
    after = counts(*things)
    assert all(abs(a - b) < 20 for a, b in zip(after, before, strict=True))


def test_a_launcher_is_collected(spy):
    class Handle:
        pass

    import weakref

    handle = Handle()
    watch = weakref.ref(handle)
    native = launcher.bind(spy, (1,), arguments((100,)), (), bytes(8), handle, print)
    assert native(100) is handle
    handle.cycle = native
    del handle, native
    gc.collect()
    assert watch() is None


def test_random_calls_agree_with_specialisation(spy):
    """A launcher made for one call takes another exactly if that is specialised the same."""
    generator = np.random.default_rng(0)
    x = torch.zeros(256)
    pool = [0, 1, 2, 16, 17, -16, -1, 2**31, 2**31 + 1, 2**35, -(2**33), 2**62, 1.0, 0.5, True, False, None, x, x[1:]]
    pool += [x.half(), x.numpy(), x.numpy()[1:], "a", torch.nn.Parameter(x)]

    def form(value):
        large = type(value) is int and abs(value) > 2**31  # each sign has its own launcher
        return [type(value), value if isinstance(value, str) else specialize(value), large and value < 0]

    for _ in range(150):
        values = [pool[i] for i in generator.integers(0, len(pool), 3)]
        call = Call(spy, values, constants=[i for i, v in enumerate(values) if isinstance(v, str)])
        for _ in range(20):
            others = [pool[i] for i in generator.integers(0, len(pool), 3)]
            expected = list(map(form, values)) == list(map(form, others))
            assert call(*others) == expected, (values, others)


def test_a_second_process_needs_no_llvm(tmp_path):
    program = "import sys; from naiad.backends.cpu.launcher import native_code; print(native_code() is not None)"
    program += "; print('llvmlite' in sys.modules, 'torch' in sys.modules, 'numpy' in sys.modules)"
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    said = [subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)]
    assert said[1].stdout.split() == ["True", "False", "False", "False"]
