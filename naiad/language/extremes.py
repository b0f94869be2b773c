"""What Python's `max` and `min` are inside of a kernel: of constants at compile time, of runtime values elementwise."""

import builtins
import math
import warnings
from typing import Any

from naiad.language.builtin import builtin
from naiad.language.compare import PropagateNan, maximum, minimum
from naiad.language.values import base_value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _check_constants(values: Any) -> None:
    """NaN and -0.0 compare in Python otherwise than in a kernel: such a constant would change its meaning."""
    for value in values:
        if _is_number(value) and (math.isnan(value) or (value == 0 and math.copysign(1.0, value) < 0)):
            raise AssertionError(f"max and min of constants do not take {value}")


def _extreme(name: str, args: tuple[Any, ...], propagate_nan: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], tuple | list):
        args = tuple(args[0])
    if not any(isinstance(value, base_value) for value in args):
        if propagate_nan is not None:
            raise AssertionError(f"propagate_nan is not supported on builtin {name}")
        _check_constants(args)
        return getattr(builtins, name)(args)
    if len(args) < 2:
        raise AssertionError(f"{name} requires at least 2 values")
    if propagate_nan is not None:
        _deprecated(f"passing propagate_nan to builtin {name} is deprecated, use tl.{name}imum instead")
    function = maximum if name == "max" else minimum
    result = args[0]
    for value in args[1:]:
        result = function(result, value, PropagateNan.NONE if propagate_nan is None else propagate_nan)
    if result.type.is_block():
        _deprecated(f"builtin {name} on non-scalar tensor values is deprecated, use tl.{name}imum instead")
    return result


def _deprecated(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=4)


@builtin
def builtin_max(*args: Any, propagate_nan: Any = None) -> Any:
    """The largest of its arguments."""
    return _extreme("max", args, propagate_nan)


@builtin
def builtin_min(*args: Any, propagate_nan: Any = None) -> Any:
    """The smallest of its arguments."""
    return _extreme("min", args, propagate_nan)
