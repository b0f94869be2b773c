"""What a compilation is told of a kernel's parameters."""

import pytest

import naiad as triton
import naiad.language as tl
from naiad.compiler.source import ASTSource


@triton.jit
def shifted(a, o, N: tl.constexpr):
    tl.store(o + N, tl.load(a + N))


def test_the_signature_may_name_parameters_in_any_order() -> None:
    source = ASTSource(shifted, {"N": "i32", "o": "*fp16", "a": "*fp32"}, {"N": 32})
    assert list(source.signature.items()) == [("a", "*fp32"), ("o", "*fp16"), ("N", "constexpr")]
    assert source.constants == {(2,): 32}
    assert source.hash() == ASTSource(shifted, {"a": "*fp32", "o": "*fp16", "N": "constexpr"}, {"N": 32}).hash()


def test_a_name_that_is_no_parameter_is_told() -> None:
    with pytest.raises(TypeError, match="shifted has no parameter 'M'; it takes a, o, N"):
        ASTSource(shifted, {"a": "*fp32", "o": "*fp32", "M": "i32"})
