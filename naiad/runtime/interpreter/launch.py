"""Runs a kernel's Python over a grid: `launch(fn, grid, args, kwargs)` is `fn[grid](...)` under TRITON_INTERPRET=1."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from naiad.errors import InterpreterError
from naiad.grid import normalize_grid
from naiad.language.builder import building
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.function import Function
from naiad.runtime.interpreter import place
from naiad.runtime.interpreter.arguments import Arguments
from naiad.runtime.interpreter.builder import InterpreterOptions, NumpyBuilder
from naiad.runtime.interpreter.errors import DeviceAssertionError
from naiad.runtime.interpreter.rewrite import interpreted
from naiad.runtime.keywords import check_keywords

Sizes = tuple[int, int, int]


def in_order(sizes: Sizes) -> Iterable[Sizes]:
    """The programs of a grid, x fastest."""
    x, y, z = sizes
    return ((i, j, k) for k in range(z) for j in range(y) for i in range(x))  # product() would list each range


def launch(
    fn: Function,
    grid: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    programs: Callable[[Sizes], Iterable[Sizes]] = in_order,
) -> None:
    """Runs `fn` once for each program of the grid. Keywords that are no parameters are launch options.

    `programs` gives those of a grid's sizes, in the order in which they run.
    """
    bound = _bind(fn, args, kwargs)
    options = _options(fn, kwargs)
    sizes = normalize_grid(grid(_meta(bound)) if callable(grid) else grid)
    with Arguments() as arguments:
        values = {name: arguments.value(fn.params[i], bound[name]) for i, name in enumerate(fn.arg_names)}
        builder = NumpyBuilder(sizes, options, arguments.buffers, call)
        with building(builder), np.errstate(all="ignore"):
            _run(fn, builder, values, programs(builder.grid))


def _run(fn: Function, builder: NumpyBuilder, values: dict[str, Any], programs: Iterable[Sizes]) -> None:
    body = interpreted(fn)
    positional, keywords = _call_form(fn, values)
    for program in programs:
        builder.program = program
        try:
            body(*positional, **keywords)
        except Exception as error:
            if isinstance(error, DeviceAssertionError):  # it says itself where it is
                raise
            raise _explained(error, builder.program) from error


def _explained(error: Exception, program: tuple[int, int, int]) -> InterpreterError:
    """The error with its place in the kernel."""
    reason = str(error) if isinstance(error, InterpreterError) else f"{type(error).__name__}: {error}"
    return InterpreterError(f"{place.of(error)}\n{reason}\nin program {program}")


def _call_form(fn: Function, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    for p in fn.params:
        if not p.keyword_only:
            positional += list(values[p.name]) if p.variadic else [values[p.name]]
    return positional, {p.name: values[p.name] for p in fn.params if p.keyword_only}


def call(fn: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A @jit or @library function called from a kernel. Numbers are constexpr in it, as when it is compiled."""
    bound = fn.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    for p in fn.params:
        if not p.variadic:
            bound.arguments[p.name] = _argument(bound.arguments[p.name], p.is_constexpr)
    return interpreted(fn)(*bound.args, **bound.kwargs)


def _argument(value: Any, is_constexpr: bool) -> Any:
    return constexpr(value) if is_constexpr or isinstance(value, bool | int | float) else value


def _bind(fn: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each parameter. Raises TypeError as a call of the function would."""
    named = {name: value for name, value in kwargs.items() if name in fn.arg_names}
    try:
        bound = fn.signature.bind(*args, **named)
    except TypeError as error:
        raise TypeError(f"{fn.__name__}(): {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _options(fn: Function, kwargs: Mapping[str, Any]) -> InterpreterOptions:
    """The options of the launch that the language asks for; the others choose among compiled kernels only."""
    given = {name: value for name, value in kwargs.items() if name not in {*fn.arg_names, "grid", "warmup"}}
    check_keywords(fn, given, InterpreterOptions)
    return InterpreterOptions(**InterpreterOptions.known(given))


def _meta(bound: Mapping[str, Any]) -> dict[str, Any]:
    return {name: unwrap(value) for name, value in bound.items()}
