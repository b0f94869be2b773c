"""The passes on ttir, and their pipelines, one of which every backend runs first: `TTIR.run(module)`.

TTIR leaves block pointers and descriptors as they are, for hardware that has them. POINTERS rewrites them to plain
pointers and has loops carry scalars for tiles that move evenly, as the CPU backend wants it.
"""

from dataclasses import replace

from naiad.passes.common.canonicalize import Canonicalize
from naiad.passes.common.cse import CommonSubexpressions
from naiad.passes.common.dce import DeadCode
from naiad.passes.common.inline import Inline
from naiad.passes.common.licm import HoistInvariants
from naiad.passes.common.unroll import Unroll
from naiad.passes.pipeline import Order, Pipeline
from naiad.passes.ttir.broadcast import ReorderBroadcast
from naiad.passes.ttir.combine import Combine
from naiad.passes.ttir.descriptors import RewriteDescriptors
from naiad.passes.ttir.scaled_dot import DecomposeScaledDot
from naiad.passes.ttir.uniform_carries import UniformCarries

__all__ = ["POINTERS", "TTIR"]

TTIR = Pipeline(
    "ttir",
    (
        Inline(),
        DeadCode(),
        Combine(),
        ReorderBroadcast(),
        CommonSubexpressions(),
        HoistInvariants(),
        Unroll(),
        DeadCode(),
    ),
    order=(
        Order("tt-inline", "tt-combine", "patterns do not see through calls"),
        Order("tt-combine", "tt-reorder-broadcast", "it counts on folded splats and broadcasts"),
        Order("tt-reorder-broadcast", "cse", "it makes a small op for each use of a large one"),
        Order("cse", "licm", "merged reads are hoisted once"),
        Order("licm", "unroll", "what is the same in every turn is not repeated"),
    ),
)
"""What is done to every kernel before a backend sees it."""

POINTERS = (
    replace(TTIR, name="ttir-pointers")
    .replacing("tt-inline", Inline(all=True))
    .after("tt-inline", RewriteDescriptors(), DecomposeScaledDot())
    .after("unroll", UniformCarries(), Canonicalize(), CommonSubexpressions(), HoistInvariants())
)
"""TTIR for a target without functions, descriptors, microscaled products, and tiles that live in registers in loops."""
