"""Layer normalisation, forward: each row to mean 0 and variance 1, then scaled and shifted."""

import naiad as triton
import naiad.language as tl
from naiad.testing import assert_close, empty, random


@triton.jit
def layer_norm_kernel(x_ptr, out_ptr, weight_ptr, bias_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n_cols
    rstd = 1 / tl.sqrt(variance + eps)
    weight = tl.load(weight_ptr + cols, mask=mask)
    bias = tl.load(bias_ptr + cols, mask=mask)
    tl.store(out_ptr + row * stride + cols, centred * rstd * weight + bias, mask=mask)


def layer_norm(x, weight, bias, out, eps=1e-5):
    """Normalises the rows of a two-dimensional array; weight and bias have the length of a row."""
    rows, cols = x.shape
    layer_norm_kernel[(rows,)](x, out, weight, bias, cols, cols, eps, BLOCK=triton.next_power_of_2(cols))
    return out


def reference(x, weight, bias, eps=1e-5):
    """The same with numpy, in float64."""
    import numpy as np

    x, weight, bias = (np.asarray(a).astype(np.float64) for a in (x, weight, bias))
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * weight + bias


if __name__ == "__main__":
    x, weight, bias = random((311, 1000), seed=0), random((1000,), seed=1), random((1000,), seed=2)
    assert_close(layer_norm(x, weight, bias, empty((311, 1000))), reference(x, weight, bias), atol=1e-5, rtol=1e-5)
    print("layer_norm: right")
