"""Functions, grids, loops and branches of the CPU lowering, run."""

import numpy as np
import pytest
from programs import Program, compiled
from xdsl.ir import Region

RUNNABLE = ("x86-64", "x86-64-v3", "host")


def add_program() -> Program:
    """y[i] = x[i] + s for i < n, 64 elements a program, by masked vectors of 16."""
    p = Program("*f32", "*f32", "f32", "i32")
    x, y, s, n = p.args
    pid = p.op("tt.get_program_id", type="i32", axis=0)
    base = p.op("arith.muli", pid, p.const(64, "i32"), type="i32")
    limit = p.op("ttc.splat", n, type="16xi32")
    added = p.op("ttc.splat", s, type="16xf32")

    def body(i):
        offset = p.op("arith.addi", base, p.op("arith.trunci", i, type="i32"), type="i32")
        lanes = p.op(
            "arith.addi", p.op("ttc.splat", offset, type="16xi32"), p.op("ttc.iota", type="16xi32"), type="16xi32"
        )
        mask = p.op("arith.cmpi", lanes, limit, type="16xi1", predicate="slt")
        value = p.load(p.at(x, offset), "16xf32", mask)
        p.store(p.at(y, offset), p.op("arith.addf", value, added, type="16xf32"), mask)

    p.loop(0, 64, 16, [], body)
    return p


@pytest.mark.parametrize("cpu", RUNNABLE)
@pytest.mark.parametrize("n", [0, 1, 17, 64, 1000])
def test_masked_add_over_a_grid(cpu, n):
    kernel = compiled(add_program(), cpu)
    x = np.random.default_rng(n).standard_normal(n + 64).astype(np.float32)
    y = np.full(n + 64, 7, np.float32)
    kernel(x, y, np.float32(2.5), np.int32(n), grid=((n + 63) // 64,))
    assert np.array_equal(y[:n], x[:n] + np.float32(2.5))
    assert np.all(y[n:] == 7)


def test_program_ids_in_three_dimensions_from_any_start():
    p = Program("*i32")
    axes = [p.op("tt.get_program_id", type="i32", axis=a) for a in range(3)]
    sizes = [p.op("tt.get_num_programs", type="i32", axis=a) for a in range(3)]
    row = p.op("arith.addi", axes[1], p.op("arith.muli", axes[2], sizes[1], type="i32"), type="i32")
    number = p.op("arith.addi", axes[0], p.op("arith.muli", row, sizes[0], type="i32"), type="i32")
    code = axes[0]
    for axis in axes[1:]:
        code = p.op("arith.addi", p.op("arith.muli", code, p.const(100, "i32"), type="i32"), axis, type="i32")
    p.store(p.at(p.args[0], number), code)
    kernel = compiled(p)
    out = np.full(2 * 3 * 5, -1, np.int32)
    kernel(out, grid=(3, 5, 2), begin=4, end=29)
    want = [x * 10000 + y * 100 + z for z in range(2) for y in range(5) for x in range(3)]
    assert out[4:29].tolist() == want[4:29]
    assert out[:4].tolist() == [-1] * 4 and out[29] == -1


def test_loop_carries_values_and_may_not_run():
    p = Program("*i64", "i64")
    total, _ = p.loop(0, p.args[1], 1, [p.const(10, "i64"), p.const(0, "i64")],
                      lambda i, a, b: (p.op("arith.addi", a, i, type="i64"), i))  # fmt: skip
    p.store(p.args[0], total)
    kernel = compiled(p)
    for n in (0, 1, 5):
        out = np.zeros(1, np.int64)
        kernel(out, n)
        assert out[0] == 10 + sum(range(n))


def test_if_gives_values_of_the_branch_that_ran():
    p = Program("*f32", "i1")
    with p.region() as then:
        p.op("scf.yield", p.const(1.5, "f32"))
    with p.region() as otherwise:
        p.op("scf.yield", p.const(-0.0, "f32"))
    value = p.op("scf.if", p.args[1], type="f32", regions=[Region(then), Region(otherwise)])
    p.store(p.args[0], value)
    kernel = compiled(p)
    out = np.zeros(1, np.float32)
    kernel(out, 1)
    assert out[0] == 1.5
    kernel(out, 0)
    assert out[0] == 0 and np.signbit(out[0])


def test_while_counts_the_steps_of_collatz():
    p = Program("*i32", "i32")
    with p.region("i32", "i32") as before:
        n, steps = before.args
        go = p.op("arith.cmpi", n, p.const(1, "i32"), type="i1", predicate="ne")
        p.op("scf.condition", go, n, steps)
    with p.region("i32", "i32") as after:
        n, steps = after.args
        half = p.op("arith.shrui", n, p.const(1, "i32"), type="i32")
        more = p.op("arith.addi", p.op("arith.muli", n, p.const(3, "i32"), type="i32"), p.const(1, "i32"), type="i32")
        odd = p.op("arith.trunci", n, type="i1")
        following = p.op("arith.select", odd, more, half, type="i32")
        p.op("scf.yield", following, p.op("arith.addi", steps, p.const(1, "i32"), type="i32"))
    _, count = p.op(
        "scf.while", p.args[1], p.const(0, "i32"), type=["i32", "i32"], regions=[Region(before), Region(after)]
    )
    p.store(p.args[0], count)
    out = np.zeros(1, np.int32)
    compiled(p)(out, 27)
    assert out[0] == 111


def test_large_arena_comes_from_the_heap_and_small_from_the_stack():
    for elements in (100, 200_000):
        p = Program("*f32")
        memory = p.alloc("f32", elements)
        p.store(p.at(memory, elements - 1), p.const(3.25, "f32"))
        p.store(p.args[0], p.load(p.at(memory, elements - 1), "f32"))
        kernel = compiled(p)
        assert ("aligned_alloc" in kernel.text) == (elements > 65536)
        out = np.zeros(1, np.float32)
        kernel(out, grid=(4,))
        assert out[0] == 3.25


def test_failed_assert_sets_the_status_and_stops():
    p = Program("*i32", "i1", "i1")
    p.op("ttc.assert", p.args[1], message="first")
    p.op("ttc.assert", p.args[2], message="second")
    p.store(p.args[0], p.const(1, "i32"))
    kernel = compiled(p)
    for first, second, status in ((1, 1, 0), (0, 1, 1), (1, 0, 2), (0, 0, 1)):
        out = np.zeros(1, np.int32)
        assert kernel(out, first, second) == status
        assert out[0] == (status == 0)


def test_instructions_say_their_lines_when_asked():
    from programs import machine_of
    from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, IntAttr, StringAttr

    from naiad.backends.cpu.lower import lower
    from naiad.backends.cpu.target import CpuTarget
    from naiad.backends.cpu.toolchain import object_code

    module = add_program().module()
    places = [FileLineColLoc(StringAttr(f), IntAttr(n), IntAttr(3)) for f, n in (("a/k.py", 12), ("b/lib.py", 40))]
    [function] = module.ops
    for n, op in enumerate(function.walk()):
        op.location = places[0] if n % 2 else CallSiteLoc(places[1], places[0])
    text = lower(module, CpuTarget.named("x86-64-v3"), lines=True)
    assert 'filename: "lib.py", directory: "b"' in text and "line: 40, column: 3" in text
    assert b".debug_line" in object_code(text, machine_of("x86-64-v3"))
