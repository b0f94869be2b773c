"""The passes on ttir, and their pipeline, which every backend runs first: `TTIR.run(module)`."""

from naiad.passes.common.canonicalize import Canonicalize
from naiad.passes.common.cse import CommonSubexpressions
from naiad.passes.common.dce import DeadCode
from naiad.passes.common.inline import Inline
from naiad.passes.common.licm import HoistInvariants
from naiad.passes.common.unroll import Unroll
from naiad.passes.pipeline import Order, Pipeline
from naiad.passes.ttir.broadcast import ReorderBroadcast
from naiad.passes.ttir.combine import Combine

__all__ = ["TTIR"]

TTIR = Pipeline(
    "ttir",
    (Inline(), DeadCode(), Combine(), ReorderBroadcast(), CommonSubexpressions(), HoistInvariants(), DeadCode(), Unroll()),
    order=(
        Order("tt-inline", "tt-combine", "patterns do not see through calls"),
        Order("tt-combine", "tt-reorder-broadcast", "it counts on folded splats and broadcasts"),
        Order("tt-reorder-broadcast", "cse", "it makes a small op for each use of a large one"),
        Order("cse", "licm", "merged reads are hoisted once"),
        Order("licm", "unroll", "what is the same in every turn is not repeated"),
    ),
)
"""What is done to every kernel before a backend sees it."""
