"""Kernels that tests of the runtime launch."""

import naiad
import naiad.language as tl


@naiad.jit
def add(x, y, out, n, BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, inside) + tl.load(y + i, inside), inside)


@naiad.jit
def scale_in_place(buffer, n, rate, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(buffer + i, tl.load(buffer + i, inside) * rate + 1.0, inside)


@naiad.jit
def write_scalar(out, value):
    tl.store(out, value)


@naiad.jit
def write_pids(out, X: tl.constexpr, Y: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(out + x + X * (y + Y * z), 1 + x + 10 * y + 100 * z)
