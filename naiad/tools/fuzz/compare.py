"""Runs a generated kernel in the interpreter and compiled, on the same inputs, and says where they differ."""

import importlib.util
import tempfile
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import naiad.language as tl
from naiad.runtime.jit import jit
from naiad.tools.fuzz.program import Program
from naiad.tools.fuzz.values import Argument

Arrays = dict[str, Any]

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-7, 3e38, -7e4, 500.0, 1e300])


@dataclass(frozen=True)
class Outcome:
    """`kind`: ok; illegal (the interpreter refuses the kernel); compiler (only the compiler does); differs."""

    kind: str
    text: str = ""


@dataclass(frozen=True)
class Machine:
    """Where kernels run. run: launches that of a program, given its source, and gives all arrays then."""

    name: str
    run: Callable[[Program, str], Arrays]
    module: str
    """The command that looks for failures on this machine."""


def check(program: Program, dropped: Collection[int] = (), machine: Machine | None = None) -> Outcome:
    """Runs both and compares all outputs."""
    source = program.source(dropped)
    try:
        want = run(program, source, interpret=True)
    except Exception as error:
        return Outcome("illegal", f"{type(error).__name__}: {error}")
    try:
        got = (machine or CPU).run(program, source)
    except Exception as error:
        return Outcome("compiler", f"{type(error).__name__}: {error}")
    return compare(program, want, got)


def run(program: Program, source: str, interpret: bool) -> Arrays:
    """All arrays after a launch. Inputs are made anew from the seed."""
    arrays = inputs(program)
    arguments = [arrays.get(a.name, a.number) for a in program.arguments]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = load(source, Path(folder), lambda fn: jit(fn, interpret=interpret))
        kernel[(program.grid,)](*arguments)
    return arrays


CPU = Machine("CPU", lambda program, source: run(program, source, interpret=False), "naiad.tools.fuzz")


def load(source: str, folder: Path, decorator: Callable[..., Any]) -> Any:
    """The `kernel` of a source, which gets a file, since kernels are read from files."""
    file = folder / "generated.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location("generated", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(jit=decorator, tl=tl)
    spec.loader.exec_module(module)
    return module.kernel


NARROW = {"bfloat16": ml_dtypes.bfloat16, "float8e4nv": ml_dtypes.float8_e4m3fn, "float8e5": ml_dtypes.float8_e5m2}


def numpy_type(dtype: str) -> np.dtype:
    return np.dtype(NARROW.get(dtype, dtype))


def inputs(program: Program) -> Arrays:
    """The arrays before a launch."""
    rng = np.random.default_rng(program.seed)
    return {a.name: _array(rng, a) for a in program.arguments if a.count}


def _array(rng: np.random.Generator, argument: Argument) -> Any:
    element, count = numpy_type(argument.dtype), argument.count
    if argument.start in ("poison", "zero"):
        fill = 0xA5 if argument.start == "poison" else 0
        return np.full(count * element.itemsize, fill, np.uint8).view(element)
    if "float" in argument.dtype:
        # few bits, so that equal numbers occur, and no larger than the bound that the generator reckons with
        numbers = np.round(rng.uniform(-4, 4, count) * 64) / 64
        if argument.start == "special":
            numbers = np.where(rng.random(count) < 0.5, numbers, rng.choice(SPECIAL, count))
        with np.errstate(over="ignore"):
            return numbers.astype(element)
    info = np.iinfo(element)
    wide = rng.integers(info.min, info.max, count, dtype=element, endpoint=True)
    small = rng.integers(0, 10, count).astype(element)
    return np.where(rng.random(count) < 0.5, wide, small)


def compare(program: Program, want: Arrays, got: Arrays) -> Outcome:
    """The first output that differs by more than its tolerance."""
    for argument in program.arguments:
        if not argument.count:
            continue
        a, b = want[argument.name], got[argument.name]
        bad = _differences(a, b, argument.tolerance)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            text = f"{argument.name}[{at}] ({argument.dtype}): interpreted {a[at]!r}, compiled {b[at]!r}"
            return Outcome(
                "differs", f"{text}; {int(bad.sum())} of {len(a)} differ, tolerance {argument.tolerance:.3g}"
            )
    return Outcome("ok")


def _differences(a: Any, b: Any, tolerance: float) -> Any:
    if a.dtype.kind in "iu":
        return a != b
    bits = f"u{a.dtype.itemsize}"
    same = a.view(bits) == b.view(bits)
    with np.errstate(invalid="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        return ~(same | (np.abs(x - y) <= tolerance) | (np.isnan(x) & np.isnan(y)))
