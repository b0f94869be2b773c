"""Printing and asserting, at compile time and at run time; barriers; and what the programmer promises the compiler."""

import builtins
import string
from collections.abc import Sequence
from typing import Any

from naiad.language.arithmetic import or_
from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.compare import compare, not_, truth
from naiad.language.promotion import to_tensor
from naiad.language.tensor import dimensions, known_number, tensor

_print = print


@builtin
def static_print(*values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False) -> None:
    """Prints while the kernel is compiled."""
    _print(*values, sep=sep, end=end, file=file, flush=flush)


@builtin
def static_assert(cond: Any, msg: str = "") -> None:
    """Fails while the kernel is compiled if `cond`, which must be known then, is false."""
    cond = known_number(cond)
    if isinstance(cond, tensor) and not hasattr(builder(), "concrete"):
        raise TypeError(f"static_assert needs a condition that is known when the kernel is compiled, got {cond}")
    if not cond:
        raise AssertionError(msg)


@builtin
def device_print(prefix: str, *args: Any, hex: bool = False) -> None:
    """Prints `prefix` and the values of `args` while the kernel runs, a line for each element."""
    if not isinstance(prefix, str):
        raise AssertionError(f"{prefix} is not string")
    if any(character not in string.printable for character in prefix):
        raise AssertionError(f"{prefix} is not an ascii string")
    values = [to_tensor(value) for value in args]
    signs = tuple(int(value.dtype.is_int_signed()) for value in values)
    handles = [value.handle for value in values]
    builder().emit("tt.print", handles, prefix=_prefix(prefix, bool(values)), hex=bool(hex), isSigned=signs)


def _prefix(text: str, has_values: bool) -> str:
    """The prefix with a space before it and ': ' behind it."""
    if has_values:
        text = text if text.endswith(" ") else f"{text} "
        text = text if text.endswith(": ") else f"{text[:-1]}: "
    return f" {text}" if len(text) > 2 and not text.startswith(" ") else text


@builtin
def device_assert(cond: Any, msg: str = "", mask: Any = None) -> None:
    """With the option `debug`: stops the kernel with `msg` where `cond` is false (and `mask`, if given, true)."""
    if not getattr(builder().options, "debug", False):
        return
    holds = to_tensor(cond)
    if mask is not None:
        holds = or_(truth(holds), not_(mask))
    builder().emit("tt.assert", (truth(holds).handle,), message=str(msg))


@builtin
def expect_zero(x: Any, mask: Any) -> Any:
    """`x`; with the option `debug`, asserts that it is zero where `mask` is true."""
    value = to_tensor(x)
    device_assert(compare("eq", value, 0), "expect_zero expected x == 0 where mask is true", mask)
    return value


@builtin
def debug_barrier() -> None:
    """Waits until the whole program is here: all that it stored before is visible to all that it loads after."""
    builder().emit("gpu.barrier", ())


@builtin
def assume(cond: Any) -> None:
    """Promises that `cond` is true."""
    builder().emit("llvm.intr.assume", (truth(cond).handle,))


def _promise(input: Any, values: Any, name: str, function: str) -> tensor:
    """Notes a fact for each dimension on the op that makes `input`."""
    given = [values] if not isinstance(values, Sequence) else builtins.list(values)
    for i, value in enumerate(given):
        if not isinstance(value, int):
            raise TypeError(f"values element {i} must have type `constexpr[int]`, got `constexpr[{type(value)}]")
    result = to_tensor(input)
    if max(1, len(dimensions(result))) != len(given):
        raise ValueError(f"Shape of input to {function} does not match the length of values")
    builder().annotate(result.handle, name, tuple(given))
    return result


@builtin
def multiple_of(input: Any, values: Any) -> tensor:
    """Promises that the first value of each contiguous run in `input` is a multiple of `values`, one a dimension."""
    return _promise(input, values, "tt.divisibility", "multiple_of")


@builtin
def max_contiguous(input: Any, values: Any) -> tensor:
    """Promises that `values` (one a dimension) neighbours in `input` count up by one."""
    return _promise(input, values, "tt.contiguity", "max_contiguous")


@builtin
def max_constancy(input: Any, values: Any) -> tensor:
    """Promises that `values` (one a dimension) neighbours in `input` are equal."""
    return _promise(input, values, "tt.constancy", "max_constancy")
