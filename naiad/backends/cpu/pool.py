"""The threads that run a launch's programs: how many, the native pool, and a pool in Python where there is none.

`runner()` is what launches use. `run(kernel, programs, grain, arguments)` calls `kernel(begin, end, arguments)` until
every program has run, on all threads, and returns when they are done; a second launch at the same time runs alone.
"""

import ctypes
import functools
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from naiad import knobs
from naiad.backends.cpu import pool_code
from naiad.backends.cpu.code_cache import native_image
from naiad.backends.cpu.host import host
from naiad.backends.cpu.system import has_native_pool

SPIN_SECONDS = 200e-6
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Runner(Protocol):
    """Runs programs on threads. `address` is that of the native `naiad_pool_run`, 0 if this pool is not native."""

    @property
    def address(self) -> int: ...

    def run(self, kernel: int, programs: int, grain: int, arguments: int) -> None: ...


def thread_count() -> int:
    """Threads of a launch: NAIAD_NUM_THREADS, else the cores that this process may use (affinity and cgroup quota)."""
    if (wanted := knobs.naiad.num_threads) > 0:
        return wanted
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, quota(cores)))


def quota(cores: int) -> int:
    """Cores that the cgroup lets this process use at once; `cores` where there is no limit."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            allowed, period = file.read().split()
        return cores if allowed == "max" else -(-int(allowed) // int(period))
    except (OSError, ValueError):
        return cores


@functools.cache
def runner() -> Runner:
    """This process's pool."""
    return native_pool() if has_native_pool() else PythonPool(thread_count())


@dataclass(frozen=True)
class NativePool:
    """The pool of `pool_code.py`."""

    address: int
    configure: Callable[..., Any]
    started: Callable[..., Any]
    call: Callable[..., Any]

    def run(self, kernel: int, programs: int, grain: int, arguments: int) -> None:
        self.call(kernel, programs, grain, arguments)


@functools.cache
def native_pool() -> NativePool:
    """Loads the pool; its threads start with the first launch that needs them."""
    text = pool_code.pool_text("x86_64" if host().is_x86 else "aarch64")
    image = native_image(text, pool_code.NAMES)
    # Detached threads run this code until the process is gone: it is never unloaded, not even at exit.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(image.memory))
    i64, pointer = ctypes.c_int64, ctypes.c_void_p
    run, configure, started, reset, pause = (image.address(name) for name in pool_code.NAMES)
    pool = NativePool(
        run,
        ctypes.CFUNCTYPE(None, i64, i64)(configure),
        ctypes.CFUNCTYPE(i64)(started),
        ctypes.CFUNCTYPE(None, pointer, i64, i64, pointer)(run),
    )
    pool.configure(thread_count(), spins(ctypes.CFUNCTYPE(None, i64)(pause)))
    os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(reset))
    return pool


def spins(pause: Callable[..., Any]) -> int:
    """How many pauses take SPIN_SECONDS (one takes 5 to 150 cycles, as the CPU likes)."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        pause(500)
        times.append(time.perf_counter() - start)
    return max(100, int(SPIN_SECONDS / min(times) * 500))


class PythonPool:
    """The same with Python's threads, for systems without the native pool; a hand-off costs about 30 us."""

    address = 0

    def __init__(self, threads: int):
        self.threads = threads
        self.lock = threading.Lock()
        self.restart()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.restart)

    def restart(self) -> None:
        """Makes the threads, again in a child after fork."""
        from concurrent.futures import ThreadPoolExecutor  # most processes have the native pool

        self.lock = threading.Lock()
        self.executor = ThreadPoolExecutor(max(1, self.threads - 1), thread_name_prefix="naiad")

    def run(self, kernel: int, programs: int, grain: int, arguments: int) -> None:
        call = KERNEL(kernel)
        if programs <= max(grain, 1) or self.threads == 1 or not self.lock.acquire(blocking=False):
            call(0, programs, arguments)
            return
        try:
            chunk = max(grain, -(-programs // (8 * self.threads)))
            begins = iter(range(0, programs, chunk))  # `next` on it is atomic

            def work() -> None:
                for begin in begins:
                    call(begin, min(begin + chunk, programs), arguments)

            helpers = [self.executor.submit(work) for _ in range(min(self.threads, -(-programs // chunk)) - 1)]
            work()
            for helper in helpers:
                if not helper.cancel():
                    helper.result()
        finally:
            self.lock.release()
