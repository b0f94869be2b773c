"""Rules of tensor descriptors: blocks of a tensor in memory. Outside of it reads give padding, writes do nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from naiad.language.types import dtype
from naiad.runtime.interpreter.atomics import change, update_of
from naiad.runtime.interpreter.memory import Access, BlockPointer, numbers
from naiad.runtime.interpreter.tiles import Rule, Tile, bytes_of, element_of, filled, shape_of


@dataclass(frozen=True)
class Descriptor:
    """A tensor of `shape` and `strides` (in elements) at address `base`, taken by blocks of the type `block`."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: Any
    padding: str | None = None

    @property
    def element(self) -> dtype:
        return self.block.element_ty

    def access(self, offsets: Sequence[Tile]) -> Access:
        """The elements of the block at `offsets` that are inside of the tensor."""
        at, block = numbers(offsets), shape_of(self.block)
        pointer = BlockPointer(self.base, self.shape, self.strides, at, block, bytes_of(self.block))
        return Access.of(pointer.pointers(), pointer.inside(range(len(block))))

    def rows(self, rows: Tile, column: Tile) -> Access:
        """The elements of the rows, from `column` on for the width of the block, that are inside of the tensor."""
        down = rows.astype(np.int64)[:, None]
        across = int(column) + np.arange(shape_of(self.block)[1])[None, :]
        addresses = self.base + (down * self.strides[0] + across * self.strides[1]) * bytes_of(self.block)
        inside = (down >= 0) & (down < self.shape[0]) & (across >= 0) & (across < self.shape[1])
        return Access.of(addresses, inside)

    def read(self, builder: Any, access: Access) -> Tile:
        element = element_of(self.block)
        padding = filled(float("nan"), element) if self.padding == "nan" else None
        return access.read(builder, element, padding)


def make(builder: Any, operands: Sequence[Tile], type: Any, padding: str | None = None) -> Descriptor:
    """Operands: base, then shape and strides, one number a dimension."""
    base, *rest = operands
    rank = len(rest) // 2
    return Descriptor(int(base), numbers(rest[:rank]), numbers(rest[rank:]), type.block_type, padding)


def load(builder: Any, operands: Sequence[Any], type: Any, **hints: Any) -> Tile:
    """The block at the offsets; a leading dimension of size 1 may be dropped by the result's type."""
    descriptor, *offsets = operands
    return descriptor.read(builder, descriptor.access(offsets)).reshape(shape_of(type))


def store(builder: Any, operands: Sequence[Any], type: Any = None, **hints: Any) -> None:
    """Writes a block."""
    descriptor, value, *offsets = operands
    access = descriptor.access(offsets)
    access.write(builder, value.reshape(access.lanes.shape))


def reduce(builder: Any, operands: Sequence[Any], type: Any = None, kind: str = "add") -> None:
    """Atomically combines a block with what is in memory."""
    descriptor, value, *offsets = operands
    element, op = descriptor.element, kind
    if element.is_floating() and kind == "add":
        op = "fadd"
    access = descriptor.access(offsets)
    held = element_of(element)
    change(builder, access, held, [value.reshape(access.lanes.shape)], update_of(op, held))


def gather(builder: Any, operands: Sequence[Any], type: Any) -> Tile:
    """Rows by their index."""
    descriptor, rows, column = operands
    return descriptor.read(builder, descriptor.rows(rows, column))


def scatter(builder: Any, operands: Sequence[Any], type: Any = None) -> None:
    """Writes rows by their index, one after the other."""
    descriptor, rows, column, value = operands
    descriptor.rows(rows, column).write(builder, value)


RULES: dict[str, Rule] = {
    "tt.make_tensor_descriptor": make,
    "tt.descriptor_load": load,
    "tt.descriptor_store": store,
    "tt.descriptor_reduce": reduce,
    "tt.descriptor_gather": gather,
    "tt.descriptor_scatter": scatter,
}
