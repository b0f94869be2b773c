"""One configuration on the caller's arrays: compiling it, and runs that leave the arrays as they were."""

from collections.abc import Mapping
from typing import Any

from naiad import knobs
from naiad.errors import CompilationError, InterpreterError, OutOfResources, PTXASError, TritonError
from naiad.runtime.config import Config
from naiad.runtime.heuristic import Heuristics
from naiad.runtime.jit import JITFunction
from naiad.runtime.launcher import launch
from naiad.runtime.places import arrays_in
from naiad.runtime.tuning.mistakes import named_array
from naiad.runtime.tuning.snapshot import Snapshot

__all__ = ["LOST", "CompilerDied", "Trial", "is_lost"]


class CompilerDied(TritonError):
    """A process that compiled a configuration was killed, or killed itself."""


LOST = (OutOfResources, CompilationError, PTXASError, CompilerDied)
"""Errors with which a configuration only loses."""


def is_lost(error: Exception) -> bool:
    """Whether a configuration only loses with an error: where the interpreter says what a compilation would."""
    cause = error.__cause__ if isinstance(error, InterpreterError) else None
    return isinstance(error, LOST) or isinstance(cause, CompilationError | ValueError | AssertionError)


class Trial:
    """A configuration with the arguments of the call that is being tuned.

    A run is `prepare()`, `launch()`, `finish()`. What is timed is `launch` alone: the hook of the configuration, which
    every launch calls, and the kernel. Calling a trial does all three, for benchmarks that only take a function.
    """

    def __init__(self, tuner: Any, snapshot: Snapshot, args: tuple[Any, ...], config: Config, meta: Any) -> None:
        self.tuner, self.snapshot, self.args, self.config = tuner, snapshot, args, config
        self.current = {**meta, **config.all_kwargs()}
        self.arguments = {**(tuner.nargs or {}), **self.current}
        self.target: Any = None

    def kernel(self) -> Any:
        """The kernel, compiled for the device of the arguments; None where only a launch would say which it is."""
        if self.config.pre_hook:  # it may change arguments that the kernel is compiled for
            self.config.pre_hook(self.arguments)
        function, keywords = self.tuner.fn, dict(self.current)
        while isinstance(function, Heuristics):
            function, keywords = function.fn, function.computed(self.args, keywords)
        if not isinstance(function, JITFunction) or type(function).run is not JITFunction.run:
            return None
        keywords = {name: value for name, value in keywords.items() if name not in ("grid", "warmup")}
        keywords["debug"] = keywords.get("debug", function.debug) or knobs.runtime.debug
        return function.device_caches.of(self.args, keywords, False).kernel_for(self.args, keywords, False)[0]

    def compile(self) -> None:
        """Compiles the kernel, and copies those arrays that it may write and that no earlier trial wrote."""
        try:
            self.copy_written()
        except LOST as error:
            self.refuse(error)
            raise

    def copy_written(self) -> None:
        kernel = self.kernel()
        kernel = kernel.result() if hasattr(kernel, "result") else kernel
        metadata = getattr(kernel, "metadata", None)
        self.target = getattr(metadata, "target", None)
        self.cover(getattr(metadata, "writes", None))

    def cover(self, writes: list[str] | None) -> None:
        """Copies what the kernel may write: the arguments called so, or all arrays where nothing is known."""
        for name in self.tuner.restore_value:
            self.snapshot.cover(name, arrays_in(named_array(self.tuner, "restore_value", self.arguments, name)))
        if not self.tuner.restore_written:
            return
        for name in self.arguments if writes is None else writes:
            self.snapshot.cover(name, arrays_in(_part(self.arguments, name)))
        if writes is not None:
            self.snapshot.forget_hooks({*self.tuner.restore_value, *writes})

    def copy_all(self) -> None:
        """Before hooks of configurations are called, which may write whatever: until it is known what kernels write,
        copies all arrays."""
        if self.tuner.restore_written and not self.snapshot.copies:
            for name, argument in self.arguments.items():
                self.snapshot.cover(name, arrays_in(argument))
            self.snapshot.for_hooks = True

    def refuse(self, error: Exception) -> None:
        """Tells the user's hooks of a configuration that is not run: they are called in pairs."""
        if self.tuner.user_defined_post_hook:
            self.tuner.pre_hook(self.arguments)
            self.tuner.post_hook(self.arguments, exception=error)

    def prepare(self) -> None:
        self.snapshot.restore()
        self.tuner.pre_hook(self.arguments)

    def launch(self) -> None:
        try:
            if self.config.pre_hook:
                self.config.pre_hook(self.arguments)
            launch(self.tuner.fn, self.args, dict(self.current))
        except Exception as error:
            self.tuner.post_hook(self.arguments, exception=error)
            raise

    def finish(self) -> None:
        self.tuner.post_hook(self.arguments, exception=None)

    def __call__(self) -> None:
        """A whole run. Arrays that the user did not name are put back between configurations only: it may be timed."""
        self.snapshot.restore(self.tuner.restore_value)
        self.tuner.pre_hook(self.arguments)
        self.launch()
        self.finish()


def _part(arguments: Mapping[str, Any], name: str) -> Any:
    """The argument that a kernel's metadata calls `x`, or `pair.0`."""
    value, *steps = name.split(".")
    found: Any = arguments.get(value)
    for step in steps:
        found = found[int(step)]
    return found
