"""Tensor descriptors on NVIDIA: what their makers promise lets blocks move in 16-byte pieces."""

import re

import ml_dtypes
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from naiad.backends.base import GPUTarget
from naiad.compiler.compiler import ASTSource
from naiad.compiler.compiler import compile as compile_kernel
from naiad.runtime.specialize import specialize
from naiad.tools.tensor_descriptor import TensorDescriptor

from .harness import run

ALIGNED = [["tt.divisibility", 16]]


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(tl.float16))


@triton.jit
def shifted(x_ptr, y_ptr, start, M, N, S, i, j, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr + start, [M, N], [S, 1], [BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, [BM, BN], [BN, 1], [BM, BN])
    y.store([0, 0], x.load([i, j]))


@triton.jit
def reduced(x_ptr, y_ptr, M, N, i, j, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)
    y = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BM, BN])
    if KIND == "max":
        y.atomic_max([i, j], tl.load(x_ptr + at))
    else:
        y.atomic_min([i, j], tl.load(x_ptr + at))


def product_of(arch: int, attrs: dict) -> str:
    signature = {"a": "tensordesc<fp16[64, 64]>", "b": "tensordesc<fp16[64, 64]>", "c": "tensordesc<fp16[64, 64]>",
                 "K": "i32", "BM": "constexpr", "BN": "constexpr", "BK": "constexpr"}  # fmt: skip
    source = ASTSource(product, signature, {(4,): 64, (5,): 64, (6,): 64}, attrs)
    return compile_kernel(source, target=GPUTarget("cuda", arch, 32)).asm["ptx"]


@pytest.mark.parametrize("arch", [80, 90])
def test_blocks_of_aligned_rows_move_16_bytes_at_a_time(arch):
    text = product_of(arch, dict.fromkeys([(0,), (1,), (2,)], ALIGNED))
    assert len(re.findall(r"cp\.async\.cg\.shared\.global .*, 16", text)) >= 16
    assert not re.findall(r"(cp\.async\.ca|ld\.global)", text)
    assert re.search(r"st\.global\.v4\.b32", text)


def test_rows_of_any_length_move_piece_by_piece():
    """The edge may lie within 16 bytes: nothing is read beyond it."""
    assert "cp.async.cg" not in product_of(80, {})


@pytest.mark.parametrize(("columns", "i", "j"), [(64, 0, 0), (64, 8, 32), (61, 4, 33), (64, -3, -5), (40, 7, 21)])
def test_blocks_at_edges(columns, i, j):
    stride, start = 64, 32
    x = np.random.default_rng(0).standard_normal(start + 20 * stride).astype(np.float16)
    y = np.full((16, 32), np.nan, np.float16)
    run(shifted, (1,), x, y, start, 20, columns, stride, i, j, BM=16, BN=32)
    padded = np.zeros((100, 200), np.float16)
    padded[20:40, 20 : 20 + columns] = x[start:].reshape(20, stride)[:, :columns]
    np.testing.assert_array_equal(y, padded[20 + i : 36 + i, 20 + j : 52 + j])


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.int32])
def test_extrema_in_memory_stay_inside(kind, dtype):
    """No instruction takes one 16-bit float: a loop does. What lies outside of the tensor is left alone."""
    rng = np.random.default_rng(1)
    x, y = ((rng.standard_normal(shape) * 50).astype(dtype) for shape in ((8, 16), (9, 16)))
    want, take = y.copy(), np.maximum if kind == "max" else np.minimum
    run(reduced, (1,), x, y, 9, 16, 4, 8, KIND=kind, BM=8, BN=16, arch=90)
    want[4:, 8:] = take(want[4:, 8:], x[:5, :8])
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(("columns", "kind", "known"), [(64, np.float16, True), (60, np.float16, False),
                                                        (60, np.float32, True), (62, np.float32, False)])  # fmt: skip
def test_a_descriptor_says_whether_its_rows_are_whole(columns, kind, known):
    tensor = np.zeros((8, 64), kind)
    descriptor = TensorDescriptor(tensor, [8, columns], [64, 1], [8, 16])
    assert ("D" in specialize(descriptor)[1]) is known


@triton.jit
def copied(x, o_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o_ptr + at, x.load([0, 0]))


def rounded(x: np.ndarray) -> np.ndarray:
    word = x.view(np.uint32).astype(np.uint64)
    made = word + (word >> 13 & 1) + 0xFFF & 0xFFFFE000
    return np.where(word & 0x7F800000 == 0x7F800000, word, made).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("rounds", [False, True])
def test_a_descriptor_may_round_what_is_read(rounds):
    """On the CPU, which rewrites descriptors as GPUs do."""
    x = np.random.default_rng(1).standard_normal((4, 16)).astype(np.float32)
    x[0, :2] = np.inf, np.nan
    out = np.zeros_like(x)
    copied[(1,)](TensorDescriptor(x, [4, 16], [16, 1], [4, 16], round_f32_to_tf32=rounds), out, M=4, N=16)
    np.testing.assert_array_equal(out, rounded(x) if rounds else x)
