"""The part of the cache's key that stands for naiad: content decides, and asking again is cheap."""

import ast
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from naiad import knobs
from naiad.backends.base import SOURCES
from naiad.backends.cpu.compiler import CPUBackend
from naiad.compiler import version as versions

ROOT = Path(versions.ROOT)
CALLERS = ("runtime", "tools", "compat", "demo", "testing", "aot", "__init__", "__main__")
"""What calls the compiler, and is no part of it."""


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    with knobs.cache.scope():
        knobs.cache.reset()
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
        yield tmp_path / "cache"
    versions.version.cache_clear()


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of naiad's language, whose files look old enough to be remembered."""
    root = tmp_path / "naiad"
    shutil.copytree(ROOT / "language", root / "language", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(versions, "SETTLED_NS", 0)
    return root


def key(root, *sources):
    """As in a new process."""
    versions.version.cache_clear()
    return versions.version(sources or ("language/**",), str(root)).key


def test_an_edit_of_any_file_changes_the_key(copy):
    before = key(copy)
    for file in (copy / "language" / "core.py", copy / "language" / "extra" / "cpu" / "__init__.py"):
        text, facts = file.read_text(), file.stat()
        file.write_text(text + "#")
        assert key(copy) != before
        file.write_text(text)
        assert key(copy) == before
        if text:  # an edit of the same length, with the time set back
            file.write_text("#" + text[1:])
            os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            assert key(copy) != before
            file.write_text(text)


def test_new_and_renamed_files_change_the_key(copy):
    before = key(copy)
    (copy / "language" / "new.py").write_text("")
    second = key(copy)
    os.rename(copy / "language" / "new.py", copy / "language" / "newer.py")
    assert len({before, second, key(copy)}) == 3
    os.remove(copy / "language" / "newer.py")
    assert key(copy) == before


def test_times_and_places_do_not_count(copy, tmp_path):
    before = key(copy)
    other = shutil.copytree(copy, tmp_path / "elsewhere" / "naiad")
    os.utime(other / "language" / "core.py", (1e9, 1e9))
    assert key(other) == before


def test_the_content_is_read_once(copy, cache_folder, monkeypatch):
    before = key(copy)
    read = []
    content = versions._content
    monkeypatch.setattr(versions, "_content", lambda *args: read.append(args) or content(*args))
    assert key(copy) == before and not read
    [memo] = cache_folder.glob("version-*")
    for damaged in ("", memo.read_text().replace("0", "1"), "x y z w", "\xff\xfe"):
        memo.write_bytes(damaged.encode("latin-1"))
        assert key(copy) == before and read
        read.clear()
    assert key(copy) == before and not read


def test_what_changed_just_now_is_not_remembered(copy, cache_folder, monkeypatch):
    monkeypatch.setattr(versions, "SETTLED_NS", 3600 * 10**9)
    key(copy)
    assert not list(cache_folder.glob("version-*"))


def test_a_cache_that_cannot_be_written(copy, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    before = key(copy)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file"))
    assert key(copy) == before


def test_the_libraries_are_in_the_key(copy, tmp_path, monkeypatch):
    before = key(copy)
    for name in versions.LIBRARIES:
        (tmp_path / "site" / name).mkdir(parents=True)
        (tmp_path / "site" / name / "__init__.py").write_text("version = 'another'")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert key(copy) != before


def test_another_release_of_a_library_is_another_key(copy, monkeypatch):
    before = key(copy)
    releases = versions._releases()
    assert any(text.startswith("xdsl 0.") for text in releases) and any("llvmlite 0." in text for text in releases)
    monkeypatch.setattr(versions, "_releases", lambda: [*releases[:-1], "xdsl 9.9"])
    assert key(copy) == before  # remembered: the files of the libraries are as they were
    for memo in Path(knobs.cache.dir).glob("version-*"):
        memo.unlink()
    assert key(copy) != before


def test_targets_have_keys_of_their_own():
    found = {path for path, _ in versions.facts(versions.ROOT, CPUBackend.sources)}
    assert not [path for path in found if path.startswith(("backends/nvidia", "layouts", "passes/ttgir"))]
    assert versions.version_key(CPUBackend.sources) != versions.version_key(SOURCES)


def imported(file: Path) -> set[Path]:
    """The files of naiad that one imports, also within functions and by the text `naiad.x.y:Name`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("naiad."):
            names.add(node.value.partition(":")[0])
    found = set()
    for name in names:
        words = name.split(".")
        if words[0] == "naiad" and len(words) > 1:
            base = ROOT.joinpath(*words[1:])
            found |= {path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()}
    return found


def test_all_that_the_cpu_uses_is_in_its_key():
    """Follows the imports from the front end and the CPU backend. Layouts come in only as types of ttgir's encodings,
    which the CPU has none of; settings have a part of the key to themselves; and `native` runs kernels."""
    free = (
        "backends/nvidia/",
        "layouts/",
        "passes/ttgir/",
        "knobs.py",
        "environment.py",
        "backends/launch/__init__.py",
    )
    known = {path for path, _ in versions.facts(versions.ROOT, CPUBackend.sources)}
    todo = [ROOT / "compiler" / "code_generator.py", ROOT / "backends" / "cpu" / "compiler.py"]
    seen: set[Path] = set()
    while todo:
        file = todo.pop()
        path = file.relative_to(ROOT).as_posix()
        if file in seen or path.split("/")[0].removesuffix(".py") in CALLERS or path.startswith(free):
            continue
        seen.add(file)
        assert path in known, f"the CPU's code depends on {path}: add it to CPUBackend.sources"
        todo += imported(file)
    assert len(seen) > 100


def test_a_library_that_is_missing(monkeypatch):
    monkeypatch.setattr(versions, "LIBRARIES", ("a_library_that_is_missing",))
    assert versions._libraries() == [] and importlib.util.find_spec("llvmlite")
