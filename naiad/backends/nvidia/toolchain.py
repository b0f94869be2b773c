"""LLVM text -> PTX through llvmlite, PTX -> cubin through ptxas: the only file of this backend that runs other code."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import llvmlite.binding as llvm

from naiad.backends.nvidia.target import Nvidia

__all__ = ["PtxasError", "ToolMissing", "assemble", "find_ptxas", "ptx_text", "ptxas_version"]

TRIPLE = "nvptx64-nvidia-cuda"


class ToolMissing(RuntimeError):
    """ptxas is nowhere to be found."""


class PtxasError(RuntimeError):
    """ptxas refused the PTX."""


@functools.cache
def machine(cpu: str, features: str) -> llvm.TargetMachine:
    """LLVM's code generator for a GPU, at its full effort: the registers that wgmma needs depend on it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, features=features, opt=3)


def ptx_text(text: str, target: Nvidia) -> str:
    """The PTX of an LLVM module. Raises RuntimeError with LLVM's message."""
    generator = machine(target.cpu, target.ptx_feature)
    module = llvm.parse_assembly(text)
    module.data_layout = str(generator.target_data)
    module.verify()
    optimize(module, generator)
    return generator.emit_assembly(module)


def optimize(module: llvm.ModuleRef, generator: llvm.TargetMachine) -> None:
    """A handful of passes: what the tile level cannot see, address arithmetic and dead registers of loops."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(generator, tuning)
    manager = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)


PASSES = ("sroa", "instruction_combine", "simplify_cfg", "aggressive_dce")


def find_ptxas() -> str | None:
    """The path of ptxas: TRITON_PTXAS_PATH, NVIDIA's wheels, PATH, the CUDA toolkit; None if there is none."""
    named = os.environ.get("TRITON_PTXAS_PATH")
    if named and os.access(named, os.X_OK):
        return named
    return _installed_ptxas()


@functools.cache
def _installed_ptxas() -> str | None:
    return next(iter(_wheels()), None) or shutil.which("ptxas") or _toolkit()


def _wheels() -> list[str]:
    """ptxas of nvidia-cuda-nvcc and its relatives (nvidia/cu13/bin, nvidia/cuda_nvcc/bin)."""
    spec = importlib.util.find_spec("nvidia")
    places = [Path(p) for p in (spec.submodule_search_locations or ())] if spec is not None else []
    return [str(path) for place in places for path in sorted(place.glob("*/bin/ptxas"), reverse=True)]


def _toolkit() -> str | None:
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    path = os.path.join(home, "bin", "ptxas")
    return path if os.access(path, os.X_OK) else None


@functools.cache
def ptxas_version(path: str) -> str:
    """The release of a ptxas, `13.0.88`."""
    out = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"V(\d+\.\d+\.\d+)", out)
    return found.group(1) if found else out.strip()


def assemble(ptx: str, target: Nvidia, options: tuple[str, ...] = ()) -> tuple[bytes, str]:
    """(cubin, what ptxas said). Raises ToolMissing or PtxasError."""
    path = find_ptxas()
    if path is None:
        raise ToolMissing("ptxas was not found: pip install nvidia-cuda-nvcc, or set TRITON_PTXAS_PATH to it")
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
        Path(source).write_text(ptx)
        command = [path, f"-arch={target.cpu}", "-v", *options, source, "-o", out]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PtxasError(refusal(done.stderr + done.stdout, path, ptx))
        return Path(out).read_bytes(), done.stderr + done.stdout


def refusal(message: str, path: str, ptx: str) -> str:
    """What went wrong, with advice where the versions do not fit together."""
    if "Unsupported .version" in message or "is not defined for option" in message:
        version = re.search(r"^\.version (\S+)", ptx, re.M)
        return f"ptxas {ptxas_version(path)} at {path} is too old for PTX {version and version.group(1)}: {message.strip()}"
    return f"ptxas {ptxas_version(path)} refused the kernel: {message.strip()}"
