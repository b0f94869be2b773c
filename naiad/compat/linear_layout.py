"""`triton.tools.LinearLayout`: naiad's layouts under the methods that Triton's have, with dimensions by name."""

from collections.abc import Mapping, Sequence

from naiad.layouts import gf2
from naiad.layouts.linear import Dims
from naiad.layouts.linear import LinearLayout as Layout

__all__ = ["LinearLayout"]


class LinearLayout:
    """A map of named indices, linear over GF(2), by the outputs of each input bit. ValueError for what is no such map.

    Sizes are powers of two. The first dimensions are in the low bits where indices are packed.
    """

    def __init__(self, layout: Layout | None = None) -> None:
        self._layout = layout or Layout(Dims(()), Dims(()), ())

    # Makers
    @staticmethod
    def identity_1d(size: int, inDim: str, outDim: str) -> "LinearLayout":
        """Input i gives output i."""
        return LinearLayout.strided_1d(size, 1, inDim, outDim)

    @staticmethod
    def strided_1d(size: int, stride: int, inDim: str, outDim: str) -> "LinearLayout":
        """Input i gives output i * stride, of size * stride."""
        moved = [[stride << bit] for bit in range(_log2(size))]
        return LinearLayout.from_bases([(inDim, moved)], [outDim], [size * stride], require_surjective=False)

    @staticmethod
    def zeros_1d(size: int, inDim: str, outDim: str, outDimSize: int = 1) -> "LinearLayout":
        """Every input gives output 0."""
        zeros = [[0] for _ in range(_log2(size))]
        return LinearLayout.from_bases([(inDim, zeros)], [outDim], [outDimSize], require_surjective=False)

    @staticmethod
    def from_bases(
        bases: Sequence[tuple[str, Sequence[Sequence[int]]]],
        out_dim_names: Sequence[str],
        out_dim_sizes: Sequence[int] | None = None,
        require_surjective: bool = True,
    ) -> "LinearLayout":
        """For each input dimension, what each of its bits gives in each output dimension; sizes follow if not given."""
        vectors = [vector for _, given in bases for vector in given]
        if any(len(vector) != len(out_dim_names) for vector in vectors):
            raise ValueError(f"every basis has an index for each of {list(out_dim_names)}; got {vectors}")
        if out_dim_sizes is None:
            out_dim_sizes = [
                1 << max((v[i].bit_length() for v in vectors), default=0) for i in range(len(out_dim_names))
            ]
        outs = dict(zip(out_dim_names, out_dim_sizes, strict=True))
        for size in outs.values():
            _log2(size)
        for vector in vectors:
            if any(not 0 <= index < size for index, size in zip(vector, out_dim_sizes, strict=True)):
                raise ValueError(f"the basis {list(vector)} lies outside of the output dimensions {outs}")
        made = LinearLayout(Layout.of(dict(bases), outs))
        if require_surjective and not made.is_surjective():
            raise ValueError(f"the bases {list(bases)} do not reach all of the output dimensions {outs}")
        return made

    # Facts
    @property
    def bases(self) -> list[tuple[str, list[list[int]]]]:
        ins = self._layout.ins.names
        return [(name, [list(vector) for vector in self._layout.vectors(name)]) for name in ins]

    @property
    def out_dims(self) -> list[tuple[str, int]]:
        return [(name, 1 << width) for name, width in self._layout.outs.bits]

    @property
    def num_in_dims(self) -> int:
        return len(self._layout.ins.bits)

    @property
    def num_out_dims(self) -> int:
        return len(self._layout.outs.bits)

    def get_in_dim_names(self) -> list[str]:
        return list(self._layout.ins.names)

    def get_out_dim_names(self) -> list[str]:
        return list(self._layout.outs.names)

    def is_surjective(self) -> bool:
        return self._layout.surjective

    def is_injective(self) -> bool:
        return gf2.rank(self._layout.columns) == len(self._layout.columns)

    def is_invertible(self) -> bool:
        return self._layout.invertible

    def get_matrix_view(self) -> list[list[int]]:
        """A row for each output bit, a column for each input bit."""
        columns = self._layout.columns
        return [[column >> bit & 1 for column in columns] for bit in range(self._layout.outs.total)]

    # Use
    def apply(self, inputs: Mapping[str, int]) -> dict[str, int]:
        """The outputs for an index of each input dimension."""
        if set(inputs) != set(self._layout.ins.names):
            raise ValueError(f"the layout takes {self.get_in_dim_names()}, got {list(inputs)}")
        for name, index in inputs.items():
            if not 0 <= index < self._layout.size(name):
                raise ValueError(f"{name} is below {self._layout.size(name)}, got {index}")
        return self._layout(**inputs)

    def __mul__(self, other: "LinearLayout") -> "LinearLayout":
        """Side by side, the low bits of shared dimensions from `self`."""
        return LinearLayout(self._layout * other._layout) if isinstance(other, LinearLayout) else NotImplemented

    def compose(self, outer: "LinearLayout") -> "LinearLayout":
        """outer(self(x)): `outer` takes what `self` gives."""
        if set(self.get_out_dim_names()) != set(outer.get_in_dim_names()):
            names = self.get_out_dim_names(), outer.get_in_dim_names()
            raise ValueError(f"the first layout gives {names[0]}, the second takes {names[1]}")
        inner = self._layout.ordered(outer.get_in_dim_names())
        if any(width > outer._layout.ins.width[name] for name, width in inner.outs.bits):
            raise ValueError(
                f"the first layout gives {inner.outs.bits} bits, the second takes {outer._layout.ins.bits}"
            )
        wide = Dims(outer._layout.ins.bits)
        columns = tuple(wide.pack(inner.outs.unpack(column)) for column in inner.columns)
        return LinearLayout(Layout(inner.ins, wide, columns).compose(outer._layout))

    def invert(self) -> "LinearLayout":
        """The layout the other way round."""
        if not self.is_invertible():
            raise ValueError(f"only a bijective layout has an inverse:{self}")
        return self.pseudoinvert()

    def pseudoinvert(self) -> "LinearLayout":
        """An input, the lowest, for each output of a surjective layout."""
        if not self.is_surjective():
            raise ValueError(f"only a surjective layout has a pseudo-inverse:{self}")
        return LinearLayout(self._layout.inverse())

    def invert_and_compose(self, outer: "LinearLayout") -> "LinearLayout":
        """For each input of `self`, an input of `outer` with the same output."""
        return self.compose(outer.pseudoinvert())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearLayout) and self._layout == other._layout

    def __hash__(self) -> int:
        return hash(self._layout)

    def __repr__(self) -> str:
        lines = [
            f" - {name}={1 << bit} -> ({', '.join(map(str, vector))})"
            for name, vectors in self.bases
            for bit, vector in enumerate(vectors)
        ]
        sizes = ", ".join(f"{name} (size {size})" for name, size in self.out_dims)
        return "\n" + "\n".join([*lines, f"where out dims are: [{sizes}]"])


def _log2(size: int) -> int:
    if size < 1 or size & size - 1:
        raise ValueError(f"sizes of layouts are powers of two, got {size}")
    return size.bit_length() - 1
