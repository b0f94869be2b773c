"""What whoever writes `@autotune` and `@heuristics` may have got wrong, said in their words."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from naiad.errors import AutotunerError
from naiad.runtime.config import Config

__all__ = ["checked_configs", "checked_kernel", "checked_names", "checked_prune", "conflicting", "how_many",
           "model_time", "named_array", "noted", "pruned", "tuned_times"]  # fmt: skip

PRUNE = ("perf_model", "top_k", "early_config_prune")


def noted(error: Exception, note: str) -> None:
    """Adds a note of where an error comes from, once."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def checked_kernel(fn: Any, decorator: str) -> Any:
    """`fn`, if it can be launched."""
    if hasattr(fn, "arg_names") and hasattr(fn, "run"):
        return fn
    raise TypeError(
        f"@{decorator} decorates a kernel: expected a @triton.jit function, found {fn!r}; "
        f"write @triton.{decorator}(...) above @triton.jit"
    )


def checked_configs(configs: Any) -> list[Any]:
    """The configurations as a list; without any, the defaults of a launch."""
    try:
        found = list(configs or ())
    except TypeError:
        found = [configs]
    for i, config in enumerate(found):
        if not (isinstance(config, Config) or hasattr(config, "all_kwargs")):
            raise TypeError(
                f"configs of autotune: expected a list of triton.Config, found {config!r} at index {i}; "
                "write triton.Config({'BLOCK': 64}, num_warps=4)"
            )
    return found or [Config({}, num_warps=4, num_stages=3, num_ctas=1)]


def checked_names(what: str, names: Any, known: Sequence[str]) -> list[str]:
    """The names of arguments as a list: of a list or tuple of them, of a single one, of none."""
    if isinstance(names, str):
        names = [names]
    found = list(names or ()) if isinstance(names, list | tuple | set | frozenset | None) else [names]
    if wrong := [name for name in found if not isinstance(name, str)]:
        raise TypeError(f"{what} of autotune: expected a list of names of arguments, found {wrong[0]!r}")
    for name in found:
        if name not in known:  # Triton does without it, and so do packages
            text = f"naiad: {what} of autotune names {name!r}, and the kernel takes {', '.join(known)}"
            warnings.warn(text, UserWarning, stacklevel=4)
    return found


def checked_prune(prune: Any) -> Mapping[str, Any]:
    """`prune_configs_by`, if it says what there is to say."""
    if not isinstance(prune or {}, Mapping):
        raise TypeError(f"prune_configs_by of autotune: expected a dict of {', '.join(PRUNE)}, found {prune!r}")
    if unknown := [name for name in prune or {} if name not in PRUNE]:
        raise ValueError(f"prune_configs_by of autotune: expected only {', '.join(PRUNE)}, found {unknown[0]!r}")
    return prune or {}


def how_many(top: Any, count: int) -> int:
    """How many of `count` configurations `top_k` keeps: a part of them, at least one, or so many."""
    if isinstance(top, float) and 0 < top <= 1.0:
        return max(1, int(count * top))
    if isinstance(top, int) and not isinstance(top, bool) and top > 0:
        return top
    raise TypeError(
        "Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int; "
        f"both more than 0, and this one is {top!r}"
    )


def model_time(model: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """What a `perf_model` says of one configuration."""
    try:
        time = model(**arguments)
    except Exception as error:
        noted(error, f"in perf_model of autotune, called with {', '.join(arguments)} as keywords")
        raise
    if not hasattr(time, "__lt__") or time is None:
        raise TypeError(f"perf_model of autotune: expected a time, found {time!r}")
    return time


def pruned(prune: Callable[..., Any], configs: list[Any], arguments: Any, kwargs: Mapping[str, Any]) -> list[Any]:
    """What an `early_config_prune` leaves."""
    try:
        left = prune(configs, arguments, **kwargs)
    except Exception as error:
        noted(error, f"in early_config_prune of autotune, called with (configs, named_args) and {', '.join(kwargs)}")
        raise
    if left is None:
        raise TypeError("early_config_prune of autotune: expected a list of configurations, found None; return one")
    if not (found := list(left)):
        raise AutotunerError(
            "No valid autotuner configs after pruning. `early_config_prune` should return at least one config."
        )
    return found


def tuned_times(times: Any) -> Any:
    """What a benchmark of the user's gave, as a list of times in ms. A time that is no number is infinite."""
    is_one = not getattr(times, "ndim", hasattr(times, "__iter__"))
    try:
        found = [float(time) for time in ([times] if is_one else times)]
    except (TypeError, ValueError):
        found = []
    if not found:
        raise TypeError(
            f"do_bench of autotune: expected a time in ms, or a list of times at the quantiles, found {times!r}; "
            "write do_bench(call, quantiles) -> [median, ...]"
        )
    found = [math.inf if math.isnan(time) else time for time in found]
    return found[0] if is_one else found


def named_array(tuner: Any, what: str, arguments: Mapping[str, Any], name: str) -> Any:
    """The argument `name`, which `what` (`reset_to_zero`) says is an array; None where it is left to its default."""
    if name in arguments:
        return arguments[name]
    if name in tuner.arg_names:
        return None
    raise ValueError(f"{what} of autotune names {name!r}, and the kernel takes {', '.join(tuner.arg_names)}")


def conflicting(config: Any, given: Sequence[str]) -> ValueError:
    """The error where a launch gives what the configuration gives too."""
    return ValueError(
        f"Conflicting meta-parameters: {', '.join(given)}. Make sure that you don't re-define auto-tuned symbols: "
        f"the launch gives what the configuration ({config}) gives"
    )
