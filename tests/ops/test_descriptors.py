"""Tensor descriptors on the CPU: atomics by kind and type, padding, those made on the host."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from naiad.errors import CompilationError
from naiad.tools.tensor_descriptor import TensorDescriptor

RNG = np.random.default_rng(0)
KINDS = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
         "xor": np.bitwise_xor}  # fmt: skip


@triton.jit
def combine_kernel(out, x_ptr, M: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if KIND == "add":
        out.atomic_add([0, 0], x)
    elif KIND == "min":
        out.atomic_min([0, 0], x)
    elif KIND == "max":
        out.atomic_max([0, 0], x)
    elif KIND == "and":
        out.atomic_and([0, 0], x)
    elif KIND == "or":
        out.atomic_or([0, 0], x)
    else:
        out.atomic_xor([0, 0], x)


def combine(kind: str, dtype: str) -> None:
    if dtype.startswith("float"):
        x, out = RNG.integers(-9, 9, (2, 8, 16)).astype(dtype)
    else:
        x, out = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (2, 8, 16), dtype)
    right = KINDS[kind](out, x)
    combine_kernel[(1,)](TensorDescriptor.from_tensor(out, [8, 16]), x, 8, 16, kind)
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint64"])
def test_combined_in_memory(kind: str, dtype: str) -> None:
    combine(kind, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_floats_added_in_memory(dtype: str) -> None:
    combine("add", dtype)


@pytest.mark.parametrize(("kind", "dtype"), [("add", "int8"), ("min", "float16"), ("max", "float32"), ("xor", "int16")])
def test_types_that_are_refused(kind: str, dtype: str) -> None:
    with pytest.raises(CompilationError):
        combine(kind, dtype)


@triton.jit
def copy_kernel(x, out_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, x.load([-1, 4]))


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_padding(padding: str) -> None:
    """A block that begins a row before the tensor and ends past it, and past its columns."""
    x = RNG.standard_normal((5, 16)).astype(np.float32)
    out = np.zeros((8, 16), np.float32)
    copy_kernel[(1,)](TensorDescriptor(x, x.shape, (16, 1), [8, 16], padding), out, 8, 16)
    right = np.full((8, 16), 0 if padding == "zero" else np.nan, np.float32)
    right[1:6, :12] = x[:, 4:]
    np.testing.assert_array_equal(out, right)


@triton.jit
def sized_kernel(out, x_ptr, rows, N: tl.constexpr):
    wide = rows.to(tl.int64) + 0
    x = tl.make_tensor_descriptor(x_ptr, shape=[wide, N], strides=[N, 1], block_shape=[N, N])
    y = tl.make_tensor_descriptor(out, shape=[N, N], strides=[N, 1], block_shape=[N, N])
    y.store([0, 0], x.load([0, 0]))


def test_sizes_of_64_bits() -> None:
    x, out = RNG.standard_normal((8, 8)).astype(np.float32), np.full((8, 8), 7, np.float32)
    sized_kernel[(1,)](out, x, 5, 8)
    assert (out[:5] == x[:5]).all() and not out[5:].any()
