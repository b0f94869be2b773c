"""ttc.dot for every method, type and odd shape; the values are small integers, so that every sum is exact."""

import numpy as np
import pytest
from programs import TARGETS, Program, compiled, machine_of, type_of
from xdsl.dialects.builtin import UnitAttr

from naiad.backends.cpu.microkernel import dot_plan
from naiad.backends.cpu.target import CpuTarget
from naiad.backends.cpu.toolchain import object_code
from naiad.ir.base import int_attr
from naiad.ir.evaluate import DTYPES

RUNNABLE = ("x86-64", "x86-64-v3", "x86-64-v4", "host")
SHAPES = [
    (1, 1, 1),
    (2, 4, 2),
    (1, 64, 16),
    (64, 1, 8),
    (16, 16, 16),
    (4, 128, 4),
    (32, 8, 64),
    (64, 64, 32),
    (16, 32, 128),
    (64, 128, 256),
    (32, 256, 64),
]
SOURCES = {"f32": "f32", "f64": "f64", "bf16": "f32", "f16": "f32", "i8": "i32"}


def pack(b, plan):
    """B in the panels that the plan describes."""
    k, n = b.shape
    return np.ascontiguousarray(b.reshape(k // plan.pack, plan.pack, n // plan.nr, plan.nr).transpose(2, 0, 3, 1))


def aligned(array):
    room = np.zeros(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    view = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def dot_program(a, b, c, m, n, k, ldc=None, **flags):
    p = Program(f"*{a}", f"*{b}", f"*{c}", "i64", "i64")
    on = {name: UnitAttr() for name, given in flags.items() if given}
    on |= {} if ldc is None else {"ldc": int_attr(ldc, 64)}
    p.op("ttc.dot", *p.args, m=int_attr(m, 64), n=int_attr(n, 64), k=int_attr(k, 64), **on)
    return p


def target_of(cpu):
    return CpuTarget.host() if cpu == "host" else CpuTarget.named(cpu)


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("source", SOURCES)
def test_packed_products(cpu, source):
    rng = np.random.default_rng(0)
    acc = SOURCES[source]
    for m, n, k in SHAPES:
        plan = dot_plan(target_of(cpu), m, n, k, type_of(source), type_of(source), type_of(acc))
        a_type, b_type = plan.a_type.name, plan.b_type.name
        a_type, b_type = (
            t if t != "integer_type" else f"i{x.width.data}" for t, x in ((a_type, plan.a_type), (b_type, plan.b_type))
        )
        a, b = rng.integers(-8, 9, (m, k + 3)), rng.integers(-8, 9, (k, n))
        c = aligned(rng.integers(-50, 50, (m, n)).astype(DTYPES[acc]))
        left, right = aligned(a.astype(DTYPES[a_type])), aligned(pack(b.astype(DTYPES[b_type]), plan))
        for zero in (False, True):
            got = aligned(c)
            compiled(dot_program(a_type, b_type, acc, m, n, k, packed=True, zero=zero), cpu)(left, right, got, k + 3, n)
            assert np.array_equal(got, a[:, :k] @ b + (0 if zero else c)), (m, n, k, plan)


@pytest.mark.parametrize("source", SOURCES)
def test_rows_of_the_sum_lie_apart(source):
    rng = np.random.default_rng(4)
    acc, target = SOURCES[source], target_of("host")
    m, n, k, gap = 64, 128, 128, 16
    plan = dot_plan(target, m, n, k, type_of(source), type_of(source), type_of(acc))
    a_type, b_type = (t.name if t.name != "integer_type" else f"i{t.width.data}" for t in (plan.a_type, plan.b_type))
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (k, n))
    c = aligned(rng.integers(-50, 50, (m, n + gap)).astype(DTYPES[acc]))
    want = c.copy()
    want[:, :n] += (a @ b).astype(want.dtype)
    left, right = aligned(a.astype(DTYPES[a_type])), aligned(pack(b.astype(DTYPES[b_type]), plan))
    compiled(dot_program(a_type, b_type, acc, m, n, k, ldc=n + gap, packed=True), "host")(left, right, c, k, n)
    assert np.array_equal(c, want)


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("source", ["f32", "f16", "bf16", "f64", "i8"])
def test_unpacked_products(cpu, source):
    rng = np.random.default_rng(1)
    acc = SOURCES[source]
    for m, n, k in SHAPES:
        a, b = (
            rng.integers(-8, 9, (m, k)).astype(DTYPES[source]),
            rng.integers(-8, 9, (k, n + 5)).astype(DTYPES[source]),
        )
        c = aligned(rng.integers(-50, 50, (m, n)).astype(DTYPES[acc]))
        want = a.astype(np.float64) @ b[:, :n].astype(np.float64) + c
        compiled(dot_program(source, source, acc, m, n, k), cpu)(a, b, c, k, n + 5)
        assert np.array_equal(c, want), (m, n, k)


@pytest.mark.parametrize("cpu", ["host without tiles", "host"])
@pytest.mark.parametrize("signs", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_bytes_of_any_sign_over_their_whole_range(cpu, signs):
    from programs import Compiled, host_machine

    host = CpuTarget.host()
    if "tiles" in cpu:
        target = CpuTarget(host.arch, host.cpu, host.features, host.vector_bytes, amx=False)
    else:
        target = target_of(cpu)
    if not target.has_int8_dot:
        pytest.skip("this CPU has no byte dot product")
    m, n, k = 16, 64, 64
    i8, i32 = type_of("i8"), type_of("i32")
    plan = dot_plan(target, m, n, k, i8, i8, i32)
    if plan.a_type != i8:
        pytest.skip("bytes are widened first")
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 256, s).astype(np.uint8) for s in ((m, k), (k, n)))
    a[:2], b[:, :2] = 128, 255
    left, right = (x if unsigned else x.view(np.int8) for x, unsigned in zip((a, b), signs, strict=True))
    c = aligned(np.zeros((m, n), np.int32))
    p = dot_program("i8", "i8", "i32", m, n, k, packed=True, unsigned_a=signs[0], unsigned_b=signs[1])
    Compiled(p.module(), target, host_machine())(a, aligned(pack(b, plan)), c, k, n)
    assert np.array_equal(c, left.astype(np.int32) @ right.astype(np.int32))


@pytest.mark.parametrize("cpu", [*TARGETS, "znver4", "neoverse-n1"])
def test_every_target_assembles(cpu):
    target = CpuTarget.named(cpu)
    for source, acc in SOURCES.items():
        plan = dot_plan(target, 64, 64, 64, type_of(source), type_of(source), type_of(acc))
        names = [t.name if t.name != "integer_type" else f"i{t.width.data}" for t in (plan.a_type, plan.b_type)]
        text = dot_program(*names, acc, 64, 64, 64, packed=True).text(target)
        assert object_code(text, machine_of(cpu))
        again = dot_plan(target, 64, 64, 64, plan.a_type, plan.b_type, type_of(acc))
        assert again == plan


def test_two_products_of_unlike_tile_shapes():
    """Where AMX is there, each product sets its own shapes."""
    p = Program("*i8", "*i8", "*i32", "*i32")
    one, target = p.const(64, "i64"), CpuTarget.host()
    i8, i32 = type_of("i8"), type_of("i32")
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-128, 128, (64, 64)).astype(np.int8) for _ in range(2))
    c, d = (aligned(np.zeros((64, 64), np.int32)) for _ in range(2))
    for acc, (m, n, k) in ((p.args[2], (64, 64, 64)), (p.args[3], (8, 64, 64))):
        p.op("ttc.dot", p.args[0], p.args[1], acc, one, one, m=int_attr(m, 64), n=int_attr(n, 64), k=int_attr(k, 64),
             packed=UnitAttr())  # fmt: skip
    plan = dot_plan(target, 64, 64, 64, i8, i8, i32)
    if plan.a_type != i8:
        pytest.skip("bytes are widened first")
    compiled(p)(a, aligned(pack(b, plan)), c, d)
    want = a.astype(np.int32) @ b.astype(np.int32)
    assert np.array_equal(c, want) and np.array_equal(d[:8], want[:8])
