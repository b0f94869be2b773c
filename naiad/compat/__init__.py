"""The drop-in: after `install()`, `import triton` gives naiad under Triton's module names.

import naiad.compat
naiad.compat.install()          # or: naiad run script.py
import triton                   # modules backed by naiad; an installed triton is neither touched nor mixed in
"""

import sys

from naiad import knobs
from naiad.compat.children import disinherit, inherit
from naiad.compat.finder import DropInFinder, is_drop_in
from naiad.compat.standin import offer, withdraw

__all__ = ["install", "is_installed", "uninstall"]


def is_installed() -> bool:
    """Whether `triton` means naiad in this process, or will when it is imported: in a child of one with the drop-in."""
    return any(isinstance(finder, DropInFinder) or _is_door(finder) for finder in sys.meta_path)


def _is_door(finder: object) -> bool:
    """Whether this is the finder of children/sitecustomize.py, which calls `install`."""
    return getattr(finder, "is_naiads_door", False)


def install(version: str | None = None, children: bool = False) -> None:
    """Makes `triton` mean naiad from now on; a second call changes nothing but the version.

    version: what `triton.__version__` says, by default NAIAD_TRITON_VERSION (3.6.0). children: the Python processes
    that this one starts get the drop-in too, by the variables NAIAD_AS_TRITON and PYTHONPATH. What multiprocessing
    spawns, and the compile workers of torch's Inductor, get it anyway. Raises RuntimeError where another triton was
    imported already: code would get parts of both.
    """
    if version is not None:
        knobs.naiad.triton_version = version
    if children:
        inherit()
    if any(isinstance(finder, DropInFinder) for finder in sys.meta_path):
        return
    if (module := sys.modules.get("triton")) is not None and not is_drop_in(module):
        place = getattr(module, "__file__", "somewhere")
        raise RuntimeError(f"triton was imported already, from {place}: call naiad.compat.install() before that")
    sys.meta_path.insert(0, DropInFinder())
    offer()


def uninstall() -> None:
    """Forgets the drop-in's modules; `import triton` gives what is installed. What code took before stays naiad's."""
    disinherit()
    withdraw()
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, DropInFinder) and not _is_door(f)]
    for name in [name for name in sys.modules if name == "triton" or name.startswith("triton.")]:
        del sys.modules[name]
