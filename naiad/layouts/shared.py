"""How a tensor lies in shared memory: swizzled, NVMMA (the swizzles of TMA and wgmma), padded and linear layouts.

`linear(shape)` maps the element offset (input `offset`, and `block` in a cluster) to the index; its inverse says
where an element is. Padding is not linear: `padding` gives the elements to add for each power of two of offset
passed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from naiad.layouts.distributed import CGA, cga_splits, dim_names, extend, over_shape
from naiad.layouts.linear import LinearLayout

__all__ = ["NvmmaShared", "PaddedShared", "Shared", "SharedLinear", "SwizzledShared", "bank_conflicts"]


@dataclass(frozen=True)
class SwizzledShared:
    """Rows in which runs of `vec` elements are permuted: run r of row i lies at run r ^ (i / per_phase % max_phase)."""

    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]
    cga: CGA = field(default=())

    @property
    def rank(self) -> int:
        return len(self.order)

    padding = ()

    @cache  # noqa: B019
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        splits = cga_splits(self.cga, len(shape))
        share = [max(1, s // p) for s, p in zip(shape, splits, strict=True)]
        fast = self.order[0]
        bases = [_unit(len(shape), fast, 1 << i) for i in range(share[fast].bit_length() - 1)]
        for d in self.order[1:]:
            for i in range(share[d].bit_length() - 1):
                step = _unit(len(shape), d, 1 << i)
                if d == self.order[1]:
                    step[fast] = self.vec * ((1 << i) // self.per_phase % self.max_phase) % share[fast]
                bases.append(step)
        tile = LinearLayout.of({"offset": bases}, {f"dim{d}": share[d] for d in range(len(shape))})
        return over_shape(tile, shape, self.cga, "offset")


def _unit(rank: int, dim: int, value: int) -> list[int]:
    step = [0] * rank
    step[dim] = value
    return step


@dataclass(frozen=True)
class NvmmaShared:
    """What TMA writes and wgmma reads: tiles of 8 rows of `swizzle` bytes whose 16-byte chunks are permuted by the row.

    transposed: the rows of the tile run along the last but one dimension of the tensor. swizzle: 0, 32, 64 or 128.
    """

    swizzle: int
    transposed: bool
    element_bits: int
    fp4_padded: bool = False
    cga: CGA = field(default=())
    dims: int = 2

    padding = ()

    @property
    def rank(self) -> int:
        return self.dims

    @property
    def max_phase(self) -> int:
        return {0: 1, 32: 2, 64: 4, 128: 8}[self.swizzle]

    @property
    def per_phase(self) -> int:
        return 8 // self.max_phase

    @property
    def vec(self) -> int:
        return 128 // self.element_bits

    @cache  # noqa: B019
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        rank = len(shape)
        row, column = (rank - 1, rank - 2) if self.transposed else (rank - 2, rank - 1)
        columns = max(self.swizzle, 32) * 8 // self.element_bits if self.swizzle else 128 // self.element_bits
        bases = [_unit(rank, column, 1 << i) for i in range(columns.bit_length() - 1)]
        for i in range(3):
            step = _unit(rank, row, 1 << i)
            step[column] = self.vec * ((1 << i) // self.per_phase % self.max_phase) % columns
            bases.append(step)
        sizes = {f"dim{d}": 8 if d == row else columns if d == column else 1 for d in range(rank)}
        tile = LinearLayout.of({"offset": bases}, sizes)
        rest = [f"dim{d}" for d in reversed(range(rank - 2))]
        return over_shape(tile.ordered([f"dim{row}", *rest, f"dim{column}"]), shape, self.cga, "offset")


@dataclass(frozen=True)
class SharedLinear:
    """Given by its bases: for each bit of the offset, the index it adds."""

    offset: CGA
    block: CGA
    alignment: int

    padding = ()

    @property
    def rank(self) -> int:
        return len(self.offset[0])

    @cache  # noqa: B019
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        bases = {"offset": self.offset, "block": self.block}
        sizes = {f"dim{d}": size for d, size in enumerate(shape)}
        layout = LinearLayout.of(bases, sizes)
        return layout.ordered(dim_names(len(shape))[::-1])


@dataclass(frozen=True)
class PaddedShared:
    """A linear layout with `pad` elements added after every `interval` elements, for each (interval, pad)."""

    intervals: tuple[int, ...]
    pads: tuple[int, ...]
    offset: CGA
    block: CGA

    @property
    def rank(self) -> int:
        return len(self.offset[0])

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        return tuple(zip(self.intervals, self.pads, strict=True))

    @cache  # noqa: B019
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        return SharedLinear(self.offset, self.block, 16).linear(shape)

    @staticmethod
    def row_major(padding: Sequence[tuple[int, int]], order: Sequence[int], shape: Sequence[int]) -> "PaddedShared":
        """Plain rows in `order`, padded."""
        tile = LinearLayout.zeros(1, "offset", [f"dim{d}" for d in order])
        layout = extend(tile, {f"dim{d}": s for d, s in enumerate(shape)}, "offset").ordered(dim_names(len(shape)))
        intervals, pads = zip(*padding, strict=True)
        return PaddedShared(tuple(intervals), tuple(pads), tuple(layout.vectors("offset")), ())


Shared = SwizzledShared | NvmmaShared | SharedLinear | PaddedShared


def bank_conflicts(addresses: Sequence[int], width: int) -> int:
    """Extra wavefronts that a warp needs to access `width` bytes at each byte address: 0 is free of conflicts.

    A wavefront serves 128 bytes: 32 lanes of 4 bytes, 16 of 8, 8 of 16; equal words are served together.
    """
    lanes = max(1, min(32, 128 // max(width, 4)))
    extra = 0
    for start in range(0, len(addresses), lanes):
        words = {a // 4 + w for a in addresses[start : start + lanes] for w in range(max(1, width // 4))}
        banks = [sum(1 for word in words if word % 32 == bank) for bank in range(32)]
        extra += max(banks) - 1
    return extra
