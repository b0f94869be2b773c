"""Random numbers from counters: Philox, bit by bit as Triton's.

Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.

`offset` numbers the draws: the same seed and offset give the same number, in any program and on any machine.
"""

from naiad.language import core as tl
from naiad.language import math
from naiad.language.constexpr import constexpr
from naiad.language.constexpr_function import constexpr_function
from naiad.language.function import library
from naiad.language.types import dtype

N_ROUNDS_DEFAULT = constexpr(10)


@constexpr_function
def _word(dtype: dtype) -> dtype:
    """The words of Philox for counters of `dtype`."""
    if dtype.primitive_bitwidth not in (32, 64):
        raise AssertionError("bitwidth not supported in philox")
    return tl.uint32 if dtype.primitive_bitwidth == 32 else tl.uint64


@constexpr_function
def _constants(dtype: dtype) -> tuple[int, int, int, int]:
    """The two factors of a round, and what the two words of the key grow by."""
    if dtype == tl.uint32:
        return 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
    return 0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B


@library
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """`n_rounds` rounds on the counter (c0, c1, c2, c3) with the key (k0, k1); all uint32, or all uint64."""
    tl.static_assert(c0.dtype == tl.uint32 or c0.dtype == tl.uint64, "dtype not supported in philox_impl")
    constants: tl.constexpr = _constants(c0.dtype)
    for _ in tl.static_range(n_rounds):
        high_0 = math.umulhi(constants[0], c0)
        low_0 = tl.mul(constants[0], c0, sanitize_overflow=False)
        high_1 = math.umulhi(constants[1], c2)
        low_1 = tl.mul(constants[1], c2, sanitize_overflow=False)
        c0 = high_1 ^ c1 ^ k0
        c1 = low_1
        c2 = high_0 ^ c3 ^ k1
        c3 = low_0
        k0 = tl.add(k0, constants[2], sanitize_overflow=False)
        k1 = tl.add(k1, constants[3], sanitize_overflow=False)
    return c0, c1, c2, c3


@library
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """Philox with `seed` as its key: 32 or 64 bits wide, as c0 is."""
    seed = tl.to_tensor(seed)
    tl.static_assert(seed.dtype.is_int(), "the seed must be an integer")
    seed = seed.to(tl.uint64)
    c0 = tl.to_tensor(c0)
    c1 = tl.to_tensor(c1)
    c2 = tl.to_tensor(c2)
    c3 = tl.to_tensor(c3)
    word: tl.constexpr = _word(c0.dtype)
    if word == tl.uint32:
        key_0 = (seed & 0xFFFFFFFF).to(tl.uint32)
        key_1 = ((seed >> 32) & 0xFFFFFFFF).to(tl.uint32)
    else:
        key_0 = seed
        key_1 = tl.full((1,), 0, dtype=tl.uint64)
    c0 = c0.to(word, bitcast=True)
    c1 = c1.to(word, bitcast=True)
    c2 = c2.to(word, bitcast=True)
    c3 = c3.to(word, bitcast=True)
    return philox_impl(c0, c1, c2, c3, key_0, key_1, n_rounds)


@library
def randint4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """Four tiles of random uint32 for a tile of offsets: what one run of Philox gives."""
    low = offset.to(tl.uint32)
    zero = low * 0
    if tl.constexpr(offset.dtype.primitive_bitwidth) > 32:
        high = (offset >> 32).to(tl.uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


@library
def randint(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """A tile of random uint32."""
    first, _, _, _ = randint4x(seed, offset, n_rounds)
    return first


@library
def uint_to_uniform_float(x):
    """Random integers as floats in [0, 1)."""
    if tl.constexpr(x.dtype == tl.uint32) or tl.constexpr(x.dtype == tl.int32):
        x = x.to(tl.int32, bitcast=True)
        # the largest scale for which (2**31 - 1) * scale rounds to less than 1
        scale: tl.constexpr = 4.6566127342e-10
    else:
        tl.static_assert(tl.constexpr(x.dtype == tl.uint64) or tl.constexpr(x.dtype == tl.int64))
        x = x.to(tl.int64, bitcast=True)
        scale: tl.constexpr = 1.0842020432385337e-19
    x = tl.maximum(x, ~x)
    return x * scale


@library
def rand(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """A tile of random fp32, uniform in [0, 1)."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@library
def rand4x(seed, offsets, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """Four tiles of random fp32, uniform in [0, 1)."""
    i0, i1, i2, i3 = randint4x(seed, offsets, n_rounds)
    return uint_to_uniform_float(i0), uint_to_uniform_float(i1), uint_to_uniform_float(i2), uint_to_uniform_float(i3)


@library
def pair_uniform_to_normal(u1, u2):
    """Two uniform numbers as two normal ones (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(tl.maximum(1.0e-7, u1)))  # the bound keeps the logarithm finite
    angle = 6.283185307179586 * u2
    return radius * math.cos(angle), radius * math.sin(angle)


@library
def randn(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """A tile of random fp32, normal with mean 0 and variance 1."""
    i0, i1, _, _ = randint4x(seed, offset, n_rounds)
    first, _ = pair_uniform_to_normal(uint_to_uniform_float(i0), uint_to_uniform_float(i1))
    return first


@library
def randn4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """Four tiles of random fp32, normal with mean 0 and variance 1."""
    u0, u1, u2, u3 = rand4x(seed, offset, n_rounds)
    n0, n1 = pair_uniform_to_normal(u0, u1)
    n2, n3 = pair_uniform_to_normal(u2, u3)
    return n0, n1, n2, n3
