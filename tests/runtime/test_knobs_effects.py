"""What the variables about the compiler change: each is set, and its effect is looked for."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.base import GPUTarget
from naiad.backends.nvidia.tools import find_ptxas, ptxas_options
from naiad.compiler.compiler import ASTSource
from naiad.passes.common.cse import CommonSubexpressions
from naiad.passes.pipeline import customized
from tests.runtime.launches import launch

ROOT = str(Path(__file__).parent.parent.parent)
needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas (pip install nvidia-cuda-nvcc)")


@pytest.fixture(autouse=True)
def put_back():
    with knobs.passes.scope(), knobs.nvidia.scope(), knobs.language.scope():
        yield


@naiad.jit
def product(a, b, c, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = i[:, None] * BLOCK + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)) * 3.0 + 1.0)


def for_gpu(arch=90):
    """`product` compiled for a GPU of that architecture, anew."""
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "BLOCK": "constexpr"}
    return naiad.compile(ASTSource(product, signature, {"BLOCK": 64}), GPUTarget("cuda", arch, 32))


def test_passes_are_printed(capfd, tmp_path):
    knobs.passes.dump = "1"
    launch()
    text = capfd.readouterr().err
    assert "IR Dump Before cse of ttir" in text and "tt.func public @add" in text
    knobs.passes.dump, knobs.compilation.always_compile = "another", True
    launch()
    assert "IR Dump Before" not in capfd.readouterr().err
    knobs.passes.dump, knobs.passes.dump_path = "add", str(tmp_path / "dump.mlir")
    launch()
    assert (
        "IR Dump Before" not in capfd.readouterr().err
        and "// -----// IR Dump Before" in (tmp_path / "dump.mlir").read_text()
    )


def test_passes_are_timed(capfd):
    knobs.passes.timing = True
    launch()
    assert any(line.endswith("cse") and " ms  " in line for line in capfd.readouterr().err.splitlines())


def test_a_failing_pass_leaves_its_input(tmp_path, monkeypatch):
    def fail(self, ctx, op):
        raise ValueError("the pass fails")

    knobs.passes.reproducer_path = str(tmp_path / "repro.mlir")
    monkeypatch.setattr(CommonSubexpressions, "apply", fail)
    with pytest.raises(Exception, match="the pass fails"):
        launch()
    text = (tmp_path / "repro.mlir").read_text()
    assert text.startswith("// naiad-opt -p cse\n") and "tt.func public @add" in text


def test_llvm_text_is_printed_and_its_passes_left_out(capfd, hits):
    knobs.passes.dump_llvm = True
    first = launch()
    assert "; LLVM text of add" in (text := capfd.readouterr().err) and "define" in text
    knobs.passes.disable_llvm = True
    second = launch()
    assert hits == [False, False] and first.asm["obj"] != second.asm["obj"]


def twice_cse(pipeline):
    return pipeline.after("cse", CommonSubexpressions()) if pipeline.name.startswith("ttir") else pipeline


def test_changed_pipelines_have_kernels_of_their_own(hits):
    launch()
    with customized(twice_cse):
        launch()
        launch()
    knobs.passes.pipeline = f"{__name__}:twice_cse"
    launch()
    launch()
    knobs.passes.pipeline = ""
    launch()
    assert hits == [False, False, True, False, True, True]


def test_another_cpu_is_compiled_for(hits):
    knobs.runtime.override_arch = "x86-64-v2"
    kernel = launch()
    assert kernel.metadata.target.arch == "x86-64-v2" and "ymm" not in kernel.asm["asm"]
    knobs.runtime.override_arch = "sm90"  # means nothing to the CPU
    assert launch().metadata.target.arch != "sm90" and hits == [False, False]


def test_another_gpu_is_compiled_for():
    knobs.runtime.override_arch = "sm_80"
    assert for_gpu(90).asm["ptx"].count(".target sm_80") == 1


def test_products_without_wgmma():
    assert "wgmma.mma_async" in for_gpu().asm["ptx"]
    knobs.nvidia.disable_mma_v3 = True
    ptx = for_gpu().asm["ptx"]
    assert "wgmma" not in ptx and "mma.sync" in ptx


def test_fused_multiply_and_add_is_a_default():
    assert for_gpu().metadata.enable_fp_fusion and "contract" in for_gpu().asm["llir"]
    knobs.language.default_fp_fusion = False
    assert not for_gpu().metadata.enable_fp_fusion and "contract" not in for_gpu().asm["llir"]
    assert not launch().metadata.enable_fp_fusion


def test_ptx_is_printed(capsys):
    knobs.nvidia.dump_nvptx = True
    for_gpu()
    assert ".visible .entry product" in capsys.readouterr().out


@needs_ptxas
def test_options_of_ptxas(capsys):
    assert ptxas_options() == ()
    knobs.nvidia.dump_ptxas_log = True
    first = for_gpu()
    assert "Used" in capsys.readouterr().out
    knobs.nvidia.ptxas_options = "--maxrregcount 64"
    assert for_gpu().asm["cubin"] != first.asm["cubin"]
    knobs.nvidia.disable_ptxas_opt = True
    assert ptxas_options() == ("--opt-level", "0", "--maxrregcount", "64")
    knobs.nvidia.ptxas_options = "--no-such-option"
    with pytest.raises(Exception, match="no-such-option"):
        for_gpu()


def test_only_the_code_is_kept(cache_folder):
    knobs.compilation.store_binary_only = True
    launch()
    second = launch()
    assert "define" in second.asm["llir"]  # made again when it is asked for
    from naiad.compiler.store import decode

    [path] = cache_folder.glob("*.naiad")
    assert list(decode(path.read_bytes()).stages) == ["obj"]


@pytest.mark.parametrize("variable, value, said", [
    ("TRITON_DEFAULT_BACKEND", "cpu", "cpu"), ("TRITON_CPU_BACKEND", "1", "cpu"),
    ("TRITON_DEFAULT_BACKEND", "abacus", "no backend has that name; there are"),
])  # fmt: skip
def test_the_active_backend(variable, value, said):
    code = """
        import naiad
        try:
            print(naiad.runtime.driver.active.get_current_target().backend)
        except RuntimeError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    variables = {**os.environ, "PYTHONPATH": ROOT, variable: value}
    assert said in subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout
