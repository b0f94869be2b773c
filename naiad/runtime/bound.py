"""`kernel.bind(...)`: a launcher for one grid, with constants and options held; the shortest way to launch.

A call of it is a call of native code, which checks the arguments (types, alignment, what is folded), fills their slots
and runs the kernel: no look-up of the grid, no keywords, no constants to compare. What its native launchers do not know
goes to Python, which compiles where it must and adds a native launcher for such calls.

    launch = kernel.bind(x, y, out, n, grid=(98,), BLOCK=1024, num_warps=8)
    launch(x, y, out, n)
"""

from collections.abc import Callable
from typing import Any

from naiad import knobs
from naiad.backends.cpu import launcher as cpu
from naiad.backends.launch.guards import never_changes
from naiad.grid import normalize_grid
from naiad.runtime.binder import make_namer
from naiad.runtime.launcher import MAX_CHAIN, RENEWAL, Attempts, is_plain

MAX_SIZES = 64
"""Grids that a binding with a function for them has launchers for."""


class Binding:
    """What `bind` was told; called with the arguments that it does not hold, it launches through Python.

    Its native launchers form a chain, whose head is what `bind` gave: a call that one of them does not know goes to the
    next, and from the last one to `through_python`.
    """

    def __init__(self, function: Any, grid: Any, stream: int | None, held: dict[str, Any]) -> None:
        self.function, self.grid, self.stream, self.held = function, grid, stream, held
        if not callable(grid):
            self.grid = normalize_grid(tuple(grid) if isinstance(grid, list) else grid)
        self.names = [parameter.name for parameter in function.params if parameter.name not in held]
        self.chain: list[Callable[..., Any]] = []
        self.sizes: dict[Any, Callable[..., Any]] = {}
        self.named = make_namer(function, held)
        self.attempts = Attempts()
        self._check()

    def _check(self) -> None:
        """Nothing is held whose address or contents may change while it stays the same object."""
        for parameter in self.function.params:
            if parameter.variadic:
                raise TypeError(f"{self.function.__name__} takes *{parameter.name}: launch it by kernel[grid](...)")
            value = self.held.get(parameter.name)
            if not (_is_hashable(value) if parameter.is_constexpr else never_changes(value)):
                raise TypeError(
                    f"{self.function.__name__}.bind(...) holds what is given by keyword, and {parameter.name} is of "
                    f"type {type(value).__name__}, which may change: give it at each call, launch(..., "
                    f"{parameter.name})"
                )

    def __repr__(self) -> str:
        held = ", ".join(f"{name}={value!r}" for name, value in self.held.items())
        return f"{self.function.__name__}.bind(grid={self.grid}, {held})"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Launches; gives the CompiledKernel, as every launch."""
        if callable(self.grid):
            try:
                named = self.named(*args, **keywords)
            except TypeError:  # an argument is missing or surplus: the long way says which
                return self._run(args, keywords)
            size = self.grid(named)
            size = tuple(size) if isinstance(size, list) else size
            return (self.sizes.get(size) or self._of_size(size, args, keywords))(*args, **keywords)
        return (self.chain[0] if self.chain else self.through_python)(*args, **keywords)

    def through_python(self, *args: Any, **keywords: Any) -> Any:
        """Launches; what the native launchers do when none of them knows the call."""
        kernel = self._run(args, keywords)
        if kernel is not None and is_plain(self.function):
            self.prepare(kernel, args, keywords)
        return kernel

    def _run(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        function, given = self.function, self._whole(args, keywords)
        if self.stream is None:
            return function.run(grid=self.grid, warmup=False, **given)
        for hook in function.pre_run_hooks:
            hook(**given)
        device, kernel, bound = self._found(given)
        if kernel is not None:
            device.launch(kernel, self.grid, bound, given, self.stream)
        return kernel

    def _found(self, given: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The device of these arguments, the kernel there, and the arguments in order."""
        given["debug"] = given.get("debug", self.function.debug) or knobs.runtime.debug
        device = self.function.device_caches.of((), given, False)
        if self.stream is not None and device.target.backend == "cpu":
            raise ValueError(f"{self!r} was given a stream, and its arguments lie on the CPU, which has none")
        return device, *device.kernel_for((), given, False)

    def _whole(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """Every argument by name. A mistake in their number is told as for any launch."""
        if len(args) > len(self.names):
            names = ", ".join(self.names)
            raise TypeError(f"{self!r} takes {len(self.names)} arguments ({names}), and {len(args)} were given")
        given = dict(zip(self.names, args, strict=False))
        if twice := given.keys() & keywords.keys():
            raise TypeError(f"{self!r} got multiple values for argument {sorted(twice)[0]!r}")
        return {**self.held, **keywords, **given}

    def _of_size(self, size: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any]:
        """The launcher for a size that the grid's function gave for these arguments."""
        if len(self.sizes) >= MAX_SIZES:
            self.sizes.clear()
        found = Binding(self.function, size, self.stream, self.held).first(args, keywords)
        self.sizes[size] = found
        return found

    def first(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any]:
        """What `bind` gives: a native launcher, of the kernel for these arguments if there is one; else this."""
        if callable(self.grid):
            return self
        if args or keywords:
            _, kernel, _ = self._found(self._whole(args, keywords))
            if hasattr(kernel, "result"):  # a FutureKernel
                kernel = kernel.result()
            if kernel is not None and is_plain(self.function):
                kernel._init_handles()
                self.prepare(kernel, args, keywords)
        if not self.chain and (forward := cpu.forwarder(self.through_python)) is not None:  # others will follow it
            self.chain.append(forward)
            self.function._native[forward] = self.through_python
        return self.chain[0] if self.chain else self

    def prepare(self, kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Appends a native launcher for such calls to the chain."""
        from naiad.backends.launch.record import redirect
        from naiad.runtime.native import Call, native_launcher

        attempts, sort = self.attempts, self.attempts.sort(args, keywords)
        attempts.missed += 1
        if not hasattr(kernel, "asm") or not attempts.is_worth_it(sort):
            return
        known = self.function._native
        self.chain[1:] = [launcher for launcher in self.chain[1:] if launcher in known]  # the others were ended
        if len(self.chain) > MAX_CHAIN:
            if attempts.missed % RENEWAL:
                return
            del self.chain[1:]
        held = {name: value for name, value in self.held.items() if name not in keywords}
        call = Call(args, keywords, self.names, held, self.stream)
        launcher = native_launcher(self.function, kernel, self.grid, call, self.through_python)
        attempts.note(sort, launcher)
        if launcher is None:
            return
        if self.chain:
            redirect(self.chain[-1], launcher)
        self.chain.append(launcher)
        self.function._native[launcher] = self.through_python


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
