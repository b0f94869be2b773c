"""What options and types a GPU refuses, and in which words."""

from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from naiad.backends.base import GPUTarget
from naiad.compiler.compiler import ASTSource
from naiad.compiler.compiler import compile as compile_kernel
from naiad.errors import CompilationError

from .harness import run

H100 = GPUTarget("cuda", 90, 32)


def of_type(kernel, dtype):
    return compile_kernel(ASTSource(kernel, {"dtype": "constexpr"}, {(0,): dtype}), target=H100)


@triton.jit
def small_dot(dtype: tl.constexpr):
    a = tl.full((8, 8), 0.0, dtype)
    tl.dot(a, a)


@triton.jit
def square(dtype: tl.constexpr):
    a = tl.full((64, 64), 0.0, dtype)
    tl.dot(a, a)


@pytest.mark.parametrize(("dtype", "k"), [(tl.float8e5, 32), (tl.int8, 32), (tl.float16, 16)])
def test_the_least_size_of_a_dot(dtype, k):
    with pytest.raises(CompilationError) as error:
        of_type(small_dot, dtype)
    assert f"Input shapes should have M >= 1, N >= 1 and K >= {k}" in str(error.value.__cause__)


@pytest.mark.parametrize("dtype", [tl.float8e4b8, tl.float8e5b16])
def test_8_bit_floats_of_other_makers_are_refused(dtype):
    with pytest.raises(CompilationError) as error:
        of_type(square, dtype)
    assert "not supported in this architecture" in str(error.value.__cause__)


def test_an_old_8_bit_float_is_multiplied_with_a_warning():
    with pytest.warns(UserWarning, match="fp8e4b15 is deprecated on Hopper"):
        of_type(square, tl.float8e4b15)


MINE = """
target triple = "nvptx64-nvidia-cuda"
define float @mine(float %x) {
  %y = fmul float %x, 3.0
  %z = call float @deeper(float %y)
  ret float %z
}
define float @deeper(float %x) {
  %y = fadd float %x, 1.0
  ret float %y
}
"""


@tl.core.extern
def mine(x, path: tl.constexpr, _semantic=None):
    symbols = {(tl.float32,): ("mine", tl.float32)}
    return tl.extern_elementwise("mine", path, [x], symbols, is_pure=True, _semantic=_semantic)


@triton.jit
def calls_mine(x_ptr, PATH: tl.constexpr):
    at = tl.arange(0, 32)
    tl.store(x_ptr + at, mine(tl.load(x_ptr + at), PATH))


@pytest.mark.parametrize("named", ["by the call", "by the option"])
def test_functions_of_a_library_of_ones_own(named: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.bc"
    path.write_bytes(llvmlite.binding.parse_assembly(MINE).as_bitcode())
    x = np.arange(32, dtype=np.float32)
    options = {} if named == "by the call" else {"extern_libs": {"mine": str(path)}}
    run(calls_mine, (1,), x, PATH=str(path) if named == "by the call" else "", **options)
    np.testing.assert_array_equal(x, np.arange(32) * 3.0 + 1)


def test_a_function_that_nobody_defines() -> None:
    with pytest.raises(RuntimeError, match="the kernel calls mine, which no library defines"):
        run(calls_mine, (1,), np.zeros(32, np.float32), PATH="")


TTGIR = """
#blocked = #ttg.blocked<{{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}}>
#padded = #ttg.padded_shared<[32:+4] {{order = [1, 0], shape = [32, 32]}}>
#smem = #ttg.shared_memory
#line = #ttg.slice<{{dim = 0, parent = #blocked}}>
#apart = #ttg.blocked<{{sizePerThread = [1, 1], threadsPerWarp = [16, 2], warpsPerCTA = [4, 1], order = [1, 0]}}>
#half = #ttg.slice<{{dim = 1, parent = #apart}}>
#mma = #ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}}>
#a = #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 2}}>
#b = #ttg.dot_op<{{opIdx = 1, parent = #mma, kWidth = 2}}>
#bands = #ttg.linear<{{register = [[0, 2], [0, 8], [0, 16]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]],
                      warp = [[0, 1], [0, 4]], block = []}}>
#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}}>
#tangled = #ttg.linear<{{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [1, 1], [2, 0], [4, 0]],
                        warp = [[8, 0], [16, 0]], block = []}}>
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90",
                   "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @kernel() {{
    %c = arith.constant dense<0.0> : tensor<32x32xf16, #blocked>
    %s = arith.constant dense<0.0> : tensor<32x32xf16, #tangled>
    %h = arith.constant dense<0.0> : tensor<64xf16, #half>
    %k = arith.constant dense<0.0> : tensor<32x32xf16, #bands>
    %a = arith.constant dense<0.0> : tensor<64x16xf16, #a>
    %b = arith.constant dense<0.0> : tensor<16x64xf16, #b>
    %d = arith.constant dense<0.0> : tensor<64x64xf64, #mma>
    {op} loc("{source}":2:3)
    tt.return
  }}
}}
"""


BUFFER = "%m = ttg.local_alloc : () -> !ttg.memdesc<32x32xf16, #shared, #smem, mutable>"
SLICE = "!ttg.memdesc<16x32xf16, #shared, #smem, mutable, 32x32>"
SUM = "^bb0(%l: f16, %r: f16): %x = arith.addf %l, %r : f16 {0}.return %x : f16"


@pytest.mark.parametrize(("op", "message"), [
    ('%o = "tt.reduce"(%s) <{axis = 1 : i32}> ({' + SUM.format("tt.reduce") + "}) : (tensor<32x32xf16, #tangled>) -> "
     "tensor<32xf16, #ttg.slice<{dim = 1, parent = #tangled}>>", "a reduction along bits that also count"),
    ('%o = "tt.scan"(%s) <{axis = 1 : i32, reverse = false}> ({' + SUM.format("tt.scan") + "}) : "
     "(tensor<32x32xf16, #tangled>) -> tensor<32x32xf16, #tangled>", "a scan along bits that also count"),
    ('%o = "tt.scan"(%k) <{axis = 1 : i32, reverse = false}> ({' + SUM.format("tt.scan") + "}) : "
     "(tensor<32x32xf16, #bands>) -> tensor<32x32xf16, #bands>", "a scan whose warps are not neighbours"),
    ("%o = tt.dot %a, %b, %d : tensor<64x16xf16, #a> * tensor<16x64xf16, #b> -> tensor<64x64xf64, #mma>",
     "no matrix instruction for f16 and f16 into double"),
    ("%o = tt.join %h, %h : tensor<64xf16, #half> -> tensor<64x2xf16, #apart>", "join and split need the two halves"),
    ("%m = ttg.local_alloc %c : (tensor<32x32xf16, #blocked>) -> !ttg.memdesc<32x32xf16, #padded, #smem>",
     "padded shared memory"),
    ("%t = arith.constant dense<[1, 2]> : tensor<2xi32, #line>", "a constant tile whose elements differ"),
    ('%o = "ttn.sort"(%s) <{axis = 1 : i32, descending = false, signed = true}> : (tensor<32x32xf16, #tangled>) -> '
     "tensor<32x32xf16, #tangled>", "a sort along bits that also count"),
    (f"{BUFFER} %z = arith.constant 0 : i64 %q = tt.int_to_ptr %z : i64 -> !tt.ptr<f16> "
     "%p = tt.splat %q : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>, #blocked> "
     "%t = ttg.async_copy_global_to_local %p, %m : tensor<32x32x!tt.ptr<f16>, #blocked> -> "
     "<32x32xf16, #shared, #smem, mutable>", "an asynchronous copy of 2 bytes"),
    (f"{BUFFER} %v = ttg.memdesc_subslice %m[16, 0] : !ttg.memdesc<32x32xf16, #shared, #smem, mutable> -> {SLICE} "
     f"%i = arith.constant 1 : i32 %r = scf.for %n = %i to %i step %i iter_args(%x = %v) -> ({SLICE}) : i32 "
     f"{{ scf.yield %x : {SLICE} }}", "a slice of shared memory as a loop variable"),
])  # fmt: skip
def test_what_cannot_be_written_is_told(op: str, message: str, tmp_path: Path) -> None:
    path, source = tmp_path / "kernel.ttgir", tmp_path / "mine.py"
    source.write_text("def kernel():\n  what_cannot_be_written()\n")
    path.write_text(TTGIR.format(op=op, source=source))
    with pytest.raises(CompilationError, match=message) as error:
        compile_kernel(str(path), target=H100).asm["ptx"]
    said = str(error.value)
    assert "mine.py:2:" in said and "what_cannot_be_written()" in said and "expected:" in said and "to do:" in said


def test_a_file_that_is_no_ir_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "kernel.ttgir"
    path.write_text("module {\n  tt.func public @kernel() {\n    %x = arith.nonsense\n    tt.return\n  }\n}\n")
    with pytest.raises(CompilationError, match=r"this is no ttgir: .*nonsense") as error:
        compile_kernel(str(path), target=H100)
    said = str(error.value)
    assert said.startswith("at 4:4:")  # where the reader stopped: after the op
    assert "%x = arith.nonsense" in said and "xdsl" not in said.lower()
