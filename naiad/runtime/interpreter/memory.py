"""Rules of loads and stores. The whole address space is one numpy array, so a tile of pointers is an index into it.

Lanes whose mask is false are taken out before memory is touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from naiad.language.types import dtype
from naiad.runtime.interpreter.mapped import HIGHEST, LOWEST, READ
from naiad.runtime.interpreter.tiles import Rule, Tile, bytes_of, element_of, filled, shape_of

_WORDS: dict[int, Any] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}


@dataclass(frozen=True)
class _AddressSpace:
    """What numpy makes an array of: all memory as words of one size, `skew` bytes off their alignment."""

    size: int
    skew: int

    @property
    def __array_interface__(self) -> dict[str, Any]:
        words = (HIGHEST - LOWEST) // self.size - 1
        return {"data": (LOWEST + self.skew, False), "shape": (words,), "typestr": _WORDS[self.size].str, "version": 3}


@cache
def _words(size: int, skew: int) -> Any:
    return np.asarray(_AddressSpace(size, skew))


def peek(addresses: Tile, element: np.dtype) -> Tile:
    """The elements at the addresses (one dimension), which are mapped."""
    size = element.itemsize
    skews = addresses % size
    if (skews == skews[:1]).all():
        skew = int(skews[0]) if skews.size else 0
        return _as_element(_words(size, skew)[(addresses - LOWEST - skew) // size], element)
    bytes_ = np.stack([_words(1, 0)[addresses - LOWEST + i] for i in range(size)], axis=-1)
    return _as_element(np.ascontiguousarray(bytes_).view(_WORDS[size])[..., 0], element)


def poke(addresses: Tile, values: Tile) -> None:
    """Writes the elements to the addresses (one dimension each), in order: of two at one address the later stays."""
    size = values.dtype.itemsize
    words = np.ascontiguousarray(values).view(_WORDS[size])
    skews = addresses % size
    if (skews == skews[:1]).all():
        skew = int(skews[0]) if skews.size else 0
        _words(size, skew)[(addresses - LOWEST - skew) // size] = words
        return
    for address, word in zip(addresses, words, strict=True):
        _words(size, int(address) % size)[(address - LOWEST) // size] = word


def _as_element(words: Tile, element: np.dtype) -> Tile:
    return words != 0 if element.kind == "b" else words.view(element)


@dataclass(frozen=True)
class Access:
    """Lanes that touch memory: their addresses, in a row, and where in the tile they are."""

    addresses: Tile
    lanes: Tile

    @staticmethod
    def of(pointers: Tile, mask: Tile | None) -> "Access":
        pointers = np.asarray(pointers)
        lanes = np.ones(pointers.shape, bool) if mask is None else np.broadcast_to(mask, pointers.shape)
        return Access(pointers[lanes], lanes)

    def read(self, builder: Any, element: np.dtype, other: Tile | None) -> Tile:
        """The tile with the elements read; `other` (0 where None) in the other lanes."""
        builder.buffers.check(self.addresses, element.itemsize, READ)
        base = np.zeros((), element) if other is None else other
        result = np.broadcast_to(base, self.lanes.shape).astype(element)
        result[self.lanes] = peek(self.addresses, element)
        return result

    def write(self, builder: Any, value: Tile) -> None:
        value = np.broadcast_to(value, self.lanes.shape)[self.lanes]
        builder.buffers.check(self.addresses, value.dtype.itemsize, "store to")
        poke(self.addresses, value)


@dataclass(frozen=True)
class BlockPointer:
    """A block pointer: the block at `offsets` of an array of `shape` and `strides` (elements) at address `base`."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[int, ...]
    block: tuple[int, ...]
    size: int

    def pointers(self) -> Tile:
        """The address of each element of the block."""
        total = np.full(self.block, self.base, np.int64)
        for dim in range(len(self.block)):
            total = total + self._along(dim) * (self.strides[dim] * self.size)
        return total

    def inside(self, dims: Sequence[int]) -> Tile:
        """Which elements are inside of the array in the dimensions `dims`."""
        mask = np.ones(self.block, bool)
        for dim in dims:
            at = self._along(dim)
            mask = mask & (at >= 0) & (at < self.shape[dim])
        return mask

    def _along(self, dim: int) -> Tile:
        at = self.offsets[dim] + np.arange(self.block[dim], dtype=np.int64)
        return at.reshape([-1 if d == dim else 1 for d in range(len(self.block))])


def numbers(handles: Sequence[Tile]) -> tuple[int, ...]:
    return tuple(int(handle) for handle in handles)


def make_block_pointer(builder: Any, operands: Sequence[Tile], type: Any, **attributes: Any) -> BlockPointer:
    """Operands: base, then shape, strides and offsets, one number a dimension."""
    base, *rest = operands
    block = type.element_ty
    rank = len(block.shape)
    shape, strides, offsets = (numbers(rest[i * rank : (i + 1) * rank]) for i in range(3))
    return BlockPointer(int(base), shape, strides, offsets, shape_of(block), bytes_of(block))


def advance(builder: Any, operands: Sequence[Any], type: Any) -> BlockPointer:
    """The block pointer moved by as many elements in each dimension."""
    pointer, *steps = operands
    moved = tuple(a + b for a, b in zip(pointer.offsets, numbers(steps), strict=True))
    return replace(pointer, offsets=moved)


def _access(operands: Sequence[Any], mask: Tile | None, dims: Sequence[int]) -> Access:
    pointer = operands[0]
    if isinstance(pointer, BlockPointer):
        return Access.of(pointer.pointers(), pointer.inside(dims))
    return Access.of(pointer, mask)


def load(
    builder: Any,
    operands: Sequence[Any],
    type: dtype,
    boundaryCheck: Sequence[int] = (),
    padding: str | None = None,
    **hints: Any,
) -> Tile:
    """Reads; masked-off lanes give `other`, lanes outside of a block pointer's array the padding."""
    _, mask, other = (*operands, None, None)[:3]
    element = element_of(type)
    if padding == "nan":
        other = filled(float("nan"), element)
    tile = _access(operands, mask, boundaryCheck or ()).read(builder, element, other)
    return builder.held(tile if tile.ndim else tile[()])


def store(
    builder: Any, operands: Sequence[Any], type: Any = None, boundaryCheck: Sequence[int] = (), **hints: Any
) -> None:
    """Writes where the mask is true, inside of the array of a block pointer; lane by lane in row-major order."""
    _, value, mask = (*operands, None)[:3]
    _access(operands, mask, boundaryCheck or ()).write(builder, value)


RULES: dict[str, Rule] = {
    "tt.load": load,
    "tt.store": store,
    "tt.make_tensor_ptr": make_block_pointer,
    "tt.advance": advance,
}
