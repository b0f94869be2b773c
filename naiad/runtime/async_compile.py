"""Compiling ahead in an executor: within AsyncCompileMode, `warmup` hands the work over and returns at once."""

from collections.abc import Callable
from concurrent.futures import Executor, Future, as_completed
from typing import Any

from naiad.runtime.async_mode import active_mode


class FutureKernel:
    """A kernel that is being compiled. `result()` waits for it."""

    def __init__(self, finish: Callable[[Any], None], future: Future[Any]) -> None:
        self.finish = finish
        self.future = future
        self.kernel: Any = None

    def result(self, ignore_errors: bool = False) -> Any:
        """The CompiledKernel; None where compiling failed and errors are ignored."""
        if self.kernel is None:
            try:
                kernel = self.future.result()
            except Exception:
                if ignore_errors:
                    return None
                raise
            self.finish(kernel)
            self.kernel = kernel
        return self.kernel


class AsyncCompileMode:
    """A block in which kernels compile in `executor`. Its end waits for them, and raises the first error."""

    def __init__(self, executor: Executor, *, ignore_errors: bool = False) -> None:
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.future_kernels: dict[str, FutureKernel] = {}

    def submit(self, key: str, compile: Callable[[], Any], finish: Callable[[Any], None]) -> FutureKernel:
        """The kernel of `key`, handed to the executor unless it was before."""
        if key not in self.future_kernels:
            self.future_kernels[key] = FutureKernel(finish, self.executor.submit(compile))
        return self.future_kernels[key]

    def __enter__(self) -> "AsyncCompileMode":
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        try:
            kernels = {kernel.future: kernel for kernel in self.future_kernels.values()}
            for future in as_completed(list(kernels)):
                kernels[future].result(self.ignore_errors)
        finally:
            active_mode.set(None)
