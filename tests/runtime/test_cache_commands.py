"""The commands `naiad cache` and `naiad env`."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import environment, knobs
from naiad.runtime.cache import FileCacheManager, get_cache_manager
from naiad.runtime.jit import JITFunction
from naiad.tools import cli
from tests.runtime.kernels import add, write_scalar

ROOT = Path(__file__).parent.parent.parent
CONSTANT = tl.constexpr(3)


@naiad.jit
def twice(x):
    return x * 2


@naiad.jit
def caller(out, n, BLOCK: tl.constexpr = 8):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, twice(i) + CONSTANT, mask=i < n)


def compiled(kernel, *args, **keywords):
    """As a new process would: nothing is remembered of earlier compilations."""
    if hasattr(kernel, "device_caches"):
        kernel.device_caches.clear()
    return kernel.warmup(*args, grid=(1,), **keywords)


@pytest.fixture
def run(capsys):
    """Runs a command; gives what it printed, and checks its status."""

    def run(*words, status=0):
        assert cli.main(["cache", *map(str, words)]) == status
        return capsys.readouterr().out

    return run


def test_info_says_where_and_how_much(run, cache_folder):
    assert "entries: 0" in run()
    compiled(write_scalar, np.zeros(1, "i4"), 5)
    knobs.naiad.cache_size = "2GB"
    (cache_folder / "somebody's").mkdir()
    get_cache_manager("ab" * 32).put(b"x" * 1000, "file")
    text = run("info")
    size = next(cache_folder.glob("*.naiad")).stat().st_size
    assert str(cache_folder) in text and "limit    2.0 GB" in text and f"entries: 1, {size / 1000:.1f} kB" in text
    assert "folders of cache managers: 1, 1.0 kB" in text and "2 in the last hour" in text


def test_ls_lists_kernels(run, cache_folder):
    f4 = np.zeros(64, "f4")
    compiled(add, f4, f4, f4, 70, num_warps=8)
    compiled(write_scalar, np.zeros(1, "i4"), 5)
    (cache_folder / ("0" * 64 + ".naiad")).write_text("damaged")
    lines = run("ls").splitlines()
    assert len(lines) == 3 and "cpu:" in lines[0] and "damaged" in lines[2]
    assert "add(x: *fp32, y: *fp32, out: *fp32, n: i32, BLOCK=64)  num_warps=8" in lines[0]
    assert run("ls", "write_scalar").count("\n") == 1
    assert "no kernel called nothing" in run("ls", "nothing", status=1)


def test_ls_reads_the_folders_of_managers(run, cache_folder):
    knobs.cache.manager_class = FileCacheManager
    compiled(write_scalar, np.zeros(1, "i4"), 5)
    get_cache_manager("cd" * 32).put(b"something else", "file")
    [line] = run("ls").splitlines()
    assert "write_scalar(out: *i32, value: i32)" in line
    [metadata] = cache_folder.glob("*/write_scalar.json")
    metadata.write_text("{")
    assert "damaged" in run("ls")


def why(run, name):
    """The text about the last entry."""
    return run("why", name).split("\n\n")[-1]


def test_why_names_the_part_of_the_key(run, monkeypatch):
    i4 = np.zeros(8, "i4")
    compiled(caller, i4, 7)
    assert "the first that is here" in why(run, "caller")
    compiled(caller, np.zeros(8, "f4"), 7)
    assert "types of the arguments (signature):\n        out: '*i32' -> '*fp32'" in why(run, "caller")
    compiled(caller, i4, 7, BLOCK=16)
    assert "constants (constants):\n        BLOCK: 8 -> 16" in why(run, "caller")
    compiled(caller, i4, 7, num_warps=8)
    assert "options of the launch (options):\n        num_warps: 4 -> 8" in why(run, "caller")
    compiled(caller, i4, 16)
    assert "divisibility" in why(run, "caller")
    monkeypatch.setenv("TRITON_F32_DEFAULT", "ieee")
    compiled(caller, i4, 7)
    assert "TRITON_F32_DEFAULT: nothing -> ieee" in why(run, "caller")
    assert "no kernel called nothing" in run("why", "nothing", status=1)


def test_why_shows_edits_and_dependencies(run, monkeypatch):
    i4 = np.zeros(8, "i4")
    compiled(JITFunction(caller.fn), i4, 7)
    edited = JITFunction(caller.fn)
    edited._unsafe_update_src(edited.src.replace("i < n", "i <= n"))
    compiled(edited, i4, 7)
    text = why(run, "caller")
    assert "-    tl.store(out + i, twice(i) + CONSTANT, mask=i < n)" in text
    assert "+    tl.store(out + i, twice(i) + CONSTANT, mask=i <= n)" in text and "dependencies" not in text
    monkeypatch.setitem(globals(), "twice", JITFunction(twice.fn))
    twice._unsafe_update_src(twice.src.replace("2", "3"))
    compiled(JITFunction(caller.fn), i4, 7)
    text = why(run, "caller")
    assert "functions that it calls (dependencies):\n        twice: " in text
    monkeypatch.setitem(globals(), "CONSTANT", tl.constexpr(4))
    compiled(JITFunction(caller.fn), i4, 7)
    assert "globals that it reads (globals):\n        CONSTANT: 3 -> 4" in why(run, "caller")


def test_why_names_naiad_and_the_tools(run, monkeypatch):
    from naiad.compiler import keys
    from naiad.compiler.version import Version

    compiled(write_scalar, np.zeros(1, "i4"), 5)
    monkeypatch.setattr(keys, "version", lambda sources: Version("e" * 64, "f" * 64))
    compiled(write_scalar, np.zeros(1, "i4"), 5)
    text = why(run, "write_scalar")
    assert "naiad itself (naiad)" in text and "eeeeeeeeeeee\n" in text and "LLVM" in text and "ffffffffffff" in text


def test_clear_deletes_what_is_naiads(run, cache_folder):
    compiled(write_scalar, np.zeros(1, "i4"), 5)
    get_cache_manager("ab" * 32).put(b"x", "file")
    (cache_folder / ("0" * 64 + ".naiad")).write_text("damaged")
    (cache_folder / "TRITONS").mkdir()
    (cache_folder / "TRITONS" / "kernel.json").write_text("{}")
    (cache_folder / "notes.txt").write_text("mine")
    entries = len(list(cache_folder.glob("native/*.o")))
    assert f"{3 + entries} entries deleted" in run("clear")
    kept = {path.name for path in cache_folder.rglob("*") if path.is_file()}
    assert kept == {"kernel.json", "notes.txt"}


def test_prune_by_age_and_size(run, cache_folder):
    for value in (5, 1.5, np.float64(2)):
        compiled(write_scalar, np.zeros(1, "f8" if isinstance(value, np.float64) else "f4"), value)
    for i, path in enumerate(paths := sorted(cache_folder.glob("*.naiad"))):
        then = time.time() - (3 - i) * 3600
        os.utime(path, (then, then))
    assert "1 entry deleted" in run("prune", "--age", "150m") and not paths[0].exists()
    size = paths[2].stat().st_size
    assert "1 entry deleted" in run("prune", "--size", size + 10) and paths[2].exists() and not paths[1].exists()
    assert "0 entries deleted" in run("prune", "--size", "1GB") and "0 entries" in run("prune")
    for wrong in (["--size", "big"], ["--age", "soon"]):
        with pytest.raises(SystemExit):
            run("prune", *wrong)


def test_what_cannot_be_done_is_said_in_a_line(capsys, cache_folder, tmp_path, monkeypatch):
    assert cli.main(["cache", "export", str(tmp_path / "all.tgz")]) == 1
    assert capsys.readouterr().out == f"no kernel is in {cache_folder}\n" and not (tmp_path / "all.tgz").exists()
    compiled(write_scalar, np.zeros(1, "f4"), 3)
    assert cli.main(["cache", "export", str(tmp_path / "absent" / "all.tgz")]) == 1
    assert "naiad cache: [Errno 2] No such file" in capsys.readouterr().err
    monkeypatch.setenv("NAIAD_CACHE_SIZE", "10 apples")
    assert cli.main(["cache", "prune"]) == 1
    assert "naiad cache: Unable to use NAIAD_CACHE_SIZE: '10 apples' is no size" in capsys.readouterr().err


def test_export_and_import(run, cache_folder, tmp_path, hits):
    i4 = np.zeros(8, "i4")
    compiled(caller, i4, 7)
    compiled(write_scalar, np.zeros(1, "i4"), 5)
    archive = tmp_path / "kernels.tar.gz"
    assert "2 entries written" in run("export", archive)
    before = archive.read_bytes()
    run("export", archive)
    assert archive.read_bytes()[10:] == before[10:]  # but for the time in gzip's header
    knobs.cache.dir = str(tmp_path / "other")
    assert "2 entries imported" in run("import", archive) and "2 were there already" in run("import", archive)
    compiled(caller, i4, 7)
    assert hits == [False, False, True]
    assert "1 entry written" in run("export", archive, "caller")
    assert "no kernel called nothing" in run("export", archive, "nothing", status=1)


def test_import_takes_in_nothing_that_is_damaged(run, cache_folder, tmp_path):
    import gzip

    compiled(write_scalar, np.zeros(1, "i4"), 5)
    archive = tmp_path / "kernels.tar.gz"
    run("export", archive)
    data = bytearray(gzip.decompress(archive.read_bytes()))
    data[2048] ^= 1
    archive.write_bytes(gzip.compress(bytes(data)))
    knobs.cache.dir = str(tmp_path / "other")
    text = run("import", archive, status=1)
    assert "0 entries imported" in text and "1 entry left out" in text
    for wrong in (b"", b"nothing", gzip.compress(bytes(data))[:60]):
        archive.write_bytes(wrong)
        assert "no archive" in run("import", archive, status=1)
    assert "no archive" in run("import", tmp_path / "nowhere", status=1)
    assert not list((tmp_path / "other").glob("*"))


@pytest.mark.filterwarnings("ignore:naiad. compiled kernels are not kept")
def test_import_into_a_folder_that_cannot_be(run, cache_folder, tmp_path):
    compiled(write_scalar, np.zeros(1, "i4"), 5)
    archive = tmp_path / "kernels.tar.gz"
    run("export", archive)
    (tmp_path / "file").write_text("no folder")
    knobs.cache.dir = str(tmp_path / "file" / "cache")
    text = run("import", archive, status=1)
    assert "1 entry could not be written" in text and "no archive" not in text


def test_import_says_what_is_for_other_machines(run, cache_folder, tmp_path, monkeypatch):
    from naiad.compiler import keys
    from naiad.compiler.version import Version

    monkeypatch.setattr(keys, "version", lambda sources: Version("e" * 64, "f" * 64))
    compiled(write_scalar, np.zeros(1, "i4"), 5)
    run("export", tmp_path / "kernels.tar.gz")
    knobs.cache.dir = str(tmp_path / "other")
    assert "1 entry of them can serve only" in run("import", tmp_path / "kernels.tar.gz")


def test_env_lists_every_variable(capsys, monkeypatch):
    monkeypatch.setenv("NAIAD_NUM_THREADS", "3")
    monkeypatch.setenv("TRITON_REDIS_PORT", "many")
    assert cli.main(["env"]) == 0
    text = capsys.readouterr().out
    keys = [knob.key for group in knobs.groups().values() for knob in group.knob_descriptors.values()]
    assert all(f" {key} (" in text for key in keys)
    assert "* NAIAD_NUM_THREADS (int) = 3 (default 0)" in text and "expected int" in text
    assert cli.main(["env", "--json"]) == 0
    rows = {row["variable"]: row for row in json.loads(capsys.readouterr().out)}
    assert sorted(rows) == sorted(keys)
    threads = rows["NAIAD_NUM_THREADS"]
    assert (threads["value"], threads["default"], threads["knob"]) == (3, 0, "naiad.num_threads")
    assert "expected int" in rows["TRITON_REDIS_PORT"]["error"] and rows["TRITON_REDIS_PORT"]["value"] is None
    environment._said.clear()


KERNEL = """
import numpy as np
import naiad
import naiad.language as tl
from naiad import knobs

@naiad.jit
def triple(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.arange(0, BLOCK) * 3)

knobs.compilation.listener = lambda **facts: print(facts["cache_hit"])
out = np.zeros(8, "i4")
triple[(1,)](out, BLOCK=8)
assert (out == np.arange(8) * 3).all()
"""


def test_an_archive_serves_another_installation_elsewhere(tmp_path):
    """The same naiad and kernel in other folders, with other times: as on another machine."""
    archive = str(tmp_path / "kernels.tar.gz")

    def python(place, *arguments):
        root = tmp_path / place
        if not root.exists():
            shutil.copytree(ROOT / "naiad", root / "naiad", copy_function=shutil.copy)
            (root / "script.py").write_text(KERNEL)
        variables = {**os.environ, "PYTHONPATH": str(root), "TRITON_CACHE_DIR": str(root / "cache")}
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=root, env=variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert python("one", "script.py") == "False\n"
    assert "1 entry written" in python("one", "-m", "naiad", "cache", "export", archive)
    assert "1 entry imported" in python("two", "-m", "naiad", "cache", "import", archive)
    assert python("two", "script.py") == "True\n"


def test_a_reader_that_stops_early_is_no_error():
    code = "from naiad.tools import cli; raise SystemExit(cli.main(['env']))"
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    writer.stdout.readline()
    writer.stdout.close()
    said = writer.stderr.read().decode()
    assert writer.wait() == 1 and said == ""
