"""Random kernels, interpreter against the code for NVIDIA GPUs on the emulator: no GPU is needed.

python -m tests.fuzz.emulated --seconds 600 --seed 1       # as `python -m naiad.tools.fuzz`, with the same options
"""

import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from naiad import knobs
from naiad.runtime.jit import jit
from naiad.tools.fuzz.__main__ import main
from naiad.tools.fuzz.compare import Arrays, Machine, inputs, load
from naiad.tools.fuzz.program import Program
from tests.nvidia.harness import run


def options(seed: int) -> dict[str, Any]:
    """How the kernel of a seed is compiled: for which GPU, for how many warps, stages and blocks of a cluster."""
    rng = random.Random(f"options {seed}")
    arch = rng.choice((80, 89, 90, 90))
    ctas = rng.choice((1, 1, 1, 2)) if arch >= 90 else 1
    return dict(arch=arch, num_warps=rng.choice((1, 2, 4, 4, 8)), num_stages=rng.choice((1, 2, 3, 4)), num_ctas=ctas)


ASSEMBLED = 8
"""One of so many kernels goes through ptxas, which takes longer than all the rest."""


def without_ptxas(backend: Any = None, stages: dict[str, Any] | None = None, *_: Any) -> str:
    """A hook of the stages, which says its name in the cache's keys."""
    if stages is not None:
        del stages["cubin"]
    return "without ptxas"


def emulated(program: Program, source: str) -> Arrays:
    """All arrays after a launch on the emulator."""
    arrays = inputs(program)
    arguments = [arrays.get(a.name, a.number) for a in program.arguments]
    hook = without_ptxas if program.seed % ASSEMBLED else None
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), knobs.runtime.scope():
        warnings.simplefilter("ignore")
        knobs.runtime.add_stages_inspection_hook = hook
        kernel = load(source, Path(folder), jit)
        run(kernel, (program.grid,), *arguments, **options(program.seed))
    return arrays


EMULATOR = Machine("emulated GPU", emulated, "tests.fuzz.emulated")


if __name__ == "__main__":
    sys.exit(main(machine=EMULATOR))
