"""LLVM text to machine code: what is emitted for which CPU, and that every mistake is an exception with its line."""

import subprocess
import sys

import pytest

from naiad.backends.cpu import host
from naiad.backends.cpu.toolchain import Machine, ToolchainError, assembly, object_code, optimized_text

ADD = """
define <16 x float> @add(<16 x float> %a, <16 x float> %b) {
  %c = fadd <16 x float> %a, %b
  ret <16 x float> %c
}
"""
HERE = Machine.of(host.host())


@pytest.mark.parametrize(
    ("cpu", "register"),
    [("x86-64", "xmm"), ("haswell", "ymm"), ("znver4", "zmm"), ("sapphirerapids", "zmm"), ("aarch64", ".4s")],
)
def test_vectors_are_as_wide_as_the_cpu(cpu, register):
    text = assembly(ADD, Machine.of(host.profile(cpu)))
    assert register in text
    wider = {"xmm": "ymm", "ymm": "zmm"}.get(register)
    assert wider is None or wider not in text


def test_object_is_a_relocatable_elf_of_the_machine():
    obj = object_code(ADD, Machine.of(host.profile("haswell")))
    assert obj[:4] == b"\x7fELF" and obj[16] == 1 and obj[18] == 62
    assert object_code(ADD, Machine.of(host.profile("aarch64")))[18] == 183


def test_the_passes_inline():
    text = """
define internal i32 @twice(i32 %x) alwaysinline {
  %y = add i32 %x, %x
  ret i32 %y
}
define i32 @f(i32 %x) {
  %y = call i32 @twice(i32 %x)
  ret i32 %y
}
"""
    assert "call" not in optimized_text(text, HERE).split("@f(")[1]
    assert "call" in optimized_text(text, HERE, passes=()).split("@f(")[1]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("define i32 @f() {\n  ret i64 0\n}\n", 2, "value doesn't match function"),
        ("define i32 @f() {\n  %x = add i32 1, 2\n  ret i64 %x\n}\n", 3, "expected 'i64'"),
        ("hello", 1, "expected top-level entity"),
        ("define void @f() {\n  ret void\n", 2, "instruction"),
        ("define i32 @f() {\ne:\n  br label %q\nq:\n  %p = phi i32 [ 0, %q ]\n  ret i32 %p\n}\n", 5, "PHI node"),
    ],
)
def test_mistakes_name_their_line(text, line, says):
    with pytest.raises(ToolchainError, match=says) as caught:
        object_code(text, HERE)
    assert caught.value.line == line
    assert f"line {line}" in str(caught.value)


def test_a_failed_compile_leaves_nothing_behind_that_crashes():
    for _ in range(20):
        with pytest.raises(ToolchainError):
            object_code("define i32 @f() {\n  ret i64 0\n}\n", HERE)
    assert object_code(ADD, HERE)


def test_bad_inline_assembly_is_an_exception_too():
    text = 'define void @f() {\n  call void asm sideeffect "%s", ""()\n  ret void\n}\n'
    assert object_code(text % "nop", HERE)
    with pytest.raises(ToolchainError, match="invalid instruction mnemonic 'bogus'"):
        object_code(text % "bogus", HERE)


def test_unknown_targets_are_refused():
    with pytest.raises(ToolchainError, match="no target for the triple"):
        object_code(ADD, Machine("pdp11-dec-unix", "", ""))
    with pytest.raises(ValueError, match="unknown CPU 'z80'"):
        host.profile("z80")


def test_host_is_read_without_llvm():
    program = "import sys; from naiad.backends.cpu.host import host; print(host().name, 'llvmlite' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert said == [host.host().name, "False"]


def test_host_agrees_with_llvm():
    import llvmlite.binding as llvm

    theirs = llvm.get_host_cpu_features()
    ours = host.host().features
    if host.host().is_x86:
        assert {f for f in host.X86_FEATURES if theirs.get(f)} == ours


def test_names_of_cpus_follow_features():
    assert host.profile("haswell").vector_bytes == 32
    assert host.profile("znver4").has_avx512 and "avx512bf16" in host.profile("znver4").features
    assert not host.profile("znver4").has_amx_bf16 and host.profile("sapphirerapids").has_amx_bf16
    assert host.profile("x86-64").vector_bytes == 16 and not host.profile("x86-64").has_fma
    assert "-avx512f" in host.profile("haswell").feature_string


def test_amx_is_asked_for_once():
    first = host.amx_ready()
    assert host.amx_ready() is first
    assert not first or host.host().has_amx_bf16 or host.host().has_amx_int8
