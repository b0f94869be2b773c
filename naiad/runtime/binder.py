"""Binding a launch's arguments to a kernel's parameters, by a Python function written for that kernel.

`inspect.Signature.bind` takes 10 us; a function with the kernel's own parameters, whose body specialises each, 2.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from naiad.backends.constants import freeze
from naiad.backends.signature import BITS
from naiad.runtime.specialize import BY_TYPE, Extra, boolean, learn, specialize

Bound: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]
"""The arguments in order of the parameters, a pair of `specialize` for each, and the keywords that are options."""


def make_binder(function: Any, extra: Extra | None = None) -> Callable[..., Bound]:
    """A function of the kernel's parameters and `**options` that gives a Bound."""
    names = "".join(f"{parameter.name}," for parameter in function.params)
    pairs = "".join(f"{_pair(parameter, extra)}," for parameter in function.params)
    scope = {**NAMES, "_naiad_extra": extra}
    return _written(function, function.params, f"({names}), ({pairs}), _naiad_options", scope)


def make_namer(function: Any, held: Mapping[str, Any]) -> Callable[..., dict[str, Any]]:
    """A function of the kernel's parameters but those held, and of options, that gives all of them by name."""
    scope = {f"_naiad_held_{name}": value for name, value in held.items()}
    names = [*function.arg_names, *(name for name in held if name not in function.arg_names)]
    items = ", ".join(f"{name!r}: {f'_naiad_held_{name}' if name in held else name}" for name in names)
    free = [parameter for parameter in function.params if parameter.name not in held]
    return _written(function, free, f"{{{items}, **_naiad_options}}", scope)


def _written(function: Any, parameters: Sequence[Any], result: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """A function with these parameters of the kernel, and `**_naiad_options`, that gives an expression of them."""
    heads: list[str] = []
    for parameter in parameters:
        name = parameter.name
        if parameter.keyword_only and "*" not in heads and not any(head.startswith("*") for head in heads):
            heads.append("*")
        head = f"*{name}" if parameter.variadic else name
        if parameter.has_default:
            scope[f"_naiad_default_{name}"] = parameter.default
            head += f"=_naiad_default_{name}"
        heads.append(head)
    exec(f"def {function.__name__}({', '.join([*heads, '**_naiad_options'])}): return {result}", scope)
    return scope[function.__name__]


def _pair(parameter: Any, extra: Extra | None) -> str:
    """The expression that specialises one parameter."""
    name = parameter.name
    if parameter.is_constexpr:
        return f"('constexpr', _naiad_freeze({name}))"
    plain = _plain_pair(parameter)
    return plain if extra is None else f"_naiad_extra({plain}, {name}, {not parameter.do_not_specialize_on_alignment})"


def _plain_pair(parameter: Any) -> str:
    name = parameter.name
    value, align = not parameter.do_not_specialize, not parameter.do_not_specialize_on_alignment
    if parameter.annotation_type:
        return f"_naiad_typed({name}, {parameter.annotation_type!r}, {value}, {align})"
    if parameter.is_const or not (value and align):
        return f"_naiad_specialize({name}, {parameter.is_const}, {value}, {align})"
    return f"(_naiad_how(_naiad_type({name})) or _naiad_learn({name}))({name})"  # specialize(), without a call of it


def typed(argument: Any, annotation: str, value: bool, align: bool) -> tuple[Any, Any]:
    """The pair of an argument whose parameter is annotated with a type, which a number then has."""
    kind, seen = specialize(argument, annotation.startswith("*k"), value, align)
    if not isinstance(kind, str) or kind == "constexpr" or kind.startswith(("*", "tensordesc")):
        return kind, seen
    if annotation.startswith("*"):
        raise TypeError(f"the parameter is annotated with {annotation}, and the argument is the number {argument!r}")
    if annotation[0] in "fb" or annotation == "i1":
        return annotation, None
    if kind == "fp32":
        raise TypeError(f"the parameter is annotated with {annotation}, and the argument is the float {argument!r}")
    if kind == "i1":
        return annotation, boolean(argument, False, value, align)[1]
    bits = BITS[annotation]
    if not -(1 << bits - 1) <= int(argument) < 1 << bits - (annotation[0] == "i"):
        raise OverflowError(f"the parameter is annotated with {annotation}, which does not hold {argument}")
    return annotation, seen


def explain_mismatch(
    function: Any,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    error: Exception,
    extra: Extra | None = None,
    options: Collection[str] = (),
) -> Exception:
    """The error of a failed binding in words: which argument is missing, surplus, or of a type that kernels refuse.

    `options`: keywords that are none of arguments.
    """
    signature, given = function.signature, dict(keywords)
    names = ", ".join(function.arg_names)
    known = {name: value for name, value in given.items() if name in signature.parameters}
    try:
        bound = signature.bind(*args, **known)
    except TypeError as mismatch:
        unknown = [name for name in given if name not in known and name not in options]
        also = f"; {', '.join(unknown)} is no parameter" if unknown else ""
        return TypeError(f"{function.__name__}({names}): {mismatch}; {len(args)} positional arguments were given{also}")
    for parameter in function.params:
        if parameter.name not in bound.arguments:
            continue
        try:
            eval(_pair(parameter, extra), {**NAMES, "_naiad_extra": extra}, bound.arguments)
        except UNUSABLE as reason:
            return type(reason)(f"{function.__name__}: argument {parameter.name}: {reason}")
    return error


UNUSABLE = (TypeError, OverflowError, RuntimeError, BufferError)
"""The errors of arguments of no use: what kernels do not know, and what libraries say that give out no address."""
NAMES = {"_naiad_specialize": specialize, "_naiad_freeze": freeze, "_naiad_typed": typed, "_naiad_how": BY_TYPE.get,
         "_naiad_learn": learn, "_naiad_type": type}  # fmt: skip
"""What the binders that are written mean by these names, which no parameter of a kernel has (`type` one may)."""
