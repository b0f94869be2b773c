"""One tuning: every configuration gets times, from the disk, from trial runs, or infinite ones and a reason."""

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, Self

from naiad import knobs
from naiad.runtime.config import Config
from naiad.runtime.heuristic import Heuristics
from naiad.runtime.jit import JITFunction
from naiad.runtime.tuning.ahead import compile_ahead
from naiad.runtime.tuning.legality import refusal
from naiad.runtime.tuning.measure import QUANTILES, Effort, HostClock, clock_for, compare, is_ours, measure, quantiles
from naiad.runtime.tuning.mistakes import noted, tuned_times
from naiad.runtime.tuning.report import Progress, reason_of
from naiad.runtime.tuning.snapshot import Snapshot
from naiad.runtime.tuning.timings import Timings, median
from naiad.runtime.tuning.trial import LOST, CompilerDied, Trial, is_lost

__all__ = ["Session"]


class Session:
    """Tunes a kernel for the arguments of one call. As a context, it leaves the arrays as it found them."""

    def __init__(self, tuner: Any, args: tuple[Any, ...], meta: dict[str, Any], count: int) -> None:
        self.tuner, self.args, self.meta = tuner, args, meta
        self.snapshot = Snapshot()
        self.progress = Progress(tuner.base_fn.__name__)
        self.effort = Effort(count, tuner.num_warmups, tuner.num_reps)
        self.errors: dict[Config, Exception] = {}
        self.reasons: dict[Config, str] = {}
        self.died: dict[Config, CompilerDied] = {}
        self.best = math.inf
        self.measured = 0
        self.runs: dict[Trial, list[float]] = {}
        """The times of runs that `measure` made, where it did."""
        self._clock: HostClock | None = None
        function = tuner._function()
        compiled = isinstance(function, JITFunction) and type(function).run is JITFunction.run
        self.device = function.device_caches.of(args, meta, False) if compiled else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.clear()
        self.snapshot.copies.clear()

    def times(self, configs: Sequence[Config], key: tuple[Any, ...]) -> dict[Config, Any]:
        """Configuration to times. Those that are the same code on this device are timed once, as the first of them."""
        kept = self.kept(key) if self.tuner.cache_results and self.device is not None else None
        found: dict[Config, Any] = {}
        if kept is not None:
            found, self.reasons = kept.load(configs)
        groups: dict[Any, list[Config]] = {}
        for config in configs:
            if config not in found:
                groups.setdefault(self.code_of(config), []).append(config)
        self.compile_ahead([group[0] for group in groups.values()])
        measured: dict[Config, Any] = {}
        for n, group in enumerate(groups.values()):
            self.progress("timing", n, len(groups), len(self.errors))
            measured[group[0]] = self.tuner._bench(*self.args, config=group[0], **self.meta)
        measured.update(self.refined())
        for group in groups.values():
            found.update(dict.fromkeys(group, measured[group[0]]))
            if group[0] in self.reasons:
                self.reasons.update(dict.fromkeys(group, self.reasons[group[0]]))
        self.measured = len(groups)
        if kept is not None and groups:
            passing = {str(error) for error in self.died.values()}  # another time it may not be killed
            kept.save(found, {config: reason for config, reason in self.reasons.items() if reason not in passing})
        return {config: found[config] for config in configs}

    def code_of(self, config: Config) -> Any:
        """Equal for configurations that are the same code here: they differ in options that change nothing."""
        idle = self.device.backend.idle_options - set(self.tuner.arg_names) if self.device is not None else ()
        kept = {name: value for name, value in config.all_kwargs().items() if name not in idle}
        return repr(sorted(kept.items())), config.pre_hook, str(self.refusal(config))

    def kept(self, key: tuple[Any, ...]) -> Timings:
        """The file with what was measured before."""
        computed: dict[str, Any] = {}
        function = self.tuner.fn
        while isinstance(function, Heuristics):
            computed.update(function.values)
            function = function.fn
        name = self.tuner.base_fn.__name__
        return Timings(name, self.device, self.tuner._function().cache_key, computed, key)

    def compile_ahead(self, configs: Sequence[Config]) -> None:
        """Compiles those that are legal, where that is worth it in other processes.

        A hook of a configuration has to be called first, and may write. What others write is copied before that, and
        all arrays where there are no others.
        """
        legal = [c for c in configs if not self.meta.keys() & c.kwargs.keys() and not self.refusal(c)]
        trials = [Trial(self.tuner, self.snapshot, self.args, config, self.meta) for config in legal]
        plain = [trial for trial in trials if trial.config.pre_hook is None]
        hooked = [trial for trial in trials if trial.config.pre_hook is not None]
        self.died.update(compile_ahead(plain, self.progress))
        if not hooked:
            return
        for trial in plain:
            if trial.config not in self.died:
                with contextlib.suppress(*LOST):  # when it is tried, it will be told
                    trial.copy_written()
        hooked[0].copy_all()
        if len(hooked) > 1:
            self.died.update(compile_ahead(hooked, self.progress))
        self.snapshot.restore()

    def refusal(self, config: Config) -> Exception | None:
        """Why a configuration is not tried at all."""
        if config in self.died:
            return self.died[config]
        if self.device is None:
            return None
        options = {**self.meta, **config.all_kwargs()}
        return refusal(self.device, {name: options[name] for name in options.keys() - set(self.tuner.arg_names)})

    def bench(self, args: tuple[Any, ...], config: Config, meta: dict[str, Any]) -> Any:
        """The times of a configuration (ms, at QUANTILES); infinite where it cannot run: `reasons` says why."""
        trial = Trial(self.tuner, self.snapshot, args, config, meta)
        error = self.refusal(config)
        if error is not None:
            trial.refuse(error)
        else:
            try:
                return self.timed(trial)
            except Exception as wrong:
                if not is_lost(wrong):
                    noted(wrong, f"while tuning {self.tuner.base_fn.__name__}, with the configuration {config}")
                    raise
                error = wrong
            finally:
                self.snapshot.restore()
        self.errors[config], self.reasons[config] = error, reason_of(error)
        if knobs.autotuning.print:
            print(f"Autotuning failed with {error}")
        return [math.inf] * len(QUANTILES)

    def timed(self, trial: Trial) -> Any:
        trial.compile()
        bench = self.tuner.do_bench
        if is_ours(bench):
            self._clock = self._clock or clock_for(trial.target)
            self.runs[trial] = runs = measure(trial, self._clock, self.effort, self.best)
            times: Any = quantiles(runs)
        else:
            times = self.benchmarked(bench, trial)
        self.best = min(self.best, median(times))
        return times

    def benchmarked(self, bench: Callable[..., Any], trial: Trial) -> Any:
        """The times that a benchmark of the user's gives."""
        try:
            times = bench(trial, quantiles=QUANTILES)
        except TypeError as error:
            noted(
                error,
                f"in do_bench of autotune, or in what it called; it is called as do_bench(call, quantiles={QUANTILES})",
            )
            raise
        if median(times := tuned_times(times)) == math.inf:
            self.reasons[trial.config] = "its benchmark gave no time"
        return times

    def refined(self) -> dict[Config, list[float]]:
        """The times of those that are nearly the best, after more runs; none with a benchmark of the user's."""
        if self._clock is None:
            return {}
        try:
            return {trial.config: quantiles(runs) for trial, runs in compare(self._clock, self.runs).items()}
        finally:
            self.snapshot.restore()
