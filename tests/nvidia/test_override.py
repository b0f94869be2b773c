"""Code that a user puts in the place of a stage's: its own name, warps and parameters count, Triton's too."""

import re

import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.nvidia.entry import Entry, entry_of
from naiad.compiler.compiler import IRSource

torch = pytest.importorskip("torch", reason="torch's tensors are arguments here")


@pytest.fixture
def gpu(gpu, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    return gpu


def scaled():
    @naiad.jit
    def _kernel(dst, src, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(dst + offsets, tl.load(src + offsets, mask=offsets < n), mask=offsets < n)

    return _kernel


def ptx_of(parameters: str, name: str = "_kernel", threads: int = 64) -> str:
    """PTX as Triton writes it: `.param .u64 .ptr .global .align 1 _kernel_param_0`."""
    lines = ",\n".join(f"\t.param {p} {name}_param_{i}" for i, p in enumerate(parameters.split()))
    lines = lines.replace("ptr", ".u64 .ptr .global .align 1")
    head = ".version 8.0\n.target sm_90a\n.address_size 64\n"
    return f"// .entry no(\n{head}.visible .entry {name}(\n{lines}\n)\n.reqntid {threads}, 1, 1\n{{\n\tret;\n}}\n"


def launch(tmp_path, text: str, ending: str = "ptx", kernel=None):
    file = tmp_path / f"mine.{ending}"
    file.write_text(text) if isinstance(text, str) else file.write_bytes(text)
    x, y = torch.zeros(128), torch.zeros(128)
    kernel = kernel or scaled()
    return x, y, kernel, kernel[(4,)](x, y, 100, BLOCK=32, ir_override=str(file))


@pytest.mark.parametrize("scratch", [0, 1, 2])
def test_triton_s_ptx_gets_null_for_its_scratch_memory(gpu, tmp_path, scratch):
    gpu.set("fake_parameters", 3 + scratch)
    text = ptx_of("ptr ptr .u32" + " ptr" * scratch)
    x, y, kernel, handle = launch(tmp_path, text)
    assert gpu.slots(3 + scratch) == [x.data_ptr(), y.data_ptr(), 100] + [0] * scratch
    assert gpu.config[3:6] == [64, 1, 1] and handle.asm["ptx"] == text
    file = str(tmp_path / "mine.ptx")
    for n in (101, 102):  # natively, too
        kernel[(4,)](x, y, n, BLOCK=32, ir_override=file)
        assert gpu.slots(3 + scratch) == [x.data_ptr(), y.data_ptr(), n] + [0] * scratch
    assert gpu.launches == 3


@pytest.mark.parametrize(("parameters", "found"), [
    ("ptr ptr", "2 parameters of 8, 8 bytes"), ("ptr ptr .u32 ptr ptr ptr", "6 parameters"),
    ("ptr ptr .u64", "3 parameters of 8, 8, 8 bytes"), ("ptr ptr .u32 .u32", "4 parameters of 8, 8, 4, 4 bytes"),
])  # fmt: skip
def test_code_that_takes_other_arguments_is_not_launched(gpu, tmp_path, parameters, found):
    kernel, text = scaled(), ptx_of(parameters)
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"(?s)does not take its arguments.*expected: 3 parameters.*{found}"):
            launch(tmp_path, text, kernel=kernel)
    assert gpu.launches == 0


def test_llir_and_cubin_and_ttgir_of_a_user(gpu, tmp_path):
    gpu.set("fake_parameters", 3)
    own = scaled()[(4,)](torch.zeros(128), torch.zeros(128), 100, BLOCK=32)
    for stage in ("ttgir", "llir", "cubin"):
        kernel = scaled()
        x, y, _, handle = launch(tmp_path, own.asm[stage], stage, kernel)
        assert gpu.slots(3) == [x.data_ptr(), y.data_ptr(), 100], stage
        assert handle.metadata.num_warps == own.metadata.num_warps
    renamed = own.asm["llir"].replace("@_kernel", "@another")
    assert launch(tmp_path, renamed, "llir")[-1].name == "another"
    cut = re.sub(r", i32 %arg2", "", own.asm["llir"], count=1).replace("%arg2", "77")
    with pytest.raises(ValueError, match=r"(?s)expected: 3 parameters.*found: +2 parameters"):
        launch(tmp_path, cut, "llir")


def test_a_file_without_a_kernel_is_refused(gpu, tmp_path):
    with pytest.raises(ValueError, match=r"(?s)the ptx has no kernel.*\.visible \.entry"):
        launch(tmp_path, ".version 8.0\n.target sm_90a\n")


def test_dumps_are_read_back(gpu, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(knobs.cache, "dump_dir", str(tmp_path / "dump"))
    monkeypatch.setattr(knobs.cache, "override_dir", str(tmp_path / "override"))
    x = torch.zeros(128)
    with knobs.compilation.scope():
        knobs.compilation.dump_ir = True
        scaled()[(4,)](x, x, 100, BLOCK=32)
        [folder] = (tmp_path / "dump").iterdir()
        assert {file.suffix for file in folder.iterdir()} == {".ttir", ".ttgir", ".llir", ".ptx", ".cubin"}
        knobs.compilation.dump_ir, knobs.compilation.override = False, True
        target = tmp_path / "override" / folder.name
        target.mkdir(parents=True)
        ptx = (folder / "_kernel.ptx").read_text()
        (target / "_kernel.ptx").write_text(ptx.replace(".reqntid 128", ".reqntid 256"))
        handle = scaled()[(4,)](x, x, 100, BLOCK=32)
    assert handle.metadata.num_warps == 8 and gpu.config[3] == 256
    assert "Overriding kernel with file" in capsys.readouterr().out


def test_entries_of_ptx_llvm_and_cubins(gpu, tmp_path):
    x = torch.zeros(128)
    own = scaled()[(4,)](x, x, 100, BLOCK=32, num_warps=2)
    for stage in ("llir", "ptx", "cubin"):
        assert entry_of(stage, own.asm[stage]) == Entry("_kernel", (8, 8, 4), 64)
    tma = ".visible .entry k(\n\t.param .align 64 .b8 k_param_0[128],\n\t.param .f32 k_param_1\n)\n{"
    assert entry_of("ptx", tma) == Entry("k", (128, 4))


def test_a_file_of_ptx_is_a_source(tmp_path):
    file = tmp_path / "k.ptx"
    file.write_text(ptx_of("ptr ptr .u32 .f32"))
    assert list(IRSource(str(file)).signature.values()) == ["*i8", "*i8", "i32", "fp32"]
    made = naiad.compile(str(file), target=naiad.backends.base.GPUTarget("cuda", 90, 32))
    assert made.metadata.num_warps == 2 and made.metadata.name == "_kernel"
