"""Collects `*.mlir` files: `// RUN: -p <passes>` runs in this process, the CHECK lines go to the filecheck package.

Parts split by `// -----` are tests of their own. Each module is checked before and after; `// RUN: not -p <passes>`
expects an error whose message the CHECK lines match.
"""

import io
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest


def pytest_collect_file(parent: Any, file_path: Path) -> Any:
    return MlirFile.from_parent(parent, path=file_path) if file_path.suffix == ".mlir" else None


class MlirFile(pytest.File):
    def collect(self) -> Iterator["MlirTest"]:
        text = self.path.read_text()
        head = next(line for line in text.splitlines() if line.startswith("// RUN:"))
        for n, part in enumerate(text.split("// -----")):
            label = (
                part.split("CHECK-LABEL: ", 1)[-1].splitlines()[0].split("@")[-1] if "CHECK-LABEL" in part else str(n)
            )
            yield MlirTest.from_parent(self, name=label, run=head.removeprefix("// RUN:").strip(), text=part)


class MlirTest(pytest.Item):
    def __init__(self, *, run: str, text: str, **rest: Any):
        super().__init__(**rest)
        self.expect_error = run.startswith("not ")
        self.spec, self.text = run.removeprefix("not ").removeprefix("-p").strip(), text

    def runtest(self) -> None:
        from naiad.ir.check import check
        from naiad.ir.text import parse, print_module
        from naiad.tools.opt import passes_of

        module = parse(self.text)
        check(module, "ttir")
        try:
            for p in passes_of(self.spec):
                p.apply(None, module)  # type: ignore[arg-type]
                check(module, "ttir")
            output = print_module(module)
        except Exception as error:
            if not self.expect_error:
                raise
            output = f"error: {error}\n"
        self._match(output)

    def _match(self, output: str) -> None:
        from filecheck.finput import FInput
        from filecheck.matcher import Matcher
        from filecheck.options import Options
        from filecheck.parser import Parser, pattern_for_opts

        options, err = Options(match_filename=str(self.path), input_file="-"), io.StringIO()
        with redirect_stderr(err):
            parser = Parser(options, io.StringIO(self.text), *pattern_for_opts(options))
            code = Matcher(options, FInput("<output>", output), parser).run()
        if code:
            raise AssertionError(f"{err.getvalue()}\n--- output ---\n{output}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:
        return str(excinfo.value) if isinstance(excinfo.value, AssertionError) else repr(excinfo.value)

    def reportinfo(self) -> Any:
        return self.path, 0, self.name
