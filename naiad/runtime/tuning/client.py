"""The program's side of the compile server: it is started when it is needed, and asked again while it lives."""

import atexit
import contextlib
import os
import pickle
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from naiad.runtime.tuning.server import Answer, Frames, Job, framed

__all__ = ["Client", "client_for", "process_count"]

ROOT = str(Path(__file__).parents[3])
ENOUGH = 16
"""More processes would wait for the program, which runs the front end."""
CODE = """\
import pickle, sys
path, target = pickle.loads(bytes.fromhex(sys.argv[1]))
sys.path[:] = path
from naiad.backends.base import GPUTarget
from naiad.runtime.tuning.server import main
main(GPUTarget(*target))
"""


def process_count(asked: int) -> int:
    """How many processes compile at a time: what NAIAD_TUNE_JOBS says; 0: a core each, up to ENOUGH."""
    if not hasattr(os, "fork") or not sys.executable:
        return 1
    if asked > 0:
        return asked
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, ENOUGH)


class Client:
    """A running server. EOFError and OSError where it is gone."""

    def __init__(self, target: Any) -> None:
        path = [ROOT, *filter(None, sys.path)]
        facts = pickle.dumps((path, (target.backend, target.arch, target.warp_size)))
        command = [sys.executable, "-P", "-c", CODE, facts.hex()]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # it forks: no threads
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.owner, self.target, self.ready, self.frames = os.getpid(), target, False, Frames()

    def send(self, job: Job) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(framed(job))
        self.process.stdin.flush()

    def answers(self, wait: bool) -> list[Answer]:
        """What came since the last time; with `wait`, at least one, or the word that the server is ready."""
        assert self.process.stdout is not None
        found: list[Answer] = []
        output, arrived = self.process.stdout.fileno(), select.poll()  # not select(): descriptors may be over 1024
        arrived.register(output, select.POLLIN)
        while not found and arrived.poll(None if wait else 0):
            if not (data := os.read(output, 1 << 16)):
                raise EOFError("the compile server has ended")
            messages = list(self.frames.feed(data))
            found += messages if self.ready else messages[1:]
            if messages and not self.ready:
                self.ready = True
                break
        return found

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked by this process: a fork of the program has its own."""
        return self.owner == os.getpid() and self.process.poll() is None

    def close(self) -> None:
        """Lets it end: it does when its requests end."""
        if self.owner != os.getpid():
            return
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        try:
            self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


_clients: dict[str, Client] = {}


def client_for(target: Any, start: bool) -> Client | None:
    """The server that compiles for a target; where there is none, a new one, or None unless `start`."""
    name = f"{target.backend}:{target.arch}"
    client = _clients.get(name)
    if client is not None and client.is_alive:
        return client
    if client is not None:
        client.close()
        del _clients[name]
    if not start:
        return None
    client = _clients[name] = Client(target)
    return client


@atexit.register
def _close() -> None:
    for client in _clients.values():
        client.close()
    _clients.clear()
