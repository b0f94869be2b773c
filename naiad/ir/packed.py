"""A module as bytes for another process of this naiad, and back: the same as its text and several times quicker.

The bytes mean nothing to another version. They hold what the text with locations holds, and the hints for names.
"""

import pickle
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from naiad.ir.registry import OPS

__all__ = ["pack", "unpack"]


def pack(module: ModuleOp) -> bytes:
    """The bytes of a module whose control flow is structured: a value is defined before it is used."""
    return pickle.dumps(_Packer().block(module.body.block), pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes) -> ModuleOp:
    """The module of `pack`'s bytes, which must come from this naiad."""
    return ModuleOp(Region([_Unpacker().block(pickle.loads(data))]))


class _Packer:
    """Operations as tuples, in which a value is its number in the order of definition."""

    def __init__(self) -> None:
        self.numbers: dict[SSAValue, int] = {}

    def defined(self, values: Any) -> list[tuple[Any, str | None]]:
        for value in values:
            self.numbers[value] = len(self.numbers)
        return [(value.type, value.name_hint) for value in values]

    def block(self, block: Block) -> tuple[Any, ...]:
        arguments = self.defined(block.args)
        places = [argument.location for argument in block.args]
        return arguments, places, [self.op(op) for op in block.ops]

    def op(self, op: Operation) -> tuple[Any, ...]:
        operands = [self.numbers[value] for value in op._operands]
        regions = [[self.block(block) for block in region.blocks] for region in op.regions]
        return op.name, operands, self.defined(op.results), op.properties, op.attributes, op.location, regions


class _Unpacker:
    """The operations again."""

    def __init__(self) -> None:
        self.values: list[SSAValue] = []

    def defined(self, values: Any, facts: list[tuple[Any, str | None]]) -> None:
        for value, (_, hint) in zip(values, facts, strict=True):
            value.name_hint = hint
            self.values.append(value)

    def block(self, packed: tuple[Any, ...]) -> Block:
        arguments, places, ops = packed
        block = Block(arg_types=[type for type, _ in arguments])
        self.defined(block.args, arguments)
        for argument, place in zip(block.args, places, strict=True):
            argument.location = place
        block.add_ops(self.op(op) for op in ops)
        return block

    def op(self, packed: tuple[Any, ...]) -> Operation:
        name, operands, results, properties, attributes, location, regions = packed
        inner = [Region([self.block(block) for block in region]) for region in regions]
        made = OPS[name].create(
            operands=[self.values[number] for number in operands], result_types=[type for type, _ in results],
            properties=properties, attributes=attributes, regions=inner, location=location,
        )  # fmt: skip
        self.defined(made.results, results)
        return made
