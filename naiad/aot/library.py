"""A shared library of launchers and objects for the CPU, made by the C compiler of this machine."""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from naiad import knobs
from naiad.aot.errors import AotError

__all__ = ["compiler", "shared_library"]


def compiler() -> str:
    """The C compiler: CC, else cc, gcc or clang. AotError where there is none."""
    names = [knobs.build.cc] if knobs.build.cc else ["cc", "gcc", "clang"]
    for name in names:
        if path := shutil.which(name):
            return path
    raise AotError(
        "a shared library holds the launcher, which is C, and there is no C compiler",
        expected="cc, gcc or clang in PATH, or CC set to one",
        found=f"CC={knobs.build.cc}" if knobs.build.cc else "none of them",
        advice="install one, or leave --shared out and build the written .c and .kernel.o where there is one",
    )


def shared_library(files: Iterable[Path], out: Path, options: Sequence[str] = ()) -> Path:
    """Builds `out` of sources and objects. AotError with what the compiler said."""
    inputs = [str(file) for file in files if file.suffix in (".c", ".o")]
    command = [compiler(), "-shared", "-fPIC", "-O2", "-pthread", *options, "-o", str(out), *inputs, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AotError(f"{command[0]} could not build {out}: {done.stderr.strip()}", found=" ".join(command))
    return out
