"""Vector addition: the first kernel of everyone."""

import naiad as triton
import naiad.language as tl
from naiad.testing import assert_close, empty, random


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def add(x, y, out):
    """out = x + y, one-dimensional arrays of one length."""
    n = out.shape[0]
    add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    return out


if __name__ == "__main__":
    x, y = random((98_432,), seed=0), random((98_432,), seed=1)
    assert_close(add(x, y, empty((98_432,))), x + y)
    print("vector_add: right")
