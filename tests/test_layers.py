"""Imports point one way: a package of naiad imports only what stands before it, and the start-up path no heavy
library."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "naiad"
LAYERS = ("language", "layouts", "ir", "analysis", "passes", "lowering", "backends", "compiler", "runtime", "aot",
          "tools")  # fmt: skip
TOP = {"__main__", "compat", "demo", "testing"}
"""On top of all others; what else stands at top level (knobs, errors, ...) is below them and may import no layer."""
HEAVY = {"xdsl", "llvmlite", "torch"}
NO_HEAVY = ("language", "runtime", "layouts", "compat")


def imports(file: Path) -> Iterator[tuple[int, str, bool]]:
    """(line, module, whether it runs at import) for each import in a file that is not for type checking only."""
    tree = ast.parse(file.read_text())
    conditions = [n for n in ast.walk(tree) if isinstance(n, ast.If)]
    skipped = {id(n) for c in conditions if "TYPE_CHECKING" in ast.unparse(c.test) for n in ast.walk(c)}
    inside = {
        id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name, id(node) not in inside
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module or "", id(node) not in inside


def files() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def test_imports_point_down() -> None:
    bad = []
    for file in files():
        parts = file.relative_to(ROOT).parts
        here = parts[0] if len(parts) > 1 else file.stem
        for line, name, at_import in imports(file):
            words = name.split(".")
            if words[0] != "naiad" or len(words) < 2 or not at_import:
                continue
            there = words[1]
            if rank(there) > rank(here):
                bad.append(f"{file.relative_to(ROOT)}:{line} imports {name}")
    assert not bad, "\n".join(bad)


def rank(package: str) -> int:
    if package in LAYERS:
        return LAYERS.index(package)
    return len(LAYERS) if package in TOP or package == "__init__" else -1


def test_no_import_of_triton() -> None:
    bad = [f"{f}:{line}" for f in files() for line, name, _ in imports(f) if name.split(".")[0] == "triton"]
    assert not bad


def test_start_up_imports_nothing_heavy() -> None:
    bad = []
    for file in files():
        parts = file.relative_to(ROOT).parts
        if parts[0] in NO_HEAVY or len(parts) == 1:
            bad += [f"{file.relative_to(ROOT)}:{line} {name}" for line, name, at_import in imports(file)
                    if at_import and name.split(".")[0] in HEAVY]  # fmt: skip
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("module", ["naiad", "naiad.language", "naiad.compat", "naiad.testing", "naiad.compiler"])
def test_import_in_a_fresh_process(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('xdsl', 'llvmlite', 'torch', 'triton') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT.parent)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
