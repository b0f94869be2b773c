"""Around trial runs: copying arrays of torch or numpy, and what was measured as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from naiad.runtime.config import Config


def times_of(times: Any) -> Sequence[float]:
    """What a benchmark gave, one time or several."""
    return times if isinstance(times, Sequence) else [float(times)]


def median(times: Any) -> float:
    """The first of a configuration's times."""
    return times_of(times)[0]


def table(name: str, key: tuple[Any, ...], found: Mapping[Config, Any], best: Config, duration: float) -> str:
    """All configurations with their times, fastest first."""
    lines = [f"Triton autotuning for function {name},", f"with key as {key},", f"finished after {duration:.2f}s,"]
    for config in sorted(found, key=lambda config: median(found[config])):
        lost = median(found[config]) == float("inf")
        lines.append(f"  {'cannot run' if lost else f'{median(found[config]):.4f} ms':>12}  {config}")
    return "\n".join([*lines, f"best config selected: {best};"])


def copy_of(array: Any) -> Any:
    """A copy of an array's content."""
    return array.clone() if hasattr(array, "clone") else array.copy()


def overwrite(array: Any, content: Any) -> None:
    """Writes `content` into the array."""
    if hasattr(array, "copy_"):
        array.copy_(content)
    else:
        array[...] = content


def fill_with_zeros(array: Any) -> None:
    if hasattr(array, "zero_"):
        array.zero_()
    else:
        array[...] = 0
