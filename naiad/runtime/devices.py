"""One kernel on one device: binding arguments, specialising, the kernels compiled so far, and launching."""

from collections.abc import Callable
from functools import partial
from typing import Any

import naiad.backends.cpu.compiler
import naiad.backends.cpu.device
import naiad.runtime.native  # noqa: F401  (with the decorator, not with the first launches)
from naiad import knobs
from naiad.backends import backends, find
from naiad.backends.arguments import device_of
from naiad.backends.base import GPUTarget
from naiad.backends.driver import driver, driver_for
from naiad.compiler.compiler import ASTSource, compile, get_cache_key
from naiad.grid import normalize_grid
from naiad.runtime.async_mode import active_mode
from naiad.runtime.binder import UNUSABLE, Bound, explain_mismatch, make_binder
from naiad.runtime.dependencies import changed_global
from naiad.runtime.keywords import LAUNCH_OPTIONS, check_keywords
from naiad.runtime.memory import check_memory
from naiad.runtime.places import arrays_in, is_of_host, places_of
from naiad.runtime.specialize import extra_of


class KernelCache(dict[str, Any]):
    """Key of a specialisation to its kernel. What is taken out is also taken from the launchers."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def clear(self) -> None:
        self.function._drop_launchers()
        super().clear()

    def __delitem__(self, key: str) -> None:
        self.function._drop_launchers()
        super().__delitem__(key)

    def pop(self, *args: Any) -> Any:
        self.function._drop_launchers()
        return super().pop(*args)


class Device:
    """A kernel's state on one device. As a sequence it is Triton's: kernels, keys, target, backend, binder."""

    def __init__(self, function: Any, target: GPUTarget) -> None:
        self.function, self.target, self.backend = function, target, find(target)
        self.driver = driver_for(target)
        self.extra = extra_of(function, self.backend)
        self.kernels = KernelCache(function)
        self.keys: dict[Any, str] = {}
        self.bind: Callable[..., Bound] = make_binder(function, self.extra)

    def __getitem__(self, index: int) -> Any:
        return (self.kernels, self.keys, self.target, self.backend, self.bind)[index]

    def kernel_for(self, args: tuple[Any, ...], keywords: dict[str, Any], warmup: bool) -> tuple[Any, tuple[Any, ...]]:
        """The kernel for these arguments, compiled if there is none, and the arguments in order of the parameters."""
        try:
            bound, seen, options = self.bind(*args, **keywords)
        except UNUSABLE as error:
            raise explain_mismatch(self.function, args, keywords, error, self.extra, LAUNCH_OPTIONS) from None
        key = self.key(seen, options)
        kernel = self.kernels.get(key)
        if kernel is None:
            kernel = self.compile(key, bound, seen, options, warmup)
        if (used := self.function.used_global_vals) and (message := changed_global(used)):
            raise RuntimeError(message)
        return kernel, bound

    def key(self, seen: tuple[Any, ...], options: dict[str, Any]) -> str:
        """The text under which `kernels` has the kernel."""
        try:
            short = (seen, tuple(options.items()))
            key = self.keys.get(short)
        except TypeError:  # an option that cannot be hashed
            return f"{seen}{options}"
        if key is None:
            key = self.keys[short] = f"{seen}{options}"
        return key

    def compile(
        self, key: str, bound: tuple[Any, ...], seen: tuple[Any, ...], options: dict[str, Any], warmup: bool
    ) -> Any:
        """Compiles for what `seen` says of the arguments."""
        parsed = self.backend.parse_options(options)
        check_keywords(self.function, options, parsed)
        if "recompile" in knobs.naiad.debug:
            from naiad.runtime.recompile import explain

            explain(self.function, self.target, seen, options)
        names = self.function.arg_names
        signature = {name: pair[0] for name, pair in zip(names, seen, strict=True)}
        constants, attrs = self.facts(bound, seen)
        return Compilation(self, key, signature, constants, attrs, parsed).run(warmup)

    def facts(self, bound: tuple[Any, ...], seen: tuple[Any, ...]) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """What is known of the arguments, by path: values of constants, and attributes."""
        constants: dict[tuple[int, ...], Any] = {}
        attrs: dict[tuple[int, ...], Any] = {}

        def visit(path: tuple[int, ...], kind: Any, known: Any, value: Any) -> None:
            if isinstance(kind, tuple):
                for i, parts in enumerate(zip(kind, known, value, strict=True)):
                    visit((*path, i), parts[0], parts[1], parts[2])
            elif kind == "constexpr" or known == 1:
                constants[path] = value
            elif isinstance(known, str) and (found := self.backend.parse_attr(known)):
                attrs[path] = found

        for i, (pair, value) in enumerate(zip(seen, bound, strict=True)):
            visit((i,), pair[0], pair[1], value)
        return constants, attrs

    def launch(
        self, kernel: Any, grid: Any, bound: tuple[Any, ...], keywords: dict[str, Any], stream: int | None = None
    ) -> None:
        """Runs `kernel` over `grid` on `stream`, by default the current one. A grid with a zero in it runs nothing."""
        if hasattr(kernel, "result"):  # a FutureKernel
            kernel = kernel.result()
        if callable(grid):
            grid = self._asked(grid, {**keywords, **dict(zip(self.function.arg_names, bound, strict=True))})
        size = normalize_grid(grid)
        if 0 in size:
            return
        check_memory(self.function, kernel, bound)
        if stream is None:
            stream = self.driver.get_current_stream(self.driver.get_current_device())
        run = kernel.run
        enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
        more = kernel.launch_metadata(grid, stream, *bound) if enter or leave else None
        run(*size, stream, kernel.function, kernel.packed_metadata, more, enter, leave, *bound)

    def _asked(self, grid: Callable[[dict[str, Any]], Any], named: dict[str, Any]) -> Any:
        """The sizes that a function of the arguments gives."""
        try:
            return grid(named)
        except Exception as error:
            where = f"in the grid of {self.function.__name__}"
            error.add_note(f"{where}, which is called with a dict of {', '.join(named)}")
            raise


class Compilation:
    """One compilation on behalf of a launch, with the hooks around it."""

    def __init__(self, device: Device, key: str, signature: Any, constants: Any, attrs: Any, options: Any) -> None:
        self.device, self.key, self.signature = device, key, signature
        self.constants, self.attrs, self.options = constants, attrs, options

    def run(self, warmup: bool) -> Any:
        """The kernel; None where the hook before compiling takes over; a FutureKernel within AsyncCompileMode."""
        if self.hook(knobs.runtime.jit_cache_hook, warmup):
            return None
        device = self.device
        src = ASTSource(device.function, self.signature, self.constants, self.attrs)
        options = dict(vars(self.options))

        def finish(kernel: Any) -> None:
            device.kernels[self.key] = kernel
            self.hook(knobs.runtime.jit_post_compile_hook, warmup)

        if (mode := active_mode.get()) is not None:
            variables = knobs.cache_invalidating_values()
            whole = get_cache_key(src, device.backend, self.options, variables)
            work = partial(compile, src, device.target, options, variables)
            future = mode.submit(whole, work, finish)
            return device.kernels.setdefault(self.key, future)
        kernel = compile(src, device.target, options)
        finish(kernel)
        return kernel

    def hook(self, hook: Callable[..., bool | None] | None, warmup: bool) -> bool | None:
        """Calls a hook with what Triton's get: everything about this compilation."""
        if hook is None:
            return None
        from naiad.runtime.preload import describe

        return hook(**describe(self, warmup), is_manual_warmup=warmup, already_compiled=False)


class DeviceCaches(dict[Any, Device]):
    """Device to a kernel's state there. A device is `0`, `"cpu"`, `"cuda:1"`, or what a driver calls current."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def __getitem__(self, key: Any) -> Device:
        where = device_index(key)
        device = self.get(where)
        if device is None:
            device = self[where] = Device(self.function, where[0])
        return device

    def clear(self) -> None:
        self.function._drop_launchers()
        super().clear()

    def of(self, args: tuple[Any, ...], keywords: dict[str, Any], warmup: bool) -> Device:
        """The device where the arrays among the arguments lie; without arrays, the active one."""
        current = driver.active
        target = current.get_current_target()
        active = target.backend
        if active == "cpu" and all(map(is_of_host, (*args, *keywords.values()))):
            return self[0]
        places = places_of((*args, *keywords.values()))
        kinds = {kind for kind, _ in places}
        if len(kinds) > 1:
            kinds = self._reachable(kinds, args, keywords)
        kind = kinds.pop() if kinds else active
        if kind == active:
            index = current.get_current_device()
            if not warmup:
                self._check_near(places, kind, index)
            return self.get((target, index)) or self[target, index]
        if warmup and kind in ("cpu", "meta"):
            return self[current.get_current_device()]
        if not any(backend.compiler.supports_target(GPUTarget(kind, 0, 0)) for backend in backends.values()):
            raise ValueError(
                f"Pointer argument cannot be accessed from Triton ({kind} tensor?): an argument of "
                f"{self.function.__name__} lies on {kind}, and there is no such backend here"
            )
        target, index = device_index(kind)
        self._check_near(places, kind, index)
        return self[target, index]

    def _check_near(self, places: set[tuple[str, int]], kind: str, index: int) -> None:
        """ValueError for arrays on another device of this kind than the current one."""
        if kind == "cpu" or all(where == index for name, where in places if name == kind):
            return
        there = ", ".join(sorted(f"{kind}:{where}" for name, where in places if name == kind))
        raise ValueError(
            f"Pointer argument cannot be accessed from Triton: the arguments of {self.function.__name__} lie on "
            f"{there}, and launches go to the current device, {kind}:{index}; move them there, or launch within "
            f"`with torch.{kind}.device(...)`"
        )

    def _reachable(self, kinds: set[str], args: tuple[Any, ...], keywords: dict[str, Any]) -> set[str]:
        """The one device from which all the arrays can be read: that of a GPU, if those of the host are pinned."""
        named = {**dict(zip(self.function.arg_names, args, strict=False)), **keywords}
        host = ((name, x) for name, argument in named.items() for x in arrays_in(argument) if device_of(x)[0] == "cpu")
        loose = sorted({name for name, x in host if not getattr(x, "is_pinned", lambda: False)()})
        if len(kinds - {"cpu"}) == 1 and not loose:
            return kinds - {"cpu"}
        raise ValueError(
            f"Pointer argument cannot be accessed from Triton (cpu tensor?): the arguments of {self.function.__name__} "
            f"lie on {', '.join(sorted(kinds))}; move {', '.join(loose) or 'them'} to one device"
        )


def device_index(key: Any = 0) -> tuple[GPUTarget, int]:
    """The target and the index that a device's name means: an int counts devices of the active driver.

    Without an index it is the one that is current there.
    """
    active = driver.active
    target = active.get_current_target()
    if isinstance(key, tuple):
        return key
    if isinstance(key, int):
        return target, key
    kind, _, index = str(key).partition(":")
    if kind == target.backend:
        return target, int(index or active.get_current_device())
    other = driver_for(GPUTarget(kind, 0, 0))
    return other.get_current_target(), int(index or other.get_current_device())
