"""The remote cache: what it shares among machines, and that no fault of it is a fault of a launch."""

import json
import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest

from naiad import environment, knobs
from naiad.runtime import cache_remote
from naiad.runtime.cache import FileCacheManager, RedisRemoteCacheBackend, RemoteCacheManager, get_cache_manager
from tests.runtime.launches import launch
from tests.runtime.redis_server import redis_server

ROOT = str(Path(__file__).parent.parent.parent)
KEY = "ab" * 32


@pytest.fixture(autouse=True)
def forget():
    environment._said.clear()
    cache_remote._rests.clear()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = redis_server(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def remote(server, cache_folder):
    """The server, empty and in use."""
    if server.process.poll() is not None:
        server.start()
    server.client().flushall()
    with knobs.redis.scope():
        knobs.redis.host, knobs.redis.port, knobs.naiad.remote_timeout = "127.0.0.1", server.port, 0.4
        knobs.cache.manager_class, knobs.cache.remote_manager_class = RemoteCacheManager, RedisRemoteCacheBackend
        yield server


def elsewhere(folder):
    """From here on, as on another machine: no local files."""
    knobs.cache.dir = str(folder)


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def test_files_and_groups_come_back_on_another_machine(remote, tmp_path):
    first = get_cache_manager(KEY)
    paths = {"k.json": first.put("{}", "k.json", binary=False), "k.obj": first.put(b"\0\1code", "k.obj")}
    first.put_group("k.json", paths)
    elsewhere(tmp_path / "other")
    second = get_cache_manager(KEY)
    group = second.get_group("k.json")
    assert {name: Path(path).read_bytes() for name, path in group.items()} == {"k.json": b"{}", "k.obj": b"\0\1code"}
    assert all(str(tmp_path / "other") in path for path in group.values())
    assert second.get_file("k.obj") == group["k.obj"] and second.get_file("nothing") is None
    assert second.get_group("nothing") is None and get_cache_manager("cd" * 32).get_group("k.json") is None


def test_the_names_in_redis(remote):
    with knobs.redis.scope():
        knobs.redis.key_format = "mine/{key}/{filename}"
        manager = get_cache_manager(KEY)
        manager.put(b"data", "file")
        assert remote.client().keys() == [f"mine/{manager.key}/file".encode()]


def test_a_kernel_is_compiled_once_for_all_machines(remote, tmp_path, hits):
    first = launch()
    elsewhere(tmp_path / "other")
    second = quietly(launch)
    assert hits == [False, True]
    assert first.asm["obj"] == second.asm["obj"] and first.asm["llir"] == second.asm["llir"]


def test_the_remote_one_gone(remote, tmp_path, hits):
    launch()
    remote.stop()
    with pytest.warns(RuntimeWarning, match="the local one serves") as said:
        launch()
    assert len(said) == 1
    quietly(launch)
    elsewhere(tmp_path / "other")
    quietly(launch)
    quietly(launch)
    assert hits == [False, True, True, False, True]


def test_the_remote_one_comes_back(remote, tmp_path, hits, monkeypatch):
    monkeypatch.setattr(cache_remote, "REST", 0.0)
    remote.stop()
    with pytest.warns(RuntimeWarning, match="the local one serves"):
        launch()
    remote.start()
    launch()  # a miss there: made again, for all
    elsewhere(tmp_path / "other")
    launch()
    assert hits == [False, False, True]


def test_the_remote_one_slow(remote, hits):
    launch()
    remote.client().execute_command("CLIENT", "PAUSE", "5000")
    start = time.monotonic()
    with pytest.warns(RuntimeWarning, match=r"[Tt]ime"):
        launch()
    quietly(launch)
    assert time.monotonic() - start < 2.5  # one question of 0.4 s, and none after it
    assert hits == [False, True, True]


def damage(client, how):
    for name in client.keys("*"):
        data = client.get(name)
        client.set(name, {"cut": data[: len(data) // 2], "empty": b"", "foreign": b"\xff" * 500, "text": b"null"}[how])


@pytest.mark.parametrize("how", ["cut", "empty", "foreign", "text"])
def test_rubbish_in_the_remote_one(remote, tmp_path, hits, how):
    launch()
    damage(remote.client(), how)
    with pytest.warns(RuntimeWarning, match="not what was put there"):
        launch()
    elsewhere(tmp_path / "other")
    quietly(launch)  # the local files have repaired it
    damage(remote.client(), how)
    elsewhere(tmp_path / "third")
    environment._said.clear()
    with pytest.warns(RuntimeWarning, match="not what was put there"):
        launch()  # no local files: compiled, and repaired
    elsewhere(tmp_path / "fourth")
    quietly(launch)
    assert hits == [False, True, True, False, True]


class Store:
    """A backend of the user's, in memory."""

    data: dict[str, bytes] = {}
    answer = None

    def __init__(self, key):
        self.key = key

    def get(self, names):
        if isinstance(self.answer, Exception):
            raise self.answer
        found = {name: self.data[f"{self.key}/{name}"] for name in names if f"{self.key}/{name}" in self.data}
        return self.answer(found) if self.answer else found

    def put(self, name, data):
        self.data[f"{self.key}/{name}"] = data


@pytest.fixture
def store(cache_folder):
    knobs.cache.manager_class, knobs.cache.remote_manager_class = RemoteCacheManager, Store
    Store.data, Store.answer = {}, None
    yield Store
    Store.answer = None


def test_a_backend_that_cannot_be_made(store, hits, monkeypatch):
    """It is left alone for a while, as one that answers no more."""
    made = []

    def refuse(self, key):
        made.append(key)
        raise ConnectionError("nobody is there")

    monkeypatch.setattr(store, "__init__", refuse)
    with pytest.warns(RuntimeWarning, match=r"remote cache \(Store\) fails: nobody is there; the local one serves"):
        launch()
    quietly(launch)
    assert hits == [False, True] and len(made) == 1


def changed(found):
    return {name: data[:-1] + bytes([data[-1] ^ 1]) for name, data in found.items()}


ANSWERS = [KeyError("bug"), lambda found: None, lambda found: {name: "text" for name in found}, changed]


@pytest.mark.parametrize("answer", ANSWERS, ids=["raises", "none", "text", "changed"])
def test_a_backend_that_misbehaves(store, hits, answer):
    launch()
    store.answer = staticmethod(answer) if callable(answer) else answer
    with pytest.warns(RuntimeWarning, match="the local one serves"):
        launch()
    assert hits == [False, True]


def test_a_group_without_one_of_its_files_is_none(store):
    manager = RemoteCacheManager("key")
    paths = {name: manager.put(name, name) for name in ("a.json", "a.obj")}
    manager.put_group("a.json", paths)
    assert set(manager.get_group("a.json")) == {"a.json", "a.obj"}
    del Store.data["key/a.obj"]
    assert manager.get_group("a.json") is None


def test_dumps_and_overrides_stay_here(store, tmp_path):
    knobs.cache.dump_dir = str(tmp_path / "dump")
    manager = RemoteCacheManager("key", dump=True)
    manager.put("x", "a.ttir", binary=False)
    assert (tmp_path / "dump" / "key" / "a.ttir").read_text() == "x" and not Store.data
    assert manager.get_file("a.ttir") and manager.get_file("b") is None


def test_what_is_missing_is_said(cache_folder, monkeypatch):
    with pytest.raises(RuntimeError, match="TRITON_REMOTE_CACHE_BACKEND"):
        RemoteCacheManager("key")
    monkeypatch.setitem(sys.modules, "redis", None)
    cache_remote._client.cache_clear()
    with pytest.raises(RuntimeError, match=r"pip install 'naiad\[redis\]'"):
        RedisRemoteCacheBackend("key")


@pytest.mark.parametrize("how", ["flip", "cut", "empty", "gone"])
def test_a_damaged_local_group_is_made_again(cache_folder, hits, how):
    knobs.cache.manager_class = FileCacheManager
    launch()
    for suffix in ("obj", "json", "llir"):
        [path] = [path for path in cache_folder.glob(f"*/add.{suffix}")]
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes({"flip": bytes(data), "cut": bytes(data[:50]), "empty": b"", "gone": b""}[how])
        if how == "gone":
            path.unlink()
        launch()
        launch()
    [record] = cache_folder.glob("*/__grp__add.json")
    record.write_text(json.dumps({"child_paths": 3}))
    launch()
    assert hits == [False, False, True, False, True, False, True, False]


def test_a_local_disk_that_is_full_costs_a_warning(store, hits, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    launch()
    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        launch()
    assert hits == [False, False]


def test_a_group_may_be_moved(cache_folder, tmp_path, hits):
    knobs.cache.manager_class = FileCacheManager
    launch()
    cache_folder.rename(tmp_path / "moved")
    elsewhere(tmp_path / "moved")
    launch()
    assert hits == [False, True]


CHILD = """
    import numpy as np
    from naiad import knobs
    from tests.runtime.kernels import add
    knobs.compilation.listener = lambda **facts: print(facts["cache_hit"])
    x, out = np.ones(70, "f4"), np.zeros(70, "f4")
    add[(2,)](x, x, out, 70)
    assert (out == 2).all()
"""


def test_by_the_variables_of_triton(server, tmp_path):
    if server.process.poll() is not None:
        server.start()
    found = []
    for folder in ("one", "two"):
        variables = {"TRITON_CACHE_DIR": str(tmp_path / folder), "PYTHONPATH": ROOT,
                     "TRITON_CACHE_MANAGER": "triton.runtime.cache:RemoteCacheManager",
                     "TRITON_REMOTE_CACHE_BACKEND": "triton.runtime.cache:RedisRemoteCacheBackend",
                     "TRITON_REDIS_HOST": "127.0.0.1", "TRITON_REDIS_PORT": str(server.port),
                     "TRITON_REDIS_KEY_FORMAT": "t:{key}:{filename}"}  # fmt: skip
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(CHILD)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.strip())
    assert found == ["False", "True"]
    assert all(name.startswith(b"t:") for name in server.client().keys("t:*"))
