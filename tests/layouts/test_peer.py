"""Our layouts against Triton's own answers, where its wheel is installed: the same bases for the same encoding."""

from collections.abc import Iterator
from typing import Any

import pytest

from naiad.layouts.distributed import Blocked, DotOperand, Slice, dim_names
from naiad.layouts.mma import NvidiaMma

triton = pytest.importorskip("triton", reason="Triton's wheel is not installed")

B = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
V2, BATCH = NvidiaMma((2, 0), (2, 4), (16, 8)), NvidiaMma((2, 0), (2, 2, 1), (1, 16, 8))
V3 = NvidiaMma((3, 0), (4, 1), (16, 64, 16))
CASES = [
    (B, (128, 64)), (B, (16, 16)), (Blocked((2, 2), (8, 4), (2, 2), (0, 1)), (64, 32)),
    (Blocked((1, 2, 4), (2, 4, 4), (2, 1, 2), (2, 0, 1)), (8, 16, 64)),
    (Slice(0, B), (64,)), (Slice(1, B), (128,)), (Slice(1, B), (8,)),
    (V2, (128, 256)), (V2, (16, 16)), (BATCH, (4, 32, 32)), (V3, (128, 128)),
    (NvidiaMma((3, 0), (4, 2), (16, 128, 16)), (128, 256)),
    *[(DotOperand(0, V2, k), (128, 64)) for k in (1, 2, 4)], *[(DotOperand(1, V2, k), (64, 256)) for k in (1, 2, 4)],
    (DotOperand(0, V3, 2), (128, 64)), (DotOperand(0, BATCH, 2), (4, 32, 32)), (DotOperand(1, BATCH, 2), (4, 32, 32)),
    (DotOperand(0, B), (64, 32)), (DotOperand(1, B), (32, 64)),
]  # fmt: skip


@pytest.fixture(scope="module")
def builder() -> Iterator[Any]:
    from triton._C import libtriton

    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    libtriton.nvidia.load_dialects(context)
    made = libtriton.gluon_ir.GluonOpBuilder(context)
    made.keeps = context
    return made


def attribute(builder: Any, layout: Any) -> Any:
    match layout:
        case Blocked(size, threads, warps, order, cga):
            return builder.get_blocked_layout(size, threads, warps, order, cga)
        case Slice(dim, parent):
            return builder.get_slice_layout(dim, attribute(builder, parent))
        case NvidiaMma(version, warps, shape, cga):
            return builder.get_mma_layout(list(version), warps, cga, shape)
        case DotOperand(operand, parent, k_width):
            return builder.get_dot_operand_layout(operand, attribute(builder, parent), k_width)
    raise AssertionError(layout)


@pytest.mark.parametrize(("layout", "shape"), CASES)
def test_bases_are_those_of_triton(builder: Any, layout: Any, shape: tuple[int, ...]) -> None:
    theirs = builder.to_linear_layout(attribute(builder, layout), list(shape))
    ours = layout.linear(shape).ordered(dim_names(len(shape)))
    for name, bases in (("register", theirs.reg_bases), ("lane", theirs.lane_bases), ("warp", theirs.warp_bases)):
        assert [list(v) for v in ours.vectors(name)] == bases
