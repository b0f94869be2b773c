"""Looking at passes as they run: MLIR_ENABLE_DUMP, MLIR_ENABLE_TIMING and TRITON_REPRODUCER_PATH."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from naiad import knobs
from naiad.environment import FALSE, TRUE

Watch = Callable[[ModulePass], AbstractContextManager[None]]
"""Gives what surrounds the run of a pass."""


def watched(pipeline: str, module: ModuleOp) -> Watch | None:
    """What the variables ask for; None where they ask for nothing, and no time is to be lost."""
    settings = knobs.passes
    dumps, reproducer = _is_meant(settings.dump, module), settings.reproducer_path
    if not (dumps or settings.timing or reproducer):
        return None

    @contextmanager
    def around(p: ModulePass) -> Iterator[None]:
        text = _text(module) if dumps or reproducer else ""
        if dumps:
            _print(f"// -----// IR Dump Before {p.name} of {pipeline} //----- //\n{text}\n", settings.dump_path)
        start = time.perf_counter()
        try:
            yield
        except Exception:
            if reproducer:
                _write(reproducer, f"// naiad-opt -p {p.name}\n{text}\n")
            raise
        if settings.timing:
            _print(f"{(time.perf_counter() - start) * 1e3:9.3f} ms  {pipeline}  {p.name}\n", None)

    return around


def _is_meant(wanted: str, module: ModuleOp) -> bool:
    """Whether MLIR_ENABLE_DUMP means this module: by 1 and the like all, by a name the kernel of that name."""
    if not wanted or wanted.lower() in FALSE:
        return False
    names = {op.properties["sym_name"].data for op in module.ops if "sym_name" in op.properties}
    return wanted.lower() in TRUE or wanted in names


def _text(module: ModuleOp) -> str:
    from naiad.ir.text import print_module

    return print_module(module)


def _print(text: str, path: str | None) -> None:
    if path is None:
        sys.stderr.write(text)
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
