"""The documents tell the truth: every file they link to exists, every command of the README is a line of its own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "BENCHMARKS.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_exist(document: str) -> None:
    prose = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / document).read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#:\s]+)[)#]", prose)
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing


def test_readme_has_the_two_commands() -> None:
    commands = [
        line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("    python3 -m venv")
    ]
    assert [("naiad demo" in c, "pytest" in c) for c in commands] == [(True, False), (False, True)]
