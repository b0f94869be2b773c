"""The commands: naiad compile and link, the modules, the drop-in's names, what they write and say."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from naiad.aot.library import compiler
from naiad.tools import cli

from .build import pointer

KERNEL = """
import triton
import triton.language as tl
from scale import scaled

@triton.jit
def twice(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, scaled(tl.load(x + offsets, mask=offsets < n)), mask=offsets < n)
"""
SCALE = """
import triton

@triton.jit
def scaled(x):
    return x * 2
"""
SIGNATURE = "*fp32{0}, i32{0}, 64"
GRID = "(n + 63) / 64, 1, 1"
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the kernel's file is; the current folder is another one."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "kernel.py").write_text(KERNEL)
    (tmp_path / "src" / "scale.py").write_text(SCALE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same for commands that run in this process, which may know another triton."""
    for file in (folder / "src").iterdir():
        file.write_text(file.read_text().replace("import triton\n", "import naiad as triton\n"))
    source = (folder / "src" / "kernel.py").read_text().replace("triton.language", "naiad.language")
    (folder / "src" / "kernel.py").write_text(source)
    monkeypatch.setattr("naiad.compat.install", lambda: None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield folder
    for name in ("kernel", "scale"):
        sys.modules.pop(name, None)


def python(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment)


def compile_arguments(hint: str, *more: str) -> list[str]:
    return ["src/kernel.py", "-n", "twice", "-s", SIGNATURE.format(hint), "-g", GRID, "-t", "cpu", *more]


def check(library: Path, function: str) -> None:
    x = np.random.default_rng(0).standard_normal(1001, dtype=np.float32)
    expected = 2 * x
    assert ctypes.CDLL(str(library.resolve()))[function](0, pointer(x), x.size) == 0
    np.testing.assert_array_equal(x, expected)


def test_from_the_shell(folder: Path) -> None:
    """As a script where Triton's tools lie, as modules of the drop-in, and as commands."""
    compiler()
    script = "import naiad.compat; naiad.compat.install(); import triton.tools; print(triton.tools.__path__[0])"
    tools = Path(python("-c", script).stdout.strip())
    ways: list[tuple[list[str | Path], str]] = [
        ([tools / "compile.py"], ""),
        (["-m", "naiad", "run", "-m", "triton.tools.compile"], ":16"),
    ]
    for way, hint in ways:
        done = python(*way, *compile_arguments(hint, "--shared", "-o", "twice"))
        assert done.returncode == 0, done.stderr
    headers = sorted(folder.glob("twice.*.h"))
    assert len(headers) == 2
    done = python("-m", "naiad.tools.link", *headers, "-o", "all", "--shared")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["all.h", "all.c", "all.so"]
    check(folder / "all.so", "twice_default")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-w", "3"], "num_warps must be a power of 2, got 3"),
        (["--num-stages", "-1"], "num_stages must not be negative, got -1"),
        (["-t", "cuda:7"], "compute capability 0.7 is not supported: 8.0 is the lowest"),
    ],
)
def test_options_that_cannot_be(here: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str) -> None:
    assert cli.main(["compile", *compile_arguments(":16", *more)]) == 1
    assert capsys.readouterr().err == f"naiad compile: {said}\n"


def test_the_names_of_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiler()
    arguments = compile_arguments(":16", "--shared", "-on", "both", "--cpu", "generic", "-w", "2")
    assert cli.main(["compile", *arguments]) == 0
    header, source, code, shared = map(Path, capsys.readouterr().out.split())
    assert [file.suffix for file in (header, source, code, shared)] == [".h", ".c", ".o", ".so"]
    tag = header.name.removeprefix("both.").removesuffix(".h")
    assert source.name == f"both.{tag}.c" and code.name == f"both.{tag}.kernel.o"
    check(shared, f"both_{tag}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["src/none.py", "-n", "twice", "-s", "", "-g", "1"], "there is no file src/none.py"),
        (["src/kernel.py", "-n", "k", "-s", "", "-g", "1"], "has no kernel 'k'\nfound:    scaled, twice"),
        (
            ["src/kernel.py", "-n", "twice", "-s", "*i32, i32, 64", "-g", "1", "-o", "none/x", "-t", "cpu"],
            "No such file",
        ),
        (["src/kernel.py", "-n", "twice", "-s", "*fp32", "-g", "1"], "no type for parameter 1 (n) of twice"),
        (["src/kernel.py", "-n", "twice", "-s", "*i32, i32, 63", "-g", "n"], "63"),
        (["src/kernel.py", "-n", "twice", "-s", "*i32, i32, 64", "-g", "q"], "the grid names 'q'"),
        (
            ["src/kernel.py", "-n", "twice", "-s", "", "-g", "1", "-t", "cuda:90", "--cpu", "generic"],
            "--cpu generic does",
        ),
        (["src/kernel.py", "-n", "twice", "-s", "", "-g", "1", "-t", "cuda:90", "--shared"], "for the CPU only"),
    ],
)
def test_mistakes(arguments: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", *arguments]) == 1
    said = capsys.readouterr().err
    assert said.startswith("naiad compile: ") and message in said


def test_no_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from naiad.aot import AotError

    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(AotError, match=r"(?s)there is no C compiler.*cc, gcc or clang in PATH"):
        compiler()
    monkeypatch.setenv("CC", "nowhere-cc")
    with pytest.raises(AotError, match="found:    CC=nowhere-cc"):
        compiler()


def test_link_says_what_is_wrong(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "x.h").write_text("int x;\n")
    assert cli.main(["link", "x.h", "-o", "all"]) == 1
    assert capsys.readouterr().err.startswith("naiad link: no header has a kernel")
    assert cli.main(["link", "y.h", "-o", "all"]) == 1
    assert "y.h" in capsys.readouterr().err
