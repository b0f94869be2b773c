"""Tuning: Autotuner times a kernel's configurations on its arguments and keeps the fastest; Heuristics compute values.

Trial runs happen on the caller's own arrays. What a kernel writes (its metadata says which arguments, see
naiad.analysis.writes) is copied before the first of them and put back around each, so that tuning leaves no trace:
the launch that was asked for happens once. NAIAD_TUNE_RESTORE=0, or `autotune(restore_written=False)`, leaves that to
`restore_value`, `reset_to_zero` and the caller's hooks, as Triton does.
"""

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from naiad import knobs
from naiad.backends.constants import freeze
from naiad.backends.driver import driver
from naiad.errors import AutotunerError, OutOfResources
from naiad.language.function import Function
from naiad.runtime.config import Config
from naiad.runtime.heuristic import Heuristics, heuristics
from naiad.runtime.jit import KernelInterface
from naiad.runtime.launcher import launch
from naiad.runtime.places import arrays_in
from naiad.runtime.tuning.mistakes import (
    checked_configs,
    checked_kernel,
    checked_names,
    checked_prune,
    conflicting,
    how_many,
    model_time,
    named_array,
    pruned,
)

if TYPE_CHECKING:
    from naiad.runtime.tuning.session import Session

__all__ = ["Autotuner", "Config", "Heuristics", "OutOfResources", "autotune", "heuristics"]


ONE_AT_A_TIME = threading.RLock()
"""Held by the thread that tunes."""


class Autotuner(KernelInterface):
    """A kernel whose configuration is chosen by timing, once for each key."""

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config] | None,
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None,
        restore_value: Sequence[str] | None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: int | None = None,
        rep: int | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
        restore_written: bool | None = None,
    ) -> None:
        named = partial(checked_names, known=arg_names)
        self.fn, self.arg_names, self.keys = fn, arg_names, named("key", key)
        self.configs: list[Config] = checked_configs(configs)
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.cache_results = (cache_results or knobs.autotuning.cache) and not knobs.runtime.interpret
        self.reset_to_zero = named("reset_to_zero", reset_to_zero)
        self.restore_value = named("restore_value", restore_value)
        self.restore_written = knobs.naiad.tune_restore if restore_written is None else restore_written
        self.restore_copies: Any = None
        self.pre_hook: Callable[..., Any] = pre_hook or self._prepare
        self.post_hook: Callable[..., Any] = post_hook or self._restore
        self.user_defined_pre_hook, self.user_defined_post_hook = pre_hook is not None, post_hook is not None
        prune = checked_prune(prune_configs_by)
        self.perf_model, self.early_config_prune = prune.get("perf_model"), prune.get("early_config_prune")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.base_fn = fn
        while hasattr(self.base_fn, "fn"):
            self.base_fn = self.base_fn.fn
        self._nargs: dict[int, dict[str, Any]] = {}
        self.best_config: Config | None = None
        self.configs_timings: dict[Config, Any] = {}
        self.reasons: dict[Config, str] = {}
        """Why those of `configs_timings` whose time is infinite cannot run."""
        self.bench_time = 0.0
        self._session: Session | None = None
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._do_bench = do_bench or self._deprecated_bench()

    @property
    def nargs(self) -> dict[str, Any] | None:
        """The positional arguments by name, during a call of `run` in this thread."""
        return self._nargs.get(threading.get_ident())

    @nargs.setter
    def nargs(self, value: dict[str, Any] | None) -> None:
        if value is None:
            self._nargs.pop(threading.get_ident(), None)
        else:
            self._nargs[threading.get_ident()] = value

    def _deprecated_bench(self) -> Callable[..., Any] | None:
        """The benchmark that `warmup`, `rep` and `use_cuda_graph` ask for, where it is not the usual one."""
        if self.num_warmups is None and self.num_reps is None and not self.use_cuda_graph:
            return None
        message = "warmup, rep, and use_cuda_graph parameters are deprecated: pass do_bench"
        warnings.warn(message, DeprecationWarning, stacklevel=4)
        if not self.use_cuda_graph or driver.active.get_current_target().backend != "cuda":
            return None
        from naiad import testing

        return partial(testing.do_bench_cudagraph, rep=100 if self.num_reps is None else self.num_reps)

    @cached_property
    def do_bench(self) -> Callable[..., Any]:
        if self._do_bench is not None:
            return self._do_bench
        given = {"warmup": self.num_warmups, "rep": self.num_reps}
        return partial(driver.active.get_benchmarker(), **{k: v for k, v in given.items() if v is not None})

    def _prepare(self, arguments: dict[str, Any], reset_only: bool = False) -> None:
        """Before a run: zeroes the arrays that were named, and outside of tuning, copies those to be put back."""
        from naiad.runtime.tuning.snapshot import Snapshot, fill_with_zeros

        for name in self.reset_to_zero:
            if (array := named_array(self, "reset_to_zero", arguments, name)) is not None:
                fill_with_zeros(name, array)
        if not reset_only and self._session is None:
            self.restore_copies = Snapshot()
            for name in self.restore_value:
                self.restore_copies.cover(name, arrays_in(named_array(self, "restore_value", arguments, name)))

    def _restore(self, arguments: dict[str, Any], exception: Exception | None) -> None:
        """After a run: puts the copies back."""
        if self.restore_copies is not None:
            self.restore_copies.restore()
        self.restore_copies = None

    def _bench(self, *args: Any, config: Config, **meta: Any) -> Any:
        """The times (ms, at QUANTILES) of one configuration; infinite where it does not run on this device."""
        if conflicts := meta.keys() & config.kwargs.keys():
            raise conflicting(config, sorted(conflicts))
        if self._session is not None:
            return self._session.bench(args, config, meta)
        with self._tuning(args, meta, 1) as session:
            return session.bench(args, config, meta)

    @contextmanager
    def _tuning(self, args: tuple[Any, ...], meta: dict[str, Any], count: int) -> Iterator["Session"]:
        """A session: in the block, `_bench` belongs to it."""
        from naiad.runtime.tuning.session import Session  # with the compiler's cache

        with Session(self, args, meta, count) as session:
            self._session = session
            try:
                yield session
            finally:
                self._session = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Launches with the configuration for these arguments, which is found first where it is not known."""
        self.nargs = nargs = dict(zip(self.arg_names, args, strict=False))
        try:
            config = self._config(args, kwargs) if len(self.configs) > 1 else self.configs[0]
            self.best_config, chosen = config, config.all_kwargs()
            if not kwargs.keys().isdisjoint(chosen):
                raise conflicting(config, sorted(kwargs.keys() & chosen.keys()))
            if config.pre_hook is not None:
                config.pre_hook({**nargs, **kwargs, **chosen})
            return launch(self.fn, args, kwargs | chosen)
        finally:
            self.nargs = None  # the caller's arrays

    def _config(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        key = self.key_of(kwargs)
        if key not in self.cache:
            with ONE_AT_A_TIME:  # trials of two tunings would disturb each other, and may be on the same arrays
                if key not in self.cache:
                    self.tune(key, args, kwargs)
        return self.cache[key]

    def key_of(self, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The values of the key's arguments, of arrays the shapes, and the dtypes of all arrays."""
        arguments = {**(self.nargs or {}), **kwargs}
        known = {name: value for name, value in arguments.items() if name in self.arg_names}
        dtypes = [_text(value.dtype) for value in known.values() if hasattr(value, "dtype")]
        return (*(_in_key(known[name]) for name in self.keys if name in known), *dtypes)

    def tune(self, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Times the configurations, or takes their times from the disk, and enters the fastest in `cache`."""
        from naiad.runtime.tuning.report import failure
        from naiad.runtime.tuning.timings import median

        configs = self.prune_configs(kwargs)
        start = time.perf_counter()
        with self._tuning(args, kwargs, len(configs)) as session:
            found = session.times(configs, key)
        self.configs_timings, self.reasons = found, session.reasons
        best = min(found, key=lambda config: median(found[config]))
        if median(found[best]) == float("inf"):
            text = failure(self.base_fn.__name__, {config: self.reasons.get(config, "") for config in configs})
            raise AutotunerError(text) from next(iter(session.errors.values()), None)
        self.cache[key] = best
        hit = session.measured == 0
        if not hit:
            self.bench_time = time.perf_counter() - start
            self.pre_hook({**(self.nargs or {}), **kwargs, **best.all_kwargs()}, reset_only=True)
        self._report(key, best, hit)

    def _report(self, key: tuple[Any, ...], best: Config, hit: bool) -> None:
        """Tells who listens, and prints the table that TRITON_PRINT_AUTOTUNING asks for."""
        duration = None if hit else self.bench_time
        if listener := knobs.autotuning.listener:
            listener(fn=self._function(), key=key, best_config=best, configs_timings=self.configs_timings,
                     duration=duration, cache_hit=hit)  # fmt: skip
        if knobs.autotuning.print:
            from naiad.runtime.tuning.report import table

            print(table(self.base_fn.__name__, key, self.configs_timings, self.reasons, best, duration))

    def _function(self) -> Any:
        """The @jit function within."""
        function = self.fn
        while not isinstance(function, Function):
            function = function.fn
        return function

    def prune_configs(self, kwargs: dict[str, Any]) -> list[Config]:
        """The configurations that are worth timing, as `prune_configs_by` says."""
        configs = self.configs
        if self.early_config_prune:
            configs = pruned(self.early_config_prune, configs, self.nargs, kwargs)
        if self.perf_model is None:
            return configs
        top = how_many(self.configs_top_k, len(self.configs))
        if len(configs) <= top:
            return configs
        model, known = self.perf_model, {**(self.nargs or {}), **kwargs}
        return sorted(configs, key=lambda config: model_time(model, {**known, **config.all_kwargs()}))[:top]

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compiles every configuration without launching."""
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        try:
            return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in self.prune_configs(kwargs)]
        finally:
            self.nargs = None


def _in_key(value: Any) -> Any:
    """What stands for an argument in a key, where it must be hashed and may outlive the argument."""
    if hasattr(value, "data_ptr") or type(value).__hash__ is None:
        return tuple(value.shape) if hasattr(value, "shape") else freeze(value)
    return value


@cache
def _text(dtype: Any) -> str:
    return str(dtype)


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
    restore_written: bool | None = None,
) -> Callable[[Any], Autotuner]:
    """Tunes a @jit function: finds the fastest of `configs` for each new value of the arguments that `key` names.

    prune_configs_by: a dict of perf_model(**arguments) -> time, top_k (how many to time: an int, or a part of 1.0) and
    early_config_prune(configs, named_args, **kwargs) -> configs. restore_written: whether arrays that the kernel writes
    are put back around trial runs; by default what NAIAD_TUNE_RESTORE says, yes. reset_to_zero, restore_value: arrays
    that are zeroed, put back before each run; pre_hook(arguments, reset_only=False), post_hook(arguments, exception)
    are called instead. do_bench(call, quantiles) -> times in ms; with a benchmark of yours, arrays that you did not
    name are put back between configurations only. cache_results: keep the times on disk.
    """
    return lambda fn: Autotuner(
        checked_kernel(fn, "autotune"), fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
        prune_configs_by=prune_configs_by, warmup=warmup, rep=rep, use_cuda_graph=use_cuda_graph, do_bench=do_bench,
        cache_results=cache_results, restore_written=restore_written,
    )  # fmt: skip
