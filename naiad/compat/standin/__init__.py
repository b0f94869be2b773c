"""A folder for sys.path with a package `triton` in it that makes itself naiad's.

Some processes are this one's longer arm: the compile workers of torch's Inductor, and what multiprocessing spawns. They
are given this process's sys.path, unpickle what is naiad's here, and must find naiad under `triton` too. Programs that
this process merely starts are not touched; for those there is `install(children=True)`.
"""

import sys
from pathlib import Path

HERE = str(Path(__file__).resolve().parent)


def offer() -> None:
    """Puts the folder on sys.path, behind the script's own."""
    if HERE not in sys.path:
        sys.path.insert(1, HERE)


def withdraw() -> None:
    """Undoes `offer`."""
    sys.path[:] = [path for path in sys.path if path != HERE]
