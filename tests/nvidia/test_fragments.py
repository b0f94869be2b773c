"""Results of products that leave by stmatrix, 16 bytes at a time."""

import ml_dtypes
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

from .harness import compiled, run


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
    b = tl.load(b_ptr + rk[:, None] * N + rn[None, :])
    c = tl.dot(a, b).to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c)


F16, F32, BF16 = np.float16, np.float32, ml_dtypes.bfloat16


@pytest.mark.parametrize(("kind", "out", "m", "n", "warps"), [
    (F16, F16, 64, 64, 4), (F32, BF16, 64, 32, 4), (F16, BF16, 64, 64, 8), (F32, F16, 16, 16, 1),
])  # fmt: skip
def test_products_are_stored_whole(kind: type, out: type, m: int, n: int, warps: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, 32)).astype(kind), rng.standard_normal((32, n)).astype(kind)
    c = np.full((m, n), np.nan, out)
    sizes = dict(M=m, N=n, K=32)
    run(product, (1,), a, b, c, **sizes, arch=90, num_warps=warps)
    np.testing.assert_allclose(c.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64), rtol=0.02, atol=0.05)
    text = compiled(product, dict(a_ptr=a, b_ptr=b, c_ptr=c), sizes, 90, num_warps=warps).asm["ptx"]
    assert "stmatrix" in text and "st.shared.b32" not in text
    assert "stmatrix" not in compiled(product, dict(a_ptr=a, b_ptr=b, c_ptr=c), sizes, 80, num_warps=warps).asm["ptx"]
