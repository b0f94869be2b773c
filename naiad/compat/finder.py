"""The import machinery of the drop-in: a finder for `triton` and below, facades, and the version that pip tells."""

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from os import PathLike
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from naiad import knobs
from naiad.backends.driver import driver
from naiad.compat.table import FACADES, OBJECTS, SCRIPTS, alias_of, is_package, reason

FILE = str(Path(__file__).resolve().parent.parent / "__init__.py")


class Facade(ModuleType):
    """A module of Triton whose names are naiad's; a name that naiad does not have is said in the error."""

    def __getattr__(self, name: str) -> Any:
        found = self._find(name)
        if callable(found) or isinstance(found, ModuleType) or (self.__name__, name) in OBJECTS:
            super().__setattr__(name, found)  # what stays the same is found at once from now on: grids call triton.cdiv
        return found

    def _find(self, name: str) -> Any:
        module = object.__getattribute__(self, "__name__")
        if (module, name) in OBJECTS:
            home, attribute = OBJECTS[module, name]
            found = importlib.import_module(home)
            return getattr(found, attribute) if attribute else found
        if name == "__all__":
            return public_names(module)
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        for home in FACADES[module]:
            found = importlib.import_module(home)
            if hasattr(found, name) and not _is_foreign_module(getattr(found, name), name):
                return getattr(found, name)
        if _is_module(f"{module}.{name}"):
            return importlib.import_module(f"{module}.{name}")
        raise AttributeError(_lacks(module, name), name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        if (self.__name__, name) in OBJECTS and isinstance(value, ModuleType):
            return  # the import of a submodule, whose name in the package is something else
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *public_names(self.__name__)})


def _lacks(module: str, name: str) -> str:
    """What is said of a name that naiad does not have: why, or what it has that is spelled like it."""
    text = f"module '{module}' has no attribute '{name}': "
    if (why := reason(f"{module}.{name}")) != reason("triton"):
        return text + why
    close = difflib.get_close_matches(name, public_names(module), n=3)
    return f"{text}naiad, which answers for triton, lacks it" + (f"; it has {', '.join(close)}" if close else "")


def _is_module(name: str) -> bool:
    return name in FACADES or (alias_of(name) is not None and _exists(name))


def _is_foreign_module(value: Any, name: str) -> bool:
    """Whether a name of naiad's package is its submodule, where Triton has a module of that name."""
    return isinstance(value, ModuleType) and value.__name__.startswith("naiad.") and name not in ("knobs",)


def public_names(module: str) -> list[str]:
    """The names that `from module import *` takes."""
    names: set[str] = set()
    for home in FACADES[module]:
        found = importlib.import_module(home)
        for name in getattr(found, "__all__", None) or (n for n in dir(found) if not n.startswith("_")):
            if not _is_foreign_module(getattr(found, name, None), name) or _is_module(f"{module}.{name}"):
                names.add(name)
    return sorted(names)


def is_drop_in(module: ModuleType) -> bool:
    """Whether the module is one of the drop-in's."""
    return isinstance(module, Facade) or module.__name__.startswith("naiad")


class DropInLoader(Loader):
    """Makes facades, and puts naiad's own module where Triton's is the same."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None if alias_of(spec.name) else Facade(spec.name)

    def get_code(self, fullname: str) -> CodeType | None:
        """What `python -m` runs: the module of naiad that answers for this one alone."""
        homes = FACADES.get(fullname, ())
        spec = importlib.util.find_spec(homes[0]) if len(homes) == 1 else None
        return getattr(spec.loader, "get_code", lambda name: None)(homes[0]) if spec else None

    def exec_module(self, module: ModuleType) -> None:
        spec_name = module.__spec__.name if module.__spec__ else module.__name__
        name = spec_name if spec_name.startswith("triton") else module.__name__
        if alias := alias_of(name):
            found = importlib.import_module(alias)
            if module is sys.modules.get(name):
                sys.modules[name] = found  # importlib takes what it finds here now
            else:
                vars(module).update({n: getattr(found, n) for n in dir(found) if not n.startswith("__")})
            return
        if isinstance(module, Facade):
            if name == "triton.runtime.driver" and "__file__" in vars(module):
                driver.forget()  # reloading it is how code asks which device there is now
            module.__file__ = FILE
            if name == "triton":
                importlib.import_module("triton.runtime.driver")  # code looks for it in sys.modules
            if name in SCRIPTS:
                module.__path__ = list(importlib.import_module(SCRIPTS[name]).__path__)
            return
        vars(module).update({n: getattr(Facade(name), n) for n in public_names(name)})


class DropInFinder(DistributionFinder):
    """Finds `triton`, everything below it, and its distribution."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        if not _exists(fullname):
            if _is_only_asked():
                return None
            raise ModuleNotFoundError(f"No module named '{fullname}': {reason(fullname)}", name=fullname)
        spec = ModuleSpec(
            fullname, DropInLoader(), origin=FILE, is_package=is_package(fullname) or _is_alias_package(fullname)
        )
        spec.has_location = False
        return spec

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),
    ) -> Iterator[Distribution]:
        if context.name in (None, "triton"):
            yield DropInDistribution()


class DropInDistribution(Distribution):
    """What `importlib.metadata` says about triton."""

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: triton\nVersion: {knobs.naiad.triton_version}\n"
        return None

    def locate_file(self, path: str | PathLike[str]) -> Path:
        return Path(FILE).parent / path


def _is_only_asked() -> bool:
    """Whether the finder's caller is importlib.util.find_spec, which wants None for no module, and not an import."""
    caller = sys._getframe(2)
    while caller is not None and caller.f_globals.get("__name__") in ("importlib._bootstrap", "sitecustomize"):
        caller = caller.f_back  # type: ignore[assignment]
    return caller is not None and caller.f_globals.get("__name__") == "importlib.util"


def _exists(name: str) -> bool:
    if name in FACADES:
        return all(importlib.util.find_spec(home) is not None for home in FACADES[name])
    alias = alias_of(name)
    return alias is not None and importlib.util.find_spec(alias) is not None


def _is_alias_package(name: str) -> bool:
    alias = alias_of(name)
    spec = importlib.util.find_spec(alias) if alias else None
    return spec is not None and spec.submodule_search_locations is not None
