"""`check`: one kernel on the interpreter, the CPU and the GPU, if there is one, and where their results part."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from naiad.language.function import Function
from naiad.testing.copies import Plan, Run
from naiad.testing.parting import Bound, Parting, parting
from naiad.testing.trial import LAUNCHERS, Trial, backends_here, writer_of

__all__ = ["CheckFailed", "Checked", "Difference", "check"]
POISONS = (0xFF, 0x7F)
"""The bytes that fill memory without a value: NaN and -1, in the second run large numbers."""


@dataclass(frozen=True)
class Difference:
    """What is wrong: on which backend, with which argument, in words. `parting`: where numbers differ; `program`: the
    program that writes the first such element in the interpreter, None where none does."""

    backend: str
    against: str
    argument: str
    text: str
    parting: Parting | None = None
    program: tuple[int, ...] | None = None

    def __str__(self) -> str:
        head = f"{self.backend}{' against ' if self.against else ''}{self.against}"
        where = f"{self.argument}: " if self.argument else ""
        by = "" if self.program is None else f"; program {self.program} writes it"
        return f"{head}: {where}{self.text}{by}"


@dataclass(frozen=True)
class Checked:
    """What `check` found: the backends that ran, and where they part. True if they do not."""

    kernel: str
    grid: Any
    backends: tuple[str, ...]
    outputs: tuple[str, ...]
    differences: tuple[Difference, ...] = field(default=())

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        head = f"{self.kernel}[{self.grid}] on {', '.join(self.backends)}"
        if self:
            return f"{head}: all agree on {', '.join(self.outputs) or 'having written nothing'}"
        return "\n  ".join([f"{head}:", *map(str, self.differences)])


class CheckFailed(AssertionError):
    """The results parted; `checked` says how."""

    def __init__(self, checked: Checked) -> None:
        super().__init__(str(checked))
        self.checked = checked


def check(
    kernel: Any,
    args: Sequence[Any] | Mapping[str, Any],
    grid: Any,
    reference: Callable[..., Any] | None = None,
    *,
    outputs: Sequence[str] | str = (),
    rtol: float | None = None,
    atol: float | None = None,
    backends: Sequence[str] | str | None = None,
    **meta: Any,
) -> Checked:
    """Runs a @jit kernel everywhere, on copies of `args`, and compares. Raises CheckFailed where the results part.

        check(add_kernel, (x, y, out, n), (98,), reference=lambda x, y: x + y, outputs=["out"], BLOCK=1024)

    Every backend runs twice, with other bytes around the arrays, and the interpreter with its programs backwards the
    second time: so it is seen when a kernel writes outside of its arrays, reads what nobody wrote, depends on the order
    of its programs, or does not give the same twice. Integers are compared bit for bit, floats within rtol and atol
    (see `parting.Bound`; the default goes by dtype).

    outputs: the arguments that the kernel writes whole; they are poisoned before. reference: a function of the
    kernel's arguments (those that it names, or else all by position), with floats in float64; it gives the outputs in
    order, or by name, or changes its arguments. backends: of interpreter, cpu, cuda; by default all that are here.
    meta: constants and options of the launch. A parameter with the name of one of these goes into `args`, as a dict.
    """
    function = _plain(kernel)
    if reference is not None and not callable(reference):
        raise TypeError(f"check: expected a function of the kernel's arguments for reference, found {reference!r}")
    arguments, outputs = _named(function, args), _listed(outputs)
    plan = Plan(arguments)
    if unknown := set(outputs) - {view.name for view in plan.views}:
        raise ValueError(f"{sorted(unknown)} are no arrays among the arguments {list(arguments)}")
    if callable(grid):
        defaults = {parameter.name: parameter.default for parameter in function.params if parameter.has_default}
        grid = grid({**defaults, **arguments, **meta})
    where = _listed(backends) or backends_here()
    session = _Session(function, plan, grid, meta, tuple(outputs), Bound(rtol, atol), where)
    differences = tuple(session.differences(reference))
    checked = Checked(function.__name__, grid, session.backends, session.written(), differences)
    if not checked:
        raise CheckFailed(checked)
    return checked


def _named(function: Function, args: Any) -> dict[str, Any]:
    """The arguments by name."""
    if isinstance(args, Mapping):
        return dict(args)
    if not isinstance(args, tuple | list):
        raise TypeError(f"check: expected a tuple of the kernel's arguments, or a dict, found {type(args).__name__}")
    if len(args) > len(function.arg_names):
        raise TypeError(f"{function.__name__} takes {function.arg_names}, and {len(args)} arguments were given")
    return dict(zip(function.arg_names, args, strict=False))


def _listed(names: Sequence[str] | str | None) -> list[str]:
    """Several names, or a single one."""
    return [names] if isinstance(names, str) else list(names or ())


def _plain(kernel: Any) -> Function:
    if not isinstance(kernel, Function):
        raise TypeError(
            f"check takes a @jit function, not a {type(kernel).__name__}: give its .fn, and what it computes or tunes "
            "as keywords"
        )
    return kernel


class _Session:
    """The runs of one check, and what they are compared by."""

    def __init__(
        self,
        function: Function,
        plan: Plan,
        grid: Any,
        meta: dict[str, Any],
        outputs: tuple[str, ...],
        bound: Bound,
        backends: Iterable[str],
    ) -> None:
        self.function, self.plan, self.grid, self.meta = function, plan, grid, meta
        self.outputs, self.bound, self.backends = outputs, bound, tuple(backends)
        if unknown := set(self.backends) - set(LAUNCHERS):
            raise ValueError(f"there is no backend {', '.join(sorted(unknown))}; there are {', '.join(LAUNCHERS)}")
        self.runs: dict[str, Run] = {}

    def trial(self, backend: str, poison: int, backwards: bool = False, watch: Any = None) -> Trial:
        return Trial(self.function, self.plan, self.grid, self.meta, self.outputs, backend, poison, backwards, watch)

    def differences(self, reference: Callable[..., Any] | None) -> Iterator[Difference]:
        for backend in self.backends:
            yield from self.alone(backend)
        first, *others = self.runs
        for backend in others:
            yield from self.pair(backend, self.runs[backend], first, self.runs[first])
        if reference is not None:
            wanted = self.expected(reference)
            for backend, run in self.runs.items():
                for name, want in wanted.items():
                    yield from self.compared(backend, run, "the reference", name, want)

    def alone(self, backend: str) -> Iterator[Difference]:
        """Runs a backend twice; what is wrong with it by itself."""
        try:
            run = self.runs[backend] = self.trial(backend, POISONS[0]).run()
            again = self.trial(backend, POISONS[1], backwards=True).run()
        except Exception as error:
            self.runs.setdefault(backend, Run(self.plan, "cpu", POISONS[0], self.outputs))
            yield Difference(backend, "", "", f"failed: {type(error).__name__}: {error}")
            return
        for spoiled in run.spoiled():
            yield Difference(backend, "", "", f"wrote {spoiled.count} bytes {spoiled.where}")
        yield from self.unwritten(backend, run, again)
        for difference in self.pair(backend, again, "its first run", run):
            if difference.argument not in self.holes(run, again):
                yield self.explained(backend, run, difference)

    def explained(self, backend: str, run: Run, difference: Difference) -> Difference:
        """Why two runs differ: one more, with the memory around as at first, tells."""
        third = self.trial(backend, POISONS[0], backwards=True).run()
        if all(parting(third.values(view), run.values(view), self.bound) is None for view in self.plan.views):
            why = "memory that nothing wrote"
        elif backend == "interpreter":
            why = "the order of its programs (a race)"
        else:
            why = "chance, it differs from run to run (a race)"
        return replace(difference, text=f"depends on {why}: {difference.text}")

    def holes(self, run: Run, again: Run) -> dict[str, np.ndarray]:
        """The outputs that have elements which still are poison in both runs, and which."""
        found = {}
        for view in self.plan.views:
            if view.name in self.outputs:
                parts = [view.bytes_of(r.region(view.region)) == r.poison for r in (run, again)]
                if (left := (parts[0] & parts[1]).all(axis=-1)).any():
                    found[view.name] = left
        return found

    def unwritten(self, backend: str, run: Run, again: Run) -> Iterator[Difference]:
        for name, left in self.holes(run, again).items():
            first = [int(i) for i in np.unravel_index(int(np.argmax(left)), left.shape)]
            yield Difference(
                backend, "", name, f"{int(left.sum())} of {left.size} elements were never written, the first at {first}"
            )

    def pair(self, backend: str, run: Run, against: str, other: Run) -> Iterator[Difference]:
        for view in self.plan.views:
            yield from self.compared(backend, run, against, view.name, other.values(view))

    def compared(self, backend: str, run: Run, against: str, name: str, want: Any) -> Iterator[Difference]:
        (view,) = (view for view in self.plan.views if view.name == name)
        got, want = run.values(view), np.asarray(want)
        if got.shape != want.shape:
            text = f"has shape {list(got.shape)}, and what is expected {list(want.shape)}"
            yield Difference(backend, against, name, text)
        elif (found := parting(got, want, self.bound, view.dtype)) is not None:
            program = writer_of(self.trial, view, found.index) if "interpreter" in self.backends else None
            yield Difference(backend, against, name, str(found), found, program)

    def written(self) -> tuple[str, ...]:
        """The arrays that the kernel changes, as far as the first run tells."""
        run, untouched = next(iter(self.runs.values())), Run(self.plan, "cpu", POISONS[0], self.outputs)
        changed = [
            view.name
            for view in self.plan.views
            if (view.bytes_of(run.region(view.region)) != view.bytes_of(untouched.region(view.region))).any()
        ]
        names = list(self.plan.arguments)
        return tuple(sorted({*changed, *self.outputs}, key=lambda name: (names.index(_root(name)), name)))

    def expected(self, reference: Callable[..., Any]) -> dict[str, np.ndarray]:
        """What the reference gives, by the names of the outputs."""
        wide = Wide(self.plan, self.meta)
        given = wide.call(reference)
        outputs = self.outputs or self.written()
        if given is None:
            return {name: wide.array(name) for name in outputs}
        if isinstance(given, Mapping):
            return {name: _host(value) for name, value in given.items()}
        values = given if isinstance(given, tuple | list) else (given,)
        if len(values) != len(outputs):
            raise ValueError(f"the reference gave {len(values)} arrays, and the kernel writes {', '.join(outputs)}")
        return {name: _host(value) for name, value in zip(outputs, values, strict=True)}


def _root(name: str) -> str:
    """The argument that an array belongs to: `pair[1]`, `desc.base`."""
    return name.split("[")[0].split(".")[0]


def _host(value: Any) -> np.ndarray:
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)


class Wide:
    """Copies of the arguments for a reference: floats in float64, arrays of torch where the originals are."""

    def __init__(self, plan: Plan, meta: Mapping[str, Any]) -> None:
        run, copies = plan.run("cpu", 0, ())
        self.copies = {**copies, **meta}
        for view in plan.views:
            if view.name in copies:
                self.copies[view.name] = _wide(copies[view.name], run.values(view))

    def array(self, name: str) -> np.ndarray:
        return _host(self.copies[name])

    def call(self, reference: Callable[..., Any]) -> Any:
        """Gives it the arguments that its parameters name; all of the launch's by position where one is none."""
        try:
            parameters = inspect.signature(reference).parameters
        except (TypeError, ValueError):
            return reference(*self.copies.values())
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return reference(**self.copies)
        if all(
            name in self.copies or parameter.default is not parameter.empty for name, parameter in parameters.items()
        ):
            return reference(**{name: self.copies[name] for name in parameters if name in self.copies})
        return reference(*self.copies.values())


def _wide(copy: Any, values: np.ndarray) -> Any:
    from naiad.rounding import is_float

    wide = values.astype(np.float64) if is_float(values.dtype) else values.copy()
    if not hasattr(copy, "untyped_storage"):
        return wide
    import torch

    return torch.from_numpy(wide)
