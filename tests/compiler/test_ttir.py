"""Every kernel of kernels.py gives ttir that naiad's checker, its own reader and Triton's parser accept."""

import pytest

from naiad.ir.check import check
from naiad.ir.text import parse, print_module

from .kernels import CASES
from .support import compiled, triton_accepts

NOT_IN_TRITON: set[str] = set()


@pytest.mark.parametrize("name", CASES)
def test_is_well_formed(name, capsys):
    case = CASES[name]
    compiled(case.kernel, *case.types, **case.constants)


@pytest.mark.parametrize("name", CASES)
def test_survives_its_text(name, capsys):
    case = CASES[name]
    source = print_module(compiled(case.kernel, *case.types, **case.constants))
    again = parse(source)
    check(again, "ttir")
    assert (
        print_module(again).split()
        == source.replace(
            "<disable = true, versioningDisable = true>>", "< disable = true , versioningDisable = true >>"
        ).split()
    )


@pytest.mark.parametrize("name", sorted(set(CASES) - NOT_IN_TRITON))
def test_triton_reads_it(name, tmp_path, capsys):
    case = CASES[name]
    triton_accepts(print_module(compiled(case.kernel, *case.types, **case.constants)), tmp_path)
