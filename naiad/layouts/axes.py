"""Layouts seen along one axis of a tile: which bits count along it, what is left without it, where warps meet.

Reductions and scans leave one part per warp in shared memory; `warp_slots` and `scan_slots` say where, for the
allocator
and for the lowering alike.
"""

from collections.abc import Sequence

from naiad.layouts.linear import Dims, LinearLayout

__all__ = ["axis_bits", "broadcast_target", "first_slots", "pure_along", "register_run", "scan_slots", "transposed",
           "warp_slots", "without_axis"]  # fmt: skip

PLACES = ("register", "lane", "warp")


def axis_bits(layout: LinearLayout, axis: int, name: str) -> list[int]:
    """The bits of an input dimension that count along the axis."""
    return [i for i, c in enumerate(layout.bases(name)) if layout.outs.unpack(c)[f"dim{axis}"]]


def pure_along(layout: LinearLayout, axis: int) -> bool:
    """Whether every bit counts along the axis alone, a power of two, or along other dimensions alone."""
    for column in layout.columns:
        index = layout.outs.unpack(column)
        step = index[f"dim{axis}"]
        if step and (step & step - 1 or any(v for n, v in index.items() if n != f"dim{axis}")):
            return False
    return True


def without_axis(layout: LinearLayout, axis: int) -> LinearLayout:
    """The layout of the reduced tile: all places along the axis hold the result."""
    names = [n for n in layout.outs.names if n != f"dim{axis}"]
    return layout.project(names).without_zeros("register")


def warp_slots(layout: LinearLayout, axis: int) -> LinearLayout:
    """Where each warp leaves its part of a reduction; inputs are those of `without_axis`."""
    return _slots(without_axis(layout, axis), axis_bits(layout, axis, "warp"))


def scan_slots(layout: LinearLayout, axis: int) -> LinearLayout:
    """Where each warp leaves its total of a scan, when the bits below the warps' are merged.

    Registers above the warps are blocks of their own and have places of their own.
    """
    warps = axis_bits(layout, axis, "warp")
    step = [layout.outs.unpack(c)[f"dim{axis}"] for c in layout.bases("warp")]
    highest = max((step[i] for i in warps), default=0)

    def merged(column: int) -> int:
        return 0 if 0 < layout.outs.unpack(column)[f"dim{axis}"] < highest else column

    for name in ("register", "lane"):
        layout = layout.replace(name, [merged(c) for c in layout.bases(name)])
    return _slots(layout, warps)


def _slots(layout: LinearLayout, warps: Sequence[int]) -> LinearLayout:
    """Outputs slot (the warps `warps` count through it) and other (what else the places differ by, without gaps)."""
    kept = {n: [0 if n == "warp" and i in warps else c for i, c in enumerate(layout.bases(n))] for n in PLACES}
    used = 0
    for columns in kept.values():
        for column in columns:
            used |= column
    bits = [i for i in range(layout.outs.total) if used >> i & 1]

    def squeeze(column: int) -> int:
        return sum(1 << k for k, i in enumerate(bits) if column >> i & 1) << len(warps)

    columns = [
        1 << list(warps).index(i) if n == "warp" and i in warps else squeeze(c)
        for n in PLACES
        for i, c in enumerate(kept[n])
    ]
    ins = Dims(tuple((n, layout.ins.width[n]) for n in PLACES))
    return LinearLayout(ins, Dims((("slot", len(warps)), ("other", len(bits)))), tuple(columns))


def first_slots(slots: LinearLayout) -> LinearLayout:
    """Where the part of the first warp lies, of all warps whose parts belong together."""
    n = slots.size("slot")
    return slots.replace("warp", [c if c >= n else 0 for c in slots.bases("warp")])


def broadcast_target(layout: LinearLayout, source: tuple[int, ...]) -> LinearLayout:
    """Where the elements of a broadcast tile come from: the index with the dimensions of size 1 made 0."""
    kept = {f"dim{d}": size for d, size in reversed(list(enumerate(source)))}

    def cut(column: int) -> dict[str, int]:
        return {n: v if kept[n] > 1 else 0 for n, v in layout.outs.unpack(column).items()}

    bases = {n: [tuple(cut(c)[d] for d in kept) for c in layout.bases(n)] for n in layout.ins.names}
    return LinearLayout.of(bases, kept)


def transposed(layout: LinearLayout, order: tuple[int, ...]) -> LinearLayout:
    """The layout of the tile whose dimension i is dimension order[i] of this one, packed row-major again."""
    sizes = {f"dim{i}": layout.size(f"dim{d}") for i, d in enumerate(order)}
    names = [f"dim{d}" for d in order]
    bases = {n: [tuple(layout.outs.unpack(c)[d] for d in names) for c in layout.bases(n)] for n in layout.ins.names}
    return LinearLayout.of(bases, sizes).ordered(list(sizes)[::-1])


def register_run(layout: LinearLayout) -> tuple[int, int]:
    """(dimension, n): how many registers in a row are neighbours along one dimension."""
    for name, n in layout.outs.bits:
        run = 0
        for column in layout.bases("register"):
            if run >= n or column != 1 << layout.outs.shift[name] + run:
                break
            run += 1
        if run:
            return int(name[3:]), 1 << run
    return 0, 1
