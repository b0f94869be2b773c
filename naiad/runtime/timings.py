"""What tuning measured, kept on disk under the kernel, its key, and the device."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from naiad.backends import find
from naiad.backends.driver import driver
from naiad.compiler.compiler import version_key
from naiad.compiler.store import Entry, store
from naiad.runtime.arrays import times_of
from naiad.runtime.config import Config


class Timings:
    """The times of one kernel's configurations for one key, on disk."""

    def __init__(self, tuner: Any, key: tuple[Any, ...], configs: Sequence[Config]) -> None:
        self.configs = {str(config): config for config in configs}
        self.usable = not any(config.pre_hook for config in configs)  # a hook has no text that could be a key
        backend = find(driver.active.get_current_target())
        parts = [version_key(), backend.hash(), tuner._function().cache_key, repr(key), *self.configs]
        self.key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        self.name = f"{tuner.base_fn.__name__[:140]}.autotune"

    def load(self) -> dict[Config, Any] | None:
        """Configuration to times; None where they were not measured."""
        entry = store(self.key, self.name).load(self.key) if self.usable else None
        return {self.configs[text]: times for text, times in entry.metadata["times"]} if entry else None

    def save(self, found: Mapping[Config, Any]) -> None:
        if self.usable:
            times = [[str(config), list(times_of(times))] for config, times in found.items()]
            store(self.key, self.name).save(
                self.key, Entry({"name": self.name, "times": json.loads(json.dumps(times))}, {})
            )
