"""Arguments that a launch fixed, `n` where n is 1: tensors with a type, as for any other n, and known at the same time.

What is computed of known numbers is known too. Where a constexpr is asked for (a shape, a constexpr parameter, an `if`
that chooses between types), a known scalar is one; everywhere else it is the tensor that it is.
"""

from collections.abc import Callable
from typing import Any

from naiad.language.constexpr import constexpr, unwrap
from naiad.language.tensor import known_number, tensor
from naiad.language.tuples import tuple as language_tuple
from naiad.language.types import int1

__all__ = ["as_known", "items_as_known", "keep"]


def as_known(value: Any) -> Any:
    """The constexpr that a known scalar is; any other value as it is."""
    return constexpr(value.known) if isinstance(value, tensor) and value.known is not None else value


def items_as_known(value: Any) -> Any:
    """A tuple with constexprs for its known scalars: a shape."""
    if not isinstance(value, language_tuple) or not any(getattr(item, "known", None) is not None for item in value):
        return value
    return language_tuple([as_known(item) for item in value.values])


def keep(function: Callable[..., Any], result: Any, *operands: Any) -> Any:
    """The result of an operator, known if the operands are. From 0 on, Python's numbers are the language's."""
    if isinstance(result, tensor) and any(isinstance(x, tensor) and x.known is not None for x in operands):
        numbers = [known_number(unwrap(x)) for x in operands]
        if not result.type.is_block() and all(isinstance(x, bool | int) and x >= 0 for x in numbers):
            result.known = _fitting(function(*numbers), result)
    return result


def _fitting(number: Any, result: tensor) -> Any:
    """The number, where a value of the result's type can be it."""
    if isinstance(number, bool):
        return number if result.dtype == int1 else None
    bits = result.dtype.primitive_bitwidth - result.dtype.is_int_signed() if result.dtype.is_int() else 0
    return number if isinstance(number, int) and 0 <= number < 1 << bits else None
