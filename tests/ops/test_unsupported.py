"""What the CPU cannot do is told at the kernel's line: what was expected, what was found, what to do. And what it can:
atomics on single bits, which only IR has."""

import platform
from pathlib import Path

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from naiad.backends.base import GPUTarget
from naiad.backends.cpu.host import host
from naiad.compiler import ASTSource
from naiad.errors import CompilationError
from naiad.language.extra import libdevice
from naiad.language.extra.device_library import table

SYMBOLS = tl.constexpr({(tl.float32,): ("__nv_nonsensef", tl.float32)})


@triton.jit
def foreign(x_ptr):
    x = tl.load(x_ptr)
    y = tl.extern_elementwise("", "", [x], SYMBOLS, is_pure=True)
    tl.store(x_ptr, y)


def line_of(text):
    """The line of this file that begins with `text`."""
    [at] = [n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.strip().startswith(text)]
    return at


def test_a_device_function_that_is_not_there():
    with pytest.raises(CompilationError) as caught:
        foreign[(1,)](np.zeros(1, np.float32))
    said = str(caught.value)
    assert said.startswith(f"{__file__}:{line_of('y = tl.extern')}:")
    assert "expected: a name of CUDA's libdevice" in said and "found:    __nv_nonsensef of f32" in said
    assert "to do:    call it as naiad.language.extra.libdevice" in said


AMD_ONLY = sorted(set(table("hip")) - set(table("cuda")))


@pytest.mark.skipif(not AMD_ONLY, reason="AMD's library has no name of its own")
def test_a_function_of_another_gpu():
    function = getattr(libdevice, AMD_ONLY[0])

    def kernel(x_ptr):
        tl.store(x_ptr, function(tl.load(x_ptr)))

    with pytest.raises(
        CompilationError, match=f"found: .*{AMD_ONLY[0]}, which is one of hip's\n.*(.|\n)*not exist on cuda"
    ):
        triton.compile(ASTSource(triton.jit(kernel), {"x_ptr": "*fp32"}), target=GPUTarget("cuda", 90, 32))


def compiled(tmp_path, text):
    file = tmp_path / "kernel.ttir"
    file.write_text(text)
    return triton.compile(str(file), target=GPUTarget("cpu", "", 1))


def test_values_of_a_type_that_no_cpu_has(tmp_path):
    text = "module {\n  tt.func public @k(%x: i7) {\n    tt.return\n  }\n}\n"
    with pytest.raises(
        CompilationError, match=r"expected: a scalar or a vector of i1, i8(.|\n)*found: *i7(.|\n)*wider"
    ):
        compiled(tmp_path, text)


LINE = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>"
FOREIGN = {
    "ttg.convert_layout": f"""%t = tt.make_range {{start = 0 : i32, end = 32 : i32}} : tensor<32xi32, {LINE}>
    %u = ttg.convert_layout %t : tensor<32xi32, {LINE}> -> tensor<32xi32, {LINE}>""",
    "ttg.async_commit_group": "%t = ttg.async_commit_group",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_an_op_of_another_target(tmp_path, name):
    with pytest.raises(
        CompilationError, match=rf"expected: an op that(.|\n)*{name}(.|\n)*to do: (.|\n)*no lowering for {name}"
    ):
        compiled(tmp_path, f"module {{ tt.func public @k(%p: !tt.ptr<f32>) {{\n {FOREIGN[name]}\n tt.return }} }}\n")


def test_a_machine_without_code_generation(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(NotImplementedError, match="no CPU code generation for 'riscv64'; x86-64 and aarch64 are"):
        host.__wrapped__()


@triton.jit
def comprehends(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    [i for i in x]


@triton.jit
def asserts(x_ptr, n):
    tl.static_assert(n > 0)


def test_what_a_kernel_must_know_when_it_is_compiled():
    with pytest.raises(CompilationError, match=r"found: (.|\n)*only tuple comprehensions are"):
        comprehends[(1,)](np.zeros(4, np.float32))
    with pytest.raises(CompilationError, match=r"to do: .*device_assert(.|\n)*could not be determined at compile"):
        asserts[(1,)](np.zeros(4, np.float32), 5)


@pytest.mark.parametrize("name, want", [
    ("and", [0, 0, 0, 1]), ("or", [0, 1, 1, 1]), ("xor", [0, 1, 1, 0]), ("exch", [0, 0, 1, 1]), ("add", [0, 1, 1, 0]),
    ("umax", [0, 1, 1, 1]), ("umin", [0, 0, 0, 1]), ("max", [0, 0, 0, 1]), ("min", [0, 1, 1, 1]),
])  # fmt: skip
def test_atomics_on_one_bit(tmp_path, name, want):
    text = f"""module {{
  tt.func public @k(%p: !tt.ptr<i1>, %q: !tt.ptr<i1>, %o: !tt.ptr<i1>) {{
    %v = tt.load %q : !tt.ptr<i1>
    %old = tt.atomic_rmw {name}, acq_rel, gpu, %p, %v : (!tt.ptr<i1>, i1) -> i1
    tt.store %o, %old : !tt.ptr<i1>
    tt.return
  }}
}}
"""
    kernel, found = compiled(tmp_path, text), []
    for value in (0, 1):
        for bit in (0, 1):
            memory, given, old = (np.array([x], np.bool_) for x in (bit, value, 1 - bit))
            kernel[(1,)](memory, given, old)
            found.append(int(memory[0]))
            assert old[0] == bool(bit)
    assert found == want
