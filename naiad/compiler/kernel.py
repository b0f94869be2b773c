"""CompiledKernel: what compiling gives. It holds the code and its texts, loads itself at the first launch, launches."""

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from naiad import knobs
from naiad.backends import find
from naiad.backends.base import GPUTarget
from naiad.backends.driver import driver_for
from naiad.compiler.asm import AsmDict
from naiad.grid import normalize_grid


class KernelMetadata(SimpleNamespace):
    """What the stages say about a kernel, by name: `metadata.shared`, `metadata.num_warps`, `metadata.target`."""

    def _asdict(self) -> dict[str, Any]:
        return dict(self.__dict__)

    @property
    def _fields(self) -> tuple[str, ...]:
        return tuple(self.__dict__)

    def _replace(self, **changes: Any) -> "KernelMetadata":
        return KernelMetadata(**{**self.__dict__, **changes})


class LazyDict:
    """What a launch hook is given: `get()` gives the dict, made then and not before."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.extras: list[tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = []

    def get(self) -> dict[str, Any]:
        for function, args in self.extras:
            self.data = self.data | function(*args)
        self.extras.clear()
        return self.data

    def add(self, function: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> None:
        self.extras.append((function, args))


class CompiledKernel:
    """A kernel for one signature, its constants and options. `asm` has the text of every stage."""

    n_regs = 0
    n_spills = 0
    n_max_threads = 0
    module: Any = None
    function: Any = None
    _run: Any = None

    def __init__(self, src: Any, metadata: dict[str, Any], stages: dict[str, Any], files: dict[str, str]) -> None:
        target = metadata["target"]
        if isinstance(target, dict):  # as JSON keeps it
            target = GPUTarget(**target)
        self.metadata = KernelMetadata(**{**metadata, "target": target})
        self.backend = backend = find(target)
        self.packed_metadata = backend.pack_metadata(self.metadata)
        self.src = src
        self.hash: str = metadata["hash"]
        self.name: str = metadata["name"]
        self.metadata_group = files
        self.asm = AsmDict(stages, lambda name, asm: backend.derive(name, asm, self.metadata))

    @property
    def kernel(self) -> bytes:
        """The code that the driver loads."""
        return self.asm[self.backend.binary_ext]

    def _init_handles(self) -> None:
        """Loads the code, once. OutOfResources where the device has too little for it, also at every later launch."""
        if self.module is not None:
            return
        driver = driver_for(self.metadata.target)
        if hook := knobs.runtime.kernel_load_start_hook:
            hook(self.module, self.function, self.name, self.metadata_group, self.hash)
        try:
            self.module, self.function, self.n_regs, self.n_spills, self.n_max_threads = driver.load(
                self.name, self.kernel, self.metadata
            )
            run = driver.launcher_cls(self.src, self.metadata)
        except Exception as error:
            # A copy: the error that was raised holds the frames, and so the arguments, of this launch.
            failed = copy.copy(error).with_traceback(None)
            self._run = lambda *args, **keywords: _raise(failed)
            raise
        self._run = run
        if hook := knobs.runtime.kernel_load_end_hook:
            hook(self.module, self.function, self.name, self.metadata_group, self.hash)

    @property
    def run(self) -> Any:
        """The launcher: (x, y, z, stream, function, packed metadata, launch metadata, enter, exit hook, *arguments)."""
        if self._run is None:
            self._init_handles()
        return self._run

    def launch_metadata(self, grid: Any, stream: int, *args: Any) -> LazyDict | None:
        """What the launch hooks are given; None where there are no hooks."""
        if not knobs.runtime.launch_enter_hook and not knobs.runtime.launch_exit_hook:
            return None
        self._init_handles()
        data = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        function: Any = getattr(self.src, "fn", None)
        if (more := getattr(function, "launch_metadata", None)) is not None:
            data.add(more, (grid, self.metadata, dict(zip(function.arg_names, args, strict=False))))
        return data

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """`kernel[grid](*arguments)`: every parameter in order; constants may be left out all together."""
        fixed = None if callable(grid) else normalize_grid(grid)

        def launch(*args: Any, stream: int | None = None) -> None:
            if stream is None:
                active = driver_for(self.metadata.target)
                stream = active.get_current_stream(active.get_current_device())
            args = self._with_constants(args)
            size = fixed or normalize_grid(grid(dict(zip(self.src.signature, args, strict=True))))
            more, run = self.launch_metadata(grid, stream, *args), self.run
            run(*size, stream, self.function, self.packed_metadata, more,
                knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook, *args)  # fmt: skip

        return launch

    def _with_constants(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments for every parameter, where those given are the ones that are not constexpr."""
        kinds = list(self.src.signature.values())
        if len(args) == len(kinds):
            return args
        if len(args) != sum(kind != "constexpr" for kind in kinds):
            raise TypeError(f"{self.name} takes {len(kinds)} arguments, {kinds}, and {len(args)} were given")
        given, constants = iter(args), self.src.constants
        return tuple(constants.get((i,)) if kind == "constexpr" else next(given) for i, kind in enumerate(kinds))

    def __del__(self) -> None:
        if self.module is None:
            return
        if hook := knobs.runtime.kernel_unload_hook:
            hook(self.module, self.function, self.name, self.metadata_group, self.hash)
        self.module = self.function = None


def _raise(error: Exception) -> None:
    raise copy.copy(error)
