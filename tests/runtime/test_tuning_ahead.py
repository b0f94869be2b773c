"""Compiling configurations in other processes: it finds them in the cache, and outlives what they do not."""

import os

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.base import GPUTarget
from naiad.errors import AutotunerError
from naiad.runtime.tuning import ahead
from naiad.runtime.tuning import client as clients
from naiad.runtime.tuning.client import process_count
from naiad.runtime.tuning.server import Job
from tests.runtime.kernels import add, scale_in_place

SIZES = (32, 64, 128, 256, 512)
CONFIGS = [naiad.Config({"BLOCK": block}) for block in SIZES]
pytestmark = pytest.mark.skipif(process_count(2) < 2, reason="no fork on this system")


@naiad.jit
def copy_blocks(desc, out, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    places = out + start + tl.arange(0, BLOCK)
    tl.store(places, tl.load(places) + desc.load([start]))


@pytest.fixture
def heard(cache_folder, monkeypatch):
    """Two processes compile; what the listener is told of compilations in this one."""
    add.device_caches.clear()
    scale_in_place.device_caches.clear()
    found = []
    knobs.naiad.tune_jobs = 2
    knobs.compilation.listener = lambda **facts: found.append(facts["cache_hit"])
    yield found
    knobs.compilation.listener = None


def one_call(call, quantiles):
    call()
    return [1.0, 1.0, 1.0]


def tuned(kernel, configs, *args, bench=one_call):
    tuner = naiad.autotune(configs, key=["n"], do_bench=bench)(kernel)
    tuner[lambda meta: (naiad.cdiv(meta["n"], meta["BLOCK"]),)](*args)
    return tuner


def test_the_program_finds_them_in_the_cache(heard):
    x, out = np.ones(300, "f4"), np.zeros(300, "f4")
    tuner = tuned(add, CONFIGS, x, x, out, 300)
    assert heard == [True] * len(CONFIGS) and (out == 2).all() and not tuner.reasons
    server = next(iter(clients._clients.values()))
    add.device_caches.clear()
    knobs.cache.dir = knobs.cache.dir + "-other"
    tuned(add, CONFIGS[:2], x, x, out, 300)
    assert heard == [True] * (len(CONFIGS) + 2)
    assert list(clients._clients.values()) == [server]  # it is asked again


def test_the_same_code_as_here(heard, monkeypatch):
    x = np.ones(300, "f4")
    objects = []
    for jobs in (1, 2):
        scale_in_place.device_caches.clear()
        knobs.naiad.tune_jobs = jobs
        knobs.cache.dir = f"{knobs.cache.dir}-{jobs}"
        tuned(scale_in_place, CONFIGS, x.copy(), 300, 0.5)
        kernels = [k for device in scale_in_place.device_caches.values() for k in device.kernels.values()]
        assert len(kernels) == len(CONFIGS)
        objects.append([(k.name, k.hash, k.metadata.writes, k.asm["llir"], k.asm["obj"]) for k in kernels])
    assert heard == [False] * 5 + [True] * 5
    assert sorted(objects[0]) == sorted(objects[1]) and objects[0][0][2] == ["buffer"]


def test_a_configuration_whose_compiler_dies_only_loses(heard, monkeypatch):
    monkeypatch.setenv("NAIAD_PIPELINE", "tests.runtime.dying:hook")
    monkeypatch.setenv("TUNING_PROGRAM", str(os.getpid()))
    x = np.ones(300, "f4")
    tuner = tuned(scale_in_place, CONFIGS, x, 300, 0.5)
    assert (x == 1.5).all() and heard == [True] * 3
    reasons = {config.kwargs["BLOCK"]: reason for config, reason in tuner.reasons.items()}
    assert reasons.keys() == {128, 256}
    assert "signal 6" in reasons[128] and reasons[128].endswith("LLVM ERROR: Cannot select: t42")
    assert "signal 9" in reasons[256]
    with pytest.raises(AutotunerError, match="signal 9"):
        tuned(scale_in_place, [CONFIGS[2], CONFIGS[3]], x.astype("f8"), 300, 0.5)
    assert (x == 1.5).all()


def test_configurations_with_hooks(heard):
    """The hook is called before the kernel is known: it says here what the descriptor's blocks are."""
    torch = pytest.importorskip("torch")
    from naiad.tools.tensor_descriptor import TensorDescriptor

    def choose(arguments):
        arguments["desc"].block_shape = [arguments["BLOCK"]]
        arguments["out"][:] = 0

    memory, out = torch.arange(2048, dtype=torch.float32), torch.full((2048,), 5.0)
    configs = [naiad.Config({"BLOCK": block}, pre_hook=choose) for block in SIZES]
    tuner = naiad.autotune(configs, key=[], do_bench=one_call)(copy_blocks)
    tuner[lambda meta: (2048 // meta["BLOCK"],)](TensorDescriptor.from_tensor(memory, [1024]), out)
    assert heard == [True] * 5 and (out == memory).all() and not tuner.reasons


def test_a_server_that_is_gone(heard, monkeypatch):
    """What it does not do, this process does; the next tuning has a new one."""
    x, out = np.ones(300, "f4"), np.zeros(300, "f4")
    tuned(add, CONFIGS[:2], x, x, out, 300)
    server = next(iter(clients._clients.values()))
    monkeypatch.setattr(clients.Client, "is_alive", True)
    server.process.kill()
    server.process.wait()
    add.device_caches.clear()
    knobs.cache.dir = knobs.cache.dir + "-other"
    tuned(add, CONFIGS, x, x, out, 300)
    assert heard == [True] * 2 + [False] * 5
    monkeypatch.undo()
    assert not server.is_alive


def test_two_threads_do_not_share_a_server(heard):
    """Each would wait for answers that the other one has read."""
    x, out = np.ones(300, "f4"), np.zeros(300, "f4")
    with ahead._turn:
        tuned(add, CONFIGS, x, x, out, 300)
    assert heard == [False] * len(CONFIGS) and (out == 2).all()


def test_an_interrupted_tuning_leaves_no_server(heard, monkeypatch):
    """It may have read half a message, and would answer the next tuning for this one."""
    x, out = np.ones(300, "f4"), np.zeros(300, "f4")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(clients.Client, "send", interrupt)
        tuned(add, CONFIGS, x, x, out, 300)
    assert not any(client.is_alive for client in clients._clients.values())
    add.device_caches.clear()
    tuned(add, CONFIGS, x, x, out, 300)
    assert heard == [True] * len(CONFIGS)


def interrupt(*args):
    raise KeyboardInterrupt


def test_a_server_whose_program_is_gone_says_nothing(capfd):
    server = clients.Client(GPUTarget("cpu", "", 1))
    server.answers(wait=True)
    server.send(Job("no kernel", None, None, {}, dict(os.environ)))
    server.process.stdout.close()
    server.process.stdin.close()
    assert server.process.wait(timeout=30) == 0 and "Error" not in capfd.readouterr().err


def test_more_files_than_select_takes(heard):
    held = [os.dup(0) for _ in range(1030)]
    try:
        server = clients.Client(GPUTarget("cpu", "", 1))
        assert server.answers(wait=True) == [] and server.ready
        server.close()
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_mistakes_are_seen_here(heard):
    """An argument that is not there is an error of the call, whatever process compiles."""
    with pytest.raises(TypeError, match="out"):
        tuned(add, CONFIGS, np.ones(3, "f4"), np.ones(3, "f4"))


def test_settings_that_other_processes_do_not_know_of(heard):
    x, out = np.ones(300, "f4"), np.zeros(300, "f4")
    knobs.compilation.always_compile = True
    tuned(add, CONFIGS[:2], x, x, out, 300)
    assert heard == [False] * 2


def test_how_many_processes(monkeypatch):
    assert process_count(30) == 30 and process_count(0) == min(16, len(os.sched_getaffinity(0)))
    monkeypatch.delattr(os, "fork")
    assert process_count(3) == 1
