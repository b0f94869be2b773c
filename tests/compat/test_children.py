"""`naiad run` runs a program as Python does, `--naiad-as-triton` reaches conftest files and workers, and the processes
that either starts have the drop-in."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import naiad.compat
from naiad.compat import children

ROOT = str(Path(__file__).parent.parent.parent)
RUN = ["-m", "naiad", "run"]
PYTEST = ["-m", "pytest", "-p", "no:cacheprovider", "-q", "-p", "naiad.compat.pytest_plugin"]
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def python(arguments, folder, expect=0, **environment):
    """Runs Python in a folder; gives what it printed."""
    env = {**os.environ, "PYTHONPATH": ROOT, **environment}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=folder, timeout=120)
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout.strip()


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


SPAWN = """
    import multiprocessing, pickle, subprocess, sys
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(out):
        tl.store(out, 1)

    def child(number):
        return triton.knobs.__name__, __name__, kernel.fn.__name__, number + 1

    if __name__ == "__main__":
        assert pickle.loads(pickle.dumps(child)) is child
        for method in ("spawn", "forkserver"):
            with multiprocessing.get_context(method).Pool(1) as pool:
                print(method, *pool.map(child, [1]))
        code = "import triton, importlib.metadata as m; print(triton.knobs.__name__, m.version('triton'))"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
"""


def test_processes_below_a_run_have_the_drop_in(tmp_path):
    write(tmp_path, script=SPAWN)
    lines = python([*RUN, "script.py"], tmp_path, NAIAD_TRITON_VERSION="3.7.1").splitlines()
    assert lines[0] == "spawn ('naiad.knobs', '__mp_main__', 'kernel', 2)"
    assert lines[1] == "forkserver ('naiad.knobs', '__mp_main__', 'kernel', 2)"
    assert lines[2] == "naiad.knobs 3.7.1"


MAIN = """
    import os, sys
    main = sys.modules["__main__"]
    print(main is not None and vars(main) is globals(), __name__, __file__, __spec__ and __spec__.name, sys.argv)
    print(os.path.samefile(sys.path[0], os.path.dirname(os.path.abspath(__file__))))
"""


@pytest.mark.parametrize(
    "arguments", [["script.py", "-x", "y"], ["sub/script.py"], ["-m", "script", "-m"], ["-m", "sub"], ["sub"]]
)
def test_a_run_is_what_python_does(tmp_path, arguments):
    (tmp_path / "sub").mkdir()
    write(tmp_path, script=MAIN)
    write(tmp_path / "sub", script=MAIN, __main__=MAIN, __init__="")
    ours, theirs = python([*RUN, *arguments], tmp_path), python(arguments, tmp_path)
    assert ours == theirs


def test_a_run_ends_as_python_does(tmp_path):
    late = """
        import atexit, sys
        atexit.register(lambda: print("last", sys.modules["__main__"].word))
        word = "word"
        raise SystemExit(3)
    """
    write(tmp_path, late=late, broken="1 / 0", syntax="x = =")
    assert python([*RUN, "late.py"], tmp_path, expect=3) == "last word"
    for name in ("broken", "syntax"):
        python([*RUN, f"{name}.py"], tmp_path, expect=1)
    python([*RUN, "nothing.py"], tmp_path, expect=2)


def test_the_environment_after_uninstall(monkeypatch, tmp_path):
    before = str(tmp_path)
    monkeypatch.setenv("PYTHONPATH", before)
    monkeypatch.setenv("NAIAD_AS_TRITON", "0")
    children.inherit()
    children.inherit()
    assert os.environ["PYTHONPATH"] == os.pathsep.join([children.HERE, before])
    assert naiad.knobs.naiad.as_triton
    children.disinherit()
    assert os.environ["PYTHONPATH"] == before and not naiad.knobs.naiad.as_triton
    monkeypatch.delenv("PYTHONPATH")
    children.inherit()
    children.disinherit()
    assert "PYTHONPATH" not in os.environ


def test_who_opens_the_door_is_gone(tmp_path):
    """What other finders say does not matter, wherever they stand."""
    code = """
        import importlib.util, sys

        class Other:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name.startswith("triton."):
                    raise AssertionError(f"asked for {name} in the place of the drop-in")

        import triton
        sys.meta_path.insert(1, Other)
        print([type(finder).__name__ for finder in sys.meta_path[:2]], importlib.util.find_spec("triton.language").name)
        print([finder for finder in sys.meta_path if getattr(finder, "is_naiads_door", False)])
    """
    said = python(["-c", textwrap.dedent(code)], tmp_path, NAIAD_AS_TRITON="1", PYTHONPATH=f"{children.HERE}:{ROOT}")
    assert said.splitlines() == ["['DropInFinder', 'type'] triton.language", "[]"]


def test_a_sitecustomize_of_the_environment_still_runs(tmp_path):
    write(tmp_path, sitecustomize="mark = 7")
    code = """if True:
        import importlib.metadata, importlib.util, sys
        import sitecustomize
        print(sitecustomize.mark, "naiad" in sys.modules, list(importlib.metadata.distributions()) != [])
        print(importlib.util.find_spec("triton.profiler"), importlib.util.find_spec("numpy") is not None)
        print(importlib.metadata.version("triton"), importlib.util.find_spec("triton").loader.__module__)
        from naiad import compat
        import triton
        print(triton.knobs.__name__, compat.is_installed())
        compat.uninstall()
        print(compat.is_installed())
    """
    paths = os.pathsep.join([children.HERE, str(tmp_path)])
    lines = python(["-c", code], tmp_path, PYTHONPATH=paths, NAIAD_AS_TRITON="1").splitlines()
    assert lines == ["7 False True", "None True", "3.6.0 naiad.compat.finder", "naiad.knobs True", "False"]
    off = "import sys, sitecustomize; print(sitecustomize.mark, type(sys.meta_path[0]).__name__ == 'Door')"
    assert python(["-c", off], tmp_path, PYTHONPATH=paths, NAIAD_AS_TRITON="0") == "7 False"


CONFTEST = """
    import triton

    WORD = triton.knobs.__name__
"""
TEST = """
    import subprocess, sys
    import conftest
    import triton

    def test_drop_in():
        assert conftest.WORD == triton.knobs.__name__ == "naiad.knobs"

    def test_children():
        code = "import triton; assert triton.knobs.__name__ == 'naiad.knobs'"
        subprocess.run([sys.executable, "-c", code], check=True)
"""
DISTRIBUTED = pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed")


@pytest.mark.parametrize("workers", [[], pytest.param(["-p", "xdist.plugin", "-n", "1"], marks=DISTRIBUTED)])
def test_the_option_of_pytest(tmp_path, workers):
    write(tmp_path, conftest=CONFTEST, test_it=TEST)
    printed = python([*PYTEST, "--naiad-as-triton", *workers, "test_it.py"], tmp_path, **ALONE)
    assert "2 passed" in printed


def test_without_the_option_nothing_is_installed(tmp_path):
    body = "def test():\n    from naiad import compat\n    assert not compat.is_installed()\n"
    write(tmp_path, test_it=body)
    assert "1 passed" in python([*PYTEST, "test_it.py"], tmp_path, **ALONE)


def test_another_triton_that_is_there_already(tmp_path):
    (tmp_path / "triton").mkdir()
    write(tmp_path / "triton", __init__="")
    write(tmp_path, early="import triton", test_it="def test(): pass")
    env = {**os.environ, **ALONE, "PYTHONPATH": os.pathsep.join([ROOT, str(tmp_path)])}
    done = subprocess.run(
        [sys.executable, *PYTEST, "-p", "early", "--naiad-as-triton"],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "triton was imported already, from" in done.stderr and "early imports it" in done.stderr
