"""A pipeline is a list of passes, plus the orders that matter and why; the orders are checked when it is made.

    TTIR.run(module)
    TTIR.before("cse", MyPass()).after("licm", Other()).run(module)       # a new pipeline; TTIR stays

A process-wide hook changes every pipeline as it runs:

    with customized(lambda p: p.after("cse", MyPass()) if p.name == "ttir" else p): ...

or NAIAD_PIPELINE=package.module:function names such a function in the environment. `fingerprint()` belongs in a cache
key.
"""

import importlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from naiad import knobs
from naiad.passes.watch import watched

__all__ = ["Observer", "Order", "Pipeline", "customized", "fingerprint"]

Observer = Callable[[ModulePass, ModuleOp, float], None]
"""Called after each pass with the pass, the module as it is then, and the seconds that the pass took."""

Hook = Callable[["Pipeline"], "Pipeline"]
_hooks: list[Hook] = []


@dataclass(frozen=True)
class Order:
    """`earlier` must run before `later`, because of `why`."""

    earlier: str
    later: str
    why: str


@dataclass(frozen=True)
class Pipeline:
    """Passes in their order. A pass may stand in it several times; an order asks for the first of each."""

    name: str
    passes: tuple[ModulePass, ...]
    order: tuple[Order, ...] = ()

    def __post_init__(self) -> None:
        names = self.names
        for rule in self.order:
            if rule.earlier in names and rule.later in names and names.index(rule.earlier) > names.index(rule.later):
                raise ValueError(f"{self.name}: {rule.earlier} must run before {rule.later}: {rule.why}")

    @property
    def names(self) -> list[str]:
        return [p.name for p in self.passes]

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"pipeline {self.name} has no pass {name!r}; it has {', '.join(self.names)}")
        return self.names.index(name)

    def before(self, name: str, *passes: ModulePass) -> "Pipeline":
        """The pipeline with `passes` before the first pass called `name`."""
        return self._spliced(self._index(name), passes)

    def after(self, name: str, *passes: ModulePass) -> "Pipeline":
        """The pipeline with `passes` after the last pass called `name`."""
        self._index(name)
        return self._spliced(len(self.passes) - self.names[::-1].index(name), passes)

    def without(self, name: str) -> "Pipeline":
        """The pipeline without any pass called `name`."""
        self._index(name)
        return replace(self, passes=tuple(p for p in self.passes if p.name != name))

    def replacing(self, name: str, by: ModulePass) -> "Pipeline":
        """The pipeline with `by` wherever a pass is called `name`: the same pass with other options, say."""
        self._index(name)
        return replace(self, passes=tuple(by if p.name == name else p for p in self.passes))

    def _spliced(self, index: int, passes: Sequence[ModulePass]) -> "Pipeline":
        return replace(self, passes=(*self.passes[:index], *passes, *self.passes[index:]))

    def run(self, module: ModuleOp, ctx: Context | None = None, observer: Observer | None = None) -> ModuleOp:
        """Runs the passes on `module`, in place, after the process's hooks have had their say; gives the module."""
        pipeline = _customize(self)
        context = ctx or Context()
        watch = watched(self.name, module)
        for p in pipeline.passes:
            start = time.perf_counter()
            with watch(p) if watch else nullcontext():
                p.apply(context, module)
            if observer is not None:
                observer(p, module, time.perf_counter() - start)
        return module


def _customize(pipeline: Pipeline) -> Pipeline:
    for hook in (*_hooks, *_environment(knobs.passes.pipeline)):
        pipeline = hook(pipeline)
    return pipeline


@cache
def _environment(names: str) -> tuple[Hook, ...]:
    """The hooks that the environment names: `package.module:function`, several with commas."""
    found = []
    for name in filter(None, names.split(",")):
        module, _, function = name.partition(":")
        if not function:
            raise ValueError(f"NAIAD_PIPELINE: expected package.module:function, got {name!r}")
        found.append(getattr(importlib.import_module(module), function))
    return tuple(found)


@contextmanager
def customized(hook: Hook) -> Iterator[None]:
    """Has `hook` change every pipeline that runs in the block: it gets a pipeline and gives one back."""
    _hooks.append(hook)
    try:
        yield
    finally:
        _hooks.remove(hook)


def fingerprint() -> str:
    """Text that differs when the hooks do.

    A kernel compiled under one must not be taken from the cache under another.
    """
    names = [f"{h.__module__}:{h.__qualname__}" for h in _hooks]
    return ",".join(filter(None, [*names, knobs.passes.pipeline]))
