"""Products of warpgroups that go on while others are computed, and sums that leave the instruction in between."""

import re

import ml_dtypes
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

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
