"""Tuning on a GPU: updates happen once, what needs too much loses, other processes compile, events tell the time."""

import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.errors import OutOfResources

torch = pytest.importorskip("torch", reason="torch's tensors are arguments here")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU here")]
N = 1 << 20


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    with knobs.naiad.scope(), knobs.compilation.scope():
        yield
    knobs.compilation.listener = None


@naiad.jit
def increment(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum((i < n).to(tl.int32), 0))
    tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)


def configs(*warps):
    return [naiad.Config({"BLOCK": block}, num_warps=w) for block in (256, 1024) for w in warps]


def run(tuner, x, total):
    tuner[lambda meta: (naiad.cdiv(N, meta["BLOCK"]),)](x, total, N)


@pytest.mark.parametrize("bench", [None, lambda call, quantiles: [call(), 1.0][1:] * 3], ids=["ours", "the user's"])
def test_an_update_in_place_happens_once(bench):
    tuner = naiad.autotune(configs(2, 4, 8), key=["n"], do_bench=bench)(increment)
    x, total = torch.zeros(N, device="cuda"), torch.full((1,), 3, device="cuda", dtype=torch.int32)
    for turn in (1, 2):
        run(tuner, x, total)
        assert (x == turn).all() and total.item() == 3 + turn * N
    assert len(tuner.configs_timings) == 6
    if bench is None:
        assert all(0 < times[1] <= times[0] < 10 for times in tuner.configs_timings.values())


def test_too_many_threads_only_lose_and_hooks_are_told():
    told = []
    tuner = naiad.autotune(configs(4, 128), ["n"], post_hook=lambda arguments, exception: told.append(exception))(
        increment
    )
    run(tuner, torch.zeros(N, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int32))
    failures = [error for error in told if error is not None]
    assert [type(error) for error in failures] == [OutOfResources] * 2 and "threads, Required: 4096" in str(failures[0])
    assert len(tuner.reasons) == 2 and tuner.best_config.num_warps == 4


def test_other_processes_compile():
    heard = []
    increment.device_caches.clear()
    knobs.naiad.tune_jobs = 4
    knobs.compilation.listener = lambda **facts: heard.append(facts["cache_hit"])
    tuner = naiad.autotune(configs(1, 2, 4, 8), key=["n"])(increment)
    x = torch.zeros(N, device="cuda")
    run(tuner, x, torch.zeros(1, device="cuda", dtype=torch.int32))
    assert heard == [True] * 8 and (x == 1).all()


def test_copies_go_to_the_host_where_the_gpu_has_no_room(monkeypatch):
    original = torch.Tensor.clone

    def full(tensor, *args, **keywords):
        if tensor.is_cuda:
            raise torch.cuda.OutOfMemoryError("no room")
        return original(tensor, *args, **keywords)

    monkeypatch.setattr(torch.Tensor, "clone", full)
    x, total = torch.zeros(N, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int32)
    run(naiad.autotune(configs(4), key=["n"])(increment), x, total)
    assert (x == 1).all() and total.item() == N
