"""A pass pipeline's hook (NAIAD_PIPELINE=tests.runtime.dying:hook) that ends every process but the program's own.

It does when it meets a kernel that has a tile of 128 or 256 elements: one dies as LLVM does, one is killed.
"""

import os
import signal
from dataclasses import dataclass
from typing import Any

from xdsl.passes import ModulePass


@dataclass(frozen=True)
class Die(ModulePass):
    name = "die"

    def apply(self, ctx: Any, op: Any) -> None:
        if os.environ["TUNING_PROGRAM"] == str(os.getpid()):
            return
        ends = {inner.end.value.data for inner in op.walk() if inner.name == "tt.make_range"}
        if 128 in ends:
            os.write(2, b"LLVM ERROR: Cannot select: t42\nPLEASE submit a bug report\n")
            os.abort()
        if 256 in ends:
            os.kill(os.getpid(), signal.SIGKILL)


def hook(pipeline: Any) -> Any:
    return pipeline.after("tt-inline", Die()) if "tt-inline" in pipeline.names else pipeline
