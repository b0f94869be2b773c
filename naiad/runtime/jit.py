"""`@jit`: Python functions as kernels. JITFunction finds or compiles the kernel for its arguments, and launches it."""

import functools
import hashlib
import inspect
import re
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from naiad import knobs
from naiad.backends.signature import BITS, normalize_type, type_canonicalisation_dict
from naiad.grid import normalize_grid
from naiad.language.function import Function, Parameter
from naiad.runtime.binder import make_namer
from naiad.runtime.bound import Binding
from naiad.runtime.decorated import check_function, listed_parameters
from naiad.runtime.dependencies import Dependencies, Globals, described
from naiad.runtime.devices import DeviceCaches, device_index
from naiad.runtime.launcher import ComputedGrid, GridLauncher, NativeLaunchers, forget_launchers
from naiad.runtime.mock import MockTensor, TensorWrapper, reinterpret
from naiad.runtime.specialize import specialize

__all__ = ["JITCallable", "JITFunction", "KernelInterface", "KernelParam", "MockTensor", "TensorWrapper", "jit",
           "mangle_type", "reinterpret", "type_canonicalisation_dict"]  # fmt: skip
T = TypeVar("T", bound=Callable[..., Any])
MAX_GRIDS = 1024


class KernelParam(Parameter):
    """A parameter of a kernel, and what of its argument is not looked at."""

    do_not_specialize: bool = False
    do_not_specialize_on_alignment: bool = False

    @classmethod
    def of(cls, base: Parameter, unspecialized: bool, unaligned: bool) -> "KernelParam":
        made = cls(base.num, base.name, base.default, base.annotation, base.keyword_only, base.variadic)
        object.__setattr__(made, "do_not_specialize", unspecialized)
        object.__setattr__(made, "do_not_specialize_on_alignment", unaligned)
        return made

    @property
    def annotation_text(self) -> str:
        """The annotation as a signature writes it: `*fp32`, `i64`, `constexpr`; empty without one."""
        return "" if self.annotation is inspect.Parameter.empty else normalize_type(self.annotation)

    @property
    def annotation_type(self) -> str:
        """The annotation, where it is a type of the signature. Python's own `int` says nothing about the width."""
        text = self.annotation_text
        if self.annotation in (int, "int"):
            return ""
        return text if text.removeprefix("*k").removeprefix("*") in BITS else ""

    @property
    def is_const(self) -> bool:
        text = self.annotation_text
        return not self.is_constexpr and ("const" in text or text.startswith("*k"))


class JITCallable(Function):
    """A function whose source is in the cache's key: `cache_key` covers what it calls and which globals it reads."""

    used_global_vals: Globals

    def __init__(self, fn: Callable[..., Any], noinline: bool = False) -> None:
        super().__init__(fn, noinline)
        self._lock = threading.RLock()
        self._hash: str | None = None
        self.used_global_vals = {}
        self._callees: dict[str, str] = {}
        self._fn_name = f"{fn.__module__}.{fn.__qualname__}"
        _ = self.src  # now: the file may be another one later

    @property
    def hash(self) -> str | None:
        """The key, once it was asked for. Setting it to None makes the next question look at the source again."""
        return self._hash

    @hash.setter
    def hash(self, value: str | None) -> None:
        self._hash = value
        if value is None:
            forget_launchers()

    @property
    def cache_key(self) -> str:
        """A hash of the source, the functions called, the globals read, and the line (for debug information)."""
        with self._lock:
            if self._hash is None:
                self._hash = f"recursion:{self._fn_name}"
                try:
                    self._hash = self._compute_key()
                except BaseException:
                    self._hash = None
                    raise
            return self._hash

    def _compute_key(self) -> str:
        walk = Dependencies(self, dict(inspect.getclosurevars(self.fn).nonlocals) if self.fn.__closure__ else {})
        walk.visit(self.parse())
        self.used_global_vals = dict(sorted(walk.globals.items()))
        self._callees = walk.callees
        return hashlib.sha256(f"{walk.digest()}{self.starting_line_number}".encode()).hexdigest()

    def described(self) -> dict[str, Any]:
        """What `cache_key` is a hash of, part by part, for people."""
        _ = self.cache_key
        return described(self, self._callees, self.used_global_vals)

    @property
    def def_file_line_number(self) -> int:
        """The line of `def` in the file."""
        return self.def_line_number

    @property
    def def_file_col_number(self) -> int:
        """The column of `def` in the file, from 1."""
        head = re.search(r"^([ \t]*)(?:async )?def\s+\w+\s*\(", "".join(self.raw_src), re.MULTILINE)
        return 1 + len(head[1]) if head else 1

    @property
    def type(self) -> Any:
        """The type that the function has as a value in a kernel."""
        from naiad.language.constexpr import constexpr_type

        return constexpr_type(self)

    def _unsafe_update_src(self, new_src: str) -> None:
        """Replaces the source. What calls this function must have its `hash` set to None by the caller of this."""
        self.__dict__["src"] = new_src
        self.hash = None


class KernelInterface:
    """What can be launched: `kernel[grid](...)`, by way of `run`."""

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        raise NotImplementedError("run not implemented")

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Compiles for these arguments without launching; a dtype of torch stands for a tensor of it."""
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def bind(self, *args: Any, grid: Any, **keywords: Any) -> Callable[..., Any]:
        """A launcher for one grid that holds the keywords; see JITFunction.bind. Here it is as fast as others are."""
        names = [name for name in getattr(self, "arg_names", ()) if name not in keywords]

        def launch(*given: Any, **more: Any) -> Any:
            if len(given) > len(names):
                raise TypeError(f"the bound kernel takes ({', '.join(names)}), and {len(given)} arguments were given")
            return self[grid](**{**keywords, **more}, **dict(zip(names, given, strict=False)))

        return launch


class JITFunction(KernelInterface, JITCallable):
    """A kernel, or a function that kernels call."""

    _alive: "weakref.WeakSet[JITFunction]" = weakref.WeakSet()

    def __init__(
        self,
        fn: Callable[..., Any],
        version: Any = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., dict[str, Any]] | None = None,
        specialize_extra: Callable[..., str] | None = None,
    ) -> None:
        check_function(fn)
        self._launchers: dict[Any, Callable[..., Any]] = {}
        self._native = NativeLaunchers()
        super().__init__(fn, bool(noinline))
        self.module = fn.__module__
        self.version, self.debug, self._repr, self.launch_metadata = version, debug, repr, launch_metadata
        self.specialize_extra = specialize_extra
        listed = functools.partial(listed_parameters, fn.__name__, self.arg_names)
        self.do_not_specialize = listed("do_not_specialize", do_not_specialize)
        self.do_not_specialize_on_alignment = listed("do_not_specialize_on_alignment", do_not_specialize_on_alignment)
        self.params = [self._parameter(base) for base in Function.params.func(self)]  # type: ignore[attr-defined]
        self.constexprs = [parameter.num for parameter in self.params if parameter.is_constexpr]
        self.defaults = {parameter.name: parameter.default for parameter in self.params if parameter.has_default}
        self.device_caches = DeviceCaches(self)
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self.kernel = None
        JITFunction._alive.add(self)

    def _parameter(self, base: Parameter) -> KernelParam:
        listed = base.num in self.do_not_specialize or base.name in self.do_not_specialize
        unaligned = {base.num, base.name} & set(self.do_not_specialize_on_alignment)
        return KernelParam.of(base, listed, bool(unaligned))

    def is_gluon(self) -> bool:
        return False

    def repr(self, specialization: Any) -> str:
        """The name that profilers show for a specialisation."""
        return self._fn_name if self._repr is None else self._repr(specialization)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from naiad.language.builder import is_building

        if not is_building():
            raise RuntimeError(
                f"Cannot call @triton.jit'd outside of the scope of a kernel: {self.__name__}(...) has no grid. "
                f"To launch it, say how many programs run it: {self.__name__}[grid](...)"
            )
        return super().__call__(*args, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The launcher for a grid: an int, or 1 to 3 of them, or a function of the arguments that gives these."""
        try:
            launcher = self._launchers.get(grid)
        except TypeError:  # a list
            launcher = None
        return launcher or self._launcher(grid)

    def _launcher(self, grid: Any) -> Callable[..., Any]:
        if type(self).run is not JITFunction.run:  # what a subclass does instead is asked each time
            return super().__getitem__(grid)
        if callable(grid):
            return ComputedGrid(self, grid)
        size = normalize_grid(grid)
        known = size[: len(grid)] if isinstance(grid, tuple | list) else size[0]  # ints: what equals them is as good
        if known not in self._launchers:
            if len(self._launchers) >= MAX_GRIDS:
                self._drop_launchers()
            self._launchers[known] = GridLauncher(self, known)
        return self._launchers[known]

    @functools.cached_property
    def _named(self) -> Callable[..., dict[str, Any]]:
        """Gives all arguments of a call by name."""
        return make_namer(self, {})

    def _drop_launchers(self) -> None:
        """Drops the launchers of all grids, and ends the native ones: what they do not look at has changed."""
        self._launchers.clear()
        self._native.end()

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """Finds or compiles the kernel for these arguments and launches it over `grid`; gives the CompiledKernel.

        Gives None where `knobs.runtime.jit_cache_hook` answered that it takes over.
        """
        kwargs["debug"] = kwargs.get("debug", self.debug) or knobs.runtime.debug
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        device = self.device_caches.of(args, kwargs, warmup)
        kernel, bound = device.kernel_for(args, kwargs, warmup)
        if kernel is not None and not warmup:
            device.launch(kernel, grid, bound, kwargs)
        return kernel

    def bind(self, *args: Any, grid: Any, **keywords: Any) -> Callable[..., Any]:
        """A launcher for one grid that holds the keywords (constants, options): the shortest way to launch.

            launch = kernel.bind(x, y, out, n, grid=(98,), BLOCK=1024, num_warps=8)
            launch(x, y, out, n)

        The arguments are examples: for such ones the kernel is compiled now; nothing runs. Without any, the first call
        compiles. A call gives the parameters that the keywords do not name, in order, and may give others than the
        examples: what differs in type, alignment, device or a folded value gets a kernel of its own, as in
        `kernel[grid](...)`, and hooks are called as there. `grid`: its sizes, or a function of the arguments, which is
        asked at each call and costs the time of that. `stream` (an int, or torch.cuda.Stream): where to launch on a
        GPU; by default the current one of each call. What may change, such as a tensor, cannot be held.
        """
        stream = None if "stream" in self.arg_names else keywords.pop("stream", None)
        if type(self).run is not JITFunction.run:  # launched by other means, which are asked each time
            return super().bind(*args, grid=grid, **keywords)
        return Binding(self, grid, getattr(stream, "cuda_stream", stream), keywords).first(args, {})

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """Calls `hook` with the arguments of every `run`, before it."""
        if not callable(hook):
            raise TypeError(f"a hook must be callable, and {hook!r} is not")
        self.pre_run_hooks.append(hook)
        self._drop_launchers()

    def preload(self, specialization_data: str) -> Any:
        """Compiles what `compile["specialization_data"]` of a hook described, in another process perhaps."""
        from naiad.runtime.preload import preload

        return preload(self, specialization_data)

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process. Whoever pickles a kernel has set `fn` to None, and `repr` to a name."""
        own = {"_lock", "_launchers", "_native", "_named", "device_caches", "pre_run_hooks", "signature", "_tree",
               "__wrapped__"}  # fmt: skip
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock(), _launchers={}, _native=NativeLaunchers(), pre_run_hooks=[])
        self.device_caches = DeviceCaches(self)
        JITFunction._alive.add(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "src":
            raise AttributeError(
                f"Cannot set attribute 'src' directly: {self.__name__} and what calls it would keep their old keys. "
                "Use _unsafe_update_src(text), and set the hash of all callers to None"
            )
        object.__setattr__(self, name, value)
        if name in ("run", "debug", "noinline", "launch_metadata", "pre_run_hooks"):
            self._drop_launchers()


@overload
def jit(fn: T) -> JITFunction: ...
@overload
def jit(fn: None = None, **options: Any) -> Callable[[T], JITFunction]: ...
def jit(  # type: ignore[misc]
    fn: Callable[..., Any] | None = None,
    *,
    version: Any = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., dict[str, Any]] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    specialize_extra: Callable[..., str] | None = None,
    interpret: bool | None = None,
) -> Any:
    """Makes a kernel of a function, or a function that kernels call. Bare, or with options.

    do_not_specialize: parameters (names or indices) whose value and alignment are not compiled in;
    do_not_specialize_on_alignment: only their alignment is not. debug: device_assert checks at run time. noinline:
    calls stay calls. repr: the name in profiles. launch_metadata: what launch hooks are given. specialize_extra: a
    function of an int or tensor argument, its sort and `align=` that gives letters, by which kernels are told apart
    beside alignment, and which a backend may know (such launches go through Python). interpret: run in Python on numpy
    (by default TRITON_INTERPRET).
    """
    options = dict(
        version=version, repr=repr, launch_metadata=launch_metadata, do_not_specialize=do_not_specialize,
        do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug, noinline=noinline,
        specialize_extra=specialize_extra,
    )  # fmt: skip

    def decorate(function: Callable[..., Any]) -> Any:
        if knobs.runtime.interpret if interpret is None else interpret:
            from naiad.runtime.interpreter import InterpretedFunction

            return InterpretedFunction(function, **options)
        return JITFunction(function, **options)

    return decorate if fn is None else decorate(fn)


def mangle_type(argument: Any, specialize_value: bool = False) -> str:
    """The type of an argument in a signature."""
    return specialize(argument, value=specialize_value)[0]


def get_device_key() -> str:
    """What `device_caches` is indexed with for the active driver."""
    target, device = device_index()
    return f"{target.backend}:{device}"


def get_jit_fn_file_line(fn: Any) -> tuple[str, int]:
    """The file of a kernel, wrapped or not, and the line of its `def`."""
    while not isinstance(fn, Function):
        fn = fn.fn
    return fn.file_name, fn.def_line_number


def _forget() -> None:
    for function in list(JITFunction._alive):
        function._drop_launchers()


forget_launchers.listeners.append(_forget)
