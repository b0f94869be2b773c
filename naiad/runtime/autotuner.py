"""Tuning: Autotuner times a kernel's configurations on its arguments and keeps the fastest; Heuristics compute values.

Trial runs happen on the caller's own arrays. What a kernel changes is put back: the arrays that `restore_value` names,
or what the caller's hooks see to.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from naiad import knobs
from naiad.backends import find
from naiad.backends.driver import driver
from naiad.errors import AutotunerError, CompileTimeAssertionFailure, OutOfResources, PTXASError
from naiad.language.function import Function
from naiad.runtime import arrays
from naiad.runtime.arrays import median
from naiad.runtime.config import Config
from naiad.runtime.heuristic import Heuristics, heuristics
from naiad.runtime.jit import KernelInterface
from naiad.runtime.launcher import launch

__all__ = ["Autotuner", "Config", "Heuristics", "OutOfResources", "autotune", "heuristics"]
LOST = (OutOfResources, CompileTimeAssertionFailure, PTXASError)
"""Errors with which a configuration only loses."""
QUANTILES = (0.5, 0.2, 0.8)


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
    ) -> None:
        self.fn, self.arg_names, self.keys = fn, arg_names, key
        self.configs = list(configs) if configs else [Config({}, num_warps=4, num_stages=3, num_ctas=1)]
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.cache_results = (cache_results or knobs.autotuning.cache) and not knobs.runtime.interpret
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        self.restore_copies: dict[str, Any] = {}
        self.pre_hook: Callable[..., Any] = pre_hook or self._prepare
        self.post_hook: Callable[..., Any] = post_hook or self._restore
        self.user_defined_pre_hook, self.user_defined_post_hook = pre_hook is not None, post_hook is not None
        prune = dict(prune_configs_by or {})
        self.perf_model, self.early_config_prune = prune.get("perf_model"), prune.get("early_config_prune")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.base_fn = fn
        while hasattr(self.base_fn, "fn"):
            self.base_fn = self.base_fn.fn
        self.nargs: dict[str, Any] | None = None
        self.best_config: Config | None = None
        self.configs_timings: dict[Config, Any] = {}
        self.bench_time = 0.0
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._do_bench = do_bench or self._deprecated_bench()

    def _deprecated_bench(self) -> Callable[..., Any] | None:
        """The benchmark that `warmup`, `rep` and `use_cuda_graph` ask for."""
        warmup, rep = self.num_warmups, self.num_reps
        if warmup is None and rep is None and not self.use_cuda_graph:
            return None
        message = "warmup, rep, and use_cuda_graph parameters are deprecated: pass do_bench"
        warnings.warn(message, DeprecationWarning, stacklevel=4)
        from naiad import testing

        rep = 100 if rep is None else rep
        if self.use_cuda_graph and driver.active.get_current_target().backend == "cuda":
            return lambda call, quantiles: testing.do_bench_cudagraph(call, rep=rep, quantiles=quantiles)
        warmup = 25 if warmup is None else warmup
        return lambda call, quantiles: testing.do_bench(call, warmup=warmup, rep=rep, quantiles=quantiles)

    @cached_property
    def do_bench(self) -> Callable[..., Any]:
        return self._do_bench or driver.active.get_benchmarker()

    def _prepare(self, arguments: dict[str, Any], reset_only: bool = False) -> None:
        """Before a trial: zeroes and copies the arrays that were named; None stands for no array."""
        for name in self.reset_to_zero:
            if (array := arguments[name]) is not None:
                arrays.fill_with_zeros(array)
        if not reset_only:
            kept = {name: arguments[name] for name in self.restore_value if arguments[name] is not None}
            self.restore_copies = {name: arrays.copy_of(array) for name, array in kept.items()}

    def _restore(self, arguments: dict[str, Any], exception: Exception | None) -> None:
        """After a trial: puts the copies back."""
        for name, copy in self.restore_copies.items():
            arrays.overwrite(arguments[name], copy)
        self.restore_copies = {}

    def _bench(self, *args: Any, config: Config, **meta: Any) -> Any:
        """The times (ms, at QUANTILES) of one configuration; infinite where it does not run on this device."""
        if conflicts := meta.keys() & config.kwargs.keys():
            raise ValueError(
                f"Conflicting meta-parameters: {', '.join(conflicts)}. "
                "Make sure that you don't re-define auto-tuned symbols."
            )
        current = {**meta, **config.all_kwargs()}
        arguments = {**(self.nargs or {}), **current}

        def call() -> None:
            if config.pre_hook:
                config.pre_hook(arguments)
            self.pre_hook(arguments)
            try:
                launch(self.fn, args, dict(current))
            except Exception as error:
                self.post_hook(arguments, exception=error)
                raise
            self.post_hook(arguments, exception=None)

        try:
            return self.do_bench(call, quantiles=QUANTILES)
        except LOST as error:
            if knobs.autotuning.print:
                print(f"Autotuning failed with {error}")
            return [float("inf")] * len(QUANTILES)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Launches with the configuration for these arguments, which is found first where it is not known."""
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        config = self._config(args, kwargs) if len(self.configs) > 1 else self.configs[0]
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        result = launch(self.fn, args, dict(**kwargs, **config.all_kwargs()))
        self.nargs = None
        return result

    def _config(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        key = self.key_of(kwargs)
        if key not in self.cache:
            self.tune(key, args, kwargs)
        return self.cache[key]

    def key_of(self, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The values of the key's arguments, and the dtypes of all arrays."""
        arguments = {**(self.nargs or {}), **kwargs}
        known = {name: value for name, value in arguments.items() if name in self.arg_names}
        dtypes = [_text(value.dtype) for value in known.values() if hasattr(value, "dtype")]
        return (*(known[name] for name in self.keys if name in known), *dtypes)

    def tune(self, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Times the configurations, or takes their times from the disk, and enters the fastest in `cache`."""
        configs = self.prune_configs(kwargs)
        kept = self._kept(key, configs) if self.cache_results else None
        found = kept.load() if kept else None
        hit = found is not None
        if found is None:
            start = time.perf_counter()
            found = self._times(configs, args, kwargs)
            self.bench_time = time.perf_counter() - start
            if kept:
                kept.save(found)
        self.configs_timings = found
        self.cache[key] = best = min(found, key=lambda config: median(found[config]))
        if median(found[best]) == float("inf"):
            del self.cache[key]
            raise AutotunerError(f"none of the {len(configs)} configurations of {self.base_fn.__name__} can run here")
        if not hit:
            self.pre_hook({**(self.nargs or {}), **kwargs, **best.all_kwargs()}, reset_only=True)
        self._report(key, best, hit)

    def _times(self, configs: list[Config], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Config, Any]:
        """Configuration to times. Those that are the same code on this device are timed once, as the first of them."""
        idle = find(driver.active.get_current_target()).idle_options - set(self.arg_names)
        times: dict[Any, Any] = {}
        found = {}
        for config in configs:
            kept = {name: value for name, value in config.all_kwargs().items() if name not in idle}
            same = (repr(sorted(kept.items())), config.pre_hook)
            if same not in times:
                times[same] = self._bench(*args, config=config, **kwargs)
            found[config] = times[same]
        return found

    def _kept(self, key: tuple[Any, ...], configs: list[Config]) -> Any:
        from naiad.runtime.timings import Timings  # with the compiler's cache

        return Timings(self, key, configs)

    def _report(self, key: tuple[Any, ...], best: Config, hit: bool) -> None:
        """Tells who listens, and prints the table that TRITON_PRINT_AUTOTUNING asks for."""
        if listener := knobs.autotuning.listener:
            duration = None if hit else self.bench_time
            listener(fn=self._function(), key=key, best_config=best, configs_timings=self.configs_timings,
                     duration=duration, cache_hit=hit)  # fmt: skip
        if knobs.autotuning.print and not hit:
            print(arrays.table(self.base_fn.__name__, key, self.configs_timings, best, self.bench_time))

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
            configs = list(self.early_config_prune(configs, self.nargs, **kwargs))
            if not configs:
                raise AutotunerError(
                    "No valid autotuner configs after pruning. `early_config_prune` should return at least one config."
                )
        if self.perf_model is None:
            return configs
        top = self.configs_top_k
        if isinstance(top, float) and top <= 1.0:
            top = int(len(self.configs) * top)
        elif not isinstance(top, int):
            raise TypeError("Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int")
        if len(configs) <= top:
            return configs
        model, known = self.perf_model, {**(self.nargs or {}), **kwargs}
        return sorted(configs, key=lambda config: model(**{**known, **config.all_kwargs()}))[:top]

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compiles every configuration without launching."""
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        kernels = [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in self.prune_configs(kwargs)]
        self.nargs = None
        return kernels


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
) -> Callable[[Any], Autotuner]:
    """Tunes a @jit function: finds the fastest of `configs` for each new value of the arguments that `key` names.

    prune_configs_by: a dict of perf_model(**arguments) -> time, top_k (how many to time: an int, or a part of 1.0) and
    early_config_prune(configs, named_args, **kwargs) -> configs. reset_to_zero, restore_value: arrays that are zeroed
    before, put back after each trial. pre_hook(arguments, reset_only=False), post_hook(arguments, exception): take its
    place. do_bench(call, quantiles) -> times in ms. cache_results: keep the times on disk.
    """
    return lambda fn: Autotuner(
        fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook, post_hook=post_hook,
        prune_configs_by=prune_configs_by, warmup=warmup, rep=rep, use_cuda_graph=use_cuda_graph, do_bench=do_bench,
        cache_results=cache_results,
    )  # fmt: skip
