"""Comparison, logic and selection: `<`, `and`, `not`, where, minimum, maximum, clamp."""

import warnings
from enum import Enum
from typing import Any

from naiad.language.arithmetic import and_, by_kind, emit_like, invert, or_
from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.casts import cast_to
from naiad.language.promotion import POINTERS, broadcast_pair, operands, to_tensor
from naiad.language.tensor import tensor
from naiad.language.types import bfloat16, float32, int1


class PropagateNan(Enum):
    """What minimum and maximum give where one operand is NaN: the other one (NONE), or NaN (ALL)."""

    NONE = 0
    ALL = 0xFFFF

    def __int__(self) -> int:
        return self.value


def compare(relation: str, x: Any, y: Any) -> tensor:
    """`relation` is eq, ne, lt, le, gt or ge. A comparison with NaN is false, but for ne."""
    a, b = operands(to_tensor(x), to_tensor(y))  # a literal has its own type here: `u8 < 300` compares in int32
    type = a.type.with_element_ty(int1)
    if a.dtype.is_floating():
        op, predicate = "arith.cmpf", ("une" if relation == "ne" else f"o{relation}")
    elif relation in ("eq", "ne"):
        op, predicate = "arith.cmpi", relation
    else:
        op, predicate = "arith.cmpi", f"{'s' if a.dtype.is_int_signed() else 'u'}{relation}"
    return tensor(builder().emit(op, (a.handle, b.handle), type, predicate=predicate), type)


def truth(x: Any) -> tensor:
    """`x` as a bool, elementwise."""
    return cast_to(to_tensor(x), int1)


@builtin
def logical_and(x: Any, y: Any) -> tensor:
    """`x and y`, elementwise; both are evaluated."""
    return and_(truth(x), truth(y))


@builtin
def logical_or(x: Any, y: Any) -> tensor:
    """`x or y`, elementwise; both are evaluated."""
    return or_(truth(x), truth(y))


@builtin
def not_(x: Any) -> tensor:
    """`not x`, elementwise."""
    return invert(truth(x))


@builtin
def where(condition: Any, x: Any, y: Any) -> tensor:
    """`x` where `condition` holds, else `y`. Both are evaluated: to keep a load from memory, use its mask."""
    chosen = to_tensor(condition)
    if not chosen.dtype.is_bool():
        warnings.warn(
            "tl.where with a non-boolean condition is deprecated and will error out in a future triton release. "
            f"Got {chosen.dtype}",
            stacklevel=2,
        )
    chosen = truth(chosen)
    a, b = operands(x, y, POINTERS)
    if chosen.type.is_block():
        chosen, a = broadcast_pair(chosen, a)
        a, b = broadcast_pair(a, b)
    else:
        chosen, _ = broadcast_pair(chosen, a)
    return tensor(builder().emit("arith.select", (chosen.handle, a.handle, b.handle), a.type), a.type)


def _check_nan(propagate_nan: Any) -> PropagateNan:
    if not isinstance(propagate_nan, PropagateNan):
        raise ValueError(f"Unexpected propagate_nan {propagate_nan}")
    return propagate_nan


def _extremum(name: str, x: Any, y: Any, propagate_nan: Any) -> tensor:
    """`name` is min or max."""
    a, b = operands(promoted(x), promoted(y))
    floating = f"arith.{name}imumf" if _check_nan(propagate_nan) is PropagateNan.ALL else f"arith.{name}numf"
    return emit_like(by_kind(a.dtype, floating, f"arith.{name}si", f"arith.{name}ui"), a, b)


def promoted(x: Any) -> Any:
    """bf16 as fp32: min and max of 16-bit bfloats are computed there. Everything else as it is."""
    value = to_tensor(x)
    return cast_to(value, float32) if value.dtype == bfloat16 else value


@builtin
def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The smaller, elementwise. Of a NaN and a number: the number, or NaN with PropagateNan.ALL."""
    return _extremum("min", x, y, propagate_nan)


@builtin
def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The larger, elementwise. Of a NaN and a number: the number, or NaN with PropagateNan.ALL."""
    return _extremum("max", x, y, propagate_nan)


@builtin
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """`x` between `min` and `max`. `propagate_nan` is about a NaN in `x`; with min > max the result is unspecified."""
    low, high = operands(promoted(min), promoted(max))
    value, low = operands(promoted(x), low)
    value, high = operands(value, high)
    if not value.dtype.is_floating():
        raise TypeError(f"Unexpected dtype {value.dtype}. Only floating point clamp is supported")
    nan = "all" if _check_nan(propagate_nan) is PropagateNan.ALL else "none"
    handles = (value.handle, low.handle, high.handle)
    return tensor(builder().emit("tt.clampf", handles, value.type, propagateNan=nan), value.type)
