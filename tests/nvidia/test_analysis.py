"""Axis analysis, shared-memory allocation, barriers and pipelining, on ttir and ttgir as text."""

from xdsl.ir import Operation

from naiad.analysis.allocate import allocate
from naiad.analysis.axis import Axis, AxisInfo
from naiad.analysis.barriers import insert_barriers
from naiad.ir.registry import context
from naiad.ir.text import parse
from naiad.passes.common.dce import eliminate_dead_code
from naiad.passes.ttgir.assign_layouts import AssignLayouts
from naiad.passes.ttgir.dot_operands import DotOperands
from naiad.passes.ttgir.pipeline_loops import PipelineLoops

from .test_targets import CASES, compiled

POINTERS = """
tt.func public @f(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}, %m: i32) {
  %pid = tt.get_program_id x : i32
  %c128 = arith.constant 128 : i32
  %base = arith.muli %pid, %c128 : i32
  %range = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %splat = tt.splat %base : i32 -> tensor<128xi32>
  %offset = arith.addi %splat, %range : tensor<128xi32>
  %limit = tt.splat %n : i32 -> tensor<128xi32>
  %loose = tt.splat %m : i32 -> tensor<128xi32>
  %mask = arith.cmpi slt, %offset, %limit : tensor<128xi32>
  %ragged = arith.cmpi slt, %offset, %loose : tensor<128xi32>
  %wrapped = arith.remsi %offset, %limit : tensor<128xi32>
  %strided = arith.muli %range, %limit : tensor<128xi32>
  %q = tt.splat %p : !tt.ptr<f16> -> tensor<128x!tt.ptr<f16>>
  %ptr = tt.addptr %q, %offset : tensor<128x!tt.ptr<f16>>, tensor<128xi32>
  tt.return
}
"""


def function_of(text: str) -> Operation:
    return next(iter(parse(text).ops))


def known(name: str) -> Axis:
    function = function_of(POINTERS)
    info = AxisInfo.of(function)
    [value] = [r for op in function.walk() for r in op.results if r.name_hint == name]
    return info[value].axes[0]


def test_offsets_count_up_from_a_multiple_of_the_block() -> None:
    assert known("offset").contiguity == 128 and known("offset").divisibility >= 128


def test_pointers_are_as_aligned_as_their_base() -> None:
    assert known("ptr").contiguity == 128 and known("ptr").divisibility == 16


def test_masks_are_constant_in_runs_of_what_divides_the_bound() -> None:
    assert known("mask").constancy == 16 and known("ragged").constancy == 1


def test_remainders_stay_contiguous_between_wraps() -> None:
    assert (
        known("wrapped").contiguity == 16 and known("strided").contiguity == 1 and known("strided").divisibility == 16
    )


HEAD = """
#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#s = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#m = #ttg.shared_memory
"""
MEMORY = "!ttg.memdesc<64x64xf16, #s, #m, mutable>"


def shared_function(body: str) -> Operation:
    return function_of(f"{HEAD}tt.func public @f(%x: tensor<64x64xf16, #b>) {{\n{body}\n  tt.return\n}}\n")


def test_memory_that_is_dead_is_used_again() -> None:
    alloc = f"%{{0}} = ttg.local_alloc %x : (tensor<64x64xf16, #b>) -> {MEMORY}\n"
    load = f"%{{0}}l = ttg.local_load %{{0}} : {MEMORY} -> tensor<64x64xf16, #b>\n"
    apart = shared_function(alloc.format("a") + load.format("a") + alloc.format("b") + load.format("b"))
    together = shared_function(alloc.format("a") + alloc.format("b") + load.format("a") + load.format("b"))
    assert allocate(apart).total == 64 * 64 * 2 and allocate(together).total == 2 * 64 * 64 * 2


def barriers(body: str) -> int:
    function = shared_function(body)
    insert_barriers(function, allocate(function))
    return sum(op.name == "gpu.barrier" for op in function.walk())


def test_a_read_waits_for_the_write_and_the_next_write_for_the_read() -> None:
    alloc, store = (
        f"%a = ttg.local_alloc : () -> {MEMORY}\n",
        f"ttg.local_store %x, %a : tensor<64x64xf16, #b> -> {MEMORY}\n",
    )
    load = f"%l{{0}} = ttg.local_load %a : {MEMORY} -> tensor<64x64xf16, #b>\n"
    assert barriers(alloc + store + load.format(0)) == 1
    assert barriers(alloc + store + load.format(0) + load.format(1)) == 1
    assert barriers(alloc + store + load.format(0) + store) == 2


def test_rounds_of_a_loop_are_ordered() -> None:
    body = f"""%a = ttg.local_alloc : () -> {MEMORY}
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %c1 step %c1 : i32 {{
    ttg.local_store %x, %a : tensor<64x64xf16, #b> -> {MEMORY}
    %l = ttg.local_load %a : {MEMORY} -> tensor<64x64xf16, #b>
    scf.yield
  }}"""
    assert barriers(body) == 2


def test_a_matmul_has_three_conversions_at_most_and_is_pipelined() -> None:
    kernel, arguments, constants = CASES["matmul"]
    module = parse(compiled(kernel, arguments, constants, 80).asm["ttir"])
    AssignLayouts(4).apply(context(), module)
    eliminate_dead_code(module)
    names = [op.name for op in module.walk()]
    assert names.count("ttg.convert_layout") <= 3
    DotOperands().apply(context(), module)
    PipelineLoops(3).apply(context(), module)
    module.verify()
    names = [op.name for op in module.walk()]
    assert names.count("ttg.async_copy_global_to_local") == 6 and names.count("tt.load") == 0
