"""The cache on disk: whatever happens to its files, results are right and nothing is raised."""

import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import naiad
from naiad import environment, knobs
from naiad.compiler.store import Entry, decode, encode, text_of
from naiad.runtime.cache import FileCacheManager
from naiad.runtime.jit import JITFunction
from tests.runtime.kernels import add
from tests.runtime.launches import launch

ROOT = str(Path(__file__).parent.parent.parent)
KEY = "ab" * 32


@pytest.fixture(autouse=True)
def warn_again():
    environment._said.clear()


def entries(folder):
    return sorted(folder.glob("*.naiad"))


def test_an_entry_comes_back():
    entry = Entry({"name": "k", "shared": 3}, {"llir": "text" * 100, "obj": b"\0\1"})
    data = encode(entry, KEY)
    found = decode(data, KEY)
    assert found.metadata == entry.metadata
    assert {name: text_of(stage) for name, stage in found.stages.items()} == entry.stages
    assert len(data) < 400


@pytest.mark.parametrize("place", [0, 20, 60, 120, -1])
def test_a_flipped_byte_is_found(place):
    data = bytearray(encode(Entry({"name": "k"}, {"obj": bytes(200)}), KEY))
    data[place] ^= 1
    with pytest.raises(ValueError):
        decode(bytes(data), KEY)


def test_other_keys_and_short_files_are_refused():
    data = encode(Entry({"name": "k"}, {"obj": bytes(200)}), KEY)
    with pytest.raises(ValueError, match="another key"):
        decode(data, "cd" * 32)
    for size in (0, 7, 30, len(data) - 1):
        with pytest.raises(ValueError):
            decode(data[:size], KEY)


def test_one_file_an_entry_and_hits(cache_folder, hits):
    launch()
    launch()
    assert hits == [False, True]
    assert len(entries(cache_folder)) == 1 and not list(cache_folder.glob("*.tmp"))


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_file_is_made_again(cache_folder, hits, damage):
    launch()
    [path] = entries(cache_folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes({"flip": bytes(data), "cut": bytes(data[:200]), "empty": b""}[damage])
    with pytest.warns(RuntimeWarning, match="damaged"):
        launch()
    launch()
    assert hits == [False, False, True]


def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path, hits):
    (tmp_path / "file").write_text("")
    knobs.cache.dir = str(tmp_path / "file" / "cache")
    with pytest.warns(RuntimeWarning, match="not kept"):
        launch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch()
    assert hits == [False, False]


def test_a_full_disk_costs_a_warning(cache_folder, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        launch()
    assert list(cache_folder.glob("*.naiad*")) == []


def test_always_compile(hits):
    launch()
    knobs.compilation.always_compile = True
    launch()
    assert hits == [False, False]


def test_what_the_key_depends_on(hits, monkeypatch):
    launch()
    JITFunction(add.fn).warmup(np.zeros(1, "f8"), np.zeros(1, "f4"), np.zeros(1, "f4"), 70, grid=(1,))
    JITFunction(add.fn).warmup(*[np.zeros(1, "f4")] * 3, 70, grid=(1,), num_warps=8)
    monkeypatch.setenv("TRITON_F32_DEFAULT", "ieee")
    launch()
    changed = JITFunction(add.fn)
    changed._unsafe_update_src(changed.src + "\n    # another source")
    changed.warmup(*[np.zeros(1, "f4")] * 3, 70, grid=(1,))
    assert hits == [False] * 5


def test_constants_without_a_name_are_not_kept(cache_folder):
    class Opaque:
        pass

    @naiad.jit
    def kernel(out, C: naiad.language.constexpr):
        naiad.language.store(out, 1)

    kernel.warmup(np.zeros(1, "i4"), Opaque(), grid=(1,))
    assert entries(cache_folder) == []


def test_stages_of_a_kernel_from_the_cache(hits):
    first, second = launch(), launch()
    assert hits == [False, True]
    for stage in ("ttir", "ttcir", "llir", "obj"):
        assert first.asm[stage] == second.asm[stage], stage
    assert "asm" not in second.asm and ".text" in second.asm["asm"]
    with pytest.raises(KeyError, match="nothing"):
        second.asm["nothing"]


def test_dump_and_override(cache_folder, tmp_path, capsys):
    knobs.cache.dump_dir, knobs.cache.override_dir = str(tmp_path / "dump"), str(tmp_path / "override")
    knobs.compilation.dump_ir = True
    launch()
    [folder] = (tmp_path / "dump").iterdir()
    assert {path.name for path in folder.iterdir()} == {"add.ttir", "add.ttcir", "add.llir", "add.obj"}
    target = tmp_path / "override" / folder.name
    target.mkdir(parents=True)
    (target / "add.ttir").write_text((folder / "add.ttir").read_text().replace("arith.addf", "arith.subf"))
    knobs.compilation.dump_ir = False
    knobs.compilation.override = True
    x, y, out = np.arange(70, dtype="f4"), np.ones(70, "f4"), np.zeros(70, "f4")
    JITFunction(add.fn)[(2,)](x, y, out, 70)
    np.testing.assert_array_equal(out, x - y)
    assert "Overriding kernel with file" in capsys.readouterr().out
    knobs.compilation.override = False
    launch()  # and the cache was not touched


def test_a_manager_of_the_users(tmp_path, hits):
    class Manager(FileCacheManager):
        pass

    Manager.__name__ = "CacheManager"
    knobs.cache.manager_class = Manager
    first, second = launch(), launch()
    assert hits == [False, True]
    assert second.asm["llir"] == first.asm["llir"] and "add.json" in second.metadata_group


@pytest.mark.parametrize("fault", ["raises", "is no mapping", "keeps nothing"])
def test_a_manager_that_fails_is_told_and_the_kernel_compiled(fault, hits, monkeypatch):
    class Manager(FileCacheManager):
        def get_group(self, filename):
            if fault == "raises":
                raise KeyError("a bug")
            return 5 if fault == "is no mapping" else None

        def put(self, *args, **keywords):
            if fault == "keeps nothing":
                raise ConnectionError("gone")
            return super().put(*args, **keywords)

    monkeypatch.setattr(environment, "_said", set())
    knobs.cache.manager_class = Manager
    said = (
        "kernels are not kept: gone" if fault == "keeps nothing" else r"the cache \(Manager\) cannot be read: .*Error"
    )
    with pytest.warns(RuntimeWarning, match=said):
        launch()
    assert hits == [False]


def test_what_is_assigned_as_a_manager():
    knobs.cache.manager_class = "naiad.runtime.cache:FileCacheManager"
    assert knobs.cache.manager_class is FileCacheManager
    knobs.cache.manager_class = 5
    with pytest.raises(RuntimeError, match="Unable to use 5 for TRITON_CACHE_MANAGER: expected a class, or its name"):
        launch()


def test_a_hit_in_a_new_process_imports_no_compiler(cache_folder):
    code = """
        import sys, numpy as np
        from tests.runtime.kernels import add
        x = np.ones(70, "f4")
        out = np.zeros(70, "f4")
        for _ in range(3):
            add[(2,)](x, x, out, 70)
        assert (out == 2).all()
        print([m for m in ("xdsl", "llvmlite", "torch") if m in sys.modules])
    """
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache_folder), "PYTHONPATH": ROOT}
    found = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert found == ["['xdsl', 'llvmlite']", "[]"]
