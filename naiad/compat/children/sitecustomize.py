"""Run by Python as it starts, where this folder is on PYTHONPATH: lets `import triton` install the drop-in.

Nothing of naiad is imported before. The folder stands in front of a sitecustomize that the environment has, which runs
after this one.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType

HERE = os.path.dirname(os.path.abspath(__file__))


class Door:
    """A finder that does nothing but to install the drop-in once somebody asks for triton."""

    is_naiads_door = True

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "triton" and not name.startswith("triton."):
            return None
        return self.drop_in().find_spec(name, path, target)

    def find_distributions(self, context: object) -> Iterable[object]:
        return self.drop_in().find_distributions(context) if getattr(context, "name", None) == "triton" else ()

    def drop_in(self):  # no type: it would have to be imported
        """The finder that takes this one's place."""
        if PathFinder.find_spec("naiad") is None:
            sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))
        from naiad import compat
        from naiad.compat.finder import DropInFinder

        compat.install()
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        return next(finder for finder in sys.meta_path if isinstance(finder, DropInFinder))


def run_the_next() -> None:
    """Runs the sitecustomize that would have been found without this one."""
    others = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


# A Python that is too old for naiad is some tool's.
if os.environ.get("NAIAD_AS_TRITON", "").lower() in ("1", "true", "on", "yes", "y") and sys.version_info >= (3, 11):
    sys.meta_path.insert(0, Door())
run_the_next()
