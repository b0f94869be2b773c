"""Dropout without a stored mask: Philox gives each element its random number from the seed and its place."""

import naiad as triton
import naiad.language as tl
from naiad.testing import empty, random, to_float64


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def dropout(x, out, p, seed):
    """Drops each element with probability p and scales the rest by 1 / (1 - p)."""
    n = x.shape[0]
    dropout_kernel[(triton.cdiv(n, 1024),)](x, out, n, p, seed, BLOCK=1024)
    return out


def uniform(seed, n):
    """The numbers that the kernel draws for elements 0 to n-1, with numpy: Philox 4x32, ten rounds.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11.
    """
    import numpy as np

    mask = np.uint64(0xFFFFFFFF)
    c = [np.arange(n, dtype=np.uint64), *(np.zeros(n, np.uint64) for _ in range(3))]
    k0, k1 = np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k0, b & mask, (a >> np.uint64(32)) ^ c[3] ^ k1, a & mask]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & mask, (k1 + np.uint64(0xBB67AE85)) & mask
    signed = c[0].astype(np.uint32).astype(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)


def reference(x, p, seed):
    """The same with numpy."""
    import numpy as np

    kept = uniform(seed, x.shape[0]) > np.float32(p)
    return np.where(kept, to_float64(x) / (1 - p), 0.0)


if __name__ == "__main__":
    from naiad.testing import assert_close

    x = random((10_000,), seed=0)
    assert_close(dropout(x, empty((10_000,)), 0.25, 123), reference(x, 0.25, 123))
    print("dropout: right")
