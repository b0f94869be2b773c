"""One run of a kernel for `check`: on the interpreter, compiled for the CPU, or for a GPU."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from naiad.language.function import Function
from naiad.testing.copies import Plan, Run, View

Program = tuple[int, int, int]


def backends_here() -> list[str]:
    """What kernels can run on in this process: the interpreter, the CPU, and a GPU that torch sees."""
    return ["interpreter", "cpu", *(["cuda"] if _has_gpu() else [])]


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available() and torch.version.cuda is not None


@dataclass(frozen=True)
class Trial:
    """A kernel, its arguments, where it runs, what fills the memory around, and in which order its programs run.

    `watch`: called by the interpreter with the copies before the first program, and after each with the program.
    """

    function: Function
    plan: Plan
    grid: Any
    meta: Mapping[str, Any]
    outputs: Sequence[str]
    backend: str
    poison: int
    backwards: bool = False
    watch: Callable[[Run, Program | None], None] | None = None

    def run(self) -> Run:
        made, arguments = self.plan.run("cuda" if self.backend == "cuda" else "cpu", self.poison, self.outputs)
        LAUNCHERS[self.backend](self, made, arguments)
        return made.fetch()

    def programs(self, made: Run) -> Callable[[Program], Iterable[Program]]:
        """The order of the interpreter's programs."""
        from naiad.runtime.interpreter.launch import in_order

        def chosen(sizes: Program) -> Iterator[Program]:
            order = list(in_order(sizes))
            if self.watch is not None:
                self.watch(made, None)
            for program in reversed(order) if self.backwards else order:
                yield program
                if self.watch is not None:
                    self.watch(made, program)

        return chosen


def _interpret(trial: Trial, made: Run, arguments: dict[str, Any]) -> None:
    from naiad.runtime.interpreter import InterpretedFunction, launch

    function = trial.function
    shown = function if isinstance(function, InterpretedFunction) else InterpretedFunction(function.fn)
    launch(shown, trial.grid, (), {**arguments, **trial.meta}, trial.programs(made))


def _compile(trial: Trial, made: Run, arguments: dict[str, Any]) -> None:
    from naiad.runtime.interpreter import InterpretedFunction
    from naiad.runtime.jit import JITFunction

    function: Any = trial.function
    compiled = JITFunction(function.fn) if isinstance(function, InterpretedFunction) else function
    compiled[trial.grid](**arguments, **trial.meta)


LAUNCHERS: dict[str, Callable[[Trial, Run, dict[str, Any]], None]] = {
    "interpreter": _interpret, "cpu": _compile, "cuda": _compile,
}  # fmt: skip


def writer_of(trial: Callable[..., Trial], view: View, index: tuple[int, ...]) -> Program | None:
    """The last program that changes an element in the interpreter; None if none does, or the kernel fails there."""
    seen: list[bytes] = []
    found: list[Program | None] = [None]

    def watch(made: Run, program: Program | None) -> None:
        now = view.bytes_of(made.region(view.region))[index].tobytes()
        if program is not None and now != seen[-1]:
            found[0] = program
        seen[:] = [now]

    try:
        trial("interpreter", 0x5A, watch=watch).run()
    except Exception:
        return None
    return found[0]
