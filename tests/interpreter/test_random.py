"""Philox against its published test vectors and a version in Python's integers; uniform and normal numbers."""

import pytest

import naiad.language as tl

from .interpreted import jit, poisoned

CONSTANTS = {32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85)}
CONSTANTS[64] = (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)


def philox(counter, key, bits, rounds=10):
    """Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011), section 3.3."""
    m0, m1, w0, w1 = CONSTANTS[bits]
    mask = 2**bits - 1
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(rounds):
        p0, p1 = m0 * c0, m1 * c2
        c0, c1, c2, c3 = (p1 >> bits) ^ c1 ^ k0, p1 & mask, (p0 >> bits) ^ c3 ^ k1, p0 & mask
        k0, k1 = (k0 + w0) & mask, (k1 + w1) & mask
    return c0, c1, c2, c3


def test_the_model_gives_the_published_numbers():
    ones = 2**32 - 1
    assert philox((0,) * 4, (0, 0), 32) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox((ones,) * 4, (ones, ones), 32) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


@jit
def draw(o, seed, offset, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, offset + i)
    tl.store(o + i, a)
    tl.store(o + N + i, b)
    tl.store(o + 2 * N + i, c)
    tl.store(o + 3 * N + i, d)


@pytest.mark.parametrize("seed", [0, 42, 2**40 + 17])
def test_32_bits(seed):
    out = poisoned((4, 32), "uint32")
    draw[(1,)](out, seed, 1000, 32)
    for i in range(32):
        want = philox((1000 + i, 0, 0, 0), (seed & 0xFFFFFFFF, seed >> 32), 32)
        assert tuple(int(v) for v in out[:, i]) == want


def test_an_offset_of_64_bits_is_two_words_of_the_counter():
    out = poisoned((4, 8), "uint32")
    draw[(1,)](out, 7, 5 * 2**32, 8)
    for i in range(8):
        assert tuple(int(v) for v in out[:, i]) == philox((i, 5, 0, 0), (7, 0), 32)


@jit
def wide(o, seed, c0, c1, c2, c3):
    a, b, c, d = tl.philox(seed, c0, c1, c2, c3)
    at = o + tl.arange(0, 1)
    tl.store(at, a)
    tl.store(at + 1, b)
    tl.store(at + 2, c)
    tl.store(at + 3, d)


def test_64_bits():
    out = poisoned(4, "uint64")
    counter = (2**63 + 5, 2**64 - 1, 2**63 + 1, 2**63 + 77)
    wide[(1,)](out, 2**50 + 3, *counter)
    assert tuple(int(v) for v in out) == philox(counter, (2**50 + 3, 0), 64)


@jit
def samples(o, p, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.rand(seed, i))
    tl.store(p + i, tl.randn(seed, i))


def test_distributions():
    n = 2**15
    uniform, normal = poisoned(n, "float32"), poisoned(n, "float32")
    samples[(1,)](uniform, normal, 3, n)
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01 and abs(uniform.var() - 1 / 12) < 0.01
    assert abs(normal.mean()) < 0.03 and abs(normal.var() - 1) < 0.05
