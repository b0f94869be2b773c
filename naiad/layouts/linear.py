"""Linear layouts: maps from hardware bits (register, lane, warp, block) to tensor index bits, linear over GF(2).

A layout says which element of a tensor each hardware place holds. Written for every input bit alone; the rest follows
by
xor, so that a layout is a small matrix, and questions about layouts are linear algebra (`gf2`).

    layout = LinearLayout.of({"register": [(1,), (2,)], "lane": [(4,), (8,)]}, {"dim0": 16})
    layout(register=3, lane=1) == {"dim0": 7}

Source: "Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2", Zhou et al., 2025.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from naiad.layouts import gf2

__all__ = ["Dims", "LinearLayout"]


@dataclass(frozen=True)
class Dims:
    """Named dimensions of power-of-two sizes packed into one int, the first one in the low bits."""

    bits: tuple[tuple[str, int], ...]

    @cached_property
    def shift(self) -> dict[str, int]:
        shifts, at = {}, 0
        for name, n in self.bits:
            shifts[name] = at
            at += n
        return shifts

    @cached_property
    def width(self) -> dict[str, int]:
        return dict(self.bits)

    @cached_property
    def total(self) -> int:
        return sum(n for _, n in self.bits)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.bits)

    def pack(self, index: Mapping[str, int]) -> int:
        return sum(index.get(name, 0) << self.shift[name] for name, _ in self.bits)

    def unpack(self, packed: int) -> dict[str, int]:
        return {name: packed >> self.shift[name] & (1 << n) - 1 for name, n in self.bits}

    def split(self, packed: int) -> tuple[int, ...]:
        """The index of each dimension in order."""
        return tuple(packed >> self.shift[name] & (1 << n) - 1 for name, n in self.bits)

    def range(self, name: str) -> range:
        """The positions of the bits of a dimension."""
        return range(at := self.shift.get(name, 0), at + self.width.get(name, 0))


def _log2(size: int) -> int:
    if size < 1 or size & size - 1:
        raise ValueError(f"sizes of layouts are powers of two, got {size}")
    return size.bit_length() - 1


@dataclass(frozen=True)
class LinearLayout:
    """`columns[i]` is the packed output that input bit i alone gives; the rest follows by xor."""

    ins: Dims
    outs: Dims
    columns: gf2.Matrix

    def __post_init__(self) -> None:
        if len(self.columns) != self.ins.total or any(c >> self.outs.total for c in self.columns):
            raise ValueError(f"{len(self.columns)} columns do not map {self.ins.bits} to {self.outs.bits}")

    @cached_property
    def _hash(self) -> int:
        return hash((self.ins, self.outs, self.columns))

    def __hash__(self) -> int:
        return self._hash

    @staticmethod
    def of(bases: Mapping[str, Iterable[Sequence[int]]], outs: Mapping[str, int]) -> "LinearLayout":
        """From the notation of `#ttg.linear`: for each input bit, the index it adds in each output dimension."""
        packed = Dims(tuple((name, _log2(size)) for name, size in outs.items()))
        given = {name: list(vectors) for name, vectors in bases.items()}
        columns = tuple(
            packed.pack(dict(zip(outs, vector, strict=True))) for vectors in given.values() for vector in vectors
        )
        return LinearLayout(Dims(tuple((name, len(v)) for name, v in given.items())), packed, columns)

    @staticmethod
    def identity(size: int, source: str, target: str) -> "LinearLayout":
        """Input i gives output i, for `size` values."""
        n = _log2(size)
        return LinearLayout(Dims(((source, n),)), Dims(((target, n),)), tuple(1 << i for i in range(n)))

    @staticmethod
    def zeros(size: int, source: str, outs: Sequence[str] = ()) -> "LinearLayout":
        """Every one of `size` inputs gives output 0: the value is held `size` times."""
        return LinearLayout(Dims(((source, _log2(size)),)), Dims(tuple((o, 0) for o in outs)), (0,) * _log2(size))

    def bases(self, name: str) -> gf2.Matrix:
        """The packed outputs of each bit of an input dimension."""
        return tuple(self.columns[i] for i in self.ins.range(name))

    def vectors(self, name: str) -> list[tuple[int, ...]]:
        """The outputs of each bit of an input dimension, an index per output dimension."""
        return [self.outs.split(column) for column in self.bases(name)]

    def size(self, name: str) -> int:
        """The number of values of an input or output dimension."""
        return 1 << self.ins.width.get(name, self.outs.width.get(name, 0))

    def __call__(self, **index: int) -> dict[str, int]:
        """Where the value at a hardware place sits in the tensor: `layout(register=1, lane=5) -> {"dim0": 2, ...}`."""
        return self.outs.unpack(self.packed(**index))

    def packed(self, **index: int) -> int:
        """The same, packed."""
        return gf2.apply(self.columns, self.ins.pack(index))

    def __mul__(self, other: "LinearLayout") -> "LinearLayout":
        """Side by side: `self` takes the low bits of the dimensions that both have, `other` the bits above them."""
        ins = _join(self.ins, other.ins)
        outs = _join(self.outs, other.outs)
        lifted = [{name: index << self.outs.width.get(name, 0) for name, index in other.outs.unpack(c).items()}
                  for c in other.columns]  # fmt: skip
        columns: list[int] = []
        for name, _ in ins.bits:
            columns += [outs.pack(self.outs.unpack(c)) for c in self.bases(name)]
            columns += [outs.pack(lifted[i]) for i in other.ins.range(name)]
        return LinearLayout(ins, outs, tuple(columns))

    def compose(self, outer: "LinearLayout") -> "LinearLayout":
        """outer(self(x))."""
        return LinearLayout(self.ins, outer.outs, gf2.compose(outer.columns, self.columns))

    def inverse(self) -> "LinearLayout":
        """A hardware place for each tensor index, the lowest registers first; needs a surjective layout."""
        return LinearLayout(self.outs, self.ins, gf2.right_inverse(self.columns, self.outs.total))

    def to(self, other: "LinearLayout") -> "LinearLayout":
        """For each hardware place of `other`, the place of `self` that holds its value, any of several."""
        return other.compose(self.inverse())

    @property
    def surjective(self) -> bool:
        return gf2.rank(self.columns) == self.outs.total

    @property
    def invertible(self) -> bool:
        return len(self.columns) == self.outs.total and self.surjective

    def ordered(self, outs: Sequence[str]) -> "LinearLayout":
        """The same map with the output dimensions in another order of packing."""
        target = Dims(tuple((name, self.outs.width[name]) for name in outs))
        return LinearLayout(self.ins, target, tuple(target.pack(self.outs.unpack(c)) for c in self.columns))

    def restrict(self, names: Sequence[str]) -> "LinearLayout":
        """The map of some input dimensions only, the others being 0."""
        bits = tuple((name, self.ins.width.get(name, 0)) for name in names)
        return LinearLayout(Dims(bits), self.outs, tuple(c for name in names for c in self.bases(name)))

    def project(self, names: Sequence[str]) -> "LinearLayout":
        """The map onto some output dimensions only."""
        target = Dims(tuple((name, self.outs.width[name]) for name in names))
        return LinearLayout(self.ins, target, tuple(target.pack(self.outs.unpack(c)) for c in self.columns))

    def reshape(self, outs: Mapping[str, int]) -> "LinearLayout":
        """The packed output bits read as other dimensions, the first in the low bits."""
        return LinearLayout(self.ins, Dims(tuple((name, _log2(size)) for name, size in outs.items())), self.columns)

    def replace(self, name: str, bases: Sequence[int]) -> "LinearLayout":
        """The layout with other packed bases for one input dimension."""
        ins = Dims(tuple((n, len(bases) if n == name else w) for n, w in self.ins.bits))
        columns = tuple(c for n, _ in ins.bits for c in (bases if n == name else self.bases(n)))
        return LinearLayout(ins, self.outs, columns)

    def without_zeros(self, name: str) -> "LinearLayout":
        """Drops the bits of an input dimension that change nothing."""
        return self.replace(name, [c for c in self.bases(name) if c])

    def divide(self, tile: "LinearLayout") -> "LinearLayout | None":
        """The layout q with tile * q == self, or None: whether the low bits of `self` are exactly `tile`."""
        if any(n > self.ins.width.get(name, -1) for name, n in tile.ins.bits):
            return None
        ins = Dims(tuple((name, n - tile.ins.width.get(name, 0)) for name, n in self.ins.bits))
        outs = Dims(tuple((name, n - tile.outs.width.get(name, 0)) for name, n in self.outs.bits))
        if any(n < 0 for _, n in outs.bits):
            return None
        columns = []
        for name, _ in self.ins.bits:
            for c in self.bases(name)[tile.ins.width.get(name, 0) :]:
                index = {d: v >> tile.outs.width.get(d, 0) for d, v in self.outs.unpack(c).items()}
                columns.append(outs.pack(index))
        quotient = LinearLayout(ins, outs, tuple(columns))
        product = (tile * quotient).ordered(self.outs.names)
        return quotient if product.columns == self.columns and product.ins == self.ins else None

    def quotient(self, names: Sequence[str]) -> "LinearLayout | None":
        """`self` without dimensions that it passes through unchanged (input `n` gives output `n` alone), or None."""
        for name in names:
            identity = tuple(1 << self.outs.shift[name] + i for i in range(self.outs.width[name]))
            mine = self.bases(name)
            others = [c for n in self.ins.names if n != name for c in self.bases(n)]
            if mine != identity or any(self.outs.unpack(c)[name] for c in others):
                return None
        keep_in = [n for n in self.ins.names if n not in names]
        return self.restrict(keep_in).project([n for n in self.outs.names if n not in names])


def _join(low: Dims, high: Dims) -> Dims:
    """The dimensions of both, those of `low` first, with the widths added."""
    names = dict.fromkeys(low.names + high.names)
    return Dims(tuple((name, low.width.get(name, 0) + high.width.get(name, 0)) for name in names))
