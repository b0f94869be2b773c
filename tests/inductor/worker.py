"""The process in which `triton` is naiad: reads names of cases from stdin, compiles and compares, writes JSON.

A process of its own, because torch keeps the `triton` that it saw first, and a test process may have seen another.
"""

import importlib
import json
import os
import sys
import time
import traceback
from typing import Any

import naiad.compat
from naiad import knobs

naiad.compat.install()

import torch  # noqa: E402  (after the drop-in)
from torch._inductor import config  # noqa: E402

from tests.inductor import check  # noqa: E402
from tests.inductor.case import CASES, REGISTRY, Program  # noqa: E402


class Compilations:
    """Counts the kernels that naiad compiles, and the time it takes."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.microseconds = 0

    def __call__(self, *, metadata: dict[str, Any], times: knobs.CompileTimes, **_: Any) -> None:
        self.names.append(metadata["name"])
        self.microseconds += times.total


def run(name: str) -> dict[str, Any]:
    """What is said of one case: ok or the error, kernels, seconds in all and in naiad."""
    knobs.compilation.listener = compilations = Compilations()
    torch._dynamo.reset()
    torch.manual_seed(sum(name.encode()))
    start = time.perf_counter()
    said: dict[str, Any] = {"name": name, "ok": True}
    try:
        program = REGISTRY[name]()
        said["share"] = compiled_equals_eager(program)
        assert len(compilations.names) >= program.kernels, (
            f"naiad compiled {len(compilations.names)} kernels, not {program.kernels}: {compilations.names}"
        )
    except Exception:
        said |= {"ok": False, "error": traceback.format_exc()[-6000:]}
    said |= {"kernels": compilations.names, "seconds": time.perf_counter() - start}
    return said | {"naiad_seconds": compilations.microseconds * 1e-6}


def compiled_equals_eager(program: Program) -> float:
    with config.patch(program.config):
        compiled = torch.compile(program.fn, dynamic=program.dynamic, fullgraph=False)
        if program.check is not None:
            program.check(compiled(*program.args), compiled)
            return 0.0
        return max(check.compare(program, compiled, args) for args in (program.args, *program.more))


def main() -> None:
    """Answers until stdin ends. Only answers go to what was stdout."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    config.cpu_backend = "triton"
    config.compile_threads = 1
    for path in CASES.glob("[a-z]*.py"):
        importlib.import_module(f"tests.inductor.cases.{path.stem}")
    for line in sys.stdin:
        print(json.dumps(run(line.strip())), file=answers, flush=True)
    os._exit(0)  # torch takes seconds to end in order


if __name__ == "__main__":
    main()
