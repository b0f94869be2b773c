"""Kernels that a user wrote in Triton, inside of compiled functions; and Inductor's own templates and modes."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton

from tests.inductor.case import Program, case
from tests.inductor.cases.models import Gated

# Fused epilogues are not timed: the file that torch 2.13 writes for it is no valid Python where the device is the CPU.
TEMPLATES = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON", "autotune_fallback_to_aten": False,
             "benchmark_epilogue_fusion": False}  # fmt: skip


@triton.jit
def scaled_sum(x, y, out, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * scale + tl.load(y + i, i < n), i < n)


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 512}, num_warps=8)], key=["n"])
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(x + i, i < n)), i < n)


@triton.heuristics({"EVEN": lambda args: args["n"] % 16 == 0})
@triton.jit
def doubled_in_place(x, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i) if EVEN else tl.load(x + i, i < n)
    tl.store(x + i, value * 2, i < n)


@triton.jit
def row_sums(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * columns + i, i < columns, 0.0)))


def call_scaled_sum(x, y, scale):
    out = torch.empty_like(x)
    n = x.numel()
    scaled_sum[(triton.cdiv(n, 128),)](x, y, out, n, scale, BLOCK=128)
    return out


@triton_op("naiad_tests::scaled_sum", mutates_args={})
def scaled_sum_op(x: torch.Tensor, y: torch.Tensor, scale: float) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    wrap_triton(scaled_sum)[(triton.cdiv(n, 128),)](x, y, out, n, scale, BLOCK=128)
    return out


scaled_sum_op.register_autograd(lambda ctx, grad: (grad * ctx.scale, grad, None),
                                setup_context=lambda ctx, inputs, output: setattr(ctx, "scale", inputs[2]))  # fmt: skip


@case()
def user_kernel() -> Program:
    return Program(
        lambda x, y: call_scaled_sum(x.sin(), y, 2.5).relu() + 1,
        (torch.randn(9, 33), torch.randn(9, 33)),
        kernels=2,
        exact=False,
    )


@case()
def user_kernel_autotuned() -> Program:
    def fn(x):
        out = torch.empty_like(x)
        tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out * 2

    return Program(fn, (torch.randn(1000),), kernels=2, exact=False)


@case()
def user_kernel_in_place() -> Program:
    def fn(x):
        y = x + 1
        doubled_in_place[(1,)](y, y.numel(), BLOCK=64)
        return y.cos(), y

    return Program(fn, (torch.randn(50),), kernels=2, exact=False)


@case()
def user_kernel_dynamic() -> Program:
    def fn(x):
        out = x.new_empty(x.shape[0])
        row_sums[(x.shape[0],)](x, out, x.shape[1], BLOCK=64)
        return out + 1

    more = tuple((torch.randn(n, 40),) for n in (5, 77))
    return Program(fn, (torch.randn(9, 40),), dynamic=True, more=more, kernels=2, exact=False)


@case()
def user_operator() -> Program:
    return Program(
        lambda x, y: scaled_sum_op(x.sin(), y, 0.5).relu(), (torch.randn(7, 40), torch.randn(7, 40)), kernels=2,
        exact=False,
    )  # fmt: skip


@case()
def user_operator_trained() -> Program:
    args = tuple(torch.randn(7, 40, requires_grad=True) for _ in range(2))
    return Program(lambda x, y: scaled_sum_op(x.sin(), y, 0.5).relu(), args, train=True, kernels=3, exact=False)


@case()
def template_mm() -> Program:
    return Program(lambda a, b: (a @ b).relu(), (torch.randn(70, 52), torch.randn(52, 40)), config=TEMPLATES)


@case()
def template_addmm() -> Program:
    args = (torch.randn(33, 64), torch.randn(64, 48), torch.randn(48))
    return Program(lambda a, b, c: F.gelu(torch.addmm(c, a, b)), args, config=TEMPLATES)


@case()
def template_bmm() -> Program:
    return Program(lambda a, b: torch.bmm(a, b) * 2, (torch.randn(3, 33, 20), torch.randn(3, 20, 65)), config=TEMPLATES)


@case()
def template_half() -> Program:
    args = (torch.randn(64, 48).bfloat16(), torch.randn(48, 80).bfloat16())
    return Program(lambda a, b: (a @ b).relu(), args, config=TEMPLATES)


@case()
def template_mlp() -> Program:
    return Program(Gated(48, 80), (torch.randn(9, 48),), config=TEMPLATES, kernels=3)


@case()
def max_autotune() -> Program:
    return Program(
        lambda x, w: (x.softmax(-1) + w, (x * w).t().contiguous()),
        (torch.randn(60, 130), torch.randn(130)),
        config={"max_autotune_pointwise": True, "coordinate_descent_tuning": True},
        kernels=3,
    )


@case()
def block_pointers() -> Program:
    config = {"triton.use_block_ptr": True, "triton.prefer_nd_tiling": True}
    return Program(
        lambda x, y: ((x + y.t()) * 2, (x * 2).sum(1)), (torch.randn(70, 65), torch.randn(65, 70)), config=config
    )


@case()
def tensor_descriptors() -> Program:
    config = {"triton.use_tensor_descriptor": True, "assume_aligned_inputs": True}
    return Program(lambda x, y: (x + y) * 2, (torch.randn(64, 64), torch.randn(64, 64)), config=config)


@case()
def combined_kernels() -> Program:
    def fn(x, y, z):
        return x.sin() + 1, y.sum(1), z * 2

    args = (torch.randn(100), torch.randn(9, 50), torch.randn(3, 5))
    return Program(fn, args, config={"combo_kernels": True, "benchmark_combo_kernel": False})


@case()
def multi_kernel() -> Program:
    return Program(lambda x: x.softmax(-1), (torch.randn(20, 300),), config={"triton.multi_kernel": 1})


@case()
def cooperative() -> Program:
    return Program(
        lambda x: x.sum(-1) * 2, (torch.randn(2, 9000),), config={"triton.force_cooperative_reductions": True}
    )


@case()
def persistent_off() -> Program:
    return Program(
        lambda x: (x.softmax(-1), x.var(1)), (torch.randn(20, 300),), config={"triton.persistent_reductions": False}
    )
