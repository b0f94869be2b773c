"""The launch of CUDA kernels, through Python and natively: what the driver gets. Its stand-in records that."""

import ctypes
import gc
import struct
import threading
import tracemalloc

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.arguments import device_of
from naiad.backends.cpu.system import has_native_launcher
from naiad.backends.nvidia.launcher import attributes
from naiad.backends.nvidia.libcuda import CudaError
from naiad.tools.tensor_descriptor import TensorDescriptor

from .fake_gpu import STREAM

torch = pytest.importorskip("torch", reason="torch's tensors are arguments here")
pytestmark = pytest.mark.skipif(not has_native_launcher(), reason="no native launcher on this platform")


def make():
    """A kernel of its own for each test, of every kind of argument."""

    @naiad.jit
    def kernel(x, y, n, big, factor, flag, double: tl.float64, narrow: tl.int8, offset=7, BLOCK: tl.constexpr = 32):
        places = tl.arange(0, BLOCK)
        value = tl.load(x + places, mask=places < n) * factor + offset + flag.to(tl.float32) + double + narrow + big
        tl.store(y + places, value, mask=places < n)

    return kernel


BIG = 5 * 10**9


def call(kernel, x, y, n=100, factor=0.5, grid=(3, 2), **keywords):
    return kernel[grid](x, y, n, BIG, factor, True, 0.25, -3, **keywords)


def is_native(kernel, grid=(3, 2)):
    return type(kernel._launchers[grid]).__name__ == "builtin_function_or_method"


def seen(gpu, count=9):
    """The slots as the driver got them."""
    return gpu.slots(count)


def expected(x, y, n=100, factor=0.5, offset=7):
    single = struct.unpack("<I", struct.pack("<f", factor))[0]
    double = struct.unpack("<Q", struct.pack("<d", 0.25))[0]
    return [x.data_ptr(), y.data_ptr(), n, BIG, single, 1, double, 253, offset]


def low(slots, widths=(8, 8, 4, 8, 4, 1, 8, 1, 4)):
    """The bytes of each slot that the kernel reads."""
    return [slot & ((1 << 8 * width) - 1) for slot, width in zip(slots, widths, strict=True)]


def test_python_and_native_give_the_driver_the_same(gpu):
    gpu.set("fake_parameters", 9)
    kernel, x, y = make(), torch.zeros(128), torch.zeros(128)
    for turn in range(4):
        x, y = torch.zeros(128), torch.zeros(128)
        factor = 0.5 + turn
        handle = call(kernel, x, y, 100 + turn, factor)
        assert gpu.launches == turn + 1
        assert low(seen(gpu)) == expected(x, y, 100 + turn, factor)
        assert gpu.config == [3, 2, 1, 128, 1, 1, handle.metadata.shared]
        assert gpu.number("fake_stream").value == STREAM
        assert gpu.number("fake_function").value == handle.function
        assert is_native(kernel) == (turn >= 1), turn
    assert gpu.number("fake_loads").value == 1 and set(gpu.asked) == {0}


def test_what_the_kernel_was_not_compiled_for_goes_through_python(gpu):
    gpu.set("fake_parameters", 9)
    kernel, x, y = make(), torch.zeros(128), torch.zeros(128)
    first = [call(kernel, x, y) for _ in range(3)][-1]
    for other in (x[1:], x.double(), x.int()):
        handle = call(kernel, other, y)
        assert handle is not first and low(seen(gpu)) == expected(other, y)
    gpu.set("fake_parameters", 8)
    assert call(kernel, x, y, n=1) is not first, "1 is folded"
    gpu.set("fake_parameters", 9)
    assert call(kernel, x, y, factor=1e300) is first
    assert low(seen(gpu))[4] == struct.unpack("<I", struct.pack("<f", float("inf")))[0]
    assert call(kernel, x, y, offset=16) is not first
    assert low(seen(gpu)) == expected(x, y, offset=16)
    with pytest.raises(TypeError):
        kernel[(3, 2)](x, y, 100)


def test_one_form_of_call_stays_native(gpu, monkeypatch):
    kernel, x, y = make(), torch.zeros(128), torch.zeros(128)
    call(kernel, x, y)
    call(kernel, x, y)
    monkeypatch.setattr(type(kernel), "run", lambda *a, **k: pytest.fail("through Python"))
    for n in (99, 101, 5):
        call(kernel, x, y, n)
    assert gpu.launches == 5


def test_tensors_of_the_host_go_through_python(gpu, monkeypatch):
    kernel, x, slow = make(), torch.zeros(128), []
    call(kernel, x, x)
    call(kernel, x, x)
    monkeypatch.setattr(type(kernel), "run", lambda *a, **k: slow.append(a))
    gpu.set("fake_type", 0, ctypes.c_int)
    call(kernel, x, x)
    gpu.set("fake_type", 1, ctypes.c_int)
    assert len(slow) == 1 and gpu.launches == 2


def test_the_current_stream_is_asked_for_at_each_launch(gpu):
    kernel, x = make(), torch.zeros(128)
    for turn in range(5):
        gpu.streams[0] = [STREAM, 0x8888, 0, 2, 2**63 + 16][turn]
        call(kernel, x, x)
        assert gpu.number("fake_stream").value == gpu.streams[0]
    assert is_native(kernel)


def test_an_error_of_asking_for_the_stream_is_the_callers(gpu, monkeypatch):
    kernel, x = make(), torch.zeros(128)
    call(kernel, x, x)
    call(kernel, x, x)
    gpu.streams.clear()
    with pytest.raises(IndexError):
        call(kernel, x, x)
    assert gpu.launches == 2


def test_errors_have_the_drivers_words(gpu):
    kernel, x = make(), torch.zeros(128)
    for turn in range(4):
        gpu.set("fake_result", 0 if turn in (0, 2) else 700, ctypes.c_int)
        if turn in (0, 2):
            call(kernel, x, x)
            continue
        with pytest.raises(CudaError, match="700: an illegal memory access"):
            call(kernel, x, x)
    assert is_native(kernel)
    gpu.set("fake_result", 700, ctypes.c_int)
    with pytest.raises(CudaError, match="700: an illegal memory access"):
        call(kernel, x, x)


def test_two_devices(gpu):
    """Tensors of another device than the current one are refused; each device has its own kernel and launchers."""
    kernel, x = make(), torch.zeros(128)
    on_0 = [call(kernel, x, x) for _ in range(3)][-1]
    gpu.move(1)
    with pytest.raises(ValueError, match=r"lie on cuda:1, and launches go to the current device, cuda:0"):
        call(kernel, x, x)
    gpu.use(1)
    on_1 = [call(kernel, x, x) for _ in range(3)][-1]
    assert on_1 is not on_0 and gpu.number("fake_loads").value == 2
    assert gpu.number("fake_function").value == on_1.function and gpu.number("fake_stream").value == STREAM + 1
    before = gpu.launches
    gpu.move(0)
    with pytest.raises(ValueError, match="lie on cuda:0"):
        call(kernel, x, x)
    assert gpu.launches == before
    gpu.use(0)
    assert call(kernel, x, x) is on_0 and gpu.number("fake_function").value == on_0.function


def test_hooks_see_every_launch(gpu):
    kernel, x, names = make(), torch.zeros(128), []
    call(kernel, x, x)
    call(kernel, x, x)
    held = kernel[(3, 2)]

    def hook(metadata):
        names.append((metadata.get()["name"], metadata.get()["stream"]))

    knobs.runtime.launch_enter_hook.add(hook)
    try:
        call(kernel, x, x)
        held(x, x, 100, BIG, 0.5, True, 0.25, -3)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    assert names == [("kernel", STREAM)] * 2 and gpu.launches == 4
    call(kernel, x, x)
    call(kernel, x, x)
    assert is_native(kernel) and len(names) == 2


def test_empty_grids_launch_nothing(gpu):
    kernel, x = make(), torch.zeros(128)
    for grid in ((0,), (3, 0), (0, 1, 1)):
        for _ in range(4):
            call(kernel, x, x, grid=grid)
    assert gpu.launches == 0


def test_attributes_of_the_launch(gpu):
    kernel, x = make(), torch.zeros(128)
    for options, found in (
        ({}, {}),
        ({"launch_cooperative_grid": True}, {2: 1}),
        ({"launch_pdl": True}, {6: 1}),
        ({"launch_pdl": True, "launch_cooperative_grid": True}, {6: 1, 2: 1}),
    ):
        for _ in range(3):
            call(kernel, x, x, **options)
            assert {which: words[0] for which, words in gpu.attributes.items()} == found
        assert is_native(kernel)


def test_attributes_of_a_cluster():
    class Metadata:
        num_ctas = 4

    size, spread = attributes(Metadata)
    assert len(size) == len(spread) == 72
    assert struct.unpack("<I4x3I", size[:20]) == (4, 4, 1, 1) and struct.unpack("<I4xI", spread[:12]) == (5, 1)


def test_a_thread_without_a_context(gpu, library):
    """The first launch of a thread has the kernel's context made current, for Python's path and the native one."""
    kernel, x, failed = make(), torch.zeros(128), []
    call(kernel, x, x)

    def work():
        library.fake_lose_context()
        try:
            for _ in range(3):
                call(kernel, x, x)
        except Exception as error:
            failed.append(error)

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not failed and gpu.launches == 7 and is_native(kernel)


def test_somebodys_own_stream_is_respected(gpu):
    from naiad.backends.driver import driver

    kernel, x = make(), torch.zeros(128)
    driver.active.get_current_stream = lambda device=None: 0x1234
    for _ in range(4):
        call(kernel, x, x)
        assert gpu.number("fake_stream").value == 0x1234


def test_tuples_pointers_of_none_and_keywords(gpu):
    @naiad.jit
    def kernel(pair, maybe, out, n):
        value = pair[1]
        if maybe is not None:
            value += tl.load(maybe)
        tl.store(out + n, pair[0] + value)

    gpu.set("fake_parameters", 4)
    out = torch.zeros(16, dtype=torch.int32)
    for turn in range(3):
        kernel[(1,)]((turn + 2, 5), None, out, n=3)
        assert [slot & 0xFFFFFFFF for slot in gpu.slots(4)] == [turn + 2, 5, out.data_ptr() & 0xFFFFFFFF, 3]
    gpu.set("fake_parameters", 2)

    @naiad.jit
    def plain(maybe, out, n):
        tl.store(out + n, n)

    for _ in range(3):
        plain[(1,)](None, out, n=3)
        assert gpu.slots(2)[0] == out.data_ptr() and gpu.slots(2)[1] & 0xFFFFFFFF == 3
    assert is_native(plain, (1,))


@naiad.jit
def copy_block(source, target):
    target.store([0, 0], source.load([0, 0]))


@naiad.jit
def copy_pair(pair):
    tl.store(pair[1], tl.load(pair[0]))


def test_descriptors_and_tuples_lie_where_their_tensors_do(gpu):
    """A kernel of the CPU that was given addresses of a GPU would end the process."""
    x, y = torch.ones(16, 32), torch.zeros(16, 32)
    described = [TensorDescriptor.from_tensor(t, [16, 32]) for t in (x, y)]
    for turn in range(3):
        gpu.set("fake_parameters", 10)
        handle = copy_block[(1,)](*described)
        assert handle.metadata.target.backend == "cuda"
        assert low(gpu.slots(10), (8, 4, 4, 8, 8) * 2) == [x.data_ptr(), 16, 32, 32, 1, y.data_ptr(), 16, 32, 32, 1]
        gpu.set("fake_parameters", 2)
        assert copy_pair[(1,)]((x, y)).metadata.target.backend == "cuda"
        assert gpu.slots(2) == [x.data_ptr(), y.data_ptr()] and gpu.launches == 2 * turn + 2
    gpu.move(1)
    for launch in (lambda: copy_block[(1,)](*described), lambda: copy_pair[(1,)]((x, y))):
        with pytest.raises(ValueError, match="lie on cuda:1"):
            launch()


@pytest.mark.parametrize("on_gpu", ["descriptor", "tuple"])
def test_arrays_of_two_devices_are_refused_wherever_they_are(gpu, on_gpu):
    x, host = torch.ones(16, 32), np.zeros((16, 32), np.float32)
    with pytest.raises(ValueError, match="cannot be accessed"):
        if on_gpu == "descriptor":
            copy_block[(1,)](TensorDescriptor.from_tensor(x, [16, 32]), TensorDescriptor.from_tensor(host, [16, 32]))
        else:
            copy_pair[(1,)]((x, host))
    assert gpu.launches == 0


def test_devices_of_descriptors_are_those_of_their_tensors():
    for device in ("cpu", "meta"):
        assert device_of(TensorDescriptor.from_tensor(torch.zeros(4, 8, device=device), [4, 8]))[0] == device


ARGUMENTS = (100, BIG, 0.5, True, 0.25, -3)


def test_bound_launchers_give_the_driver_the_same(gpu, monkeypatch):
    gpu.set("fake_parameters", 9)
    kernel, x, y = make(), torch.zeros(128), torch.zeros(128)
    launch = kernel.bind(x, y, *ARGUMENTS, grid=(3, 2), BLOCK=32, num_warps=8)
    assert gpu.launches == 0 and gpu.number("fake_loads").value == 1
    monkeypatch.setattr(type(kernel), "run", lambda *a, **k: pytest.fail("through Python"))
    for turn in range(3):
        x, gpu.streams[0] = torch.zeros(128), STREAM + 16 * turn
        handle = launch(x, y, 100 + turn, *ARGUMENTS[1:])
        assert low(seen(gpu)) == expected(x, y, 100 + turn) and gpu.launches == turn + 1
        assert gpu.config == [3, 2, 1, 256, 1, 1, handle.metadata.shared]
        assert gpu.number("fake_stream").value == STREAM + 16 * turn
        assert gpu.number("fake_function").value == handle.function


def test_a_bound_stream(gpu):
    class Stream:
        cuda_stream = 0x8000000000000010

    kernel, x = make(), torch.zeros(128)
    for stream in (0x4444, Stream(), 0):
        launch = kernel.bind(x, x, *ARGUMENTS, grid=(3, 2), stream=stream)
        gpu.asked.clear()
        for other in (x, x, x[1:], x[1:]):  # natively; through Python at first, then natively
            launch(other, x, *ARGUMENTS)
            assert gpu.number("fake_stream").value == getattr(stream, "cuda_stream", stream)
        assert gpu.asked == []
    assert gpu.launches == 12


def test_a_bound_launcher_on_two_devices(gpu):
    kernel, x = make(), torch.zeros(128)
    launch = kernel.bind(x, x, *ARGUMENTS, grid=(3, 2))
    on_0 = launch(x, x, *ARGUMENTS)
    gpu.move(1)
    with pytest.raises(ValueError, match=r"lie on cuda:1, and launches go to the current device, cuda:0"):
        launch(x, x, *ARGUMENTS)
    gpu.use(1)
    on_1 = [launch(x, x, *ARGUMENTS) for _ in range(3)]
    assert on_0 not in on_1 and len(set(on_1)) == 1
    assert gpu.number("fake_function").value == on_1[0].function and gpu.number("fake_stream").value == STREAM + 1
    gpu.use(0)
    gpu.move(0)
    assert launch(x, x, *ARGUMENTS) is on_0 and gpu.number("fake_function").value == on_0.function


def test_hooks_see_bound_launches(gpu):
    kernel, x, seen = make(), torch.zeros(128), []
    launches = [kernel.bind(x, x, *ARGUMENTS, grid=(3, 2), **more) for more in ({}, {"stream": 0x4444})]
    hook = lambda metadata: seen.append(metadata.get()["stream"])  # noqa: E731
    knobs.runtime.launch_exit_hook.add(hook)
    try:
        for launch in launches:
            launch(x, x, *ARGUMENTS)
    finally:
        knobs.runtime.launch_exit_hook.remove(hook)
    assert seen == [STREAM, 0x4444] and gpu.launches == 2
    for launch in launches:
        launch(x, x, *ARGUMENTS)
    assert len(seen) == 2 and gpu.launches == 4


@pytest.mark.parametrize("native", [True, False])
def test_memory_does_not_grow_with_launches(gpu, native):
    kernel, x, y = make(), torch.zeros(128), torch.zeros(128)
    if not native:
        knobs.runtime.launch_enter_hook.add(print_nothing)
    try:
        for _ in range(3):
            call(kernel, x, y)
        tracemalloc.start()
        for _ in range(20):
            call(kernel, x, y)
        gpu.asked.clear()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(500):
            call(kernel, x, y)
        gpu.asked.clear()  # what the stand-in remembers
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        assert ((3, 2) in kernel._launchers and is_native(kernel)) is native
        assert after - before < 4000
    finally:
        tracemalloc.stop()
        if not native:
            knobs.runtime.launch_enter_hook.remove(print_nothing)


def print_nothing(metadata):
    pass
