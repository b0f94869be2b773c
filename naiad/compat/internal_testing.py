"""What test suites written for Triton import of `triton._internal_testing`: where they run, processes of their own."""

import functools
import multiprocessing
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from naiad import knobs
from naiad.backends.driver import driver

integral = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
int_dtypes, uint_dtypes, integral_dtypes = integral[:4], integral[4:], integral
float_dtypes = ["float16", "float32", "float64"]
dtypes = [*integral, *float_dtypes]
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]


def is_interpreter() -> bool:
    return knobs.runtime.interpret


def get_current_target() -> Any:
    return None if is_interpreter() else driver.active.get_current_target()


def _is_backend(name: str) -> bool:
    target = get_current_target()
    return target is not None and target.backend == name


def _has_capability(lowest: int, highest: int = 1000) -> bool:
    """Whether this is an NVIDIA GPU of a compute capability (90 is Hopper) in a range."""
    return is_cuda() and lowest <= int(get_current_target().arch) <= highest


def _is_gfx(prefix: str) -> bool:
    return is_hip() and str(get_current_target().arch).startswith(prefix)


is_cpu = functools.partial(_is_backend, "cpu")
is_cuda = functools.partial(_is_backend, "cuda")
is_hip = functools.partial(_is_backend, "hip")
is_xpu = functools.partial(_is_backend, "xpu")
is_ampere_or_newer = functools.partial(_has_capability, 80)
is_hopper = functools.partial(_has_capability, 90, 99)
is_hopper_or_newer = functools.partial(_has_capability, 90)
is_blackwell = functools.partial(_has_capability, 100, 119)
is_hip_cdna2 = functools.partial(_is_gfx, "gfx90a")
is_hip_cdna3 = functools.partial(_is_gfx, "gfx942")
is_hip_cdna4 = functools.partial(_is_gfx, "gfx950")
is_hip_rdna3 = functools.partial(_is_gfx, "gfx11")
is_hip_rdna4 = functools.partial(_is_gfx, "gfx12")


@dataclass
class ProcessResult:
    """How a function in a process of its own ended: its exception or None, and what it wrote to stderr."""

    exc: BaseException | None
    driver_stderr_output: str


def _child(function: Callable[..., Any], args: Any, keywords: Any, answer: Connection, env: Any, path: str) -> None:
    os.environ.update(env)
    with open(path, "wb") as sink:
        os.dup2(sink.fileno(), 2)
        try:
            function(*args, **keywords)
        except Exception as error:
            try:
                answer.send(error)
            except Exception:  # it cannot be pickled
                answer.send(RuntimeError(f"{type(error).__name__}: {error}"))
        else:
            answer.send(None)


def run_in_process(
    client_fn: Callable[..., Any], args: Any = (), kwargs: Any = None, env: dict[str, str] | None = None
) -> ProcessResult:
    """Runs a function in a new process. RuntimeError where that ends without a result: it crashed."""
    context = multiprocessing.get_context("forkserver")
    heard, answer = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stderr")
        process = context.Process(target=_child, args=(client_fn, args, kwargs or {}, answer, env or {}, path))
        process.start()
        answer.close()  # the child has the only one: where it ends, so does the pipe
        try:
            error = heard.recv()
        except EOFError:
            process.join()
            raise RuntimeError(f"the process ended with status {process.exitcode} and without a result") from None
        finally:
            heard.close()
        process.join()
        with open(path) as file:
            return ProcessResult(error, file.read())
