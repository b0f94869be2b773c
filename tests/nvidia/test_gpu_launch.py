"""Launches on a GPU, each form of call often enough that it goes through Python first and natively then."""

import threading

import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.nvidia.libcuda import CudaError

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU here")]
TURNS = 4


@naiad.jit
def tell(x, out, n, big, factor, flag, double: tl.float64, narrow: tl.int8, none, offset=7, C: tl.constexpr = 3):
    """Writes what it got, as float64, so that nothing is lost."""
    tl.store(out + 0, tl.load(x).to(tl.float64))
    tl.store(out + 1, n.to(tl.float64))
    tl.store(out + 2, big.to(tl.float64))
    tl.store(out + 3, factor.to(tl.float64))
    tl.store(out + 4, flag.to(tl.float64))
    tl.store(out + 5, double)
    tl.store(out + 6, narrow.to(tl.float64))
    tl.store(out + 7, offset.to(tl.float64))
    tl.store(out + 8, C + tl.program_id(0) * 0.0)


@naiad.jit
def put(out, value):
    tl.store(out + tl.program_id(0), value)


def is_native(kernel, grid):
    return type(kernel._launchers[grid]).__name__ == "builtin_function_or_method"


def fresh(kernel):
    """The kernel, launched through Python at first."""
    kernel._launchers.clear()
    return kernel


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8", "int64", "uint8", "bool"])
def test_every_kind_of_argument(dtype):
    fresh(tell)
    x = torch.ones(64, device="cuda", dtype=getattr(torch, dtype))
    for turn in range(2 * TURNS):
        out = torch.full((9,), float("nan"), device="cuda", dtype=torch.float64)
        view = x[turn % 2 :]  # aligned, and not
        n, big, factor, flag = 100 + turn, 5 * 10**9 + turn, 0.5 + turn, turn % 3 == 0
        tell[(1,)](view, out, n, big, factor, flag, 0.1 * turn, -turn, None, offset=9 + turn)
        want = [1.0, n, big, factor, flag, 0.1 * turn, -turn, 9 + turn, 3]
        assert out.tolist() == [float(value) for value in want]
    assert is_native(tell, (1,))


def test_the_current_stream_is_used():
    out, side = torch.zeros(4, device="cuda"), torch.cuda.Stream()
    put[(4,)](out, 0.5)  # compiling takes longer than the stream sleeps
    fresh(put)
    for turn in range(TURNS):
        out.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000_000)
            put[(4,)](out, 1.5 + turn)
        assert out.tolist() == [0.0] * 4, "it did not wait for what its stream had before"
        side.synchronize()
        assert out.tolist() == [1.5 + turn] * 4
        put[(4,)](out, 2.5 + turn)
        assert out.tolist() == [2.5 + turn] * 4
    assert is_native(put, (4,))


def test_graphs_capture_launches():
    fresh(put)
    out = torch.zeros(4, device="cuda")
    for _ in range(TURNS):
        put[(4,)](out, 1.5)
    assert is_native(put, (4,))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        put[(4,)](out, 3.5)
    out.zero_()
    graph.replay()
    assert out.tolist() == [3.5] * 4


@pytest.mark.parametrize("native", [True, False])
def test_threads_launch_at_the_same_time(native):
    """Each thread has its values and its first launch: no context is current there before."""
    fresh(put)
    outs, failed = torch.zeros(8, 500, device="cuda"), []
    put[(1,)](outs[0], 0.5)
    torch.cuda.synchronize()

    def work(row: int) -> None:
        try:
            for i in range(500):
                put[(1,)](outs[row, i:], 1000.0 * row + i)
        except Exception as error:
            failed.append(error)

    with knobs.naiad.scope():
        knobs.naiad.native_launch = native
        threads = [threading.Thread(target=work, args=(row,)) for row in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    torch.cuda.synchronize()
    assert not failed
    want = torch.arange(8.0)[:, None] * 1000 + torch.arange(500.0)
    assert torch.equal(outs.cpu(), want)


@pytest.mark.parametrize("options", [{"launch_cooperative_grid": True}, {"launch_pdl": True}])
def test_attributes_of_the_launch(options):
    fresh(put)
    for turn in range(TURNS):
        out = torch.zeros(4, device="cuda")
        put[(4,)](out, 1.5 + turn, **options)
        assert out.tolist() == [1.5 + turn] * 4
    assert is_native(put, (4,))


def test_hooks_see_every_launch():
    fresh(put)
    out, names = torch.zeros(4, device="cuda"), []
    for _ in range(TURNS):
        put[(4,)](out, 1.5)
    held = put[(4,)]

    def hook(metadata):
        names.append(metadata.get()["name"])

    knobs.runtime.launch_enter_hook.add(hook)
    try:
        held(out, 2.5)
        put[(4,)](out, 3.5)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    assert names == ["put", "put"] and out.tolist() == [3.5] * 4


def test_errors_have_the_drivers_words():
    out = torch.zeros(4, device="cuda")
    for _ in range(3):
        with pytest.raises(CudaError, match="CUDA error 1: invalid argument"):
            put[(1, 70_000)](out, 1.0)
    put[(1,)](out, 1.0)
    assert out[0].item() == 1.0


def test_tensors_of_the_host_are_refused():
    fresh(put)
    out, host = torch.zeros(4, device="cuda"), torch.zeros(4)
    for _ in range(3):
        put[(4,)](out, 1.0)
    with pytest.raises(ValueError, match="cannot be accessed"):
        tell[(1,)](host, out, 2, 5 * 10**9, 0.5, True, 0.1, 1, None)
    pinned = torch.zeros(4).pin_memory()
    pinned.fill_(1.0)
    double = torch.zeros(9, device="cuda", dtype=torch.float64)
    tell[(1,)](pinned, double, 2, 5 * 10**9, 0.5, True, 0.1, 1, None)
    assert double[0].item() == 1.0


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU only")
def test_two_devices():
    fresh(put)
    near, far = torch.zeros(4, device="cuda:0"), torch.zeros(4, device="cuda:1")
    for turn in range(TURNS):
        put[(4,)](near, 1.5 + turn)
        with pytest.raises(ValueError, match="lie on cuda:1, and launches go to the current device, cuda:0"):
            put[(4,)](far, 1.0)
        with torch.cuda.device(1):
            put[(4,)](far, 2.5 + turn)
            with pytest.raises(ValueError, match="lie on cuda:0"):
                put[(4,)](near, 1.0)
        assert near.tolist() == [1.5 + turn] * 4 and far.tolist() == [2.5 + turn] * 4
    with pytest.raises(ValueError, match="cuda:0, cuda:1"):
        tell[(1,)](near, far.double(), 2, 5 * 10**9, 0.5, True, 0.1, 1, None)


def test_bound_launchers_use_the_current_stream_or_their_own():
    out, side = torch.zeros(4, device="cuda"), torch.cuda.Stream()
    bound = put.bind(out, 0.5, grid=(4,))
    on_side = put.bind(out, 0.5, grid=(4,), stream=side)
    assert type(bound).__name__ == type(on_side).__name__ == "builtin_function_or_method"
    for turn in range(TURNS):
        for launch in (bound, on_side):
            out.zero_()
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(200_000_000)
                if launch is bound:
                    launch(out, 1.5 + turn)
            if launch is on_side:
                launch(out, 1.5 + turn)
            assert out.tolist() == [0.0] * 4, "it did not wait for what its stream had before"
            side.synchronize()
            assert out.tolist() == [1.5 + turn] * 4
        bound(out, 2.5 + turn)
        assert out.tolist() == [2.5 + turn] * 4


def test_bound_launchers_take_other_arguments():
    launch = put.bind(torch.zeros(4, device="cuda"), 0.5, grid=(4,))
    for _ in range(TURNS):
        for dtype, value in ((torch.float32, 1.5), (torch.float64, 2.5), (torch.int32, 3), (torch.int32, 1)):
            for shift in (0, 1):
                out = torch.zeros(8, device="cuda", dtype=dtype)[shift:]
                launch(out, value)
                assert out.tolist() == [value] * 4 + [0] * (4 - shift)


def test_bound_launchers_are_captured():
    out = torch.zeros(4, device="cuda")
    launch = put.bind(out, 1.5, grid=(4,))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(out, 4.5)
    out.zero_()
    graph.replay()
    assert out.tolist() == [4.5] * 4


def test_check_runs_on_the_gpu_too():
    from naiad.testing import CheckFailed, check

    out = torch.zeros(9, device="cuda", dtype=torch.float64)
    found = check(put, (torch.zeros(4), 1.5), (4,), lambda out: out + 1.5, outputs=())
    assert found.backends == ("interpreter", "cpu", "cuda") and found.outputs == ("out",)
    assert check(put, (out[1:], 2.5), (8,)).outputs == ("out",)
    with pytest.raises(CheckFailed, match=r"cuda against the reference: out: 4 of 4 elements differ"):
        check(put, (torch.zeros(4), 1.5), (4,), lambda out: out + 1.0)
    with pytest.raises(CheckFailed, match="cuda: wrote 4 bytes behind the last element of out"):
        check(put, (torch.zeros(4), 1.5), (5,))
