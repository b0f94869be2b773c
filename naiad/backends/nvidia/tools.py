"""NVIDIA's programs: ptxas (PTX -> cubin) and nvdisasm (cubin -> text), found where they are installed."""

import contextlib
import functools
import importlib.util
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from naiad import knobs
from naiad.errors import PTXASError

if TYPE_CHECKING:
    from naiad.backends.nvidia.target import Nvidia

__all__ = ["ToolMissing", "assemble", "disassemble", "find_libdevice", "find_ptxas", "ptxas_options", "ptxas_version"]


class ToolMissing(RuntimeError):
    """A program of NVIDIA's is nowhere to be found."""


def find_ptxas(arch: int = 80) -> str | None:
    """The path of ptxas: TRITON_PTXAS_PATH, NVIDIA's wheels, PATH, the CUDA toolkit; None if there is none.

    From compute capability 10.0 on, TRITON_PTXAS_BLACKWELL_PATH comes first.
    """
    names = ("TRITON_PTXAS_BLACKWELL_PATH", "TRITON_PTXAS_PATH", "PATH")
    return _find(arch >= 100, *map(os.environ.get, names))


@functools.cache
def _find(is_blackwell: bool, *environment: str | None) -> str | None:
    """As `find_ptxas`; the environment is there as a key of the cache."""
    if is_blackwell:
        with contextlib.suppress(RuntimeError):
            return knobs.nvidia.ptxas_blackwell.path
    try:
        return knobs.nvidia.ptxas.path
    except RuntimeError:
        home = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
        return home if os.access(home, os.X_OK) else None


def find_libdevice() -> str | None:
    """The path of libdevice.10.bc: TRITON_LIBDEVICE_PATH, NVIDIA's wheels, the CUDA toolkit; None if there is none."""
    given = knobs.nvidia.libdevice_path
    return given if given and os.path.exists(given) else _installed_libdevice()


@functools.cache
def _installed_libdevice() -> str | None:
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        homes += [os.path.join(place, name) for name in ("cu13", "cuda_nvcc")]
    if (path := find_ptxas()) is not None:
        homes.append(os.path.dirname(os.path.dirname(path)))
    found = [os.path.join(home, "nvvm", "libdevice", "libdevice.10.bc") for home in homes if home]
    return next((path for path in found if os.path.exists(path)), None)


@functools.cache
def ptxas_version(path: str) -> str:
    """The release of a ptxas, `13.0.88`."""
    out = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"V(\d+\.\d+\.\d+)", out)
    return found.group(1) if found else out.strip()


def assemble(ptx: str, target: "Nvidia", options: tuple[str, ...] = ()) -> tuple[bytes, str]:
    """(cubin, what ptxas said). Raises ToolMissing or PTXASError."""
    path = find_ptxas(target.arch)
    if path is None:
        raise ToolMissing("ptxas was not found: pip install nvidia-cuda-nvcc, or set TRITON_PTXAS_PATH to it")
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
        Path(source).write_text(ptx)
        command = [path, f"-arch={target.cpu}", "-v", *options, source, "-o", out]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PTXASError(refusal(done.stderr + done.stdout, path, ptx))
        return Path(out).read_bytes(), done.stderr + done.stdout


def ptxas_options() -> tuple[str, ...]:
    """What PTXAS_OPTIONS and DISABLE_PTXAS_OPT add to the command."""
    unoptimised = ("--opt-level", "0") if knobs.nvidia.disable_ptxas_opt else ()
    return (*unoptimised, *shlex.split(knobs.nvidia.ptxas_options or ""))


def refusal(message: str, path: str, ptx: str) -> str:
    """What went wrong, with advice where the versions do not fit together."""
    if "Unsupported .version" in message or "is not defined for option" in message:
        version = re.search(r"^\.version (\S+)", ptx, re.M)
        wanted = version.group(1) if version else "of this target"
        return f"ptxas {ptxas_version(path)} at {path} is too old for PTX {wanted}: {message.strip()}"
    return f"ptxas {ptxas_version(path)} refused the kernel: {message.strip()}"


def disassemble(cubin: bytes) -> str:
    """The machine code of a cubin as text. Raises ToolMissing."""
    try:
        tool = knobs.nvidia.nvdisasm.path
    except RuntimeError as error:
        raise ToolMissing(str(error)) from None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(cubin)
        return subprocess.run([tool, "-c", str(file)], capture_output=True, text=True, check=True).stdout
