"""How a tensor is dealt to registers, lanes, warps and CTAs: blocked, slice, dot operand and linear layouts.

Each is a small frozen value as `ttgir` writes it, and gives the `LinearLayout` of a shape: inputs register, lane, warp,
block, outputs dim0, dim1, ... The first output dimension takes the low bits of the packed index in `standard` order:
the last dimension of the tensor first, so that the packed index of an element is its row-major position.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from naiad.layouts.linear import LinearLayout

__all__ = [
    "CGA",
    "Blocked",
    "Distributed",
    "DotOperand",
    "Linear",
    "Slice",
    "deal_ctas",
    "dim_names",
    "extend",
    "replicated",
    "shrink",
    "standard",
]

CGA = tuple[tuple[int, ...], ...]
"""For each bit of the CTA's number within its cluster, the step it makes in each dimension, in tiles of one CTA."""

INPUTS = ("register", "lane", "warp", "block")


class Distributed(Protocol):
    """A layout of registers: hashable, and linear once the shape is known."""

    @property
    def rank(self) -> int: ...

    def linear(self, shape: tuple[int, ...]) -> LinearLayout: ...


class OfProducts(Distributed, Protocol):
    """The layout of a matrix unit's results, which says how its operands lie too."""

    def operand(self, op_idx: int, k_width: int, shape: tuple[int, ...]) -> LinearLayout: ...


def dim_names(rank: int) -> tuple[str, ...]:
    """dim0, dim1, ..."""
    return tuple(f"dim{d}" for d in range(rank))


def standard(layout: LinearLayout, rank: int) -> LinearLayout:
    """The layout with the inputs register, lane, warp, block (missing ones are empty) and row-major packed outputs."""
    return layout.restrict(INPUTS).ordered(dim_names(rank)[::-1])


def deal(source: str, sizes: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """Counts through a box of `sizes`, the dimension order[0] fastest."""
    layout = LinearLayout.zeros(1, source, [f"dim{d}" for d in order])
    for d in order:
        layout = layout * LinearLayout.identity(sizes[d], source, f"dim{d}")
    return layout


def shrink(layout: LinearLayout, shape: dict[str, int]) -> LinearLayout:
    """The layout of a smaller tensor: bits that reach past a size hold copies of what is there."""

    def cut(column: int) -> int:
        return layout.outs.pack({n: v if v < shape[n] else 0 for n, v in layout.outs.unpack(column).items()})

    cut_columns = LinearLayout(layout.ins, layout.outs, tuple(map(cut, layout.columns)))
    outs = {n: min(shape[n], layout.size(n)) for n in layout.outs.names}
    return LinearLayout.of({n: cut_columns.vectors(n) for n in layout.ins.names}, outs)


def extend(layout: LinearLayout, shape: dict[str, int], source: str = "register") -> LinearLayout:
    """The layout of a larger tensor: `source` counts through the tiles, in the order of the layout's dimensions."""
    for name in layout.outs.names:
        if shape[name] > layout.size(name):
            layout = layout * LinearLayout.identity(shape[name] // layout.size(name), source, name)
    return layout


def cga_splits(cga: CGA, rank: int) -> tuple[int, ...]:
    """How many CTAs share the tensor along each dimension."""
    splits = [1] * rank
    for step in cga:
        for d, s in enumerate(step):
            splits[d] = max(splits[d], 2 * s)
    return tuple(splits)


def over_shape(cta: LinearLayout, shape: Sequence[int], cga: CGA, source: str = "register") -> LinearLayout:
    """The tile that one CTA's layout covers once, repeated or cut to its share of `shape`, times the CTAs."""
    rank = len(shape)
    splits = cga_splits(cga, rank)
    share = {f"dim{d}": max(1, size // splits[d]) for d, size in enumerate(shape)}
    layout = extend(shrink(cta, share), share, source)
    blocks = LinearLayout.of({"block": cga}, {f"dim{d}": splits[d] for d in range(rank)})
    return standard_inputs(shrink(layout * blocks, {f"dim{d}": size for d, size in enumerate(shape)}), rank)


def standard_inputs(layout: LinearLayout, rank: int) -> LinearLayout:
    """`standard` for distributed layouts; shared ones (input offset) keep their inputs."""
    if "offset" in layout.ins.names:
        return layout.ordered(dim_names(rank)[::-1])
    return standard(layout, rank)


def replicated(rank: int, ctas: int) -> CGA:
    """Every CTA holds the whole tensor."""
    return ((0,) * rank,) * (ctas.bit_length() - 1)


def deal_ctas(shape: Sequence[int], covered: Sequence[int], order: Sequence[int], ctas: int) -> CGA:
    """Deals a tensor to CTAs, the slowest dimension first, as far as it is larger than what one CTA covers once.

    CTAs that are left hold copies.
    """
    steps: list[tuple[int, ...]] = []
    for d in reversed(order):
        count = min(ctas, max(1, shape[d] // covered[d]))
        steps += [tuple((1 << i) * (d == other) for other in range(len(shape))) for i in range(count.bit_length() - 1)]
        ctas //= count
    return (*steps, *replicated(len(shape), ctas))


@dataclass(frozen=True)
class Blocked:
    """A box of elements in each thread, of threads in each warp, of warps in the CTA; order: fastest dimension
    first."""

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]
    cga: CGA = field(default=())

    @property
    def rank(self) -> int:
        return len(self.order)

    @cache  # noqa: B019  (values are few and live as long as the program)
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        tile = deal("register", self.size_per_thread, self.order)
        tile = tile * deal("lane", self.threads_per_warp, self.order) * deal("warp", self.warps_per_cta, self.order)
        return over_shape(tile, shape, self.cga)

    @staticmethod
    def default(shape: Sequence[int], warps: int, lanes: int = 32, size_per_thread: Sequence[int] | None = None,
                order: Sequence[int] | None = None, ctas: int = 1) -> "Blocked":  # fmt: skip
        """Deals a tensor of `shape` along its fastest dimension first, `size_per_thread` elements a thread."""
        rank = len(shape)
        order = tuple(order or reversed(range(rank)))
        size_per_thread = tuple(size_per_thread or (1,) * rank)
        threads, warp_box = [1] * rank, [1] * rank
        left_lanes, left_warps = lanes, warps
        for i, d in enumerate(order):
            last = i == rank - 1
            room = max(1, shape[d] // size_per_thread[d])
            threads[d] = left_lanes if last else min(left_lanes, room)
            left_lanes //= threads[d]
            warp_box[d] = left_warps if last else min(left_warps, max(1, room // threads[d]))
            left_warps //= warp_box[d]
        covered = [math.prod(sizes) for sizes in zip(size_per_thread, threads, warp_box, strict=True)]
        cga = deal_ctas(shape, covered, order, ctas)
        return Blocked(size_per_thread, tuple(threads), tuple(warp_box), order, cga)


@dataclass(frozen=True)
class Slice:
    """What is left of a layout when a dimension goes away: places along it hold copies."""

    dim: int
    parent: "Distributed"

    @property
    def rank(self) -> int:
        return self.parent.rank - 1

    @cache  # noqa: B019
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        whole = self.parent.linear((*shape[: self.dim], 1, *shape[self.dim :]))
        kept = [n for n in dim_names(self.parent.rank) if n != f"dim{self.dim}"]
        renamed = whole.project(kept[::-1]).without_zeros("register")
        return renamed.reshape({f"dim{d}": shape[d] for d in reversed(range(self.rank))})


@dataclass(frozen=True)
class Linear:
    """A layout given by its bases: for each bit of an input, the index it adds in each dimension."""

    register: CGA
    lane: CGA
    warp: CGA
    block: CGA
    dims: int

    @property
    def rank(self) -> int:
        return self.dims

    @cache  # noqa: B019
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        bases = {name: getattr(self, name) for name in INPUTS}
        steps = [step for vectors in bases.values() for step in vectors]
        span = {f"dim{d}": max([1, *(1 << step[d].bit_length() for step in steps)]) for d in range(self.dims)}
        return over_shape(LinearLayout.of(bases, span), shape, ())

    @staticmethod
    def of(layout: LinearLayout) -> "Linear":
        """The encoding of a linear layout with outputs dim0, dim1, ..."""
        rank = len(layout.outs.bits)
        plain = layout.ordered(dim_names(rank))
        register, lane, warp, block = (tuple(plain.vectors(name)) for name in INPUTS)
        return Linear(register, lane, warp, block, rank)


@dataclass(frozen=True)
class DotOperand:
    """An operand of a dot whose result has layout `parent`: k_width elements along k lie together in a thread."""

    op_idx: int
    parent: "Blocked | OfProducts"
    k_width: int = 0

    @property
    def rank(self) -> int:
        return self.parent.rank

    @cache  # noqa: B019
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        if isinstance(self.parent, Blocked):
            return self._of_blocked(self.parent, shape)
        return self.parent.operand(self.op_idx, self.k_width, shape)

    def _of_blocked(self, parent: Blocked, shape: tuple[int, ...]) -> LinearLayout:
        """Along k every thread holds everything; along the other dimension it holds what its results need."""
        k = self.rank - 1 if self.op_idx == 0 else self.rank - 2
        sizes = list(parent.size_per_thread)
        sizes[k] = shape[k]
        tile = deal("register", sizes, parent.order)
        tile = tile * without(deal("lane", parent.threads_per_warp, parent.order), k)
        tile = tile * without(deal("warp", parent.warps_per_cta, parent.order), k)
        return over_shape(tile, shape, tuple(tuple(0 if d == k else s for d, s in enumerate(c)) for c in parent.cga))


def without(layout: LinearLayout, dim: int) -> LinearLayout:
    """The layout with all steps along one dimension made 0: what lies along it is held by all."""
    return shrink(layout, {n: 1 if n == f"dim{dim}" else layout.size(n) for n in layout.outs.names})
