"""Places in shared memory: pieces that are live at the same time do not overlap."""

from dataclasses import dataclass

from xdsl.ir import Operation

from naiad.analysis.liveness import Piece, pieces

__all__ = ["Allocation", "allocate"]


@dataclass(frozen=True)
class Allocation:
    """Where each piece starts, in bytes, and how many bytes there are in all."""

    offsets: dict[Operation, int]
    sizes: dict[Operation, int]
    total: int

    def span(self, op: Operation) -> tuple[int, int] | None:
        """The bytes [start, end) that belong to an op."""
        start = self.offsets.get(op)
        return None if start is None else (start, start + self.sizes[op])


def alignment(piece: Piece) -> int:
    """1024 bytes where swizzles of 128 bytes repeat, else 16."""
    return 1024 if piece.op.name == "ttg.local_alloc" and piece.size >= 1024 else 16


def allocate(function: Operation) -> Allocation:
    """Places the largest pieces first, each at the lowest free place."""
    placed: list[tuple[Piece, int]] = []
    for piece in sorted(pieces(function), key=lambda p: (-p.size, p.start)):
        placed.append((piece, lowest(piece, placed)))
    total = max((at + p.size for p, at in placed), default=0)
    return Allocation({p.op: at for p, at in placed}, {p.op: p.size for p, _ in placed}, total)


def lowest(piece: Piece, placed: list[tuple[Piece, int]]) -> int:
    """The first aligned offset where `piece` meets no piece that is live with it."""
    taken = sorted((at, at + p.size) for p, at in placed if p.meets(piece))
    step, offset = alignment(piece), 0
    for start, end in taken:
        if offset + piece.size <= start:
            break
        offset = max(offset, -(-end // step) * step)
    return offset
