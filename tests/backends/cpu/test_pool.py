"""The thread pool: every program runs exactly once, whatever is launched at the same time, and after a fork."""

import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from naiad.backends.cpu import host, pool
from naiad.backends.cpu.loader import load
from naiad.backends.cpu.toolchain import Machine, object_code

# Adds one to the byte-sized counter of each program: counters of other programs must not be touched.
COUNT = """
define void @count(i64 %begin, i64 %end, ptr %args) {
entry:
  %base = load ptr, ptr %args
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %next, label %done
next:
  %i = phi i64 [ %begin, %entry ], [ %i1, %next ]
  %p = getelementptr i32, ptr %base, i64 %i
  %old = load i32, ptr %p
  %new = add i32 %old, 1
  store i32 %new, ptr %p
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %next, label %done
done:
  ret void
}
"""


@pytest.fixture(scope="module")
def count():
    return load(object_code(COUNT, Machine.of(host.host())), ["count"])


def pools():
    found = [pytest.param(lambda: pool.PythonPool(3), id="python")]
    if sys.platform.startswith("linux"):
        found.append(pytest.param(native, id="native"))
    return found


def native(threads=4):
    made = pool.native_pool()
    made.configure(threads, 1000)
    return made


def launch(made, count, counters, grain=1):
    slots = (ctypes.c_void_p * 1)(counters.ctypes.data)
    made.run(count.address("count"), len(counters), grain, ctypes.addressof(slots))


@pytest.mark.parametrize("make", pools())
@pytest.mark.parametrize("programs", [0, 1, 2, 3, 31, 32, 33, 1000, 4097])
@pytest.mark.parametrize("grain", [1, 7, 100000])
def test_each_program_once(make, count, programs, grain):
    made = make()
    counters = np.zeros(programs, np.int32)
    for _ in range(20):
        launch(made, count, counters, grain)
    assert (counters == 20).all()


@pytest.mark.parametrize("make", pools())
def test_launches_from_many_threads(make, count):
    made = make()
    rounds = 300
    counters = [np.zeros(997, np.int32) for _ in range(4)]

    def work(mine):
        for _ in range(rounds):
            launch(made, count, mine)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((mine == rounds).all() for mine in counters)


@pytest.mark.parametrize("make", pools())
def test_launches_after_sleep(make, count):
    """Workers that have gone to sleep are woken."""
    made = make()
    counters = np.zeros(4096, np.int32)
    for _ in range(5):
        launch(made, count, counters)
        threading.Event().wait(0.02)
    assert (counters == 5).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("make", pools())
def test_child_after_fork(make, count):
    made = make()
    counters = np.zeros(4096, np.int32)
    launch(made, count, counters)
    stop = threading.Event()

    def busy():
        other = np.zeros(4096, np.int32)
        while not stop.is_set():
            launch(made, count, other)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                good = False
                try:
                    for _ in range(50):
                        launch(made, count, counters)
                    good = bool((counters == 51).all())
                finally:
                    os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    assert (counters == 1).all()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the native pool is Linux's")
def test_native_pool_starts_its_threads(count):
    made = native()
    counters = np.zeros(100, np.int32)
    launch(made, count, counters)
    assert made.started() >= 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the native pool is Linux's")
def test_the_second_process_does_not_import_llvm(tmp_path):
    program = (
        "import sys; from naiad.backends.cpu.pool import runner; runner().address; print('llvmlite' in sys.modules)"
    )
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert [line.split() for line in said] == [["True"], ["False"]]


def test_damaged_files_are_compiled_again(tmp_path, monkeypatch):
    from naiad.backends.cpu.code_cache import native_image

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert native_image(COUNT, ["count"])
    [file] = (tmp_path / "native").iterdir()
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (whole[:100], b"", bytes(flipped)):
        file.write_bytes(damaged)
        assert native_image(COUNT, ["count"]) and file.read_bytes() == whole


def test_thread_count_follows_the_environment(monkeypatch):
    monkeypatch.setenv("NAIAD_NUM_THREADS", "3")
    assert pool.thread_count() == 3
    monkeypatch.delenv("NAIAD_NUM_THREADS")
    assert 1 <= pool.thread_count() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("cpu", ["x86-64", "aarch64"])
def test_the_code_is_for_every_cpu(cpu):
    """Pool and launcher assemble and link for both architectures (and run on this one, in the other tests)."""
    from naiad.backends.cpu import elf, launcher_code, pool_code
    from naiad.backends.launch import call_code

    target = host.profile(cpu)
    number = 62 if target.is_x86 else 183
    launcher = call_code.launcher_text(launcher_code.DECLARATIONS, launcher_code.RUN, launcher_code.Word, 32)
    texts = [pool_code.pool_text("x86_64" if target.is_x86 else "aarch64"), launcher]
    for text, wanted in zip(texts, (pool_code.NAMES, call_code.NAMES), strict=True):
        image = elf.load(object_code(text, Machine.of(target)), resolve=lambda name: 0x7F0012345678, machine=number)
        assert set(wanted) <= set(image.symbols)
