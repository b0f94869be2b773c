"""How a tile of indices or pointers changes along each of its dimensions: by 0, by a known number, by a scalar, or
unknown.

Read on ttir; tells the CPU backend which dimension of an access lies contiguous in memory.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from naiad.ir.base import shape

RUNTIME = "runtime"
"""A stride that is the same everywhere but known only when the kernel runs."""

WRAPPED = "wrapped"
"""A stride that is the same everywhere but where a remainder starts again from 0: `(start + arange) % n`, and its
multiples."""

Stride: TypeAlias = int | str | None
"""0 along a dimension on which the value does not depend; None where it follows no single stride."""


def _sum(a: Stride, b: Stride, sign: int = 1) -> Stride:
    if a is None or b is None:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a + sign * b
    if a == 0 or b == 0:
        return a if b == 0 else b
    return None if WRAPPED in (a, b) else RUNTIME


def _scaled(a: Stride, factor: int | None) -> Stride:
    if a is None or a == 0 or a == WRAPPED:
        return a
    return RUNTIME if factor is None or a == RUNTIME else a * factor


@dataclass
class Strides:
    """The strides of values, found on demand and remembered."""

    found: dict[SSAValue, tuple[Stride, ...]] = field(default_factory=dict)

    def of(self, value: SSAValue) -> tuple[Stride, ...]:
        """One stride per dimension of the tile; () of a scalar."""
        if (known := self.found.get(value)) is None:
            known = self.found[value] = self._find(value)
        return known

    def _find(self, value: SSAValue) -> tuple[Stride, ...]:
        rank = len(shape(value.type))
        op = value.owner
        if not rank or not isinstance(op, Operation):
            return (None,) * rank
        if rule := RULES.get(op.name):
            return rule(self, op)
        inputs = [self.of(o) for o in op.operands if len(shape(o.type)) == rank]
        if op.name.startswith(("arith.", "math.", "tt.")) and not op.regions and inputs and op.name not in OPAQUE:
            return tuple(0 if all(i[d] == 0 for i in inputs) else None for d in range(rank))
        return (None,) * rank


OPAQUE = {"tt.dot", "tt.dot_scaled", "tt.gather", "tt.histogram", "tt.cat", "tt.join", "tt.reshape"}


def splat_value(value: SSAValue) -> int | None:
    """The integer that a constant, or a splat of one, holds everywhere."""
    op = value.owner
    if not isinstance(op, Operation):
        return None
    if op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims", "arith.extsi"):
        return splat_value(op.operands[0])
    if op.name != "arith.constant":
        return None
    data = getattr(getattr(op.properties["value"], "value", None), "data", None)
    return data if isinstance(data, int) else None


def _zeros(s: Strides, op: Operation) -> tuple[Stride, ...]:
    return (0,) * len(shape(op.results[0].type))


def _add(s: Strides, op: Operation) -> tuple[Stride, ...]:
    return tuple(_sum(a, b) for a, b in zip(s.of(op.operands[0]), s.of(op.operands[1]), strict=True))


def _sub(s: Strides, op: Operation) -> tuple[Stride, ...]:
    return tuple(_sum(a, b, -1) for a, b in zip(s.of(op.operands[0]), s.of(op.operands[1]), strict=True))


def _mul(s: Strides, op: Operation) -> tuple[Stride, ...]:
    lhs, rhs = op.operands
    if any(x != 0 for x in s.of(rhs)):
        lhs, rhs = rhs, lhs
    if any(x != 0 for x in s.of(rhs)):
        return tuple(0 if a == 0 and b == 0 else None for a, b in zip(s.of(lhs), s.of(rhs), strict=True))
    factor = splat_value(rhs)
    return tuple(_scaled(a, factor) for a in s.of(lhs))


def _remainder(s: Strides, op: Operation) -> tuple[Stride, ...]:
    lhs, rhs = (s.of(o) for o in op.operands)
    if any(x != 0 for x in rhs) or sum(x != 0 for x in lhs) > 1:
        return tuple(0 if a == 0 and b == 0 else None for a, b in zip(lhs, rhs, strict=True))
    return tuple(WRAPPED if x == 1 else (0 if x == 0 else None) for x in lhs)


def _same(s: Strides, op: Operation) -> tuple[Stride, ...]:
    return s.of(op.operands[0])


def _expand(s: Strides, op: Operation) -> tuple[Stride, ...]:
    axis = op.properties["axis"].value.data
    found = s.of(op.operands[0])
    return (*found[:axis], 0, *found[axis:])


def _broadcast(s: Strides, op: Operation) -> tuple[Stride, ...]:
    sizes = shape(op.operands[0].type)
    return tuple(0 if n == 1 else x for n, x in zip(sizes, s.of(op.operands[0]), strict=True))


def _permute(s: Strides, op: Operation) -> tuple[Stride, ...]:
    found = s.of(op.operands[0])
    return tuple(found[d] for d in op.properties["order"].get_values())


RULES = {
    "tt.splat": _zeros,
    "arith.constant": _zeros,
    "tt.make_range": lambda s, op: (1,),
    "tt.expand_dims": _expand,
    "tt.broadcast": _broadcast,
    "tt.trans": _permute,
    "tt.addptr": _add,
    "arith.addi": _add,
    "arith.subi": _sub,
    "arith.muli": _mul,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.extsi": _same,
    "arith.trunci": _same,
    "tt.bitcast": _same,
}
