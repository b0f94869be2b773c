"""A layout as text: by tensor (who holds each element) or by hardware (what each thread holds). At most two
dimensions.
"""

from naiad.layouts.distributed import Distributed, dim_names
from naiad.layouts.linear import LinearLayout

__all__ = ["by_hardware", "by_tensor"]


def by_tensor(layout: Distributed, shape: tuple[int, ...]) -> str:
    """A cell per element: `T<thread>:<register>` of every holder, copies joined by |."""
    linear = layout.linear(shape)
    cells: dict[int, list[str]] = {}
    for warp in range(linear.size("warp")):
        for lane in range(linear.size("lane")):
            for register in range(linear.size("register")):
                at = linear.packed(register=register, lane=lane, warp=warp)
                cells.setdefault(at, []).append(f"T{warp * linear.size('lane') + lane}:{register}")
    columns = shape[-1]
    texts = ["|".join(cells[i]) for i in range(len(cells))]
    wide = max(map(len, texts))
    rows = [texts[i : i + columns] for i in range(0, len(texts), columns)]
    return "\n".join(" ".join(cell.ljust(wide) for cell in row).rstrip() for row in rows)


def by_hardware(layout: Distributed, shape: tuple[int, ...]) -> str:
    """A line per thread: the index that each of its registers holds."""
    linear = layout.linear(shape)
    lines = []
    for warp in range(linear.size("warp")):
        for lane in range(linear.size("lane")):
            held = [_index(linear, register, lane, warp, len(shape)) for register in range(linear.size("register"))]
            lines.append(f"warp {warp} lane {lane:2}: {' '.join(held)}")
    return "\n".join(lines)


def _index(linear: LinearLayout, register: int, lane: int, warp: int, rank: int) -> str:
    index = linear(register=register, lane=lane, warp=warp)
    return "(" + ",".join(str(index[name]) for name in dim_names(rank)) + ")"
