"""Compiling the configurations of a tuning before they are tried, in several processes where that is worth it.

A kernel is compiled by the compile server into the cache on disk, where its trial finds it. What the server does not
do for whatever reason, the trial does, and so it is there that a mistake in a kernel is seen.
"""

import contextlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from naiad import knobs
from naiad.backends import find
from naiad.compiler.compiler import uncollected
from naiad.compiler.store import FileStore, store
from naiad.runtime.async_mode import active_mode
from naiad.runtime.config import Config
from naiad.runtime.tuning.client import Client, client_for, process_count
from naiad.runtime.tuning.report import Progress
from naiad.runtime.tuning.server import Job, ShippedSource
from naiad.runtime.tuning.trial import CompilerDied, Trial

__all__ = ["compile_ahead"]

WORTH_STARTING_S = 2.0
"""What takes so long to compile is compiled sooner by a server, though that has to be started."""
WORTH_ASKING = 2
"""As few kernels as are sent to a server that runs."""
_turn = threading.Lock()
"""Of the thread that the server works for: its answers are for whoever reads them."""


class Candidate:
    """A kernel that is not compiled yet: it stands for it among the device's kernels, as a FutureKernel does."""

    def __init__(self, key: str, work: Any, finish: Callable[[Any], None]) -> None:
        self.key, self.finish, self.work = key, finish, work
        self.kernel: Any = None

    def result(self, ignore_errors: bool = False) -> Any:
        """The kernel, from the cache or compiled now."""
        if self.kernel is None:
            kernel = self.work()
            self.finish(kernel)
            self.kernel = kernel
        return self.kernel

    def job(self) -> Job:
        """What the server needs: the front end's part is done here."""
        from naiad.ir.packed import pack

        src, target, options = self.work.args[:3]
        with uncollected():
            module = pack(src.make_ir(target, find(target).parse_options(options)))
        return Job(self.key, ShippedSource(src, module), target, options, dict(os.environ))


class Collecting:
    """A mode of compiling, as AsyncCompileMode is one, in which nothing is compiled: kernels are only noted down."""

    def __init__(self) -> None:
        self.candidates: dict[str, Candidate] = {}

    def submit(self, key: str, compile: Any, finish: Callable[[Any], None]) -> Candidate:
        return self.candidates.setdefault(key, Candidate(key, compile, finish))

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        token = active_mode.set(self)
        try:
            yield
        finally:
            active_mode.reset(token)


def compile_ahead(trials: Sequence[Trial], progress: Progress) -> dict[Config, CompilerDied]:
    """Compiles what is not in the cache. Gives the configurations whose compiler died, which must not be tried."""
    count = process_count(knobs.naiad.tune_jobs)
    if count < 2 or len(trials) < WORTH_ASKING or not _is_possible():
        return {}
    collecting, keys = Collecting(), {}
    with collecting.active():
        for trial in trials:
            with contextlib.suppress(Exception):  # the trial will raise it again
                keys[trial.config] = getattr(trial.kernel(), "key", "")
    wanted = [candidate for candidate in collecting.candidates.values() if _is_wanted(candidate)]
    if len(wanted) < WORTH_ASKING or not _turn.acquire(blocking=False):  # another thread tunes: here the trials compile
        return {}
    try:
        died = _Compilations(wanted, count, progress).run()
    finally:
        _turn.release()
    return {config: CompilerDied(died[key]) for config, key in keys.items() if key in died}


def _is_possible() -> bool:
    """Whether another process can do the same: nothing that it does not know of has a part in compiling."""
    settings = knobs.compilation
    own = settings.always_compile or settings.dump_ir or settings.override or knobs.cache.manager_class
    passes = sys.modules.get("naiad.passes.pipeline")
    hooks = knobs.runtime.add_stages_inspection_hook or (passes is not None and passes._hooks)
    return not (own or hooks or active_mode.get() or knobs.runtime.interpret)


def _is_wanted(candidate: Candidate) -> bool:
    src = candidate.work.args[0]
    kept = store(candidate.key, src.name)
    return src.is_stable and isinstance(kept, FileStore) and not os.path.exists(kept.path(candidate.key))


class _Compilations:
    """Candidates on their way through the server, `count` at a time.

    Unless NAIAD_TUNE_JOBS asks for the server, this process begins, and goes on until the server is ready: it is
    started where what is left would take this process long.
    """

    def __init__(self, candidates: Sequence[Candidate], count: int, progress: Progress) -> None:
        self.waiting, self.count, self.progress = deque(candidates), count, progress
        self.total, self.done, self.seconds = len(candidates), 0, 0.0
        self.asked_for = knobs.naiad.tune_jobs > 1
        self.running: set[str] = set()
        self.died: dict[str, str] = {}

    def run(self) -> dict[str, str]:
        """Key to reason of those whose compiler died."""
        target = self.waiting[0].work.args[1]
        client = client_for(target, start=self.asked_for)
        try:
            while self.waiting or self.running:
                self.progress("compiling", self.done, self.total, len(self.died))
                client = client or client_for(target, start=self.seconds * len(self.waiting) > WORTH_STARTING_S)
                if self.waiting and not self.asked_for and (client is None or not client.ready):
                    self.compile_here(self.waiting.popleft())
                if client is not None:
                    self.step(client)
        except (EOFError, OSError):
            pass  # the server is gone: what it has not done is left to the trials
        except BaseException:  # it may have half a message, or answer later to nobody: the next tuning has another
            if client is not None:
                client.close()
            raise
        return self.died

    def compile_here(self, candidate: Candidate) -> None:
        """Compiles in this process. How long it takes says how long the others will; the first time, too long."""
        first = "naiad.compiler.code_generator" not in sys.modules
        start = time.perf_counter()
        with contextlib.suppress(Exception):  # the trial will raise it again
            candidate.result()
        self.seconds = 0.0 if first else time.perf_counter() - start
        self.done += 1

    def step(self, client: Client) -> None:
        """Gives the server what it can take, and hears what it has done."""
        while client.ready and self.waiting and len(self.running) < self.count:
            self.send(client, self.waiting.popleft())
        for answer in client.answers(wait=bool(self.running) or (self.asked_for and not client.ready)):
            self.running.discard(answer.key)
            self.done += 1
            if answer.died:
                self.died[answer.key] = answer.died

    def send(self, client: Client, candidate: Candidate) -> None:
        try:
            job = candidate.job()
        except Exception:  # a mistake in the kernel, or what cannot be sent: the trial will say it
            self.done += 1
            return
        client.send(job)
        self.running.add(candidate.key)
