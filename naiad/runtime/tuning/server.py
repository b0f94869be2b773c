"""The process that compiles configurations for tuning, in forks of itself: one that dies takes nothing else along.

It is a new Python, not a fork of the program: there, threads of torch or CUDA would be in the way. It gets kernels as
ttir, since the Python functions are the program's own, and puts what it compiled into the cache on disk. Requests and
answers are pickles with their length before them, on stdin and stdout.
"""

import contextlib
import gc
import os
import pickle
import selectors
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from naiad import knobs
from naiad.backends.base import GPUTarget
from naiad.compiler.compiler import compile
from naiad.compiler.source import ASTSource

__all__ = ["Answer", "Frames", "Job", "ShippedSource", "framed", "main"]

IDLE_S = 60.0
"""Without a request for so long, the server ends."""
WARM = """
tt.func public @warm(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %i = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %j = tt.broadcast %i : tensor<16x1xi32> -> tensor<16x16xi32>
  %m = tt.splat %n : i32 -> tensor<16x16xi32>
  %mask = arith.cmpi slt, %j, %m : tensor<16x16xi32>
  %b = tt.splat %x : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %p = tt.addptr %b, %j : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<16x16xf32>) : i32 {
    %v = tt.load %p, %mask, %zero : tensor<16x16x!tt.ptr<f32>>
    %d = tt.dot %v, %v, %a : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  }
  tt.store %p, %sum, %mask : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
"""
"""A kernel that is compiled before there are forks, so that these find everything imported."""


class ShippedSource(ASTSource):
    """An ASTSource of another process: its ttir, and what of it is in the cache's key."""

    def __init__(self, src: ASTSource, module: bytes) -> None:
        self.language, self.ext, self.name, self.module = src.language, src.ext, src.name, module
        self.signature = {name: _plain(kind) for name, kind in src.signature.items()}
        self.constants = dict.fromkeys(src.constants)
        self.attrs = {}
        self.digest, self.parts = src.hash(), src.described()

    @property
    def is_stable(self) -> bool:
        return True

    def hash(self) -> str:
        return self.digest

    def described(self) -> dict[str, Any]:
        return self.parts

    def make_ir(self, target: GPUTarget, options: Any, *triton: Any, **more: Any) -> Any:
        from naiad.ir.packed import unpack

        return unpack(self.module)


def _plain(kind: Any) -> Any:
    """The type of a tuple without the class that named its parts."""
    return tuple(map(_plain, kind)) if isinstance(kind, tuple) else kind


@dataclass(frozen=True)
class Job:
    """A kernel to be compiled under the key `key`, with the environment of the program that asks."""

    key: str
    src: ShippedSource
    target: GPUTarget
    options: dict[str, Any]
    environment: dict[str, str]

    def compile(self) -> None:
        """Leaves the kernel in the cache. Raises where it is not the kernel that was meant."""
        os.environ.clear()
        os.environ.update(self.environment)
        knobs.refresh_knobs()
        kernel = compile(self.src, self.target, self.options)
        if kernel.hash != self.key:
            raise RuntimeError("settings that the environment does not hold are part of the key")


@dataclass(frozen=True)
class Answer:
    """What became of the job `key`. `died` says why, where its process did; then nothing is in the cache."""

    key: str
    died: str = ""


def framed(message: Any) -> bytes:
    data = pickle.dumps(message)
    return len(data).to_bytes(8, "little") + data


@dataclass
class Frames:
    """The messages in a stream of bytes that arrives in pieces."""

    buffer: bytes = b""

    def feed(self, data: bytes) -> Iterator[Any]:
        self.buffer += data
        while len(self.buffer) >= 8 and len(self.buffer) >= (end := 8 + int.from_bytes(self.buffer[:8], "little")):
            message, self.buffer = self.buffer[8:end], self.buffer[end:]
            yield pickle.loads(message)


@dataclass
class Worker:
    """A fork that compiles one job after the other, and has its own end of two pipes and a file for what it prints."""

    pid: int
    jobs: int
    done: int
    log: Any
    key: str = ""

    def give(self, job: Job) -> None:
        self.key = job.key
        with contextlib.suppress(BrokenPipeError):  # it has died meanwhile: the other pipe says so
            os.write(self.jobs, framed(job))

    def buried(self) -> str:
        """How it ended, once it has."""
        for pipe in (self.jobs, self.done):
            os.close(pipe)
        _, status = os.waitpid(self.pid, 0)
        with self.log:
            return _obituary(status, self.log)


@dataclass
class Server:
    """Gives jobs to workers, as many as there are jobs at a time, and tells what became of them."""

    answers: int
    selector: Any = field(default_factory=selectors.DefaultSelector)
    idle: list[Worker] = field(default_factory=list)
    busy: int = 0

    def run(self) -> None:
        """Until stdin ends, or nobody asked for long."""
        self.selector.register(0, selectors.EVENT_READ, Frames())
        self.tell(Answer(""))
        listening = True
        while listening or self.busy:
            ready = self.selector.select(None if self.busy else IDLE_S)
            if not ready:
                return
            for key, _ in ready:
                data = os.read(key.fd, 1 << 20)
                if key.fd:
                    self.hear(key.data, data)
                elif data:
                    for job in key.data.feed(data):
                        self.start(job)
                else:
                    self.selector.unregister(0)
                    listening = False

    def tell(self, answer: Answer) -> None:
        os.write(self.answers, framed(answer))

    def start(self, job: Job) -> None:
        worker = self.idle.pop() if self.idle else self.fork()
        worker.give(job)
        self.busy += 1

    def fork(self) -> Worker:
        jobs, done = os.pipe(), os.pipe()
        log = tempfile.TemporaryFile()  # noqa: SIM115
        pid = os.fork()
        if pid == 0:
            for pipe in (0, self.answers, jobs[1], done[0]):
                os.close(pipe)
            _work(jobs[0], done[1], log)
        os.close(jobs[0])
        os.close(done[1])
        worker = Worker(pid, jobs[1], done[0], log)
        self.selector.register(worker.done, selectors.EVENT_READ, worker)
        return worker

    def hear(self, worker: Worker, data: bytes) -> None:
        """A worker has done its job, or has ended: with it, the job."""
        died = ""
        if data:
            self.idle.append(worker)
        else:
            self.selector.unregister(worker.done)
            died = worker.buried()
            if worker in self.idle:
                self.idle.remove(worker)
                return
        self.busy -= 1
        self.tell(Answer(worker.key, died))


def _work(jobs: int, done: int, log: Any) -> None:
    """What a fork does. An error is the program's to see, which compiles the kernel itself to get it."""
    for output in (1, 2):
        os.dup2(log.fileno(), output)
    frames = Frames()
    while data := os.read(jobs, 1 << 20):
        for job in frames.feed(data):
            os.lseek(log.fileno(), 0, os.SEEK_SET)
            os.ftruncate(log.fileno(), 0)
            with contextlib.suppress(BaseException):
                job.compile()
            os.write(done, b".")
    os._exit(0)


def _obituary(status: int, log: Any) -> str:
    """How a process ended, and its last words: LLVM says there what it could not do."""
    log.seek(0)
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    words = next((line for line in lines if line.startswith("LLVM ERROR")), lines[-1] if lines else "")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        how = f"was killed by signal {number} ({signal.strsignal(number)})"
    else:
        how = f"ended with status {os.waitstatus_to_exitcode(status)}"
    return f"the process that compiled it {how}" + (f": {words[:300]}" if words else "")


def main(target: GPUTarget) -> None:
    """Serves on stdin and stdout; what compilers print goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the program that stops, and then this ends
    answers = os.dup(1)
    os.dup2(2, 1)
    with contextlib.suppress(Exception), tempfile.TemporaryDirectory() as folder, knobs.cache.scope():
        knobs.cache.dir, path = folder, os.path.join(folder, "warm.ttir")
        with open(path, "w") as file:
            file.write(WARM)
        compile(path, target)
    gc.collect()
    gc.freeze()
    with contextlib.suppress(BrokenPipeError):  # the program ended, and does not hear the last answers
        Server(answers).run()
