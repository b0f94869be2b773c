"""What a GPU is and could do: its clocks, bandwidth, and the most that its units compute in a second."""

import contextlib
import functools
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from naiad.backends.driver import driver

MATRIX = {"float32": 1024, "int32": 1024, "float16": 2048, "bfloat16": 2048, "int16": 2048, "int8": 4096,
          "float8": 4096}  # fmt: skip
SIMD = {"float32": 128, "float16": 256, "bfloat16": 256}
"""Operations of a multiprocessor in a cycle, as Triton counts them for GPUs of sm_80 and later."""
BEFORE_80 = ({"float16": 1024}, {"float32": 128, "float16": 256})


def nvsmi(attributes: Sequence[str]) -> list[int]:
    """What nvidia-smi says of GPU 0: `nvsmi(["clocks.max.sm"])`."""
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attributes)}", "--format=csv,noheader,nounits"]
    return [int(value) for value in subprocess.check_output(command).decode().split(",")]


def _fact(name: str, device: int | None) -> int:
    active = driver.active
    facts = active.utils.get_device_properties(active.get_current_device() if device is None else device)
    if not facts.get(name):
        target = active.get_current_target()
        raise RuntimeError(f"the driver does not tell {name} of this device, {target.backend}: it is known of GPUs")
    return facts[name]


def get_dram_gbps(device: int | None = None) -> float:
    """The memory bandwidth of a GPU in GB/s, from its clocks."""
    return _fact("mem_clock_rate", device) * _fact("mem_bus_width", device) * 2 / 1e6 / 8


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """The most TFLOP/s of the matrix units for operands of a dtype, at `clock_rate` kHz."""
    return _tflops(dtype, clock_rate, device, MATRIX, BEFORE_80[0])


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """The most TFLOP/s without matrix units, at `clock_rate` kHz."""
    return _tflops(dtype, clock_rate, device, SIMD, BEFORE_80[1])


def _tflops(dtype: Any, clock_rate: float, device: int | None, now: dict[str, int], before: dict[str, int]) -> float:
    cores, arch = _fact("multiprocessor_count", device), driver.active.get_current_target().arch
    table = before if isinstance(arch, int) and arch < 80 else now
    name = _name(dtype)
    if name not in table:
        raise RuntimeError(f"dtype not supported: {dtype}; known are {', '.join(table)}")
    return table[name] * cores * clock_rate * 1e-9


def _name(dtype: Any) -> str:
    """The dtype's name in torch, and one for all floats of 8 bits."""
    from naiad.backends.signature import canonicalize_dtype

    short = canonicalize_dtype(dtype)
    names = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}
    return "float8" if short.startswith("fp8") else names.get(short, short.replace("i", "int").replace("u", "uint"))


@contextlib.contextmanager
def set_gpu_clock(ref_sm_clock: int = 1350, ref_mem_clock: int = 1215) -> Iterator[tuple[float, float]]:
    """Fixes the clocks of GPU 0 (MHz) for a block; gives an A100's TFLOP/s and GB/s at these. Needs the rights."""
    smi = ["nvidia-smi", "-i", "0"]
    try:
        subprocess.check_output([*smi, "-pm", "1"])
        subprocess.check_output([*smi, f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}"])
        subprocess.check_output([*smi, f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}"])
        for wanted, name in ((ref_sm_clock, "clocks.current.sm"), (ref_mem_clock, "clocks.current.memory")):
            found = nvsmi([name])[0]
            if abs(found - wanted) >= 10:
                raise AssertionError(f"{name} is {found} MHz and must be {wanted} MHz")
        yield 1e-6 * 2 * 108 * 4 * 256 * ref_sm_clock, 640 * 2 * ref_mem_clock * 1e-3
    finally:
        for undo in (["-rgc"], ["-rmc"], ["-pm", "0"]):  # each, whatever becomes of the others
            with contextlib.suppress(subprocess.CalledProcessError, OSError):
                subprocess.check_output([*smi, *undo])


def cuda_memcheck(**target_kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Runs a pytest test again under CUDA's memory checker, where its arguments include these.

    The test must take pytest's fixture `request`. compute-sanitizer is asked, or cuda-memcheck where that is what there
    is.
    """

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            if not target_kwargs.items() <= kwargs.items() or os.environ.get(INSIDE):
                test(*args, **kwargs)
                return
            if "request" not in kwargs:
                raise AssertionError("memcheck'ed test must have a (possibly unused) `request` fixture")
            path = os.path.realpath(test.__globals__["__file__"])
            _run_checker(f"{path}::{test.__name__}[{kwargs['request'].node.callspec.id}]")

        return wrapper

    return decorate


INSIDE = "NAIAD_WITHIN_MEMCHECK"
"""Set in the process that the memory checker runs."""


def _run_checker(test: str) -> None:
    import shutil
    import sys

    tool = next(filter(shutil.which, ("compute-sanitizer", "cuda-memcheck")), None)
    if tool is None:
        raise RuntimeError("neither compute-sanitizer nor cuda-memcheck is on the PATH; both come with CUDA's toolkit")
    env = {**os.environ, INSIDE: "1", "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    done = subprocess.run([tool, sys.executable, "-m", "pytest", "-vs", test], capture_output=True, text=True, env=env)
    if done.returncode or "ERROR SUMMARY: 0 errors" not in done.stdout:
        raise AssertionError(f"{tool} found errors in {test}:\n{done.stdout[-4000:]}{done.stderr[-1000:]}")
