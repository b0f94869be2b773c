"""What a launch's argument is: its type in the signature, and what else about it is compiled into the kernel.

`specialize(argument, ...)` gives a pair. First the type: `*fp32` (`*kfp32` where the kernel may not write), `i32`,
`fp32`, `constexpr`, `tensordesc<...>`, a tuple of types. Second, what is compiled in: "D" (divisible by 16), ""
(nothing), None (not looked at), the integer 1 (the value is 1, and is folded), or for a constexpr its frozen value.
Specialisation chooses among kernels; it never changes which arguments are legal, nor their types.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from naiad.backends.arguments import address, is_array
from naiad.backends.base import BaseBackend
from naiad.backends.constants import freeze
from naiad.backends.signature import pointer_name
from naiad.language.constexpr import constexpr
from naiad.language.function import Function
from naiad.language.types import dtype

Specialization: TypeAlias = tuple[Any, Any]


def specialize(argument: Any, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    """The pair for one argument. `const`: a pointer to read only; `value`, `align`: whether these are looked at."""
    how = BY_TYPE.get(type(argument)) or learn(argument)
    return how(argument, const, value, align)


def learn(argument: Any) -> Callable[..., Specialization]:
    """The function that specialises arguments of this type, from now on in BY_TYPE."""
    how = BY_TYPE[type(argument)] = _how(argument)
    return how


def _how(argument: Any) -> Callable[..., Specialization]:
    """The function that specialises arguments of this type; it depends on the type alone."""
    for kind, how in _BY_BASE:
        if isinstance(argument, kind):
            return how
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(argument, numpy.generic):  # it has an array interface, to memory that goes away
        return _how_number(argument)
    if hasattr(argument, "block_shape") and hasattr(argument, "base"):
        return descriptor
    if is_array(argument):
        return tensor if hasattr(argument, "data_ptr") else array
    return _how_number(argument)


def _how_number(argument: Any) -> Callable[..., Specialization]:
    """As `_how`, for numbers that are not Python's: those of numpy, symbolic integers."""
    kind = type(argument).__name__
    if kind in ("bool", "bool_"):
        return boolean
    if hasattr(argument, "__index__"):
        return lambda x, *how: integer(x.__index__(), *how)
    return floating if "float" in kind and hasattr(argument, "__float__") else unsupported


def unsupported(argument: Any, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    name = f"{type(argument).__module__}.{type(argument).__qualname__}".removeprefix("builtins.")
    raise TypeError(
        f"an argument of type {name} cannot be passed to a kernel. Pass a tensor or array (an object with data_ptr() "
        "and dtype, an array interface, or dlpack), a number, a bool, None, a dtype, a @jit function, or a tuple of "
        "these; anything else must be a parameter annotated with tl.constexpr"
    )


def none(argument: None, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    return "constexpr", None


def boolean(argument: bool, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    return "i1", None


def integer(argument: int, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    """The smallest of i32, i64, u64 that holds the value. OverflowError past 64 bits."""
    if argument is True or argument is False:
        return "i1", None
    if value and argument == 1:
        return "i32", 1
    seen = ("D" if align and argument % 16 == 0 else "") if value else None
    if -0x80000000 <= argument <= 0x7FFFFFFF:
        return "i32", seen
    if -0x8000000000000000 <= argument <= 0x7FFFFFFFFFFFFFFF:
        return "i64", seen
    if 0 <= argument <= 0xFFFFFFFFFFFFFFFF:
        return "u64", seen
    raise OverflowError(f"integer argument {argument} does not fit in 64 bits")


def floating(argument: float, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    return "fp32", None


def array(argument: Any, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    seen = ("" if not align or address(argument) % 16 else "D") if value else None
    return pointer_name(argument.dtype, const), seen


def tensor(argument: Any, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    """As `array`, without the questions: what has data_ptr()."""
    seen = ("" if not align or argument.data_ptr() % 16 else "D") if value else None
    return pointer_name(argument.dtype, const), seen


def function(argument: Function, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    return "constexpr", freeze(argument)


def constant(argument: Any, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    return "constexpr", freeze(argument)


def sequence(argument: tuple[Any, ...], const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    """Element by element. The type is a tuple of the same class, so that named fields keep their names."""
    pairs = [specialize(element) for element in argument]
    make: Any = getattr(type(argument), "_make", tuple)
    return make(ty for ty, _ in pairs), make(seen for _, seen in pairs)


def descriptor(argument: Any, const: bool = False, value: bool = True, align: bool = True) -> Specialization:
    """A tensor descriptor: the element's type and the block's shape, how reading outside pads, whether what is read is
    rounded, and whether the bytes of its last dimension are a multiple of 16 (the rest is, as the descriptor has
    checked).
    """
    element = pointer_name(argument.base.dtype, False)[1:]
    padding = getattr(argument, "padding", "zero")
    rounds = ",tf32" if getattr(argument, "round_f32_to_tf32", False) else ""
    whole = "D" if align and argument.shape[-1] * argument.base.dtype.itemsize % 16 == 0 else ""
    return f"tensordesc<{element}{[int(n) for n in argument.block_shape]}>", f"{whole}padding={padding}{rounds}"


@dataclass(frozen=True)
class Extra:
    """What a backend or a kernel wants to know of its arguments beside what `specialize` looks at.

    Each is called with an int or an array, its sort ("int" or "tensor") and `align`: whether alignment counts. A
    backend's answer stands for ours; a kernel's (`@jit(specialize_extra=...)`) is put after it. Both are letters that
    `backend.parse_attr` may give a meaning; kernels are told apart by all of them.
    """

    backend: Callable[..., str] | None
    kernel: Callable[..., str] | None

    def __call__(self, pair: Specialization, argument: Any, align: bool) -> Specialization:
        kind, seen = pair
        if isinstance(kind, tuple):
            parts = [
                self(part, value, True) for part, value in zip(zip(kind, seen, strict=True), argument, strict=True)
            ]
            make: Any = getattr(type(kind), "_make", tuple)
            return make(part[0] for part in parts), make(part[1] for part in parts)
        sort = "tensor" if kind.startswith("*") else "int" if kind[0] in "iu" and kind[1:].isdigit() else ""
        if seen not in ("", "D") or not sort:  # nothing to look at, or folded
            return pair
        if self.backend is not None:
            seen = self.backend(argument, sort, align=align)
        return kind, seen if self.kernel is None else seen + self._own(self.kernel(argument, sort, align=align), seen)

    def _own(self, letters: str, seen: str) -> str:
        if not isinstance(letters, str):
            raise TypeError(
                f"specialize_extra gave {letters!r}; it gives letters, as a str, and an empty one for nothing"
            )
        if "D" in letters and "D" not in seen:
            raise TypeError(f"specialize_extra says {letters!r}: divisible by 16 (D), and the argument is not")
        return letters


def extra_of(function: Any, backend: Any) -> Extra | None:
    """What is asked beside `specialize` for launches of a kernel by a backend; None for nothing, as almost always."""
    kind, own = type(backend), getattr(function, "specialize_extra", None)
    asked = getattr(backend, "get_arg_specialization", None)  # Triton 3.3 to 3.5
    names = ("get_int_specialization", "get_tensor_specialization")
    if asked is None and any(getattr(kind, name, None) not in (None, getattr(BaseBackend, name)) for name in names):

        def asked(argument: Any, sort: str, *, align: bool) -> str:
            return getattr(backend, f"get_{sort}_specialization")(argument, align=align)

    return None if asked is None and own is None else Extra(asked, own)


_BY_BASE: tuple[tuple[type, Callable[..., Specialization]], ...] = (
    (bool, boolean), (int, integer), (float, floating), (tuple, sequence), (Function, function),
    (constexpr, constant), (dtype, constant),
)  # fmt: skip
BY_TYPE: dict[type, Callable[..., Specialization]] = {
    type(None): none, bool: boolean, int: integer, float: floating, tuple: sequence, constexpr: constant,
    dtype: constant,
}  # fmt: skip
