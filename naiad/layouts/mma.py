"""The fragments of NVIDIA's matrix instructions as layouts: mma.sync (version 2) and wgmma (version 3) accumulators.

Source: PTX ISA, "Matrix Fragments for mma.m16n8k16" and "wgmma.mma_async: Register Fragments and Shared Memory Matrix
Layouts".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from naiad.layouts.distributed import CGA, deal, over_shape, without
from naiad.layouts.linear import LinearLayout

__all__ = ["NvidiaMma"]


def fragment(tile: Sequence[int], k_width: int, inner: int, outer: int) -> LinearLayout:
    """The common shape of all fragments: 4 lanes of k_width elements along `inner`, 8 lanes along `outer`, repeated.

    `tile`: sizes of the fragment, a number per dimension of the tensor (1 along batch dimensions).
    """
    dim = [f"dim{d}" for d in range(len(tile))]
    layout = LinearLayout.zeros(
        1, "register", [dim[inner], dim[outer], *(d for d in dim if d not in (dim[inner], dim[outer]))]
    )
    layout = layout * LinearLayout.identity(k_width, "register", dim[inner])
    layout = layout * LinearLayout.identity(4, "lane", dim[inner])
    layout = layout * LinearLayout.identity(8, "lane", dim[outer])
    layout = layout * LinearLayout.identity(tile[outer] // 8, "register", dim[outer])
    return layout * LinearLayout.identity(tile[inner] // (4 * k_width), "register", dim[inner])


@dataclass(frozen=True)
class NvidiaMma:
    """Accumulators of mma.sync (2, 0), instr_shape (16, 8), or of wgmma (3, 0), instr_shape (16, n, k)."""

    version: tuple[int, int]
    warps_per_cta: tuple[int, ...]
    instr_shape: tuple[int, ...]
    cga: CGA = field(default=())

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    @property
    def is_hopper(self) -> bool:
        return self.version[0] == 3

    def _warps(self) -> LinearLayout:
        """Warps count along the columns first; on Hopper along the rows, as a warpgroup is four warps of rows."""
        rank = self.rank
        order = (rank - 2, rank - 1, *reversed(range(rank - 2))) if self.is_hopper else tuple(reversed(range(rank)))
        return deal("warp", self.warps_per_cta, order)

    @cache  # noqa: B019
    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        rank = self.rank
        m, n = self.instr_shape[:2] if self.is_hopper else self.instr_shape[-2:]
        tile = fragment((*(1,) * (rank - 2), m, n), 2, rank - 1, rank - 2)
        return over_shape(tile * self._warps(), shape, self.cga)

    def operand(self, op_idx: int, k_width: int, shape: tuple[int, ...]) -> LinearLayout:
        """The fragment of operand a (0: m x k) or b (1: k x n) in registers; warps along k hold copies."""
        rank = self.rank
        rows, columns, k = rank - 2, rank - 1, 8 * k_width
        if op_idx == 0:
            tile = fragment((*(1,) * (rank - 2), 16, k), k_width, columns, rows)
        else:
            tile = fragment((*(1,) * (rank - 2), k, 8), k_width, rows, columns)
        along_k = columns if op_idx == 0 else rows
        cga = tuple(tuple(0 if d == along_k else s for d, s in enumerate(step)) for step in self.cga)
        return over_shape(tile * without(self._warps(), along_k), shape, cga)
