"""Files and functions stay short enough to read: no file over 400 lines, no function over 45."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent / "naiad"
FILE, FUNCTION = 400, 45


def test_files() -> None:
    long = {str(f.relative_to(ROOT)): n for f in ROOT.rglob("*.py") if (n := f.read_text().count("\n")) > FILE}
    assert not long


def test_functions() -> None:
    long = []
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION:
                    long.append(f"{file.relative_to(ROOT)}:{node.lineno} {node.name} {lines}")
    assert not long, "\n".join(long)
