"""ttgir against Triton 3.6, where its wheel is installed: its parser and verifier take ours, we compile its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from naiad.backends.nvidia.lower import lower_module
from naiad.backends.nvidia.target import target_of
from naiad.backends.nvidia.toolchain import ptx_text
from naiad.ir.text import parse, print_module

from .test_targets import CASES, compiled

pytest.importorskip("triton", reason="Triton's wheel is not installed")

VERIFY = """
import sys
from triton._C import libtriton
context = libtriton.ir.context()
libtriton.ir.load_dialects(context)
libtriton.nvidia.load_dialects(context)
for path in sys.argv[1:]:
    libtriton.ir.parse_mlir_module(path, context)
"""


@pytest.mark.parametrize("arch", [80, 90])
def test_triton_reads_our_ttgir(arch: int, tmp_path: Path) -> None:
    paths = []
    for name, (kernel, arguments, constants) in CASES.items():
        if name == "sort":  # an op of naiad's own
            continue
        path = tmp_path / f"{name}.mlir"
        path.write_text(compiled(kernel, arguments, constants, arch).asm["ttgir"])
        paths.append(str(path))
    done = subprocess.run([sys.executable, "-c", VERIFY, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


CORPUS = Path(__file__).with_name("corpus")


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.ttgir")), ids=lambda p: p.stem)
def test_we_compile_ttgir_printed_by_triton(path: Path) -> None:
    text = path.read_text()
    module = parse(text)
    module.verify()
    parse(print_module(module)).verify()
    arch, warps = module.attributes["ttg.target"].data.split(":")[1], module.attributes["ttg.num-warps"].value.data
    target = target_of(int(arch))
    assert ".visible .entry" in ptx_text(lower_module(module, target, warps).text, target)
