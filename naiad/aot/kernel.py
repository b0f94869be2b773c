"""compile(): one specialisation of a kernel, its code and the C around it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from naiad import knobs
from naiad.aot.arguments import arguments
from naiad.aot.errors import AotError
from naiad.aot.grid import parse_grid
from naiad.aot.program import Program
from naiad.aot.signature import Signature, parse_signature, word
from naiad.backends import find
from naiad.backends.base import GPUTarget
from naiad.backends.driver import driver
from naiad.backends.signature import passed
from naiad.compiler.compiler import compile as compile_source
from naiad.compiler.source import ASTSource
from naiad.runtime.jit import JITFunction
from naiad.runtime.keywords import check_keywords

__all__ = ["Compiled", "compile", "kernel_of", "parse_target"]

OBJECT_SUFFIX = ".kernel.o"
"""Of the file with a kernel's code for the CPU: `cc -c` writes what it makes of the launcher's source to `.o`."""


@dataclass(frozen=True)
class Compiled:
    """A kernel compiled ahead of time.

    name: its launcher in C. kernel_name: its symbol in `code`. kind: what the code is: "obj" (to be linked with the
    launcher), "cubin", or "ptx" where there was no ptxas. shared: bytes of shared memory. grid: expressions in C.
    tag: what tells it from other specialisations, in names of files.
    """

    name: str
    kernel_name: str
    target: GPUTarget
    kind: str
    code: bytes
    header: str
    source: str
    shared: int
    grid: tuple[str, ...]
    tag: str
    metadata: Any

    def write(self, path: str | Path) -> list[Path]:
        """Writes `path.TAG.h`, `.c`, and for the CPU `.kernel.o`; gives their paths."""
        files: dict[str, bytes] = {".h": self.header.encode(), ".c": self.source.encode()}
        if self.kind == "obj":
            files[OBJECT_SUFFIX] = self.code
        written = []
        for suffix, data in files.items():
            file = Path(path).with_suffix(f".{self.tag}{suffix}")
            file.write_bytes(data)
            written.append(file)
        return written


class Source(ASTSource):
    """A kernel that is called `symbol` in its code, so that specialisations of one function can be linked together."""

    def __init__(self, fn: JITFunction, signature: Signature, symbol: str) -> None:
        super().__init__(fn, signature.types, signature.constants, signature.attributes)
        self.name = symbol

    def hash(self) -> str:
        return f"{super().hash()}-{self.name}"

    def make_ir(self, target: GPUTarget, options: Any, *triton: Any, **more: Any) -> Any:
        from xdsl.dialects.builtin import StringAttr

        module = super().make_ir(target, options)
        for op in module.ops:
            if getattr(op, "is_public", False):
                op.properties["sym_name"] = StringAttr(self.name)
        return module


def compile(
    fn: Any,
    signature: str | Sequence[Any] | Mapping[str, Any],
    grid: str | int | Sequence[Any] = (1, 1, 1),
    constants: Mapping[str, Any] | None = None,
    target: GPUTarget | str | None = None,
    out_name: str | None = None,
    num_warps: int = 4,
    num_stages: int = 3,
    **options: Any,
) -> Compiled:
    """Compiles a @jit function for the types, hints and constants of `signature`, without running it.

    signature: "*fp32:16, i32, 1024", the same as a sequence, or {"x": "*fp32:16", ...}; constants of `constants`.
    grid: the sizes of the grid, expressions in C of the arguments and constants: "(n + BLOCK - 1) / BLOCK, 1, 1".
    target: "cuda:90", "cpu", "cpu:x86-64-v3" or a GPUTarget; by default what launches run on.
    options: the keywords of a launch. Raises SignatureError, AotError, and what compiling raises.
    """
    kernel = kernel_of(fn)
    target = target if isinstance(target, GPUTarget) else parse_target(target)
    if target.backend not in WRITERS:
        raise AotError(f"there are no launchers in C for {target.backend}", expected=" or ".join(WRITERS))
    options["debug"] = options.get("debug") or kernel.debug or knobs.runtime.debug
    backend = find(target)
    parsed = _parsed(kernel, backend, {"num_warps": num_warps, "num_stages": num_stages, **options})
    checked = parse_signature(kernel, signature, constants or {}, options_of(backend, parsed, options))
    tag = f"{checked.hash}_{checked.suffix}"
    name = f"{out_name or kernel.__name__}_{tag}"
    if not name.isidentifier() or not name.isascii():
        raise AotError(f"{out_name!r} cannot be part of a name in C", expected="letters, digits and _")
    symbol = f"{name}_kernel" if target.backend == "cpu" else kernel.__name__
    source = Source(kernel, checked, symbol)
    items = arguments(checked, passed(source))
    title = title_of(kernel, checked, backend)
    program = Program(name, symbol, title, checked.algorithm, checked.entries, items,
                      parse_grid(grid, checked.entries, items))  # fmt: skip
    compiled = compile_source(source, target=target, options=vars(parsed))
    return WRITERS[target.backend](program, compiled, backend, tag)


def _parsed(kernel: JITFunction, backend: Any, options: dict[str, Any]) -> Any:
    """The options of a launch; AotError for what is none, has a value that it cannot have, or there is no such chip."""
    try:
        _ = getattr(backend, "gpu", None)  # it is looked up: there may be none of this number
        parsed = backend.parse_options(options)
        check_keywords(kernel, options, parsed)
        return parsed
    except (AssertionError, ValueError, TypeError) as error:
        raise AotError(str(error)) from error


def options_of(backend: Any, parsed: Any, given: Collection[str]) -> str:
    """The options as part of a name: warps and stages, and of those that were given what is not the default."""
    plain = vars(backend.parse_options({}))
    values = {name: vars(parsed)[name] for name in sorted(plain.keys() & given)}
    words = [f"{name.removeprefix('num_')}{word(value)}" for name, value in values.items() if value != plain[name]]
    return "x".join([f"warps{parsed.num_warps}", f"stages{parsed.num_stages}", *words])


def title_of(kernel: JITFunction, signature: Signature, backend: Any) -> str:
    """What is compiled, for a comment of C."""
    entries = ", ".join(f"{entry.name}: {entry.text}" for entry in signature.entries)
    target = backend.target
    chip = backend.machine.name if target.backend == "cpu" else target.arch
    text = f"{kernel.__name__}({entries}), {signature.options}, for {target.backend}:{chip}"
    return f"Made by naiad from {text}".replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def kernel_of(fn: Any) -> JITFunction:
    """The @jit function below autotuners and heuristics, whose choices the signature takes."""
    inner = fn
    while not isinstance(inner, JITFunction) and hasattr(inner, "fn"):
        inner = inner.fn
    if not isinstance(inner, JITFunction):
        advice = "unset TRITON_INTERPRET" if "nterpret" in type(fn).__name__ else "decorate it with @triton.jit"
        raise AotError(f"{getattr(fn, '__name__', fn)!r} is no kernel", expected="a @jit function",
                       found=type(fn).__name__, advice=advice)  # fmt: skip
    return inner


def parse_target(text: str | None) -> GPUTarget:
    """`cuda:90:32`, `cuda:90`, `cpu`, `cpu:x86-64-v3`, as a target. `generic` is what every CPU of the machine's kind
    has, `native` all that this one has. None: what launches run on.
    """
    if text is None:
        return driver.active.get_current_target()
    backend, *rest = text.split(":")
    if backend not in WRITERS or len(rest) > 2 or (backend == "cuda" and not rest):
        raise AotError(f"{text!r} is no target", expected="cuda:ARCH[:32], such as cuda:90, or cpu[:CPU]")
    if backend == "cpu":
        return GPUTarget("cpu", cpu_name(rest[0] if rest else "native"), 1)
    if not rest[0].isdigit() or (len(rest) == 2 and rest[1] != "32"):
        raise AotError(f"{text!r} is no target", expected="cuda:ARCH[:32], where ARCH is a number such as 80 or 90")
    return GPUTarget("cuda", int(rest[0]), 32)


def cpu_name(name: str) -> str:
    """The CPU's name as a target's arch. AotError for one that is not known."""
    from naiad.backends.cpu.host import PROFILES, host

    if name in ("native", "host", ""):
        return ""
    if name == "generic":
        return "x86-64" if host().is_x86 else "aarch64"
    if name not in PROFILES:
        raise AotError(f"{name!r} is no CPU to compile for", expected=f"native, generic, {', '.join(PROFILES)}")
    return name


def write_cpu(program: Program, kernel: Any, backend: Any, tag: str) -> Compiled:
    from naiad.aot import cpu

    metadata = kernel.metadata
    tiles = "@llvm.x86.tilerelease" in kernel.asm["llir"]
    source = cpu.source(program, backend.machine, tiles, metadata.asserts, float(metadata.cost))
    return _compiled(program, kernel, "obj", cpu.header(program), source, tag)


def write_cuda(program: Program, kernel: Any, backend: Any, tag: str) -> Compiled:
    from naiad.aot import cuda

    kind = "cubin" if kernel.asm["cubin"].startswith(b"\x7fELF") else "ptx"
    source = cuda.source(program, kernel.asm["cubin"], kind, kernel.metadata)
    return _compiled(program, kernel, kind, cuda.header(program), source, tag)


def _compiled(program: Program, kernel: Any, kind: str, header: str, source: str, tag: str) -> Compiled:
    code = kernel.asm["obj" if kind == "obj" else "cubin"]
    metadata = kernel.metadata
    return Compiled(program.name, program.symbol, metadata.target, kind, code, header, source, metadata.shared,
                    program.grid, tag, metadata)  # fmt: skip


WRITERS: dict[str, Callable[..., Compiled]] = {"cpu": write_cpu, "cuda": write_cuda}
