"""Inline assembly on the CPU and in the interpreter, which compiles it; and what is said of assembly that is wrong."""

from functools import partial

import numpy as np
import pytest

import naiad.language as tl
from naiad.backends.cpu.target import CpuTarget
from naiad.errors import CompilationError, InterpreterError
from naiad.runtime.jit import jit

pytestmark = pytest.mark.skipif(not CpuTarget.host().is_x86, reason="x86 assembly")
both = pytest.mark.parametrize("interpret", [False, True])


def one(x, o, ASM: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, tl.inline_asm_elementwise(ASM, CONSTRAINTS, [v], dtype=v.dtype, is_pure=True, pack=PACK))


def run(kernel, interpret, *arguments):
    partial(jit, interpret=interpret)(kernel)[(1,)](*arguments)


@both
@pytest.mark.parametrize("dtype, n, pack, text, constraints, change", [
    ("int32", 64, 1, "leal 5($1), $0", "=r,r", lambda x: x + 5),
    ("int32", 1, 1, "leal 5($1), $0", "=r,r", lambda x: x + 5),
    ("int64", 8, 1, "leaq ($1,$1), $0", "=r,r", lambda x: 2 * x),
    ("int8", 64, 4, "leal 0x01010101($1), $0", "=r,r", lambda x: x + 1),
    ("int8", 2, 4, "leal 0x01010101($1), $0", "=r,r", lambda x: x + 1),
    ("int16", 16, 4, "leal 0x00010001($2), $0; leal 0x00020002($3), $1", "=&r,=r,r,r", lambda x: x + 1 + (x % 4 > 1)),
    ("float32", 16, 1, "vaddss $1, $1, $0", "=x,x", lambda x: 2 * x),
    ("float16", 16, 2, "xorl $$0x80008000, $0", "=r,0", lambda x: -x),
])  # fmt: skip
def test_each_group_of_elements(interpret, dtype, n, pack, text, constraints, change):
    x = np.arange(n).astype(dtype)
    out = np.full(n, 99, dtype)
    run(one, interpret, x, out, text, constraints, pack, n)
    assert np.array_equal(out, change(x))


@both
def test_several_results_of_tiles_that_are_broadcast(interpret):
    def kernel(x, y, o, p):
        r, c = tl.arange(0, 4)[:, None], tl.arange(0, 8)[None, :]
        text: tl.constexpr = "leal ($2,$3), $0; movl $3, $1; negl $1"
        s, d = tl.inline_asm_elementwise(
            text, "=&r,=&r,r,r", [tl.load(x + r), tl.load(y + c)], dtype=(tl.int32, tl.uint32), is_pure=True, pack=1
        )
        tl.store(o + r * 8 + c, s)
        tl.store(p + r * 8 + c, d)

    x, y = np.arange(4, dtype=np.int32), np.arange(8, dtype=np.int32) * 10
    o, p = np.zeros((4, 8), np.int32), np.zeros((4, 8), np.uint32)
    run(kernel, interpret, x, y, o, p)
    assert np.array_equal(o, x[:, None] + y)
    assert np.array_equal(p, np.broadcast_to(-y, (4, 8)).view(np.uint32))


@both
def test_scalars_and_no_operand(interpret):
    def kernel(o, n):
        doubled = tl.inline_asm_elementwise("leal ($1,$1), $0", "=r,r", [n], dtype=tl.int32, is_pure=True, pack=1)
        seven = tl.inline_asm_elementwise("movl $$7, $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
        tl.store(o, doubled + seven)

    out = np.zeros(1, np.int32)
    run(kernel, interpret, out, 21)
    assert out[0] == 49


@both
def test_what_is_not_pure_runs_once_an_element(interpret):
    """Whether its result is used never, twice, or after a store."""

    def kernel(counts, o, N: tl.constexpr):
        i = tl.arange(0, N)
        text: tl.constexpr = "movl $$1, $0; lock xaddl $0, ($1)"
        args: tl.constexpr = "=&r,r,~{memory}"
        tl.inline_asm_elementwise(text, args, [counts + i * 0], dtype=tl.int32, is_pure=False, pack=1)
        y = tl.inline_asm_elementwise(text, args, [counts + 1 + i * 0], dtype=tl.int32, is_pure=False, pack=1)
        one = tl.inline_asm_elementwise(text, args, [counts + 2], dtype=tl.int32, is_pure=False, pack=1)
        two = tl.inline_asm_elementwise(text, args, [counts + 2], dtype=tl.int32, is_pure=False, pack=1)
        tl.store(o + i, y)
        tl.store(o + N + i, tl.sum(y) + i)
        tl.store(o + 2 * N, two - one)

    counts, out = np.zeros(3, np.int32), np.zeros(2 * 32 + 1, np.int32)
    run(kernel, interpret, counts, out, 32)
    assert counts.tolist() == [32, 32, 2] and out[64] == 1
    assert sorted(out[:32]) == list(range(32)) and np.array_equal(out[32:64], 496 + np.arange(32))


@both
@pytest.mark.parametrize("text, constraints, pack, said", [
    ("mov.b32 $0, $1;", "=r,r", 1, "found: .*PTX, the assembly of NVIDIA GPUs: 'mov.b32.*\n.*is_cuda"),
    ("nonsense $0, $1", "=r,r", 1, "found: .*nonsense.*\n.*(.|\n)*invalid instruction mnemonic 'nonsense'"),
    ("movl $1, $0", "=r", 1, "those of 1 outputs, .* and of 1 inputs(.|\n)*constraints does not match"),
    ("movl $1, $0", "=r,r", 2, "of 2 outputs, .* and of 2 inputs"),
    ("movl $1, $0", "=f,f", 1, "couldn't allocate output register"),
])  # fmt: skip
def test_what_cannot_be_assembled_is_told_at_its_line(interpret, text, constraints, pack, said):
    x = np.arange(4, dtype=np.int32)
    with pytest.raises(InterpreterError if interpret else CompilationError, match=said) as caught:
        run(one, interpret, x, x.copy(), text, constraints, pack, 4)
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"{__file__}:{one.__code__.co_firstlineno + 3}:")
