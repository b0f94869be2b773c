"""Products of warpgroups that go on while others are computed, and sums that leave the instruction in between."""

import re

import ml_dtypes
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from naiad.backends.base import GPUTarget
from naiad.backends.nvidia.target import target_of
from naiad.backends.nvidia.tools import assemble, find_ptxas
from naiad.compiler.compiler import ASTSource
from naiad.compiler.compiler import compile as compile_kernel

from .harness import compiled, run
from .kernels import attention

E4M3 = ml_dtypes.float8_e4m3fn


def loop_of(text: str) -> str:
    """The first loop of ttgir."""
    return text[text.index("scf.for") : text.index("scf.yield")]


def test_attention_waits_for_its_second_product_in_the_next_turn() -> None:
    x = np.zeros((64, 64), np.float16)
    given = dict(q_ptr=x, k_ptr=x, v_ptr=x, o_ptr=x, scale=1.0, n=128)
    made = compiled(attention, given, dict(D=64, BM=64, BN=64), 90, num_stages=3)
    loop = loop_of(made.asm["ttgir"])
    [wait] = re.findall(r"ttng\.warp_group_dot_wait (.*?) \{", loop)
    assert wait.count(",") == 1, "one wait, for both products"
    assert "ttg.local_alloc" not in loop, "the left operand stays in shared memory"
    assert loop.index("ttng.warp_group_dot ") < loop.index("ttg.async_copy"), "the product is on its way first"


@triton.jit
def one_product(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, MOST: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
    b = tl.load(b_ptr + rn[None, :] * K + rk[:, None])
    c = tl.dot(a, b, max_num_imprecise_acc=MOST)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c)


@pytest.mark.parametrize("most", [32, 64, 128])
def test_sums_of_8_bit_products_are_added_up_outside(most: int) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 128)).astype(E4M3) for _ in range(2))
    c = np.full((64, 64), np.nan, np.float32)
    run(one_product, (1,), a, b, c, M=64, N=64, K=128, MOST=most, arch=90)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-5, atol=1e-4)
    made = compiled(one_product, dict(a_ptr=a, b_ptr=b, c_ptr=c), dict(M=64, N=64, K=128, MOST=most), 90)
    assert made.asm["ptx"].count("add.f32") == 64 * 64 // 128 * (128 // most)


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, PROGRAMS):
        m, n = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
        c.store([m, n], acc.to(tl.float16))


def test_what_the_end_of_a_turn_needs_does_not_wait_in_registers() -> None:
    kinds = {"a": "128, 64", "b": "256, 64", "c": "128, 256"}
    signature = {n: f"tensordesc<fp16[{s}]>" for n, s in kinds.items()} | dict.fromkeys("MNK", "i32")
    constants = {"BM": 128, "BN": 256, "BK": 64, "PROGRAMS": 132}
    signature |= dict.fromkeys(constants, "constexpr")
    whole = {(n,): [["tt.divisibility", 16]] for n in range(6)}
    source = ASTSource(persistent, signature, constants, whole)
    made = compile_kernel(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})
    behind = made.asm["ttgir"].split("scf.for")[2].split("scf.yield", 1)[1]
    assert re.search(r"arith\.muli .*tensor<128xi64", behind), "offsets of the product are made behind the loop over k"
    if find_ptxas(90) is not None:
        assert "0 bytes spill stores" in assemble(made.asm["ptx"], target_of(90))[1]


@triton.jit
def three(a_ptr, b_ptr, c_ptr, d_ptr, o_ptr, n, K: tl.constexpr):
    rm, rn, rk = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, K)
    left = rm[:, None] * K + rk[None, :]
    a, b, c = tl.load(a_ptr + left), tl.load(b_ptr + left), tl.load(c_ptr + left)
    acc = tl.zeros((64, 32), tl.float32)
    for i in range(n):
        d = tl.load(d_ptr + i * K * 32 + rn[None, :] * K + rk[:, None])
        acc += tl.dot(a, d) + tl.dot(b, d) + tl.dot(c, d)
    tl.store(o_ptr + rm[:, None] * 32 + rn[None, :], acc)


def test_operands_stay_in_memory_as_far_as_there_is_room() -> None:
    x = np.zeros((64, 256), np.float16)
    given = dict(a_ptr=x, b_ptr=x, c_ptr=x, d_ptr=x, o_ptr=np.zeros((64, 32), np.float32), n=4)
    text = compiled(three, given, dict(K=256), 90).asm["ttgir"]
    assert loop_of(text).count("ttg.local_alloc %c") == 1 and text.count("ttg.local_alloc %") == 3
