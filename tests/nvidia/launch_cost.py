"""What a launch costs the host: `IMPL_HOOK=... python launch_cost.py LABEL`, a JSON line for each way to launch.

For whichever package answers to the name `triton`. Bursts of empty launches, fewer than the driver queues.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

if os.environ.get("IMPL_HOOK"):
    exec(os.environ["IMPL_HOOK"])

import torch
import triton
import triton.language as tl

BURST, REPEATS = 200, 40


@triton.jit
def empty(a, b, c, d, e, f, g, h, i, j, K: tl.constexpr, L: tl.constexpr):
    pass


def cost(launch: Callable[[], Any]) -> dict[str, float]:
    """Microseconds of a call: the median of the bursts, and the least."""
    for _ in range(20):
        launch()
    times = []
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(BURST):
            launch()
        times.append((time.perf_counter() - start) / BURST * 1e6)
    torch.cuda.synchronize()
    return {"us": round(statistics.median(times), 2), "least": round(min(times), 2)}


def ways() -> dict[str, Callable[[], Any]]:
    """Name to a launch of 4 tensors, 6 numbers, 2 constants."""
    t = torch.empty(16, device="cuda")
    rest = (t, t, t, t, 1, 2, 3, 4, 5.0, 6.0)
    held = empty[(1,)]
    ways = {
        "launch_cost_grid": lambda: empty[(1,)](*rest, K=3, L=4),
        "launch_cost_lambda": lambda: empty[lambda meta: (meta["K"],)](*rest, K=3, L=4),
        "launch_cost_options": lambda: empty[(1,)](*rest, K=3, L=4, num_warps=8),
        "launch_cost_held": lambda: held(*rest, K=3, L=4),
    }
    if hasattr(empty, "bind"):
        bound = empty.bind(*rest, grid=(1,), K=3, L=4)
        on_stream = empty.bind(*rest, grid=(1,), K=3, L=4, stream=torch.cuda.current_stream())
        ways["launch_cost_bound"] = lambda: bound(*rest)
        ways["launch_cost_bound_stream"] = lambda: on_stream(*rest)
    return ways


def main(label: str) -> None:
    for name, launch in ways().items():
        print(json.dumps({"label": label, "name": name, **cost(launch)}), flush=True)
    if label == "triton":
        return
    from naiad import knobs

    with knobs.naiad.scope():  # as where a hook is installed
        knobs.naiad.native_launch = False
        empty._launchers.clear()
        found = cost(ways()["launch_cost_grid"])
    print(json.dumps({"label": label, "name": "launch_cost_python", **found}))


if __name__ == "__main__":
    main(sys.argv[1])
