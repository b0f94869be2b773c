"""compile(): a source through the stages of a backend to a CompiledKernel, by way of the cache, dumps and overrides.

Importing this, and a compilation that the cache answers, import neither xDSL nor llvmlite.
"""

import contextlib
import functools
import gc
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from naiad import knobs
from naiad.backends import BaseBackend, GPUTarget, backends, find
from naiad.backends.driver import driver
from naiad.compiler.asm import AsmDict, Lazy, text_of_module
from naiad.compiler.deep import deeply
from naiad.compiler.kernel import CompiledKernel, KernelMetadata, LazyDict
from naiad.compiler.keys import described_key, get_cache_key
from naiad.compiler.source import ASTSource, IRSource, argument_names
from naiad.compiler.store import Entry, base32, packed_text, store, text_of
from naiad.compiler.version import version_key
from naiad.errors import CompilationError

__all__ = ["ASTSource", "AsmDict", "CompiledKernel", "GPUTarget", "IRSource", "KernelMetadata", "LazyDict", "compile",
           "get_cache_key", "make_backend", "version_key"]  # fmt: skip
make_backend = find


def compile(
    src: ASTSource | IRSource | str,
    target: GPUTarget | None = None,
    options: dict[str, Any] | None = None,
    _env_vars: dict[str, str] | None = None,
) -> CompiledKernel:
    """Compiles `src` (a source, or the path of a file with IR) for `target`, by default that of the active driver.

    `options` are the keywords of a launch: num_warps, num_stages, debug, ... The cache is asked first.
    """
    if not isinstance(src, str | os.PathLike) and not hasattr(src, "make_ir"):
        raise TypeError(
            f"compile takes an ASTSource(fn, signature, constexprs), or the path of a file with IR, and not {src!r}; "
            "to compile a kernel for arguments, say kernel.warmup(..., grid=(1,))"
        )
    times = _Times()
    target = driver.active.get_current_target() if target is None else target
    if not isinstance(target, GPUTarget):
        raise TypeError(f"target must be a GPUTarget, not {target!r}")
    backend = find(target)
    if arch := knobs.runtime.override_arch:
        backend = _overridden(backend, arch)
    if isinstance(src, str | os.PathLike):
        src = IRSource(str(src))
    parsed = backend.parse_options({**(options or {}), **src.parse_options()})
    work = _Compilation(src, backend, parsed, get_cache_key(src, backend, parsed, _env_vars))
    kernel = work.cached()
    hit = kernel is not None
    if kernel is None:
        try:
            kernel = work.run(times)
        except CompilationError as error:
            from naiad.compiler.mistakes import filter_traceback

            filter_traceback(error)
            raise
    if listener := knobs.compilation.listener:
        times.end(stored=not hit)
        metadata, files = kernel.metadata._asdict(), kernel.metadata_group
        listener(src=src, metadata=metadata, metadata_group=files, times=times.result(), cache_hit=hit)
    return kernel


class _Compilation:
    """One source on its way through the stages."""

    def __init__(self, src: ASTSource | IRSource, backend: BaseBackend, options: Any, key: str) -> None:
        self.src, self.backend, self.options, self.key = src, backend, options, key
        self.store = store(key, src.name)
        self.keeps = src.is_stable and not knobs.compilation.override

    def cached(self) -> CompiledKernel | None:
        """The kernel that the cache has."""
        settings = knobs.compilation
        if not self.keeps or settings.always_compile or settings.dump_ir:
            return None
        if (entry := self.store.load(self.key)) is None:
            return None
        stages = {name: Lazy(functools.partial(self._again, name)) for name in entry.metadata["stages"]}
        stages |= {name: Lazy(functools.partial(text_of, stage), ready=True) for name, stage in entry.stages.items()}
        return CompiledKernel(self.src, entry.metadata, stages, entry.files)

    def run(self, times: "_Times") -> CompiledKernel:
        """Compiles, keeps the result in the cache, and writes the dumps."""
        metadata = self._metadata()
        results: dict[str, Any] = {}
        self._stages(metadata, results, times)
        metadata.setdefault("name", self.src.name.removeprefix("@"))
        metadata.setdefault("shared", 0)
        metadata["stages"] = list(results)
        kept = {name: stage for name, stage in results.items() if self._is_kept(name, stage)}
        files = self.store.save(self.key, Entry(metadata, kept, self._parts())) if self.keeps else {}
        texts: dict[str, Any] = {
            name: Lazy(functools.partial(text_of_module, stage)) for name, stage in results.items()
        }
        texts |= {name: stage for name, stage in results.items() if isinstance(stage, str | bytes)}
        return CompiledKernel(self.src, metadata, texts, files)

    def _parts(self) -> bytes:
        return packed_text(json.dumps(described_key(self.src, self.backend, self.options)))

    def _metadata(self) -> dict[str, Any]:
        options = {name: value for name, value in vars(self.options).items() if not name.startswith("_")}
        version = knobs.naiad.triton_version
        return {"hash": self.key, "target": self.backend.target, **options, "triton_version": version, "writes": None}

    def _stages(self, metadata: dict[str, Any], results: dict[str, Any], times: "_Times", until: str = "") -> None:
        """Runs the stages after the source's own, filling `results`; ends with `until`."""
        stages: dict[str, Callable[..., Any]] = {}
        self.backend.add_stages(stages, self.options, self.src.language)
        if hook := knobs.runtime.add_stages_inspection_hook:
            hook(self.backend, stages, self.options, self.src.language, self.backend.target.arch)
        with uncollected():
            try:
                self._run_stages(stages, metadata, results, times, until)
            except RecursionError:
                results.clear()
                deeply(lambda: self._run_stages(stages, metadata, results, times, until))

    def _run_stages(
        self,
        stages: dict[str, Callable[..., Any]],
        metadata: dict[str, Any],
        results: dict[str, Any],
        times: "_Times",
        until: str,
    ) -> None:
        module = self.src.make_ir(self.backend.target, self.options)
        times.mark("source")
        names = list(stages)
        if not isinstance(self.src, ASTSource):  # IR is what its stage left: the next one comes first
            results[self.src.ext] = module
            if self.src.ext not in names:
                known = ", ".join(f".{name}" for name in names[:-1])
                raise ValueError(f"{self.src.path} is of no stage of {self.backend.target.backend}: expected {known}")
            names = names[names.index(self.src.ext) + 1 :]
            metadata["writes"] = self._written(self.src.ext, module)
            self.backend.adopt(self.src.ext, module, metadata)
        is_own = isinstance(self.src, ASTSource)
        for name in names:
            made = stages[name](module, metadata)
            module = self._replaced(name, made, metadata)
            is_own = is_own and module is made
            if not is_own:
                self.backend.adopt(name, module, metadata)
            if name == "ttir" or module is not made:
                metadata["writes"] = self._written(name, module)
            results[name] = module
            times.mark(name)
            self._dump(name, module)
            if name == until:
                break

    def _written(self, name: str, module: Any) -> list[str] | None:
        """The arguments that the kernel may write through, as `argument_names` calls them; None where it is not known.

        It is known of ttir only: not of a later stage that the user wrote.
        """
        if name != "ttir" or isinstance(module, str | bytes):
            return None
        from naiad.analysis.writes import written_arguments

        names, written = argument_names(self.src), written_arguments(module)
        if written is None or any(index >= len(names) for index in written):
            return None
        return sorted({names[index] for index in written})

    def _replaced(self, name: str, module: Any, metadata: dict[str, Any]) -> Any:
        """The module, or what the user put in its place: a file in the override folder, or the option ir_override."""
        path = metadata.get("ir_override") or ""
        if knobs.compilation.override:
            path = os.path.join(knobs.cache.override_dir, base32(self.src.hash()), f"{self.src.name[:150]}.{name}")
        if not path.endswith(f".{name}") or not os.path.exists(path):
            return module
        if knobs.compilation.override:
            print(f"\nOverriding kernel with file {path}")
        return self.backend.parse(name, _read(path))

    def _dump(self, name: str, module: Any) -> None:
        if name == "llir" and knobs.passes.dump_llvm:
            sys.stderr.write(f"; LLVM text of {self.src.name}\n{text_of_module(module)}\n")
        if not knobs.compilation.dump_ir:
            return
        folder = os.path.join(knobs.cache.dump_dir, base32(self.src.hash()))
        text = text_of_module(module)
        try:
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"{self.src.name[:150]}.{name}"), "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
        except OSError as error:
            raise RuntimeError(f"TRITON_KERNEL_DUMP=1, and TRITON_DUMP_DIR cannot be written: {error}") from error

    def _is_kept(self, name: str, stage: Any) -> bool:
        """Kept on disk: the code, and what is text already. IR is made from the source again when it is asked for."""
        if name == self.backend.binary_ext:
            return True
        return isinstance(stage, str | bytes) and not knobs.compilation.store_binary_only

    def _again(self, name: str) -> Any:
        """The text of a stage of a kernel from the cache: the stages up to it run again, silently."""
        if get_cache_key(self.src, self.backend, self.options) != self.key:
            raise KeyError(f"'{name}': the cache does not keep this stage, and the source has changed since")
        results: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            self._stages(self._metadata(), results, _Times(), until=name)
        return text_of_module(results[name])


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection while IR is made: it all lives until the end, and looking through it takes long."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _overridden(backend: BaseBackend, arch: str) -> BaseBackend:
    """The backend for the architecture that TRITON_OVERRIDE_ARCH names, where it is one of the same backend's."""
    if (named := backend.arch_named(arch)) is not None:
        return find(replace(backend.target, arch=named))
    if all(other.compiler.arch_named(arch) is None for other in backends.values()):
        raise RuntimeError(f"TRITON_OVERRIDE_ARCH={arch}: no backend of {', '.join(backends)} has this architecture")
    return backend


class _Times:
    """When the steps of a compilation ended."""

    def __init__(self) -> None:
        self.last = time.perf_counter()
        self.steps: dict[str, int] = {}

    def mark(self, name: str) -> None:
        now = time.perf_counter()
        self.steps[name] = max(1, int((now - self.last) * 1e6))
        self.last = now

    def end(self, stored: bool) -> None:
        self.mark("store" if stored else "source")

    def result(self) -> knobs.CompileTimes:
        stages = [(name, time) for name, time in self.steps.items() if name not in ("source", "store")]
        return knobs.CompileTimes(self.steps.get("source", 0), stages, self.steps.get("store", 0))


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
