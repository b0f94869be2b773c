"""The limit of the cache's size: what goes, in which order, how seldom anybody looks, and many processes at it."""

import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from naiad import knobs
from naiad.compiler import eviction
from naiad.compiler.store import Entry, FileStore
from naiad.environment import parse_size
from naiad.runtime.cache import FileCacheManager, get_cache_manager
from naiad.runtime.jit import JITFunction
from tests.runtime.kernels import add

ROOT = str(Path(__file__).parent.parent.parent)
HOUR = 3600


def key(i):
    return hashlib.sha256(str(i).encode()).hexdigest()


def write(folder, i, size=1000, hours_ago=0.0):
    """An entry of about `size` bytes, last used so many hours ago."""
    knobs.naiad.cache_size = 0
    FileStore(str(folder)).save(key(i), Entry({"name": f"k{i}"}, {"obj": os.urandom(size - 200)}))
    path = folder / f"{key(i)}.naiad"
    os.utime(path, (time.time() - hours_ago * HOUR,) * 2)
    return path


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_the_least_recently_used_goes_first(cache_folder):
    paths = [write(cache_folder, i, hours_ago=10 - i) for i in range(8)]
    assert FileStore(str(cache_folder)).load(key(0))  # used now: it stays
    total = sum(path.stat().st_size for path in paths)
    gone = eviction.evict(str(cache_folder), total - 1, kept=0.65)
    assert [group.path for group in gone] == [str(path) for path in paths[1:4]]
    assert {path.name for path in cache_folder.glob("*.naiad")} == {paths[i].name for i in (0, 4, 5, 6, 7)}
    assert eviction.evict(str(cache_folder), total, kept=0.65) == []


def test_a_folder_that_another_process_is_deleting(cache_folder, monkeypatch):
    """Its mark was still there, and nothing else is by now."""
    manager = get_cache_manager(key(1))
    manager.put(b"code", "k.obj")
    monkeypatch.setattr(eviction.os.path, "exists", lambda path: True)
    shutil.rmtree(manager.cache_dir)
    os.makedirs(manager.cache_dir)
    assert eviction.evict(str(cache_folder), 1) == []


def test_a_manager_s_folder_is_one_group(cache_folder):
    for i in range(3):
        manager = get_cache_manager(key(i))
        paths = {name: manager.put(os.urandom(500), name) for name in ("k.json", "k.obj")}
        manager.put_group("k.json", paths)
        for path in Path(manager.cache_dir).iterdir():
            os.utime(path, (time.time() - (9 - i) * HOUR,) * 2)
    assert get_cache_manager(key(0)).get_group("k.json")  # used now
    total = sum(group.size for group in eviction.groups(str(cache_folder)) if group.kind == "files")
    [gone] = eviction.evict(str(cache_folder), total - 1, kept=0.99)
    assert gone.path.endswith(get_cache_manager(key(1)).key) and not os.path.exists(f"{gone.path}/k.json")
    assert get_cache_manager(key(0)).get_group("k.json") and get_cache_manager(key(2)).get_group("k.json")


def test_what_is_not_naiads_stays_and_does_not_count(cache_folder):
    write(cache_folder, 1)
    for name in ("TRITONGROUP", "native"):
        (cache_folder / name).mkdir()
        (cache_folder / name / "kernel.json").write_text("x" * 9000)
    (cache_folder / "large.bin").write_text("x" * 9000)
    assert eviction.evict(str(cache_folder), 5000) == []
    assert len(eviction.evict(str(cache_folder), 10)) == 1
    assert names(cache_folder) == {"TRITONGROUP", "native", "large.bin"}


def test_unfinished_files_go_when_their_writer_must_be_dead(cache_folder):
    cache_folder.mkdir()
    mine, others, foreign = f"{key(1)}.naiad.7.ab.tmp", f"{key(2)}.naiad.8.cd.tmp", "other.tmp"
    for name, age in ((mine, 2 * HOUR), (others, 10), (foreign, 2 * HOUR)):
        (cache_folder / name).write_text("part")
        os.utime(cache_folder / name, (time.time() - age,) * 2)
    eviction.evict(str(cache_folder), 10**9)
    assert names(cache_folder) == {others, foreign}


def test_a_hit_marks_its_entry_once_an_hour_and_looks_at_nothing(cache_folder, monkeypatch):
    def launch():
        x, out = np.ones(70, "f4"), np.zeros(70, "f4")
        JITFunction(add.fn)[(2,)](x, x, out, 70)

    launch()
    monkeypatch.setattr(eviction, "groups", lambda folder: pytest.fail("a hit looked at the folder"))
    [path] = cache_folder.glob("*.naiad")
    then = time.time() - 2 * HOUR
    os.utime(path, (then, then))
    launch()
    marked = path.stat()
    assert marked.st_mtime == pytest.approx(then, abs=1) and time.time() - marked.st_atime < 60
    monkeypatch.setattr(os, "utime", lambda *args, **keywords: pytest.fail("marked twice"))
    launch()


def test_few_writes_look(cache_folder, monkeypatch):
    looks = []
    monkeypatch.setattr(eviction, "evict", lambda folder, limit: looks.append(limit))
    eviction._written.clear()
    knobs.naiad.cache_size = 10**9
    for i in range(2000):
        eviction.make_room(str(cache_folder), key(i), 1000)
    assert 2000 / eviction.LOOKS / 3 < len(looks) < 2000 / eviction.LOOKS * 3
    looks.clear()
    eviction.make_room(str(cache_folder), "0001" * 16, 10**9 // eviction.SHARE)  # much at once
    assert looks == [10**9]
    knobs.naiad.cache_size = 0
    eviction.make_room(str(cache_folder), "0" * 64, 10**12)
    assert looks == [10**9]


def test_the_limit_is_kept_as_entries_come(cache_folder):
    store = FileStore(str(cache_folder))
    eviction._written.clear()
    for i in range(300):
        knobs.naiad.cache_size = "100kB"
        assert store.save(key(i), Entry({"name": "k"}, {"obj": os.urandom(2000)}))
    size = sum(path.stat().st_size for path in cache_folder.glob("*.naiad"))
    assert 50_000 < size < 110_000
    assert store.load(key(299)) and not store.load(key(0))


CHILD = """
    import hashlib, os, sys
    from naiad.compiler.store import Entry, FileStore
    store = FileStore(os.environ["TRITON_CACHE_DIR"])
    for i in range(150):
        key = hashlib.sha256(f"{i * 7 % 90}".encode()).hexdigest()
        content = key.encode() * 30
        found = store.load(key)
        assert found is None or found.stages["obj"] == content
        if found is None:
            assert store.save(key, Entry({"name": "k"}, {"obj": content}))
"""


def test_processes_that_evict_at_once(cache_folder):
    variables = {**os.environ, "TRITON_CACHE_DIR": str(cache_folder), "NAIAD_CACHE_SIZE": "60KB", "PYTHONPATH": ROOT}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(CHILD)]
    children = [subprocess.Popen(command, env=variables, stderr=subprocess.PIPE) for _ in range(4)]
    for child in children:
        assert child.wait(timeout=60) == 0, child.stderr.read().decode()
    size = sum(path.stat().st_size for path in cache_folder.glob("*.naiad"))
    assert size < 60_000 * (1 + 4 / eviction.SHARE) + 4 * 2500
    assert not list(cache_folder.glob("*.tmp"))


def test_a_folder_that_vanishes_under_a_manager(cache_folder):
    manager = get_cache_manager(key(1))
    for group in list(eviction.groups(str(cache_folder))):
        group.delete()
    assert Path(manager.put(b"data", "file")).read_bytes() == b"data"
    assert [group.kind for group in eviction.groups(str(cache_folder))] == ["files"]


def test_a_manager_of_a_full_disk_costs_a_warning(cache_folder, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    knobs.cache.manager_class = FileCacheManager
    monkeypatch.setattr(os, "replace", full)
    x, out = np.ones(70, "f4"), np.zeros(70, "f4")
    with pytest.warns(RuntimeWarning, match="No space left"):
        JITFunction(add.fn)[(2,)](x, x, out, 70)
    assert (out == 2).all() and not list(cache_folder.rglob("*.tmp"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JITFunction(add.fn)[(2,)](x, x, out, 70)


SIZES = {"0": 0, "123": 123, "10GB": 10**10, "1.5 kB": 1500, "2MiB": 2**21, "3g": 3 * 10**9}


@pytest.mark.parametrize("text, size", SIZES.items())
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "many", "-1", "1XB", "GB"])
def test_what_is_no_size(text, monkeypatch):
    with pytest.raises(ValueError, match="is no size"):
        parse_size(text)
    if text:
        monkeypatch.setenv("NAIAD_CACHE_SIZE", text)
        with pytest.raises(RuntimeError, match="NAIAD_CACHE_SIZE"):
            _ = knobs.naiad.cache_size
