"""What loops iterate over in a kernel: range with hints, static_range that is unrolled, condition of a while.

The code generator reads their fields. In the interpreter, where Python runs the loop, they are iterators.
"""

import builtins
from collections.abc import Iterator
from typing import Any

from naiad.language.builder import is_building
from naiad.language.constexpr import constexpr, unwrap
from naiad.language.values import base_value


def _iterate(start: Any, end: Any, step: Any, name: str) -> Iterator[Any]:
    """Numbers, where Python runs the loop. The code generator reads the fields instead."""
    if not is_building():
        raise RuntimeError(f"{name} can only be used in @triton.jit'd functions")
    return iter(builtins.range(int(start), int(end), int(step)))


class static_range(base_value):
    """Counts from `arg1` to `arg2` (or from 0 to `arg1`) by `step`, all constants; the loop is unrolled."""

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        arg2, step = (None if unwrap(value) is None else value for value in (arg2, step))
        self.start = _constant("start", 0 if arg2 is None else arg1)
        self.end = _constant("end", arg1 if arg2 is None else arg2)
        self.step = _constant("step", 1 if step is None else step)

    def __iter__(self) -> Iterator[Any]:
        return _iterate(self.start, self.end, self.step, "static_range")


def _constant(what: str, value: Any) -> constexpr:
    if isinstance(value, base_value) and not isinstance(value, constexpr):
        raise AssertionError(f"{value} used as tl.static_range {what} value is not a constexpr")
    return constexpr(value)


class range(base_value):
    """Counts from `arg1` to `arg2` (or from 0 to `arg1`) by `step`, with hints:

    num_stages: how many iterations are in flight; loop_unroll_factor: how often the body is repeated;
    flatten: fuse with the loop inside; warp_specialize: memory and arithmetic on separate warps;
    disallow_acc_multi_buffer, disable_licm: leave out what the compiler would do.
    """

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: Any = None,
        loop_unroll_factor: Any = None,
        disallow_acc_multi_buffer: Any = False,
        flatten: Any = False,
        warp_specialize: Any = False,
        disable_licm: Any = False,
    ) -> None:
        self.step = constexpr(1) if step is None else step
        self.start: Any = constexpr(0) if arg2 is None else arg1
        self.end: Any = arg1 if arg2 is None else arg2
        self.num_stages = num_stages
        self.loop_unroll_factor = loop_unroll_factor
        self.disallow_acc_multi_buffer = disallow_acc_multi_buffer
        self.flatten = flatten
        self.warp_specialize = warp_specialize
        self.disable_licm = disable_licm

    def __iter__(self) -> Iterator[Any]:
        return _iterate(self.start, self.end, self.step, "tl.range")


class condition(base_value):
    """The condition of a `while`, with the hint that code stays in the loop."""

    condition: Any

    def __init__(self, arg1: Any, disable_licm: Any = False) -> None:
        self.condition = arg1
        self.disable_licm = disable_licm

    def __bool__(self) -> bool:
        return bool(self.condition)
