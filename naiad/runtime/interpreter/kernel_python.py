"""What the rewritten body of a kernel calls as `__naiad`: Python's constructs with the meaning they have in a kernel.

rewrite.py puts these calls in; each says which construct it stands for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

from naiad import language
from naiad.compiler.values import as_variable
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.core import is_builtin
from naiad.language.promotion import integer_promotion, scalar_constant, to_tensor
from naiad.language.tensor import tensor
from naiad.language.tuples import as_value
from naiad.language.tuples import tuple as language_tuple
from naiad.language.types import int32
from naiad.language.values import base_value
from naiad.runtime.interpreter.show import shown


def constant(value: Any) -> Any:
    """`x: tl.constexpr = value`."""
    return value if is_runtime(value) else as_value(value)


def is_runtime(value: Any) -> bool:
    """Whether the compiler would know this only at run time."""
    return isinstance(value, tensor)


def truth(value: Any) -> bool:
    """`if value`, `while value`."""
    return bool(value)


def ends_and(value: Any) -> bool:
    """Whether `value and ...` is decided: what follows is not evaluated."""
    return not is_runtime(value) and not value


def ends_or(value: Any) -> bool:
    """Whether `value or ...` is decided."""
    return not is_runtime(value) and bool(value)


def and_(a: Any, b: Any) -> Any:
    """`a and b`, where `a` does not decide it: elementwise where both are known at run time only."""
    return a.logical_and(b) if is_runtime(a) else b


def or_(a: Any, b: Any) -> Any:
    """`a or b`."""
    return a.logical_or(b) if is_runtime(a) else b


def not_(value: Any) -> Any:
    """`not value`."""
    negated = getattr(value, "__not__", None)
    return not value if negated is None else negated()


def is_(a: Any, b: Any) -> bool:
    """`a is b`: dtypes and numbers are equal where Python may hold them twice."""
    a, b = unwrap(a), unwrap(b)
    return a is b or (isinstance(a, language.dtype) and isinstance(b, language.dtype) and a == b)


def in_(item: Any, container: Any) -> bool:
    """`item in container`."""
    return unwrap(item) in unwrap(container)


def chosen(value: Any, condition: Any) -> Any:
    """`value`, one of the arms of `x if condition else y`."""
    return as_variable(value) if is_runtime(condition) else value


@dataclass(frozen=True)
class Range:
    """`range(...)` in a kernel: constants where it is listed, scalars of the language where `for` goes over it."""

    start: Any
    stop: Any
    step: Any

    def __iter__(self) -> Iterator[constexpr]:
        return (constexpr(number) for number in self.numbers())

    def numbers(self) -> Iterable[int]:
        return range(int(self.start), int(self.stop), int(self.step))

    def scalars(self) -> Iterator[Any]:
        """The numbers in the widest type of the bounds."""
        type = int32
        for bound in (self.start, self.stop, self.step):
            type = integer_promotion(type, to_tensor(bound).dtype)
        return (scalar_constant(number, type) for number in self.numbers())


def range_(*bounds: Any, **options: Any) -> Range:
    """`range(stop)`, `range(start, stop)`, `range(start, stop, step)`."""
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(start, stop, step)


def iterated(source: Any) -> Iterable[Any]:
    """`for x in source`."""
    if isinstance(source, language.static_range):
        return Range(source.start, source.end, source.step)
    if isinstance(source, language.range):
        return Range(source.start, source.end, source.step).scalars()
    return source.scalars() if isinstance(source, Range) else source


def callee(function: Any) -> Any:
    """What a call calls: a Python function that knows nothing of kernels gets the values of constexpr.

    A class of named tuples makes tuples of the language, with its names.
    """
    if isinstance(function, type) and hasattr(function, "_fields") and issubclass(function, tuple):
        return lambda *args, **kwargs: language_tuple(function(*args, **kwargs))
    plain = isinstance(function, FunctionType | BuiltinFunctionType) and not is_builtin(function)
    if not plain or str(function.__module__).startswith("naiad."):
        return function
    return lambda *args, **kwargs: function(*map(unwrap, args), **{name: unwrap(v) for name, v in kwargs.items()})


def assert_(condition: Any, message: Callable[[], Any]) -> None:
    """`assert condition, message`."""
    text = str(unwrap(message()))
    if not is_runtime(condition):
        if not condition:
            raise AssertionError(text)
        return
    language.device_assert(condition, text)


def tuple_(items: Sequence[Any]) -> language_tuple:
    """`(a, b)`."""
    return language_tuple(items)


def print_(*values: Any, **options: Any) -> None:
    """`print(...)`: Python's, that shows what a tile holds."""
    print(*(shown(value) for value in values), **options)


def _folded(values: Sequence[Any], on_tensors: Callable[..., Any], on_numbers: Callable[..., Any]) -> Any:
    if len(values) == 1:
        values = list(values[0])
    if not any(isinstance(value, tensor) for value in values):
        return constexpr(on_numbers(*(unwrap(value) for value in values)))
    result = values[0]
    for value in values[1:]:
        result = on_tensors(result, value)
    return result


def min_(*values: Any) -> Any:
    """`min(a, b)` of numbers or tensors."""
    return _folded(values, language.minimum, min)


def max_(*values: Any) -> Any:
    """`max(a, b)` of numbers or tensors."""
    return _folded(values, language.maximum, max)


def isinstance_(value: Any, kinds: Any) -> bool:
    """`isinstance(value, kinds)`: true of a constexpr also where it is true of what it holds."""
    return isinstance(value, unwrap(kinds)) or (isinstance(value, constexpr) and isinstance(value.value, unwrap(kinds)))


def getattr_(value: Any, name: Any, *default: Any) -> Any:
    """`getattr(value, name)`."""
    return getattr(value, unwrap(name), *default)


def hasattr_(value: Any, name: Any) -> bool:
    """`hasattr(value, name)`."""
    return hasattr(value, unwrap(name))


def float_(value: Any) -> Any:
    """`float(value)`."""
    return float(unwrap(value))


def int_(value: Any) -> Any:
    """`int(value)`."""
    return int(unwrap(value))


def abs_(value: Any) -> Any:
    """`abs(value)`."""
    return language.abs(value) if isinstance(value, tensor) else abs(unwrap(value))


def bool_(value: Any = False) -> Any:
    """`bool(value)`."""
    return language.cast(value, language.int1) if isinstance(value, tensor) else bool(value)


def str_(value: Any = "") -> str:
    """`str(value)`."""
    return str(unwrap(value))


def type_(value: Any) -> Any:
    """`type(value)`: of a tensor its type in the language."""
    return value.type if isinstance(value, base_value) and not isinstance(value, constexpr) else type(unwrap(value))


BUILTINS = frozenset(
    ("abs", "bool", "float", "getattr", "hasattr", "int", "isinstance", "max", "min", "print", "range", "str", "type")
)
"""Python's functions that mean something else in a kernel; here they end in an underscore."""
