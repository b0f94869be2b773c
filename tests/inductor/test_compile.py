"""What torch.compile makes through naiad equals eager torch; the programs are in `cases/`."""

import pytest

from tests.inductor.case import names

CASES = [pytest.param(name, marks=[pytest.mark.slow] if slow else []) for name, slow in names()]


@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_eager(name, worker):
    said = worker.run(name)
    assert said["ok"], said["error"]
    assert "assuming every input is mutated" not in said["log"]  # torch could not read the ttir of a user's kernel


def test_there_are_cases():
    assert len(CASES) > 60
