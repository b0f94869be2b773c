"""`naiad run`: a script, a module or a folder runs as the main program, as `python` would run it, under the drop-in."""

import builtins
import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType


def missing(name: str, is_module: bool) -> str:
    """Why there is nothing to run under this name; empty where there is."""
    if is_module:
        sys.path.insert(0, os.getcwd())
        try:
            found = importlib.util.find_spec(name)
        except (ImportError, ValueError):  # a package on the way to it is not there
            found = None
        finally:
            del sys.path[0]
        return "" if found else f"there is no module {name}"
    if not os.path.exists(name):
        return f"there is no file {name}; for a module say `naiad run -m {name}`"
    if os.path.isdir(name) and not os.path.exists(os.path.join(name, "__main__.py")):
        return f"the folder {name} has no __main__.py"
    return ""


def run_script(path: str, arguments: Sequence[str]) -> None:
    """As `python PATH ARGUMENTS`; `path` may be a folder or zip with a __main__.py. OSError if it cannot be read."""
    sys.argv = [path, *arguments]
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    with io.open_code(path) as file:
        code = compile(file.read(), os.path.abspath(path), "exec")
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    main = _main_module(os.path.abspath(path))
    sys.modules["__main__"] = main  # and it stays: threads and pickles of its functions outlive its last line
    exec(code, vars(main))


def run_module(name: str, arguments: Sequence[str]) -> None:
    """As `python -m NAME ARGUMENTS`."""
    sys.argv = [name, *arguments]
    sys.path.insert(0, os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _main_module(path: str) -> ModuleType:
    """A fresh `__main__` with what Python puts into one; multiprocessing finds the script by its __file__."""
    main = ModuleType("__main__")
    facts = {
        "__file__": path,
        "__builtins__": builtins,
        "__loader__": importlib.machinery.SourceFileLoader("__main__", path),
        "__cached__": None,
    }
    vars(main).update(facts)
    return main
