"""The passes on ttir, and from ttir to ttgir for one GPU and the options of one kernel."""

from typing import Any

from naiad.backends.nvidia.target import Nvidia
from naiad.passes.common.cse import CommonSubexpressions
from naiad.passes.common.dce import DeadCode
from naiad.passes.common.licm import HoistInvariants
from naiad.passes.pipeline import Order, Pipeline
from naiad.passes.ttgir.assign_layouts import AssignLayouts
from naiad.passes.ttgir.dot_operands import DotOperands
from naiad.passes.ttgir.pipeline_loops import PipelineLoops
from naiad.passes.ttgir.remove_conversions import RemoveConversions
from naiad.passes.ttgir.sink import Sink
from naiad.passes.ttir import POINTERS
from naiad.passes.ttir.retype_dots import RetypeDots
from naiad.passes.ttir.scaled_dot import DecomposeScaledDot
from naiad.passes.ttir.split_dots import SplitDots
from naiad.passes.ttir.widen_small_floats import WidenSmallFloats

__all__ = ["TTIR", "ttgir_pipeline"]

TTIR = POINTERS.replacing("tt-decompose-scaled-dot", DecomposeScaledDot(halves=True))
"""What is done to ttir."""

ORDER = (
    Order("tt-widen-small-floats", "ttg-assign-layouts", "conversions are ops with layouts of their own"),
    Order("tt-retype-dots", "ttg-assign-layouts", "the types say which instruction, and that which layout"),
    Order("tt-split-dots", "ttg-assign-layouts", "each product gets a layout of its own"),
    Order("ttg-assign-layouts", "ttg-remove-conversions", "there are no conversions before there are layouts"),
    Order("ttg-remove-conversions", "ttg-dot-operands", "joined conversions become one allocation"),
    Order("ttg-pipeline-loops", "ttg-sink", "pipelining needs what it runs ahead of the loop before it"),
    Order("ttg-dot-operands", "ttg-pipeline-loops", "the buffers are laid out as the operands want them"),
)


def ttgir_pipeline(gpu: Nvidia, options: Any) -> Pipeline:
    """What turns ttir into ttgir for `gpu`."""
    layouts = AssignLayouts(options.num_warps, gpu.warp_size, f"cuda:{gpu.arch}", gpu.has_fp8_mma, gpu.has_wgmma,
                           options.num_ctas)  # fmt: skip
    return Pipeline(
        "ttgir",
        (
            WidenSmallFloats(),
            RetypeDots(gpu.has_fp8_mma),
            SplitDots(),
            layouts,
            DeadCode(),
            RemoveConversions(),
            DotOperands(),
            CommonSubexpressions(),
            HoistInvariants(),
            PipelineLoops(options.num_stages, gpu.shared_limit),
            CommonSubexpressions(),
            DeadCode(),
            Sink(),
        ),
        ORDER,
    )
