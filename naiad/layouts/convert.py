"""How to get a tensor from one layout to another: registers only, shuffles within a warp, or shared memory.

`plan(source, target, width)` decides by linear algebra. A shared-memory plan carries the scratch layout: where each
element lies, so that both sides access the longest vectors that both can, and no lane of a warp meets another in a
bank.

Source: "Linear Layouts", section on optimal swizzling.
"""

from dataclasses import dataclass
from functools import cache

from naiad.layouts import gf2
from naiad.layouts.linear import Dims, LinearLayout

__all__ = ["Plan", "RegisterMove", "SharedMove", "ShuffleMove", "plan", "scratch", "source_of"]


@dataclass(frozen=True)
class RegisterMove:
    """Each register of the target is a register of the source in the same thread."""

    registers: tuple[int, ...]


@dataclass(frozen=True)
class ShuffleMove:
    """Each register of the target comes from a lane of the same warp. `source`: target place -> source place.

    Of at most two registers, which one may depend on the thread.
    """

    source: LinearLayout


@dataclass(frozen=True)
class SharedMove:
    """Through shared memory. `offset`: packed index -> element offset; `vec` elements go at once.

    within_warp: no element changes its warp, so that a warp need not wait for the others.
    """

    offset: LinearLayout
    vec: int
    within_warp: bool


Plan = RegisterMove | ShuffleMove | SharedMove


def source_of(source: LinearLayout, target: LinearLayout) -> LinearLayout:
    """For each place of `target`, the nearest place of `source` that holds its element: same thread, then same warp."""
    ranges = [tuple(source.ins.range(name)) for name in ("register", "lane", "warp", "block")]
    columns = []
    for name, width in target.ins.bits:
        for i in range(width):
            want = target.bases(name)[i]
            at = source.ins.shift[name] + i if i < source.ins.width[name] else None
            here = 1 << at if at is not None and name != "register" else 0
            columns.append(_nearest(source, ranges, want, here, name))
    return LinearLayout(target.ins, source.ins, tuple(columns))


def _nearest(source: LinearLayout, ranges: list[tuple[int, ...]], want: int, here: int, name: str) -> int:
    """A source place that holds element `want`, differing from place `here` in as few kinds of input as possible."""
    rest = want ^ gf2.apply(source.columns, here)
    for depth in range(1, len(ranges) + 1):
        usable = [i for group in ranges[:depth] for i in group]
        found = gf2.solve(tuple(source.columns[i] for i in usable), rest)
        if found is not None:
            return here ^ sum(1 << place for k, place in enumerate(usable) if found >> k & 1)
    if here:
        return _nearest(source, ranges, want, 0, name)
    raise ValueError(f"the source layout holds no element {source.outs.unpack(want)}")


def _depends_only_on(move: LinearLayout, name: str) -> bool:
    """Whether `name` of the source place is `name` of the target place, whatever the other inputs."""
    for source_name, width in move.ins.bits:
        for i in range(width):
            got = move.outs.unpack(move.bases(source_name)[i])[name]
            if got != (1 << i if source_name == name else 0):
                return False
    return True


@cache
def plan(source: LinearLayout, target: LinearLayout, width: int, lanes: int = 32) -> Plan:
    """The cheapest way from `source` to `target` for elements of `width` bits (both with the same packed outputs)."""
    move = source_of(source, target)
    if not _depends_only_on(move, "block"):
        raise ValueError("a conversion between the CTAs of a cluster is not supported")
    if _depends_only_on(move, "warp"):
        threads = move.bases("lane") + move.bases("warp")
        chosen = {r for c in threads if (r := move.outs.unpack(c)["register"])}
        if not chosen and _depends_only_on(move, "lane"):
            registers = move.ins.width["register"]
            return RegisterMove(tuple(move(register=r)["register"] for r in range(1 << registers)))
        if len(chosen) <= 1:
            return ShuffleMove(move)
    return scratch(source, target, width, _depends_only_on(move, "warp"))


@cache
def scratch(
    source: LinearLayout, target: LinearLayout, width: int, within_warp: bool = False, longest: int = 16
) -> SharedMove:
    """Where the elements lie in shared memory on the way from `source` to `target`.

    The vector is what registers of both sides have in common, 16 bytes at most. The banks are a complement of a
    subspace
    that meets the lanes of neither side: then the lanes of a warp, on both sides, lie in different banks.
    longest: bytes of a vector at most.
    """
    bytes_each = max(8, width) // 8
    most = max(1, longest // bytes_each).bit_length() - 1
    shared = gf2.intersection(_nonzero(source, "register"), _nonzero(target, "register"))
    vector = tuple(_simplest(shared, source, target))[:most]
    space = tuple(1 << i for i in range(source.outs.total))
    per_wave = max(0, 5 - max(0, (bytes_each << len(vector)).bit_length() - 1 - 2))
    a = vector + gf2.complement(vector, _nonzero(source, "lane"))[:per_wave]
    b = vector + gf2.complement(vector, _nonzero(target, "lane"))[:per_wave]
    banks = max(0, per_wave - (max(len(a), len(b)) - len(vector)))
    a, b = a + gf2.complement(a, space)[:banks], b + gf2.complement(b, space)[:banks]
    segments = gf2.common_complement(a, b, space)
    low = vector + gf2.complement(vector + segments, a + b + space)
    basis = low + segments
    to_index = LinearLayout(Dims((("offset", len(basis)),)), source.outs, basis)
    offset = to_index.inverse()
    if vector and any(c & (1 << len(vector)) - 1 for c in _thread_columns(source, offset, target)):
        return scratch(source, target, width, within_warp, bytes_each << len(vector) - 1)
    return SharedMove(offset, 1 << len(vector), within_warp)


def _thread_columns(source: LinearLayout, offset: LinearLayout, target: LinearLayout) -> list[int]:
    """The offsets that the bits of the thread add, on both sides: they must not reach into a vector."""
    return [
        gf2.apply(offset.columns, c) for layout in (source, target) for n in ("lane", "warp") for c in layout.bases(n)
    ]


def _nonzero(layout: LinearLayout, name: str) -> tuple[int, ...]:
    return tuple(c for c in layout.bases(name) if c)


def _simplest(span: tuple[int, ...], source: LinearLayout, target: LinearLayout) -> list[int]:
    """A basis of `span` with single register bits of both sides first, so that vectors are runs of registers."""
    both = [c for c in _nonzero(target, "register") if c in _nonzero(source, "register")]
    return list(both) + list(gf2.complement(both, span))
