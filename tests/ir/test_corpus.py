"""The corpus: ttir of real kernels reads back as it is written, and every pipeline leaves it well formed."""

from pathlib import Path

import pytest

from naiad.ir.check import check
from naiad.ir.text import parse, print_module
from naiad.passes.pipeline import Pipeline
from naiad.passes.ttir import POINTERS, TTIR

CORPUS = sorted((Path(__file__).parents[1] / "corpus").glob("*.ttir"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_reads_back(path: Path) -> None:
    text = path.read_text()
    module = parse(text)
    check(module, "ttir")
    assert print_module(module) == text


@pytest.mark.parametrize("pipeline", [TTIR, POINTERS], ids=lambda p: p.name)
@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_pipelines(path: Path, pipeline: Pipeline) -> None:
    module = parse(path.read_text())
    before = sum(1 for _ in module.walk())
    pipeline.run(module, observer=lambda p, m, seconds: check(m, "ttir"))
    once = print_module(module)
    assert sum(1 for _ in module.walk()) <= 1.2 * before
    assert "tt.call" not in once
    pipeline.run(module)
    again = parse(once)
    pipeline.run(again)
    assert print_module(again).count("\n") <= once.count("\n")


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_no_tile_of_pointers_is_carried(path: Path) -> None:
    module = POINTERS.run(parse(path.read_text()))
    for op in module.walk():
        if op.name in ("scf.for", "scf.while"):
            assert not [str(r.type) for r in op.results if "tt.ptr" in str(r.type)]
