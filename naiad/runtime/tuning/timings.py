"""What tuning measured, kept on disk: the times of each configuration, under the kernel, its key, and the device.

A list of configurations that changes loses nothing: what was measured of the others is still there.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from naiad.compiler.compiler import version_key
from naiad.compiler.store import Entry, store
from naiad.runtime.config import Config

__all__ = ["Timings", "median", "times_of"]


def times_of(times: Any) -> Sequence[float]:
    """What a benchmark gave, one time or several."""
    return times if isinstance(times, Sequence) else [float(times)]


def median(times: Any) -> float:
    """The first of a configuration's times."""
    return times_of(times)[0]


class Timings:
    """The file of one kernel for one key. A configuration with a hook is not in it: a function has no text."""

    def __init__(self, name: str, device: Any, kernel: str, computed: Mapping[str, Any], key: tuple[Any, ...]) -> None:
        """`device`: of the kernel's device_caches; `kernel`: its hash; `computed`: the functions of heuristics."""
        properties = device.driver.utils.get_device_properties(device.driver.get_current_device())
        here = repr((device.backend.hash(), sorted(properties.items())))
        parts = [version_key(), here, kernel, repr([(name, _code(f)) for name, f in computed.items()]), repr(key)]
        self.key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        self.name = f"{name[:140]}.autotune"

    def _all(self) -> tuple[dict[str, list[float]], dict[str, str]]:
        entry = store(self.key, self.name).load(self.key)
        if entry is None:
            return {}, {}
        return dict(entry.metadata["times"]), dict(entry.metadata["reasons"])

    def load(self, configs: Sequence[Config]) -> tuple[dict[Config, list[float]], dict[Config, str]]:
        """What is known of these configurations: the times, infinite where one cannot run, and then the reasons."""
        times, reasons = self._all()
        kept = {str(config): config for config in configs if config.pre_hook is None}
        found = {config: list(times[text]) for text, config in kept.items() if text in times}
        found |= {config: [math.inf] for text, config in kept.items() if text in reasons}
        return found, {config: reasons[text] for text, config in kept.items() if text in reasons}

    def save(self, found: Mapping[Config, Any], reasons: Mapping[Config, str]) -> None:
        """Adds what was measured. Of those that did not run, those with a reason here will not do so another time."""
        times, lost = self._all()
        for config, value in found.items():
            if config.pre_hook is None and math.isfinite(median(value)):
                times[str(config)] = list(times_of(value))
            elif config.pre_hook is None and config in reasons:
                lost[str(config)] = reasons[config]
        store(self.key, self.name).save(self.key, Entry({"name": self.name, "times": times, "reasons": lost}, {}))


def _code(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What a function of heuristics does, as far as its own code says it."""
    code = getattr(function, "__code__", None)
    return (repr(function),) if code is None else (code.co_code, repr(code.co_consts), code.co_names)
