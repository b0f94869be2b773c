"""Triton 3.6 as the judge of our text: what it prints is read, and what we print it parses and verifies.

Runs on machines without a GPU; skipped where triton is not installed.
"""

from functools import cache
from pathlib import Path

import pytest

triton = pytest.importorskip("triton", reason="the peer, triton, is not installed")
if not getattr(triton, "__version__", "").startswith("3.6"):
    pytest.skip("the text is that of triton 3.6", allow_module_level=True)

from naiad.ir.check import check  # noqa: E402
from naiad.ir.text import parse, print_module  # noqa: E402
from naiad.passes.pipeline import Pipeline  # noqa: E402
from naiad.passes.ttir import POINTERS, TTIR  # noqa: E402
from tests.ir.kernels import KERNELS  # noqa: E402

CORPUS = Path(__file__).parents[1] / "corpus"
BY_NAME = {fn.__name__: fn for fn in KERNELS}


@cache
def peer_text(name: str, simplified: bool) -> str:
    """What Triton makes of a kernel: as its front end leaves it, or after its passes on ttir."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    signature, constants = KERNELS[BY_NAME[name]]
    source = ASTSource(BY_NAME[name], signature | dict.fromkeys(constants, "constexpr"), constexprs=constants)
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({"sanitize_overflow": False, "debug": True})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    return str(backend.make_ttir(module, {}, options, 90) if simplified else module)


def judge(text: str, path: Path) -> None:
    """Raises where Triton does not parse or verify a text."""
    from triton._C.libtriton import ir, nvidia

    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    path.write_text(text)
    assert ir.parse_mlir_module(str(path), context).verify()


@pytest.mark.parametrize("simplified", [False, True], ids=["front end", "after passes"])
@pytest.mark.parametrize("name", BY_NAME)
def test_read_what_triton_prints(name: str, simplified: bool, tmp_path: Path) -> None:
    module = parse(peer_text(name, simplified))
    check(module, "ttir")
    for locations in (False, True):
        text = print_module(module, locations)
        again = parse(text)
        assert again.is_structurally_equivalent(module)
        assert print_module(again, locations) == text
        judge(text, tmp_path / "k.mlir")


@pytest.mark.parametrize("pipeline", [TTIR, POINTERS], ids=lambda p: p.name)
@pytest.mark.parametrize("name", BY_NAME)
def test_triton_verifies_what_our_passes_leave(name: str, pipeline: Pipeline, tmp_path: Path) -> None:
    module = parse(peer_text(name, False))
    pipeline.run(module, observer=lambda p, m, seconds: check(m, "ttir"))
    judge(print_module(module, locations=True), tmp_path / "k.mlir")


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.ttir")), ids=lambda p: p.stem)
def test_triton_reads_the_corpus(path: Path, tmp_path: Path) -> None:
    judge(path.read_text(), tmp_path / "k.mlir")
