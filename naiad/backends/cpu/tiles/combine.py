"""The combine function of a reduce or a scan, applied to vectors; which one it is where it is a single op."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Block, Operation, SSAValue

from naiad.backends.cpu.tiles.lanes import Lanes, Uniform, Vector, as_vector, elementwise
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.errors import explain
from naiad.ir.base import bits, element

Values = list[SSAValue]
"""One vector (or scalar, for one lane) per operand of the reduce or scan."""


def lowest(type: Attribute) -> int | float:
    return -math.inf if isinstance(type, AnyFloat) else -(1 << (bits(type) - 1))


def highest(type: Attribute) -> int | float:
    return math.inf if isinstance(type, AnyFloat) else (1 << (bits(type) - 1)) - 1


NEUTRAL = {
    "addf": lambda t: -0.0,
    "addi": lambda t: 0,
    "mulf": lambda t: 1.0,
    "muli": lambda t: 1,
    "andi": lambda t: -1,
    "ori": lambda t: 0,
    "xori": lambda t: 0,
    "maxnumf": lambda t: math.nan,
    "minnumf": lambda t: math.nan,
    "maximumf": lowest,
    "minimumf": highest,
    "maxsi": lowest,
    "minsi": highest,
    "maxui": lambda t: 0,
    "minui": lambda t: -1,
}
"""The value that changes nothing, by the scalar type. NaN is one for maxnum: it gives way to any number."""


@dataclass(frozen=True)
class Combine:
    """The combine region of an op."""

    block: Block

    @property
    def kind(self) -> str | None:
        """The name, without `arith.`, of the one op that the region is; None for any other function."""
        ops = list(self.block.ops)
        if len(ops) == 2 and ops[0].name.startswith("arith.") and set(ops[0].operands) == set(self.block.args):
            kind = ops[0].name.removeprefix("arith.")
            return kind if kind in NEUTRAL else None
        return None

    def neutral(self, tiles: Tiles, count: int) -> Values | None:
        """The value to begin with, where there is one."""
        if self.kind is None:
            return None
        type = self.block.args[0].type
        return [as_vector(tiles.w, Uniform(tiles.w.constant(NEUTRAL[self.kind](type), type)), count)]

    def apply(self, tiles: Tiles, left: Values, right: Values, count: int) -> Values:
        """combine(left, right), lane by lane."""
        env: dict[SSAValue, Lanes] = {a: lanes(v) for a, v in zip(self.block.args, [*left, *right], strict=True)}
        for op in self.block.ops:
            if op.name.endswith(".return"):
                return [as_vector(tiles.w, _lanes_of(tiles, env, o), count) for o in op.operands]
            self._step(tiles, op, env, count)
        raise AssertionError("a combine region without a return")

    def _step(self, tiles: Tiles, op: Operation, env: dict[SSAValue, Lanes], count: int) -> None:
        if op.name == "arith.constant":
            value = op.properties["value"].value.data
            env[op.results[0]] = Uniform(tiles.w.constant(value, op.results[0].type))
            return
        if op.name == "scf.if":
            self._choose(tiles, op, env, count)
            return
        if op.regions:
            error = NotImplementedError(
                "the CPU backend has no loops in functions that a reduction or scan combines with"
            )
            raise explain(error, found=op.name, advice="write the function without a run-time loop: tl.static_range")
        operands = [_lanes_of(tiles, env, o) for o in op.operands]
        types = [element(r.type) for r in op.results]
        made = elementwise(tiles.w, op.name, operands, types, count, op.properties)
        env.update(zip(op.results, made, strict=True))

    def _choose(self, tiles: Tiles, op: Operation, env: dict[SSAValue, Lanes], count: int) -> None:
        """An `if`: both sides for all lanes, and of each lane the one that its condition asks for."""
        condition = _lanes_of(tiles, env, op.operands[0])
        sides: list[list[Lanes]] = []
        for region in op.regions:
            *ops, end = region.block.ops
            for inner in ops:
                self._step(tiles, inner, env, count)
            sides.append([_lanes_of(tiles, env, value) for value in end.operands])
        for result, yes, no in zip(op.results, *sides, strict=True):
            types = [element(result.type)]
            [env[result]] = elementwise(tiles.w, "arith.select", [condition, yes, no], types, count, {})


def _lanes_of(tiles: Tiles, env: dict[SSAValue, Lanes], value: SSAValue) -> Lanes:
    return env[value] if value in env else Uniform(tiles.scalar(value))


def lanes(value: SSAValue) -> Lanes:
    """A value as lanes, by its type."""
    from xdsl.dialects.builtin import VectorType

    return Vector(value) if isinstance(value.type, VectorType) else Uniform(value)


def evaluate_all(tiles: Tiles, values: Sequence[SSAValue], index: tuple, count: int) -> Values:
    """The vectors of several tiles at an index."""
    return [as_vector(tiles.w, tiles.at(v, index, count), count) for v in values]
