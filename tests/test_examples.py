"""The examples: each runs alone, the demo finds them right, and their ttir is Triton's own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from naiad.demo.main import max_error
from naiad.demo.rows import example, rows
from naiad.ir.check import check
from naiad.ir.text import parse, print_module
from naiad.passes.ttir import TTIR
from tests.compiler.support import compiled, triton_accepts

EXAMPLES = Path(__file__).parent.parent / "examples"
ROW = {"stride": "i32", "n_cols": "i32"}
KERNELS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "vector_add": ("add_kernel", {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
    "softmax": (
        "softmax_kernel",
        {"x_ptr": "*fp32", "out_ptr": "*fp32", "x_stride": "i32", "out_stride": "i32", "n_cols": "i32"},
        {"BLOCK": 1024},
    ),
    "layer_norm": (
        "layer_norm_kernel",
        {"x_ptr": "*fp16", "out_ptr": "*fp16", "weight_ptr": "*fp32", "bias_ptr": "*fp32", **ROW, "eps": "fp32"},
        {"BLOCK": 1024},
    ),
    "matmul": (
        "matmul_kernel",
        {"a_ptr": "*bf16", "b_ptr": "*bf16", "c_ptr": "*bf16", "M": "i32", "N": "i32", "K": "i32"}
        | {f"stride_{s}": "i32" for s in ("am", "ak", "bk", "bn", "cm", "cn")},
        {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8},
    ),
    "flash_attention": (
        "attention_kernel",
        {**dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "out_ptr"), "*fp16"), "scale": "fp32", "n_ctx": "i32"},
        {"D": 64, "BLOCK_M": 64, "BLOCK_N": 64},
    ),
    "dropout": (
        "dropout_kernel",
        {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "p": "fp32", "seed": "i32"},
        {"BLOCK": 1024},
    ),
}


def test_every_example_is_listed() -> None:
    assert {p.stem for p in EXAMPLES.glob("*.py")} - {"__init__"} == set(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_runs_alone(name: str) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py")], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name}: right\n"


@pytest.mark.parametrize("row", list(rows(quick=True)), ids=lambda r: r.name)
def test_rows_of_the_demo(row: Any) -> None:
    assert max_error(row.run(), row.reference()) <= row.bound


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("simplified", [False, True], ids=["front end", "after passes"])
def test_triton_reads_our_ttir(name: str, simplified: bool, tmp_path: Path) -> None:
    kernel, signature, constants = KERNELS[name]
    module = compiled(getattr(example(name), kernel), *signature.values(), **constants)
    if simplified:
        check(TTIR.run(module), "ttir")
    for locations in (False, True):
        triton_accepts(print_module(module, locations), tmp_path)


@pytest.mark.parametrize("name", KERNELS)
def test_we_read_tritons_ttir(name: str, tmp_path: Path) -> None:
    kernel, signature, constants = KERNELS[name]
    text = tritons_ttir(getattr(as_tritons(name, tmp_path), kernel), signature, constants)
    module = parse(text)
    check(module, "ttir")
    assert parse(print_module(module)).is_structurally_equivalent(module)
    triton_accepts(print_module(module, True), tmp_path)


def as_tritons(name: str, folder: Path) -> ModuleType:
    """The example with `triton` in the place of `naiad`."""
    pytest.importorskip("triton", reason="the peer, triton, is not installed")
    source = (EXAMPLES / f"{name}.py").read_text()
    source = source.replace("import naiad as triton", "import triton").replace("naiad.language", "triton.language")
    path = folder / f"{name}_of_triton.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tritons_ttir(function: Any, signature: dict[str, str], constants: dict[str, Any]) -> str:
    """What Triton compiles the function to for an H100, after its passes on ttir."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import compile

    types = {name: "constexpr" if name in constants else signature[name] for name in function.arg_names}
    return compile(ASTSource(function, types, constexprs=constants), target=GPUTarget("cuda", 90, 32)).asm["ttir"]
