"""In which type two operands meet: a table by hand, and every pair against the rule of the peer, if installed."""

import itertools

import pytest

import naiad.language as tl
from naiad.language.builder import building
from naiad.language.promotion import arithmetic_type, literal_type
from tests.language.recording import Recorder

FLOATS = [tl.float8e4nv, tl.float8e5, tl.float16, tl.bfloat16, tl.float32, tl.float64]
INTEGERS = [tl.int1, tl.int8, tl.int16, tl.int32, tl.int64, tl.uint8, tl.uint16, tl.uint32, tl.uint64]

TABLE = [  # left, right, their common type; the same with the operands swapped
    (tl.int32, tl.int32, tl.int32),
    (tl.int8, tl.int16, tl.int16),
    (tl.int32, tl.uint32, tl.uint32),
    (tl.int64, tl.uint32, tl.int64),
    (tl.int16, tl.uint8, tl.int16),
    (tl.int1, tl.int8, tl.int8),
    (tl.int64, tl.float16, tl.float16),
    (tl.float16, tl.bfloat16, tl.float16),
    (tl.bfloat16, tl.bfloat16, tl.bfloat16),
    (tl.bfloat16, tl.int32, tl.float32),
    (tl.float16, tl.float32, tl.float32),
    (tl.float32, tl.float64, tl.float64),
    (tl.float8e5, tl.float8e5, tl.float8e5),
    (tl.float8e5, tl.float8e4nv, tl.float16),
]


@pytest.mark.parametrize(("a", "b", "want"), TABLE)
def test_two_tensors(a, b, want):
    assert arithmetic_type(a, False, b, False, division=False) == want
    assert arithmetic_type(b, False, a, False, division=False) == want


@pytest.mark.parametrize("narrow", [tl.float8e5, tl.float16, tl.bfloat16])
def test_narrow_floats_divide_in_fp32(narrow):
    assert arithmetic_type(narrow, False, narrow, False, division=True) == tl.float32
    assert arithmetic_type(narrow, False, tl.float32, True, division=True) == tl.float32
    assert arithmetic_type(narrow, False, tl.int32, True, division=True) == tl.float32


@pytest.mark.parametrize(
    ("tensor", "literal", "want"),
    [
        (tl.int8, 1, tl.int8),
        (tl.uint64, 1, tl.uint64),
        (tl.int8, 1.0, tl.float32),
        (tl.float16, 1, tl.float16),
        (tl.float16, 1.0, tl.float16),
        (tl.bfloat16, 2.5, tl.bfloat16),
        (tl.float64, 0.1, tl.float64),
        (tl.int1, 1, tl.int32),
    ],
)
def test_a_number_takes_the_type_of_the_tensor(tensor, literal, want):
    recorder = Recorder()
    x = recorder.argument(tl.block_type(tensor, [8]))
    with building(recorder):
        assert (x * literal).dtype == want
        assert (literal * x).dtype == want
        assert (x * tl.constexpr(literal)).dtype == want
        assert (tl.constexpr(literal) * x).dtype == want


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (True, tl.int1),
        (0, tl.int32),
        (-(2**31), tl.int32),
        (2**31, tl.uint32),
        (2**32, tl.int64),
        (-(2**31) - 1, tl.int64),
        (2**63, tl.uint64),
        (1.0, tl.float32),
        (float("nan"), tl.float32),
        (float("-inf"), tl.float32),
        (1e300, tl.float64),
        (1e-40, tl.float64),
    ],
)
def test_literals(value, want):
    assert literal_type(value) == want


def test_a_comparison_does_not_cut_its_literal():
    """`u8 < 300` is always true: the literal is an int32, not an uint8."""
    recorder = Recorder()
    x = recorder.argument(tl.uint8)
    with building(recorder):
        _ = x < 300
    assert recorder.names == ["arith.extui", "arith.cmpi"]


def _with_peer():
    peer = pytest.importorskip("triton.language", reason="the peer is not installed")
    semantic = pytest.importorskip("triton.language.semantic")
    return peer, semantic.TritonSemantic(None)


@pytest.mark.parametrize("division", [False, True])
def test_every_pair_as_the_peer_says(division):
    peer, semantic = _with_peer()
    compared = 0
    for a, b in itertools.product(FLOATS + INTEGERS, repeat=2):
        if division and (a.is_fp8() or b.is_fp8()):
            continue  # 3.6 divides in fp8, later versions in fp32
        for a_literal, b_literal in ((False, False), (False, True), (True, False)):
            arguments = (peer.dtype(a.name), a_literal, peer.dtype(b.name), b_literal, division)
            try:
                want = semantic.computation_type_impl(*arguments).name
            except TypeError as error:
                want = str(error)
            try:
                got = arithmetic_type(a, a_literal, b, b_literal, division).name
            except TypeError as error:
                got = str(error)
            assert got == want, (a, a_literal, b, b_literal)
            compared += 1
    assert compared > 400
