"""Matrices over GF(2): a matrix is a tuple of columns, a column is an int whose bit r is row r.

Also subspaces, given by any tuple of spanning vectors: bases, intersections and complements. Pure functions on ints.
"""

from collections.abc import Iterable

__all__ = ["Basis", "Matrix", "apply", "common_complement", "complement", "compose", "independent", "intersection",
           "kernel", "rank", "right_inverse", "solve"]  # fmt: skip

Matrix = tuple[int, ...]


def apply(m: Matrix, x: int) -> int:
    """m @ x: the xor of the columns that the bits of `x` pick."""
    y = 0
    for column in m:
        if x & 1:
            y ^= column
        x >>= 1
    return y


def compose(outer: Matrix, inner: Matrix) -> Matrix:
    """outer @ inner."""
    return tuple(apply(outer, column) for column in inner)


class Basis:
    """An echelon basis that grows: `add` vectors, `reduce` others by it, and read off which of the added make them."""

    def __init__(self, vectors: Iterable[int] = ()):
        self._rows: dict[int, tuple[int, int]] = {}  # leading bit -> (reduced vector, the added vectors that make it)
        self._count = 0
        for vector in vectors:
            self.add(vector)

    def __len__(self) -> int:
        return len(self._rows)

    def reduce(self, vector: int) -> tuple[int, int]:
        """(what is left of `vector`, 0 if it is in the span; the added vectors whose xor was taken, as bits)."""
        made = 0
        rest = 0
        while vector:
            lead = vector.bit_length() - 1
            if lead in self._rows:
                vector ^= self._rows[lead][0]
                made ^= self._rows[lead][1]
            else:
                rest |= 1 << lead
                vector ^= 1 << lead
        return rest, made

    def add(self, vector: int) -> bool:
        """Adds a vector; whether it was independent of those before it."""
        rest, made = self.reduce(vector)
        if rest:
            self._rows[rest.bit_length() - 1] = rest, made | 1 << self._count
        self._count += 1
        return bool(rest)

    def __contains__(self, vector: int) -> bool:
        return not self.reduce(vector)[0]


def rank(m: Iterable[int]) -> int:
    """The number of independent columns."""
    return len(Basis(m))


def independent(vectors: Iterable[int]) -> Matrix:
    """The vectors that do not depend on those before them."""
    basis = Basis()
    return tuple(v for v in vectors if basis.add(v))


def solve(m: Matrix, want: int) -> int | None:
    """An x with m @ x = want that uses the first possible columns, or None where there is none."""
    rest, made = Basis(m).reduce(want)
    return None if rest else made


def right_inverse(m: Matrix, rows: int) -> Matrix:
    """The matrix x with m @ x = 1 whose entries use the first possible columns; ValueError if m is not surjective."""
    basis = Basis(m)
    if len(basis) < rows:
        raise ValueError(f"rank {len(basis)}, needs {rows}: some outputs have no input")
    return tuple(basis.reduce(1 << r)[1] for r in range(rows))


def kernel(m: Matrix) -> Matrix:
    """A basis of the x with m @ x = 0."""
    basis = Basis()
    out = []
    for i, column in enumerate(m):
        rest, made = basis.reduce(column)
        if not rest:
            out.append(made | 1 << i)
        basis.add(column)
    return tuple(out)


def intersection(a: Iterable[int], b: Iterable[int]) -> Matrix:
    """A basis of the vectors that lie in both spans."""
    left, right = independent(a), independent(b)
    both = left + right
    mask = (1 << len(left)) - 1
    return tuple(apply(left, x & mask) for x in kernel(both))


def complement(vectors: Iterable[int], candidates: Iterable[int]) -> Matrix:
    """The first of `candidates` that complete the span of `vectors` to the span of both."""
    basis = Basis(vectors)
    return tuple(v for v in candidates if basis.add(v))


def common_complement(a: Matrix, b: Matrix, space: Matrix) -> Matrix:
    """A subspace that meets neither span(a) nor span(b) and completes the larger of the two to span(space).

    With u in a but not in b paired with w in b but not in a, u ^ w lies in neither; what is outside of both is added.
    """
    a, b = independent(a), independent(b)
    shared = intersection(a, b)
    only_a, only_b = complement(shared, a), complement(shared, b)
    mixed = tuple(u ^ w for u, w in zip(only_a, only_b, strict=False))
    return mixed + complement(a + b, space)
