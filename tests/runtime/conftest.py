"""Each test of the runtime has a cache of its own, and leaves the settings as they were."""

import pytest

from naiad import knobs


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """The cache's folder, empty; what a test assigns to knobs is undone."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    with knobs.cache.scope(), knobs.compilation.scope(), knobs.runtime.scope(), knobs.naiad.scope():
        yield folder


@pytest.fixture
def hits():
    """For each compilation, whether the cache had it."""
    found = []
    knobs.compilation.listener = lambda **facts: found.append(facts["cache_hit"])
    yield found
    knobs.compilation.listener = None
