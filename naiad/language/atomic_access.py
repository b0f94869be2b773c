"""Atomic loads and stores, and waiting for a value: made of the read-modify-write operations that every target has."""

from typing import Any

from naiad.language.atomics import atomic_or, atomic_xchg
from naiad.language.builtin import builtin
from naiad.language.casts import bitcast_to
from naiad.language.clock import nanoseconds
from naiad.language.debug import static_assert
from naiad.language.function import library
from naiad.language.standard import min
from naiad.language.tensor import member, tensor
from naiad.language.types import get_int_dtype, int32, pointer_type


def _checked(sem: str | None, allowed: tuple[str, str]) -> str:
    """`sem`, by default the first that is allowed."""
    if sem and sem not in allowed:
        raise ValueError(f"Memory semantic {sem} not supported: expected one of {', '.join(allowed)}")
    return sem or allowed[0]


@member
@builtin
def atomic_load(pointer: tensor, mask: Any = None, sem: str | None = None, scope: str | None = None) -> tensor:
    """What the memory holds, read atomically; unspecified where `mask` is false.

    sem: "acquire" (the default) or "relaxed". scope: "gpu" (the default), "cta" or "sys". The element has 32 or 64
    bits, or 16 where the target's `atomic_or` has.
    """
    order = _checked(sem, ("acquire", "relaxed"))
    element = pointer.dtype.element_ty
    word = get_int_dtype(element.primitive_bitwidth, signed=True)
    bits = atomic_or(bitcast_to(pointer, pointer_type(word)), 0, mask, order, scope)
    return bits if element == word else bitcast_to(bits, element)


@member
@builtin
def atomic_store(pointer: tensor, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> None:
    """Writes `val` where `mask` is true. sem: "release" (the default) or "relaxed"; scope as in atomic_load."""
    atomic_xchg(pointer, val, mask, _checked(sem, ("release", "relaxed")), scope)


@library
def _looks(pointer, expected_value, sem, scope):
    return atomic_load(pointer, None, sem, scope) == expected_value


@library
def _waits(found):
    """Whether an element has not been found."""
    if len(found.shape) > 0:
        return min(found.to(int32)) == 0
    return not found


@member
@library
def atomic_poll(pointer, expected_value, sem=None, scope=None, timeout_ns=None):
    """Waits until the memory holds `expected_value`; gives whether it does, for each element.

    pointer: to integers of 32 or 64 bits, one or a tile. timeout_ns: for how many nanoseconds at most, which may be
    known at run time only; 0 looks once.
    """
    static_assert(pointer.dtype.element_ty.is_int(), "atomic_poll: the pointer must be to integers")
    found = _looks(pointer, expected_value, sem, scope)
    if timeout_ns is None:
        while _waits(found):
            found = found | _looks(pointer, expected_value, sem, scope)
    else:
        start = nanoseconds()
        while _waits(found) and nanoseconds() - start < timeout_ns:
            found = found | _looks(pointer, expected_value, sem, scope)
    return found
