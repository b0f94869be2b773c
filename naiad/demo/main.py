"""Runs the rows and prints the table."""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from naiad.arrays import to_float64
from naiad.demo.rows import Row, rows

BUDGET = 0.4
"""Seconds of timing for each of the two sides of a row."""


@dataclass(frozen=True)
class Result:
    """What a row gave: the largest error relative to the largest right value, and times in seconds."""

    row: Row
    error: float
    compile: float
    run: float
    peer: float

    @property
    def passed(self) -> bool:
        return self.error <= self.row.bound

    @property
    def rate(self) -> str:
        if self.row.flops:
            return f"{self.row.flops / self.run / 1e9:8.1f} GFLOP/s"
        return f"{self.row.bytes / self.run / 1e9:8.1f} GB/s   "


def main(quick: bool = False) -> int:
    """Prints the table; returns 1 if any result is wrong."""
    library = "torch" if "torch" in _array_module() else "numpy"
    print(f"{'kernel':26}{'max error':>11}{'compile':>12}{'run':>11}{'rate':>17}{library:>14}{'speedup':>10}")
    failed = 0
    for row in rows(quick):
        _progress(f"  {row.name} ...")
        result = measure(row)
        _progress("")
        failed += not result.passed
        print(line(result), flush=True)
    print("all results are right" if not failed else f"{failed} results are WRONG")
    return int(failed > 0)


def _array_module() -> str:
    from naiad.arrays import empty

    return type(empty((1,))).__module__


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(row: Row) -> Result:
    """Compiles and checks a row, then times it and the array library in turn."""
    start = time.perf_counter()
    out = row.run()
    first = time.perf_counter() - start
    error = max_error(out, row.reference())
    run, peer = paired(row.run, row.peer)
    return Result(row, error, max(first - run, 0.0), run, peer)


def max_error(out: Any, right: np.ndarray) -> float:
    """The largest difference over the largest right value; infinite where something is not a number."""
    difference = np.abs(to_float64(out) - right)
    return float(difference.max() / np.abs(right).max()) if np.isfinite(difference).all() else float("inf")


def paired(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Median seconds of both, run in turn so that both meet the same neighbours on the machine."""
    times: tuple[list[float], list[float]] = ([], [])
    theirs()
    end = time.perf_counter() + 2 * BUDGET
    while len(times[0]) < 3 or (time.perf_counter() < end and len(times[0]) < 200):
        for call, spent in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            call()
            spent.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def line(result: Result) -> str:
    """One line of the table."""
    verdict = "" if result.passed else "  WRONG"
    return (f"{result.row.name:26}{result.error:11.1e}{result.compile * 1e3:9.0f} ms{result.run * 1e3:8.2f} ms"
            f"{result.rate:>17}{result.peer * 1e3:11.2f} ms{result.peer / result.run:9.2f}x{verdict}")  # fmt: skip
