"""The size of a grid: how many programs a launch runs, in up to three dimensions."""

import operator
from typing import Any

MOST = 2**31 - 1


def normalize_grid(grid: Any) -> tuple[int, int, int]:
    """Three ints from an int, or from a tuple or list of 1 to 3. TypeError or ValueError for anything else."""
    if type(grid) is tuple and 1 <= len(grid) <= 3:
        x, y, z = (*grid, 1, 1)[:3]
        if type(x) is type(y) is type(z) is int and 0 <= x <= MOST and 0 <= y <= MOST and 0 <= z <= MOST:
            return x, y, z
    sizes = (grid,) if hasattr(grid, "__index__") else tuple(grid) if isinstance(grid, tuple | list) else None
    if sizes is None:
        raise TypeError(
            "a grid is an int, a tuple or list of 1 to 3 ints, or a function of the arguments that gives one of these; "
            f"this one is {grid!r} of type {type(grid).__name__}"
        )
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"a grid has 1 to 3 dimensions, and {grid!r} has {len(sizes)}")
    try:
        x, y, z = map(operator.index, (*sizes, 1, 1)[:3])
    except TypeError:
        hint = "; use triton.cdiv(n, BLOCK) or // instead of /" if any(isinstance(n, float) for n in sizes) else ""
        raise TypeError(f"the sizes of a grid are ints, and {grid!r} has others{hint}") from None
    if min(x, y, z) < 0:
        raise ValueError(f"the sizes of a grid are not negative: {grid!r}")
    if max(x, y, z) > MOST:
        raise ValueError(f"a grid is one to three sizes from 0 to 2**31 - 1, not {grid!r}")
    return x, y, z
