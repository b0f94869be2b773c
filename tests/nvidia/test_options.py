"""What options and types a GPU refuses, and in which words."""

import pytest

import naiad as triton
import naiad.language as tl
from naiad.backends.base import GPUTarget
from naiad.compiler.compiler import ASTSource
from naiad.compiler.compiler import compile as compile_kernel
from naiad.errors import CompilationError

H100 = GPUTarget("cuda", 90, 32)


def of_type(kernel, dtype):
    return compile_kernel(ASTSource(kernel, {"dtype": "constexpr"}, {(0,): dtype}), target=H100)


@triton.jit
def small_dot(dtype: tl.constexpr):
    a = tl.full((8, 8), 0.0, dtype)
    tl.dot(a, a)


@triton.jit
def square(dtype: tl.constexpr):
    a = tl.full((64, 64), 0.0, dtype)
    tl.dot(a, a)


@pytest.mark.parametrize(("dtype", "k"), [(tl.float8e5, 32), (tl.int8, 32), (tl.float16, 16)])
def test_the_least_size_of_a_dot(dtype, k):
    with pytest.raises(CompilationError) as error:
        of_type(small_dot, dtype)
    assert f"Input shapes should have M >= 1, N >= 1 and K >= {k}" in str(error.value.__cause__)


@pytest.mark.parametrize("dtype", [tl.float8e4b8, tl.float8e5b16])
def test_8_bit_floats_of_other_makers_are_refused(dtype):
    with pytest.raises(CompilationError) as error:
        of_type(square, dtype)
    assert "not supported in this architecture" in str(error.value.__cause__)


def test_an_old_8_bit_float_is_multiplied_with_a_warning():
    with pytest.warns(UserWarning, match="fp8e4b15 is deprecated on Hopper"):
        of_type(square, tl.float8e4b15)
