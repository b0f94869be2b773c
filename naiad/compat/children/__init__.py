"""A folder for PYTHONPATH: the `sitecustomize` in it makes `triton` mean naiad in every Python below this process."""

import os
import sys
from pathlib import Path

HERE = str(Path(__file__).resolve().parent)
SWITCH = "NAIAD_AS_TRITON"


def inherit() -> None:
    """From now on, Python processes that this one starts (multiprocessing's, subprocesses) get the drop-in."""
    os.environ[SWITCH] = "1"
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", HERE)]
    os.environ["PYTHONPATH"] = os.pathsep.join([HERE, *paths])


def disinherit() -> None:
    """Undoes `inherit`."""
    os.environ.pop(SWITCH, None)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", HERE)]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)
    sys.path[:] = [path for path in sys.path if path != HERE]
