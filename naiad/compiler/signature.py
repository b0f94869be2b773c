"""The parameters of a kernel: the types of a signature (`*fp32`, `i32`, `tensordesc<fp16[64, 64]>`) and constants."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from naiad.errors import explain
from naiad.language.constexpr import constexpr, constexpr_type
from naiad.language.descriptors import tensor_descriptor_type
from naiad.language.function import Function, Parameter
from naiad.language.promotion import is_number
from naiad.language.tuples import as_value, tuple_type
from naiad.language.types import block_type, dtype, int32, int64, pointer_type
from naiad.language.values import base_type, handle_types

__all__ = ["ParameterError", "kernel_parameters", "type_of"]

_NAMES = {
    "i1": "int1", "u1": "int1", "B": "int1", "void": "void",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}, **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip


def type_of(text: Any) -> base_type:
    """The language type that a signature's text names; a tuple of texts is a tuple's type."""
    if isinstance(text, tuple | list):
        return tuple_type([type_of(item) for item in text], getattr(text, "_fields", None))
    if text is None or text == "constexpr":
        return constexpr_type(None)
    if text.startswith("tensordesc"):
        return _descriptor_type(text)
    if text.startswith("*"):
        const = text.startswith("*k")
        return pointer_type(type_of(text[2 if const else 1 :]), const=const)  # type: ignore[arg-type]
    name = _NAMES.get(text, text)
    if not dtype.is_dtype(name):
        error = ValueError(f"{text!r} is not a type of a signature")
        raise explain(error, expected="such as '*fp32', 'i32', 'fp16', 'constexpr'", found=repr(text))
    return dtype(name)


def _descriptor_type(text: str) -> base_type:
    """`tensordesc<fp16[64, 64]>`: a descriptor with its shape (i32) and strides (i64)."""
    found = re.fullmatch(r"tensordesc<(\w+)\[([\d, ]+)\].*>", text)
    if found is None:
        raise explain(
            ValueError(f"{text!r} is not a type of a signature"), expected="such as 'tensordesc<fp16[64, 64]>'"
        )
    sizes = [int(size) for size in found.group(2).split(",")]
    block = block_type(type_of(found.group(1)), sizes)  # type: ignore[arg-type]
    return tensor_descriptor_type(block, tuple_type([int32] * len(sizes)), tuple_type([int64] * len(sizes)))


class ParameterError(Exception):
    """The parameter `name` of a kernel cannot be what the signature says; the cause says why."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def kernel_parameters(fn: Function, src: Any) -> tuple[dict[str, Any], list[list[tuple[str, int]]]]:
    """For each parameter its language type, or a constexpr; and what is known of each argument of the tt.func."""
    constants = _by_path(fn, getattr(src, "constants", None) or getattr(src, "constexprs", None) or {})
    attributes = {_path(fn, key): value for key, value in (getattr(src, "attrs", None) or {}).items()}
    parameters: dict[str, Any] = {}
    specs: list[list[tuple[str, int]]] = []
    for i, parameter in enumerate(fn.params):
        try:
            made = _parameter(parameter, i, src.signature, constants)
        except Exception as error:
            raise ParameterError(parameter.name) from error
        parameters[parameter.name] = made
        if isinstance(made, base_type):
            specs += _specs(made, (i,), attributes)
    return parameters, specs


def _path(fn: Function, key: Any) -> tuple[int, ...]:
    if isinstance(key, str):
        return (fn.arg_names.index(key),)
    return tuple(key) if isinstance(key, tuple | list) else (key,)


def _by_path(fn: Function, constants: dict[Any, Any]) -> dict[tuple[int, ...], Any]:
    return {_path(fn, key): value for key, value in constants.items()}


def _parameter(parameter: Parameter, i: int, signature: dict[str, Any], constants: dict[tuple[int, ...], Any]) -> Any:
    if parameter.is_constexpr and getattr(parameter, "do_not_specialize", False):
        error = ValueError(f"{parameter.name} marked as constexpr and listed in do_not_specialize")
        raise explain(error, advice="take it out of one of the two: a constexpr is always compiled into the kernel")
    text = signature.get(parameter.name, "constexpr")
    if (i,) in constants:
        return _constant(constants[(i,)], text)
    if isinstance(text, tuple | list):
        return _tuple_type(text, (i,), constants)
    if text == "constexpr" or text is None:
        if not parameter.has_default:
            missing = TypeError(f"the constexpr parameter {parameter.name} has no value")
            raise explain(missing, advice=f"give it one: constexprs={{'{parameter.name}': ...}}")
        return as_value(parameter.default)
    return type_of(text)


def _constant(value: Any, text: Any) -> Any:
    """A constant. An argument that was folded because of its value keeps its type: see `Folded`."""
    if text in ("constexpr", None) or isinstance(text, tuple | list) or not is_number(value):
        return as_value(value)
    return Folded(value, type_of(text))


class Folded(constexpr):
    """An argument that is known because the launch said so, not because the kernel asked: `n` where n is 1.

    It is bound as a constant tensor of its type, so that a kernel means the same for every value.
    """

    def __init__(self, value: Any, declared: base_type) -> None:
        super().__init__(value)
        self.declared = declared


def _tuple_type(texts: Sequence[Any], path: tuple[int, ...], constants: dict[tuple[int, ...], Any]) -> tuple_type:
    types: list[base_type] = []
    for j, text in enumerate(texts):
        inner = (*path, j)
        if inner in constants:
            types.append(as_value(constants[inner]).type)
        elif isinstance(text, tuple | list):
            types.append(_tuple_type(text, inner, constants))
        else:
            types.append(type_of(text))
    return tuple_type(types, getattr(texts, "_fields", None))


def _specs(
    type: base_type, path: tuple[int, ...], attributes: dict[tuple[int, ...], Any]
) -> Iterator[list[tuple[str, int]]]:
    """What is known of each handle of a parameter, in order."""
    if isinstance(type, tuple_type):
        for j, item in enumerate(type.types):
            yield from _specs(item, (*path, j), attributes)
        return
    known = [(str(name), int(value)) for name, value in attributes.get(path, ())]
    for i, _ in enumerate(handle_types(type)):
        yield known if i == 0 else []
