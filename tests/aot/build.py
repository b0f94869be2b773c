"""Builds C for the tests: libraries that ctypes loads, and programs."""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")


def gcc(*arguments: str | Path) -> None:
    """Runs gcc, warnings being errors; skips where there is none."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc to build C with")
    done = subprocess.run(["gcc", *WARNINGS, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def inputs(files: Sequence[Path]) -> list[Path]:
    """Sources and objects."""
    return [file for file in files if file.suffix in (".c", ".o")]


def library(out: Path, *files: Path) -> ctypes.CDLL:
    """The shared library of sources and objects."""
    gcc("-shared", "-fPIC", "-O1", "-pthread", "-Wl,-Bsymbolic", "-o", out, *inputs(files), "-lm")
    return ctypes.CDLL(str(out))


def program(out: Path, main: str, *files: Path) -> Path:
    """The program of a text of C with sources and objects."""
    source = out.with_suffix(".main.c")
    source.write_text(main)
    gcc("-O1", "-pthread", "-I", out.parent, "-o", out, source, *inputs(files), "-lm")
    return out


def run(command: Path, *arguments: Any, data: bytes = b"") -> bytes:
    """What a program writes; it must succeed."""
    done = subprocess.run([command, *map(str, arguments)], input=data, capture_output=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
