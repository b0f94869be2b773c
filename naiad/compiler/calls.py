"""Calls: @jit functions become tt.call, functions of the language run now, a few of Python's are mapped to it."""

import ast
import builtins
from collections import namedtuple
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import naiad.language as tl
from naiad.compiler import functions, names
from naiad.compiler.known import as_known, keep
from naiad.compiler.mistakes import place_of
from naiad.compiler.values import describe, handles_of, is_constant
from naiad.errors import CompilationError, CompileTimeAssertionFailure, explain
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.core import is_builtin
from naiad.language.function import BoundFunction, Function
from naiad.language.promotion import to_tensor
from naiad.language.tensor import tensor
from naiad.language.tuples import as_value
from naiad.language.tuples import tuple as language_tuple
from naiad.language.values import base_value

if TYPE_CHECKING:
    from naiad.compiler.generator import Generator, Visitor

__all__ = ["CALLS", "call"]

COMPILER_KEYWORDS = ("_semantic", "_builder", "_generator")


def call_node(g: "Generator", node: ast.Call) -> Any:
    fn = g.visit(node.func)
    fn = fn.value if isinstance(fn, constexpr) else fn
    _check_result_is_used(g, node, fn)
    if fn is getattr(tl, "static_assert", None):
        return _static_assert(g, node)
    arguments: list[Any] = []
    for each in node.args:
        if isinstance(each, ast.Starred):
            arguments += _items(g.visit(each.value))
        else:
            arguments.append(g.visit(each))
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        value = g.visit(keyword.value)
        keywords |= {keyword.arg: value} if keyword.arg is not None else dict(unwrap(value))
    g.called = node, arguments, keywords
    return call(g, fn, arguments, keywords)


def _items(value: Any) -> list[Any]:
    if isinstance(value, language_tuple):
        return list(value.values)
    plain = unwrap(value)
    if not isinstance(plain, tuple | list):
        raise explain(TypeError("only a tuple can be unpacked into arguments"), found=describe(value))
    return [as_value(item) for item in plain]


def _check_result_is_used(g: "Generator", node: ast.Call, fn: Any) -> None:
    wanted = getattr(fn, "_must_use_result", False) or getattr(_target(fn), "_must_use_result", False)
    if wanted and getattr(node, "_naiad_unused", False):
        message = f"The result of {ast.unparse(node.func)} is not being used."
        raise CompilationError(f"{message} {wanted}" if isinstance(wanted, str) else message, place_of(g, node))


def _target(fn: Any) -> Any:
    """A bound method's function."""
    return getattr(fn, "function", None) or getattr(fn, "__func__", None) or fn


def call(g: "Generator", fn: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Calls `fn` on values of the language."""
    if isinstance(fn, constexpr):
        fn = fn.value
    if isinstance(fn, BoundFunction):
        fn, arguments = fn.function, [fn.instance, *arguments]
    if isinstance(fn, Function):
        return functions.call(g, fn, arguments, {k: v for k, v in keywords.items() if k not in COMPILER_KEYWORDS})
    if names.is_constexpr_function(fn):
        return _constexpr_call(fn, arguments, keywords)
    mapped = PYTHON.get(fn) if isinstance(fn, Hashable) else None
    if mapped is not None:
        return mapped(*arguments, **keywords)
    if fn is getattr(tl, "static_print", None):
        return _static_print(*arguments, **keywords)
    if is_builtin(fn) or _is_method_of_value(fn) or _is_language_class(fn):
        result = fn(*arguments, **keywords)
        return language_tuple(result) if isinstance(result, tuple | list) else result
    if names.is_named_tuple(fn):
        return language_tuple(fn(*arguments, **keywords))
    return _python_call(fn, arguments, keywords)


def _is_method_of_value(fn: Any) -> bool:
    owner = getattr(fn, "__self__", None)
    return isinstance(owner, base_value) and not isinstance(owner, constexpr)


def _is_language_class(fn: Any) -> bool:
    return isinstance(fn, type) and (
        issubclass(fn, base_value)
        or getattr(fn, "__triton_aggregate__", False)
        or fn.__module__.startswith("naiad.language")
    )


def _constexpr_call(fn: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    arguments, keywords = [as_known(a) for a in arguments], {name: as_known(v) for name, v in keywords.items()}
    given = [*arguments, *keywords.values()]
    runtime = next((v for v in given if isinstance(v, tensor)), None)
    if runtime is not None and not getattr(fn, "instance", None):
        error = TypeError(
            f"{getattr(fn, '__name__', fn)} is a constexpr function: "
            "its arguments must be known when the kernel is compiled"
        )
        raise explain(error, found=describe(runtime), advice="pass constexpr values, or decorate it with @triton.jit")
    result = fn(*[_plain(a) for a in arguments], **{name: _plain(v) for name, v in keywords.items()})
    return as_value(result) if isinstance(result, base_value | tuple) else constexpr(result)


def _plain(value: Any) -> Any:
    """A constant as a Python object; a named tuple keeps its names."""
    if not isinstance(value, language_tuple):
        return unwrap(value)
    items = [_plain(item) for item in value.values]
    return _named(tuple(value.fields))(*items) if any(value.fields) else tuple(items)


@cache
def _named(fields: tuple[str, ...]) -> type:
    return namedtuple("named", fields)


def _python_call(fn: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    if not callable(fn):
        raise TypeError(f"{describe(fn)} is not callable")
    arguments, keywords = [as_known(a) for a in arguments], {name: as_known(v) for name, v in keywords.items()}
    for value in (*arguments, *keywords.values()):
        if not is_constant(value):
            error = TypeError(f"{getattr(fn, '__name__', fn)} is a Python function: it cannot take run-time values")
            raise explain(error, found=describe(value), advice="decorate it with @triton.jit")
    result = fn(*[unwrap(a) for a in arguments], **{k: unwrap(v) for k, v in keywords.items()})
    return None if result is None else as_value(result)


# ---- what the front end does itself ----------------------------------------------------------------------------------


def _static_assert(g: "Generator", node: ast.Call) -> None:
    if not 1 <= len(node.args) <= 2 or node.keywords:
        raise TypeError("`static_assert` requires one or two positional arguments only")
    passed = unwrap(as_known(g.visit(node.args[0])))
    if not isinstance(passed, bool):
        error = NotImplementedError(
            "Assertion condition could not be determined at compile-time. "
            "Make sure that it depends only on `constexpr` values"
        )
        raise explain(error, found=describe(passed), advice="use tl.device_assert for run-time values")
    if passed:
        return
    message = unwrap(g.visit(node.args[1])) if len(node.args) == 2 else ""
    raise CompileTimeAssertionFailure(str(message), place_of(g, node))


def _number(kind: type) -> Callable[..., Any]:
    def convert(value: Any = 0, *more: Any) -> constexpr:
        if isinstance(value, tensor):
            error = TypeError(f"{kind.__name__}() needs a value that is known when the kernel is compiled")
            raise explain(error, found=describe(value), advice=f"use x.to(tl.{kind.__name__}32) for run-time values")
        return constexpr(kind(unwrap(value), *[unwrap(m) for m in more]))

    return convert


def _truth(value: Any = False) -> Any:
    return tl.cast(value, tl.int1) if isinstance(value, tensor) else constexpr(bool(unwrap(value)))


def _absolute(value: Any) -> Any:
    return tl.abs(value) if isinstance(value, tensor) else constexpr(abs(unwrap(value)))


def _extremum(python: Callable[..., Any], runtime: str) -> Callable[..., Any]:
    """min and max of two or more values, or of a tuple of them."""

    def choose(*values: Any) -> Any:
        if len(values) == 1:
            values = tuple(_items(values[0]))
        result = values[0]
        for value in values[1:]:
            if isinstance(result, tensor) or isinstance(value, tensor):
                chosen = getattr(tl, runtime)(to_tensor(result), to_tensor(value))
                result = keep(python, chosen, result, value)
            else:
                result = constexpr(_chosen(python, unwrap(result), unwrap(value)))
        return result

    return choose


def _chosen(python: Callable[..., Any], a: Any, b: Any) -> Any:
    """Python's choice. It depends on the order of the arguments where one is NaN or -0.0, so those are refused."""
    for value in (a, b):
        if isinstance(value, float) and (value != value or (value == 0 and str(value)[0] == "-")):
            raise ValueError(f"{python.__name__} of {value} is not defined for constexpr values")
    return python(a, b)


def _isinstance(value: Any, classes: Any) -> constexpr:
    kinds = unwrap(classes)
    return constexpr(isinstance(value, kinds) or isinstance(unwrap(value), kinds))


def _getattr(value: Any, attr: Any, *default: Any) -> Any:
    owner = unwrap(value) if isinstance(value, constexpr) else value
    found = getattr(owner, unwrap(attr), *default)
    return found if isinstance(found, base_value) or callable(found) else as_value(found)


def _hasattr(value: Any, attr: Any) -> constexpr:
    return constexpr(hasattr(unwrap(value) if isinstance(value, constexpr) else value, unwrap(attr)))


def _length(value: Any) -> constexpr:
    if isinstance(value, tensor):
        raise explain(TypeError("a tensor has no len()"), found=describe(value), advice="use x.shape[0]")
    return constexpr(len(value if isinstance(value, language_tuple) else unwrap(value)))


def _print(*values: Any, **keywords: Any) -> Any:
    """`print("prefix", x)` at run time: what is known now goes into the prefix."""
    prefix = " ".join(str(unwrap(v)) for v in values if not handles_of(v))
    return tl.device_print(prefix, *[v for v in values if handles_of(v)], **keywords)


def _tuple(items: Any = ()) -> language_tuple:
    return language_tuple([as_value(item) for item in (items if isinstance(items, language_tuple) else unwrap(items))])


def _zip(*items: Any) -> language_tuple:
    return language_tuple([language_tuple(list(group)) for group in zip(*[_items(i) for i in items], strict=False)])


def _enumerate(items: Any, start: Any = 0) -> language_tuple:
    return language_tuple([language_tuple([i, v]) for i, v in enumerate(_items(items), unwrap(start))])


def _sum(items: Any, start: Any = 0) -> Any:
    total = start if isinstance(start, base_value) else constexpr(start)
    for item in _items(items):
        total = total + item
    return total


def _type(value: Any) -> Any:
    return (
        value.type
        if isinstance(value, base_value) and not isinstance(value, constexpr)
        else constexpr(type(unwrap(value)))
    )


def _range(*bounds: Any) -> constexpr:
    if any(isinstance(b, tensor) for b in bounds):
        raise explain(TypeError("range() of run-time values can only be used by `for`"), found=describe(bounds[-1]))
    return constexpr(range(*[unwrap(b) for b in bounds]))


def _static_print(*values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False) -> None:
    shown = [_shown(v) for v in values]
    print(*shown, sep=unwrap(sep), end=unwrap(end), file=unwrap(file), flush=unwrap(flush))


def _shown(value: Any) -> Any:
    """A value as tl.static_print shows it: of a tensor the dtype and the shape."""
    if isinstance(value, tensor):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return describe(value) if handles_of(value) else unwrap(value)


PYTHON: dict[Any, Callable[..., Any]] = {
    int: _number(int),
    float: _number(float),
    str: lambda value="": constexpr(str(unwrap(value))),
    bool: _truth,
    abs: _absolute,
    min: _extremum(builtins.min, "minimum"),
    max: _extremum(builtins.max, "maximum"),
    len: _length,
    isinstance: _isinstance,
    issubclass: lambda a, b: constexpr(issubclass(unwrap(a), unwrap(b))),
    getattr: _getattr,
    hasattr: _hasattr,
    print: _print,
    tuple: _tuple,
    list: _tuple,
    zip: _zip,
    enumerate: _enumerate,
    reversed: lambda items: language_tuple(_items(items)[::-1]),
    sum: _sum,
    type: _type,
    range: _range,
    constexpr: lambda value: value if isinstance(value, language_tuple) else constexpr(unwrap(value)),
}

CALLS: "dict[type[ast.AST], Visitor]" = {ast.Call: call_node}
