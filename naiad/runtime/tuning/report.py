"""What tuning says: a table of the configurations, the progress line, and why there is none to choose."""

import math
import sys
from collections.abc import Mapping
from typing import Any

from naiad import knobs
from naiad.errors import CompilationError, CompileTimeAssertionFailure, InterpreterError
from naiad.runtime.config import Config
from naiad.runtime.tuning.timings import median

__all__ = ["Progress", "failure", "reason_of", "table"]


def table(
    name: str,
    key: tuple[Any, ...],
    found: Mapping[Config, Any],
    reasons: Mapping[Config, str],
    best: Config,
    duration: float | None,
) -> str:
    """All configurations, fastest first, and those that cannot run with the reason. The frame is Triton's."""
    took = "taken from the cache," if duration is None else f"finished after {duration:.2f}s,"
    lines = [f"Triton autotuning for function {name},", f"with key as {key},", took]
    for config in sorted(found, key=lambda config: median(found[config])):
        time = median(found[config])
        shown = f"{time:.4f} ms" if math.isfinite(time) else "cannot run"
        lines.append(f"{'*' if config is best else ' '} {shown:>14}  {config}")
        if config in reasons:
            lines.append(f"{'':18}{reasons[config]}")
    return "\n".join([*lines, f"best config selected: {best};"])


def reason_of(error: BaseException) -> str:
    """Why a configuration is out, in a line; of a mistake that the compiler found, with its place."""
    if isinstance(error, InterpreterError):
        lines = [line for line in str(error).splitlines() if not line.startswith("in program ")]
        return f"{lines[0]}: {lines[-1]}"
    if not isinstance(error, CompilationError):
        return (str(error) or type(error).__name__).splitlines()[-1]
    while error.inner is not None:
        error = error.inner
    failed = "static_assert failed" if isinstance(error, CompileTimeAssertionFailure) else type(error).__name__
    reason = (error.error_message or failed).splitlines()[-1]
    return f"{error.place.header}: {reason}" if error.place and error.place.header else reason


def failure(name: str, configs: Mapping[Config, str]) -> str:
    """The text of the error when no configuration can run: each with its reason, equal reasons once."""
    grouped: dict[str, list[Config]] = {}
    for config, reason in configs.items():
        grouped.setdefault(reason, []).append(config)
    lines = [f"none of the {len(configs)} configurations of {name} can run here:"]
    for reason, alike in grouped.items():
        lines += [*(f"  {config}" for config in alike), f"    {reason}"]
    return "\n".join(lines)


class Progress:
    """A line on stderr that says how far tuning is, where somebody looks at it: a terminal, or the table was asked for.

    On a terminal the line is written over; elsewhere there is one for each step.
    """

    def __init__(self, name: str) -> None:
        self.name, self.width, self.last = name, 0, ""
        self.over = sys.stderr is not None and sys.stderr.isatty()
        self.shown = self.over or knobs.autotuning.print

    def __call__(self, step: str, done: int, count: int, lost: int = 0) -> None:
        """`step` is what is being done: compiling, timing."""
        if not self.shown or (not self.over and step == self.last):
            return
        self.last = step
        text = f"naiad: tuning {self.name}: {step} {done}/{count}" + (f", {lost} cannot run" if lost else "")
        if self.over:
            sys.stderr.write("\r" + text.ljust(self.width))
        else:
            sys.stderr.write(f"naiad: tuning {self.name}: {step} {count} configurations\n")
        self.width = len(text)
        sys.stderr.flush()

    def clear(self) -> None:
        """Takes the line away."""
        if self.over and self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
        self.width = 0
