"""LLVM text -> machine code, through llvmlite: the only file of the CPU backend that imports it when it compiles.

The text is parsed, verified, run through a handful of passes (more only cost time: the code that naiad writes has
explicit vectors already) and given to LLVM's code generator. Everything is position independent, small code model,
so that `elf.py` can load it anywhere.
"""

import contextlib
import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import llvmlite.binding as llvm

from naiad.backends.cpu.host import HostCPU

PASSES = ("always_inliner", "sroa", "sccp", "simplify_cfg")
"""Constants are propagated, and no more: combining instructions makes no better code here, and takes a tenth of the
time."""
LOCATION = re.compile(r"<string>:(\d+):\d+: error: (.*)")
LEVEL = 3


class ToolchainError(RuntimeError):
    """LLVM refused the text. `line` is the 1-based line at fault, 0 where LLVM gives none."""

    def __init__(self, message: str, line: int = 0, source: str = ""):
        where = f"line {line}: {source.strip()}\n" if line else ""
        super().__init__(f"{where}{message}")
        self.line = line


@dataclass(frozen=True)
class Machine:
    """What LLVM compiles for: triple, CPU and features in its own spelling."""

    triple: str
    cpu: str
    features: str

    @classmethod
    def of(cls, cpu: HostCPU) -> "Machine":
        return cls(cpu.triple, cpu.name, cpu.feature_string)


def object_code(text: str, machine: Machine, passes: tuple[str, ...] = PASSES) -> bytes:
    """The relocatable object (ELF; Mach-O for Apple's triples) of the LLVM module `text`. Raises ToolchainError."""
    refuse_bad_assembly(text, machine)
    with optimized(text, machine, passes) as module:
        return target_machine(machine).emit_object(module)


def assembly(text: str, machine: Machine, passes: tuple[str, ...] = PASSES) -> str:
    """What `object_code` gives, as assembly text. Raises ToolchainError."""
    refuse_bad_assembly(text, machine)
    with optimized(text, machine, passes) as module:
        return target_machine(machine).emit_assembly(module)


def optimized_text(text: str, machine: Machine, passes: tuple[str, ...] = PASSES) -> str:
    """The module after the passes, as LLVM text: what the code generator sees."""
    with optimized(text, machine, passes) as module:
        return str(module)


# A TargetMachine keeps state while it emits, a context belongs to one thread; llvmlite's own lock covers single calls.
compiling = threading.RLock()


@functools.cache
def target_machine(machine: Machine) -> llvm.TargetMachine:
    """LLVM's code generator for `machine`; kept, since making one costs more than a small compile."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    try:
        target = llvm.Target.from_triple(machine.triple)
    except RuntimeError as error:
        raise ToolchainError(f"LLVM has no target for the triple {machine.triple!r}: {error}") from error
    return target.create_target_machine(machine.cpu, machine.features, opt=LEVEL, reloc="pic", codemodel="small")


@functools.cache
def data_layout(machine: Machine) -> str:
    return str(target_machine(machine).target_data)


@contextlib.contextmanager
def optimized(text: str, machine: Machine, passes: tuple[str, ...]) -> Iterator[llvm.ModuleRef]:
    """The module of `text`, verified and run through `passes` (names of llvmlite's `add_<name>_pass`)."""
    # A context a compile, or its types and constants would stay for good; the module has to be closed before it.
    with compiling, llvm.create_context() as context, contextlib.closing(parsed(text, machine, context)) as module:
        if passes:
            options = llvm.create_pipeline_tuning_options(speed_level=2)
            options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
            manager = llvm.create_new_module_pass_manager()
            for name in passes:
                getattr(manager, f"add_{name}_pass")()
            manager.run(module, llvm.create_pass_builder(target_machine(machine), options))
        yield module


def parsed(text: str, machine: Machine, context: object) -> llvm.ModuleRef:
    """The module of `text` for `machine`. The layout must be known before parsing: default alignments come from it."""
    # On the first line, so that LLVM's line numbers are those of `text`.
    header = f'target triple = "{machine.triple}" target datalayout = "{data_layout(machine)}" '
    if "\0" in text:
        raise ToolchainError("the LLVM text holds a zero byte")
    try:
        module = llvm.parse_assembly(header + text, context)
    except RuntimeError as error:
        raise located(str(error), text) from error
    try:
        module.verify()
    except RuntimeError as error:
        module.close()
        raise located(f"LLVM's verifier: {error}", text) from error
    return module


def located(message: str, text: str) -> ToolchainError:
    """The error with its line of `text`: from the message, else by looking for the instruction that it quotes."""
    lines = text.splitlines()
    if match := LOCATION.search(message):
        number = min(int(match[1]), max(len(lines), 1))
        return ToolchainError(match[2], number, lines[number - 1] if lines else "")
    squeezed = ["".join(line.split()) for line in lines]
    for quoted in message.splitlines():
        wanted = "".join(quoted.split())
        if quoted.startswith("  ") and wanted in squeezed:
            number = squeezed.index(wanted)
            return ToolchainError(message, number + 1, lines[number])
    return ToolchainError(message)


def refuse_bad_assembly(text: str, machine: Machine) -> None:
    """Inline assembly that LLVM cannot assemble ends the process: a module that has any is tried in a child first."""
    if " asm " not in text:
        return
    trial = f"import sys; from naiad.backends.cpu.toolchain import Machine, check; check(sys.stdin.read(), {machine!r})"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", trial]
    child = subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=environment)
    if child.returncode:
        said = [line for line in child.stderr.splitlines() if "error" in line.lower()]
        raise ToolchainError("\n".join(said) or f"LLVM ended with status {child.returncode}: {child.stderr[-400:]}")


def check(text: str, machine: Machine) -> None:
    """Compiles for the exit status alone: what the child of `refuse_bad_assembly` runs."""
    with optimized(text, machine, PASSES) as module:
        target_machine(machine).emit_object(module)
