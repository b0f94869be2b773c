"""The stand-in of a GPU, for tests of launches."""

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """libcuda, which only records."""
    from .fake_gpu import build

    return build(tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def gpu(library: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two GPUs, of which the first is the current one."""
    from .fake_gpu import FakeGPU

    made = FakeGPU(library)
    made.install(monkeypatch)
    made.move(0)
    yield made
    made.forget()
