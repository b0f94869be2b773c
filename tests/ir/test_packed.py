"""A module sent to another process is the same there: text with locations, properties, and what passes make of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from naiad.ir.packed import pack, unpack
from naiad.ir.text import parse, print_module
from naiad.passes.ttir import POINTERS

FILES = sorted((Path(__file__).parents[1] / "corpus").glob("*.ttir"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_same_after_packing(file: Path) -> None:
    module = parse(file.read_text())
    again = unpack(pack(module))
    assert print_module(again, locations=True) == print_module(module, locations=True)
    assert print_module(POINTERS.run(again)) == print_module(POINTERS.run(module))


def test_in_another_process() -> None:
    module = parse(FILES[0].read_text())
    code = ("import sys; from naiad.ir.packed import unpack; from naiad.ir.text import print_module\n"
            "sys.stdout.write(print_module(unpack(sys.stdin.buffer.read()), locations=True))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], input=pack(module), capture_output=True, check=True,
                          cwd=Path(__file__).parents[2])  # fmt: skip
    assert done.stdout.decode() == print_module(module, locations=True)
