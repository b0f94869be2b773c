"""Run by Python as it starts, where this folder is on PYTHONPATH: installs the drop-in if NAIAD_AS_TRITON is on.

It stands in front of a sitecustomize that the environment has, which runs after it.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

HERE = os.path.dirname(os.path.abspath(__file__))


def install_drop_in() -> None:
    """Makes `triton` mean naiad. Nothing happens in a Python that is too old for naiad: it is some tool's."""
    on = os.environ.get("NAIAD_AS_TRITON", "").lower() in ("1", "true", "on", "yes", "y")
    if not on or sys.version_info < (3, 11):
        return
    if PathFinder.find_spec("naiad") is None:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))
    from naiad import compat

    compat.install()


def run_the_next() -> None:
    """Runs the sitecustomize that would have been found without this one."""
    others = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


install_drop_in()
run_the_next()
