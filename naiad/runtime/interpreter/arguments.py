"""The arguments of an interpreted launch as values of the language; memory of a GPU is copied to the host and back."""

from types import TracebackType
from typing import Any

import numpy as np

from naiad.backends.arguments import address, device_of, is_array
from naiad.backends.signature import normalize_type, pointer_name
from naiad.language.constexpr import constexpr
from naiad.language.descriptors import tensor_descriptor
from naiad.language.function import Parameter
from naiad.language.tensor import tensor
from naiad.language.tuples import tuple as language_tuple
from naiad.language.types import block_type, dtype, float32, int1, int32, int64, pointer_type, uint64
from naiad.runtime.interpreter.descriptors import Descriptor
from naiad.runtime.interpreter.mapped import Buffer, Buffers
from naiad.runtime.interpreter.tiles import element_of, scalar

_INTEGERS = {"i1": "int1", **{f"{sign}{bits}": f"{word}int{bits}" for sign, word in (("i", ""), ("u", "u"))
                             for bits in (8, 16, 32, 64)}}  # fmt: skip


def named_dtype(name: str) -> dtype:
    """The language's dtype of a name in a signature: `i32`, `u8`, `fp32`."""
    return dtype(_INTEGERS.get(name, name))


class Arguments:
    """Makes values of the language from arguments; at the end of the `with` block, copies go back to their devices."""

    def __init__(self) -> None:
        self.buffers = Buffers()
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._kept: list[Any] = []

    def __enter__(self) -> "Arguments":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for original, copy in self._copies.values():
            original.copy_(copy)

    def value(self, parameter: Parameter, argument: Any) -> Any:
        """The argument of a parameter; the annotation of the parameter says the type of a number."""
        if parameter.variadic:
            return language_tuple([self._plain(parameter.name, item) for item in argument])
        if parameter.is_constexpr:
            return argument if isinstance(argument, constexpr) else constexpr(argument)
        return self._plain(parameter.name, argument, _annotated(parameter.annotation), parameter.is_const)

    def _plain(self, name: str, argument: Any, type: dtype | None = None, const: bool = False) -> Any:
        if argument is None:
            return None
        if isinstance(argument, str | dtype) or (callable(argument) and not is_array(argument)):
            return constexpr(argument)
        if isinstance(argument, constexpr):
            return argument
        if isinstance(argument, tuple | list):
            return language_tuple(
                _like(argument, [self._plain(f"{name}[{i}]", item) for i, item in enumerate(argument)])
            )
        if hasattr(argument, "block_shape") and hasattr(argument, "base"):
            return self._descriptor(name, argument)
        if _is_number(argument):
            return _number(argument, type)
        if is_array(argument):
            return self._pointer(name, argument, const)
        raise TypeError(f"{name}: an argument of type {argument.__class__.__name__} cannot be passed to a kernel")

    def _pointer(self, name: str, argument: Any, const: bool) -> tensor:
        try:
            element = named_dtype(pointer_name(argument.dtype, False).removeprefix("*"))
            host = self._on_host(argument)
            start = address(host)
        except (TypeError, RuntimeError) as error:  # a dtype that kernels do not know, no memory
            kind = TypeError if isinstance(error, TypeError) else RuntimeError
            raise kind(f"argument {name}: {error}") from error
        self._add_buffer(name, host, start)
        type = pointer_type(element, const=const)
        return tensor(np.int64(start), type)

    def _on_host(self, argument: Any) -> Any:
        """The argument, or a copy of it in host memory that goes back at the end."""
        base = getattr(argument, "base", argument)
        base = base if hasattr(base, "data_ptr") else argument
        if device_of(base)[0] == "cpu":
            return argument
        if not hasattr(base, "cpu"):
            raise TypeError("the interpreter takes host memory, or torch tensors of a GPU")
        if id(base) not in self._copies:
            self._copies[id(base)] = (base, base.cpu())
        return self._copies[id(base)][1]

    def _add_buffer(self, name: str, host: Any, start: int) -> None:
        self._kept.append(host)
        base = getattr(host, "base", None) if not hasattr(host, "untyped_storage") else None
        host = base if base is not None and hasattr(base, "untyped_storage") else host
        if hasattr(host, "untyped_storage"):
            storage = host.untyped_storage()
            if not storage.data_ptr():  # of an empty tensor, or of one without memory
                return
            self.buffers.known.append(Buffer(name, storage.data_ptr(), storage.nbytes()))
        elif isinstance(host, np.ndarray) and host.size:
            self.buffers.known.append(_extent(name, host))

    def _descriptor(self, name: str, argument: Any) -> tensor_descriptor:
        """A TensorDescriptor of the host."""
        base = self._pointer(name, argument.base, False)
        block = block_type(base.dtype.element_ty, [int(n) for n in argument.block_shape])
        shape, strides = (tuple(int(n) for n in sizes) for sizes in (argument.shape, argument.strides))
        padding = getattr(argument, "padding", None)
        handle = Descriptor(int(base.handle), shape, strides, block, padding)
        sizes = [tensor(scalar(n, element_of(int32)), int32) for n in shape]
        steps = [tensor(scalar(n, element_of(int64)), int64) for n in strides]
        return tensor_descriptor(handle, sizes, steps, block)


def _extent(name: str, array: Any) -> Buffer:
    """The memory between the first and the last element of an array; strides may be negative."""
    steps = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    low = sum(step for step in steps if step < 0)
    high = sum(step for step in steps if step > 0) + array.itemsize
    return Buffer(name, address(array) + low, high - low, array.flags.writeable)


def _annotated(annotation: Any) -> dtype | None:
    """The number type that an annotation names. Python's own int says nothing about the width."""
    name = "" if annotation in (int, "int") else normalize_type(annotation)
    try:
        return named_dtype(name)
    except AssertionError:
        return None


def _is_number(argument: Any) -> bool:
    return isinstance(argument, bool | int | float | np.number | np.bool_)


def _number(argument: Any, type: dtype | None) -> tensor:
    """A scalar: of the annotated type, else int1, int32, int64 or uint64 as it fits, or fp32."""
    if type is None or type.is_void():
        type = _number_type(argument)
    return tensor(scalar(argument, element_of(type))[()], type)


def _number_type(argument: Any) -> dtype:
    if isinstance(argument, bool | np.bool_):
        return int1
    if isinstance(argument, float | np.floating):
        return float32
    for type in (int32, int64, uint64):
        if type.get_int_min_value() <= int(argument) <= type.get_int_max_value():
            return type
    raise OverflowError(f"integer argument {argument} does not fit in 64 bits")


def _like(original: Any, items: list[Any]) -> Any:
    return type(original)._make(items) if hasattr(original, "_fields") else items
