"""The CPU benchmarks: paired runs in one process, medians, a table and JSON.

python benchmarks/cpu.py                  # all: run time, threads, compile time, launch, cache hit
python benchmarks/cpu.py --only softmax   # rows whose name holds the word
python benchmarks/cpu.py --json out.json
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECONDS = 2.0
"""Of timing for each side of a row."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--part", default="all", choices=("all", "run", "threads", "compile", "launch", "hit"))
    parser.add_argument("--json", type=Path, help="where to write the results")
    given = parser.parse_args()
    results: list[dict[str, Any]] = []
    parts = {"run": run_time, "threads": threads, "compile": compile_time, "launch": launch_time, "hit": cache_hit}
    for name, part in parts.items():
        if given.part in ("all", name):
            results += part(given.only)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))


def child(code: str, only: str, **environment: str) -> list[dict[str, Any]]:
    """Runs a function of this file in a fresh process, which prints a JSON line a result."""
    env = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
    command = [sys.executable, "-c", f"import cpu; cpu.{code}({only!r})"]
    found = []
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, cwd=HERE) as process:
        assert process.stdout
        for line in process.stdout:
            found.append(json.loads(line))
            print(text(found[-1]), flush=True)
    return found


def text(result: dict[str, Any]) -> str:
    """One line of the table."""
    target = result.get("target")
    reached = "" if target is None else f"  target {target:g} {'ok' if result['met'] else 'MISSED'}"
    figures = "  ".join(f"{k} {v:.4g}" for k, v in result.items() if isinstance(v, float) and k != "target")
    return f"{result['name']:36} {figures}{reached}"


def report(name: str, target: float | None = None, met: bool = True, **figures: float) -> None:
    print(json.dumps({"name": name, **figures, "target": target, "met": met}), flush=True)


# ---- against the peer, one thread


def run_time(only: str) -> list[dict[str, Any]]:
    return child("_run_time", only, NAIAD_NUM_THREADS="1", OMP_NUM_THREADS="1")


def _run_time(only: str) -> None:
    import torch
    from rows import rows

    torch.set_num_threads(1)
    for row in rows():
        if only not in row.name:
            continue
        try:
            right = row.check()
            ours, peer = paired(row.ours, row.peer)
        except Exception as error:
            report(f"{row.name}: {type(error).__name__} {str(error)[-200:]}", row.target, False)
            continue
        name = row.name if right else f"{row.name} WRONG"
        report(
            name,
            row.target,
            right and peer / ours >= row.target,
            ours_ms=ours * 1e3,
            peer_ms=peer * 1e3,
            ratio=peer / ours,
        )


def paired(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Median seconds of each, run in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for call in (ours, theirs):
        call()
    end = time.perf_counter() + 2 * SECONDS
    while len(times[0]) < 5 or (time.perf_counter() < end and len(times[0]) < 1000):
        for call, spent in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            call()
            spent.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


# ---- threads


def threads(only: str) -> list[dict[str, Any]]:
    """Our own time with one thread over that with two, in processes that take turns."""
    rounds = [_own_times(only, n) for _ in range(3) for n in ("1", "2")]
    results = []
    for name in rounds[0]:
        one, two = (min(r[name] for r in rounds[i::2]) for i in (0, 1))
        ratio = one / two
        results.append({"name": f"{name}, two threads", "one_ms": one * 1e3, "two_ms": two * 1e3, "ratio": ratio,
                        "target": 1.6, "met": ratio >= 1.6})  # fmt: skip
        print(text(results[-1]), flush=True)
    return results


def _own_times(only: str, count: str) -> dict[str, float]:
    env = {**os.environ, "NAIAD_NUM_THREADS": count, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
    command = [sys.executable, "-c", f"import cpu; cpu._compute_bound({only!r})"]
    return json.loads(subprocess.run(command, env=env, capture_output=True, text=True, check=True, cwd=HERE).stdout)


def _compute_bound(only: str) -> None:
    from rows import examples

    found = {}
    for row in examples():
        if row.compute_bound and only in row.name:
            times = []
            for _ in range(30):
                start = time.perf_counter()
                row.ours()
                times.append(time.perf_counter() - start)
            found[row.name] = statistics.median(times[3:])
    print(json.dumps(found))


# ---- compiling


def compile_time(only: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return child("_compile_time", only, TRITON_CACHE_DIR=folder, TRITON_ALWAYS_COMPILE="1")


def _compile_time(only: str) -> None:
    """CPU time of a cold compile in a process that has compiled another kernel before."""
    import kernels

    from naiad.arrays import empty, random
    from naiad.backends.cpu.pool import runner
    from naiad.demo import rows as demo

    demo.vector_add(1000).run()
    runner()  # the pool of threads is compiled once a machine, with whatever kernel is the first to need it
    demo.example("vector_add")
    cases: list[tuple[str, Callable[[], Any], float]] = [
        ("compile vector add", demo.vector_add(1000).run, 40),
        ("compile softmax", demo.softmax(4, 1000).run, 60),
        ("compile matmul", demo.matmul(128, "float32", 1).run, 80),
        ("compile attention", demo.attention(1, 64, 64).run, 250),
    ]
    x, out = random((4, 65536)), empty((4, 65536))
    cases.append(("compile 4x65536 tile", lambda: kernels.wide_kernel[(1,)](x, out, ROWS=4, COLS=65536), 3000))
    for name, call, limit in cases:
        if only in name:
            start, wall = time.process_time(), time.perf_counter()
            call()
            spent = (time.process_time() - start) * 1e3
            report(name, float(limit), spent <= limit, cpu_ms=spent, wall_ms=(time.perf_counter() - wall) * 1e3)


# ---- launching


def launch_time(only: str) -> list[dict[str, Any]]:
    return child("_launch_time", only)


def _launch_time(only: str) -> None:
    from empty_kernel import empty_kernel

    from naiad.arrays import empty, random
    from naiad.demo.rows import example

    kernel = example("vector_add").add_kernel
    x, y, out = random((64,)), random((64,), seed=1), empty((64,))
    grid = (1,)
    bound = empty_kernel.bind(x, y, out, x, 1, 2, 3, 4, 5, 6, grid=grid, K=3, L=4)
    ways = {
        "three tensors": lambda: kernel[grid](x, y, out, 64, BLOCK=64),
        "4 tensors, 6 ints, 2 constants": lambda: empty_kernel[grid](x, y, out, x, 1, 2, 3, 4, 5, 6, K=3, L=4),
        "the same, bound": lambda: bound(x, y, out, x, 1, 2, 3, 4, 5, 6),
    }
    for name, launch in ways.items():
        if only in name:
            spent = _cost(launch)
            report(f"launch, {name}", 1.0, spent < 1.0, us=spent)


def _cost(launch: Callable[[], Any]) -> float:
    """Microseconds of a call, that of the lambda with it: the median of seven runs."""
    for _ in range(100):
        launch()
    count, found = 20_000, []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(count):
            launch()
        found.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(found)


def cache_hit(only: str) -> list[dict[str, Any]]:
    """First call to result in a new process whose kernel is in the cache: the best of five processes."""
    with tempfile.TemporaryDirectory() as folder:
        times = [_first_call(folder) for _ in range(6)][1:]
    met = min(times) < 5
    result = {"name": "cache hit, first call", "ms": min(times), "worst_ms": max(times), "target": 5.0, "met": met}
    print(text(result), flush=True)
    return [result]


def _first_call(folder: str) -> float:
    env = {**os.environ, "TRITON_CACHE_DIR": folder, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
    command = [sys.executable, "-c", "import cpu; cpu._cache_hit()"]
    return float(subprocess.run(command, env=env, capture_output=True, text=True, check=True, cwd=HERE).stdout)


def _cache_hit() -> None:
    from naiad.arrays import empty, random
    from naiad.demo.rows import example

    kernel = example("vector_add").add_kernel
    x, y, out = random((64,)), random((64,), seed=1), empty((64,))
    start = time.perf_counter()
    kernel[(1,)](x, y, out, 64, BLOCK=64)
    print((time.perf_counter() - start) * 1e3)


if __name__ == "__main__":
    main()
