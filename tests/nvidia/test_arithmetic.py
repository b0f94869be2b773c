"""Products and quotients that cost less than one instruction each, and are the same in every bit."""

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

from .harness import compiled, run


@triton.jit
def high_halves(o_ptr, start, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.umulhi((at + start).to(tl.uint32), 0xD2511F53).to(tl.int32, bitcast=True))


@pytest.mark.parametrize("start", [0, 1, -1024, -1000, 2**31 - 512])
@pytest.mark.parametrize("block", [1024, 64])
def test_high_halves_of_consecutive_numbers(start: int, block: int) -> None:
    out = np.zeros(2048, np.int32)
    run(high_halves, (2048 // block,), out, start, BLOCK=block)
    numbers = (np.arange(2048) + start).astype(np.uint32).astype(np.uint64)
    np.testing.assert_array_equal(out, (numbers * 0xD2511F53 >> 32).astype(np.uint32).view(np.int32))


def test_consecutive_numbers_share_a_multiplication() -> None:
    given = dict(o_ptr=np.zeros(2048, np.int32), start=0)
    assert compiled(high_halves, given, dict(BLOCK=1024)).asm["ptx"].count("mul.hi.u32") == 8
    aligned = compiled(high_halves, dict(o_ptr=given["o_ptr"]), dict(BLOCK=1024, start=0)).asm["ptx"]
    assert aligned.count("mul.hi.u32") == 1


@triton.jit
def quotients(x_ptr, o_ptr, d, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at) / d)


@pytest.mark.parametrize("d", [3.0, -0.7, 1e38, 3e-39, 0.0, float("inf"), float("nan")])
def test_quotients_by_one_number(d: float) -> None:
    x = np.random.default_rng(0).standard_normal(512).astype(np.float32)
    x[:4] = 0.0, np.inf, np.nan, 1e-38
    out = np.zeros_like(x)
    run(quotients, (1,), x, out, d, BLOCK=512)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(out, x / np.float32(d), rtol=3e-7, atol=2e-45)
    text = compiled(quotients, dict(x_ptr=x, o_ptr=out, d=d), dict(BLOCK=512)).asm["ptx"]
    assert text.count("rcp.approx.ftz.f32") == 1 and "div.full" not in text


@triton.jit
def magnitudes(x_ptr, o_ptr, BLOCK: tl.constexpr, LEAST: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(o_ptr + at, tl.minimum(~x, x) if LEAST else tl.maximum(x, ~x))


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_the_greater_of_a_number_and_its_complement(dtype: type, least: bool) -> None:
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, 256, dtype, endpoint=True)
    x[:4] = info.min, info.max, 0, 1
    out = np.zeros_like(x)
    run(magnitudes, (1,), x, out, BLOCK=256, LEAST=least)
    np.testing.assert_array_equal(out, (np.minimum if least else np.maximum)(x, ~x))
    text = compiled(magnitudes, dict(x_ptr=x, o_ptr=out), dict(BLOCK=256, LEAST=least)).asm["ptx"]
    assert ("mad.lo.s32" in text) == (dtype == np.int32)  # the complement is left to the multiplier
