"""How `knobs` works: descriptors that read environment variables, groups of them, and chains of hooks.

Reading an attribute reads the environment until a value is assigned; assigning also writes the environment
(while `knobs.propagate_env`) for children; `del`, `reset()`, or assigning `knobs.env` go back to the environment;
`scope()` undoes what a block changed. The names are Triton's.
"""

import functools
import importlib
import importlib.util
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

Value = TypeVar("Value")
on_change: list[Callable[[], None]] = []
"""Called after any setting or hook changed in this process: for what was prepared with the settings as they were."""
TRUE = frozenset({"1", "true", "on", "yes", "y"})
FALSE = frozenset({"0", "false", "off", "no", "n"})
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
HOOKS = ("_hook", "listener")
"""How the names of settings end that are functions."""
_said: set[str] = set()


class SettingError(RuntimeError):
    """A variable or a knob has a value that it cannot have."""


class Env:
    """The type of `knobs.env`, whose assignment means: read the environment again."""


def getenv(key: str, default: str | None = None) -> str | None:
    """The variable's text; an empty one counts as unset, as in Triton."""
    return os.environ.get(key) or default


def changed() -> None:
    """Tells everybody on `on_change`."""
    for listener in on_change:
        listener()


def warn_once(message: str, about: str = "") -> None:
    """A RuntimeWarning, once a process for each text, or for each text of `about`."""
    if (about or message) not in _said:
        _said.add(about or message)
        warnings.warn(f"naiad: {message}", RuntimeWarning, stacklevel=3)


def parse_size(text: str) -> int:
    """Bytes: `500MB`, `10 GB`, `1.5GiB` or a plain number. ValueError where it is none of these."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", text.upper())
    if found is None or found.group(2) not in UNITS:
        raise ValueError(f"{text!r} is no size: expected bytes, or a number with KB, MB, GB, TB, KiB, MiB, GiB, TiB")
    return int(float(found.group(1)) * UNITS[found.group(2)])


class env_base(Generic[Value]):
    """A variable: a descriptor of a group. `invalidates`: compiled code depends on it, so the cache's key holds it.
    `unused`: why a variable of Triton's has no effect here; setting it gives a warning."""

    type_name = "str"

    def __init__(
        self, key: str, default: Any = None, doc: str = "", invalidates: bool = False, unused: str = ""
    ) -> None:
        self.key, self.default, self.doc, self.invalidates, self.unused = key, default, doc, invalidates, unused

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, group: "base_knobs", owner: type | None = None) -> Value:
        values = group.__dict__
        return self.transform(values[self.name]) if self.name in values else self.get()

    def __set__(self, group: "base_knobs", value: Any) -> None:
        if isinstance(value, Env):
            return self.__delete__(group)
        group.__dict__[self.name] = value
        if self.unused and value != self.fallback():
            self.warn()
        if _propagates() and (value is None or isinstance(value, bool | int | float | str)):
            _write(self.key, str(int(value)) if isinstance(value, bool) else None if value is None else str(value))

    def __delete__(self, group: "base_knobs") -> None:
        group.__dict__.pop(self.name, None)

    def get(self) -> Value:
        """The value that the environment gives now."""
        text = getenv(self.key)
        return self.fallback() if text is None else self.parse(text)

    def is_set(self) -> bool:
        """Whether the environment has the variable."""
        return bool(os.environ.get(self.key))

    def warn(self) -> None:
        """Says, once, that a variable without effect was set."""
        warn_once(f"{self.key} has no effect: {self.unused}", about=self.key)

    def fallback(self) -> Value:
        return self.default() if callable(self.default) else self.default

    def parse(self, text: str) -> Any:
        return text

    def transform(self, value: Any) -> Any:
        """What reading gives for a value that was assigned."""
        return value


class env_str(env_base[str]):
    """A text with a default, which may be a function."""


class env_words(env_base[str]):
    """Words with commas between them, of those that there are."""

    type_name = "words"

    def __init__(self, key: str, known: Collection[str], doc: str = "") -> None:
        super().__init__(key, "", doc)
        self.known = known

    def transform(self, value: str) -> str:
        return self.parse(value)

    def parse(self, text: str) -> str:
        if unknown := [word for word in re.split(r"[,\s]+", text) if word and word not in self.known]:
            warn_once(f"{self.key} has a word {unknown[0]!r} without a meaning: expected {', '.join(self.known)}")
        return text


class env_opt_str(env_base[str | None]):
    """A text, or None where it is not set."""


class env_bool(env_base[bool]):
    """True for 1, true, on, yes and y, in any case."""

    type_name = "bool"

    def __init__(
        self, key: str, default: bool | None = False, doc: str = "", invalidates: bool = False, unused: str = ""
    ) -> None:
        super().__init__(key, default, doc, invalidates, unused)

    def parse(self, text: str) -> bool:
        if text.lower() not in TRUE | FALSE:
            warn_once(f"{self.key}={text} is taken as 0: expected 1, true, on, yes, y or 0, false, off, no, n")
        return text.lower() in TRUE


class env_opt_bool(env_bool):
    """A truth value, or None where it is not set."""

    def __init__(
        self, key: str, default: bool | None = None, doc: str = "", invalidates: bool = False, unused: str = ""
    ) -> None:
        super().__init__(key, default, doc, invalidates, unused)


class env_cached(env_base[Value]):
    """A variable that each launch asks for: read at import and by `refresh_knobs()`, since the environment is slow."""

    def __init__(self, of: env_base[Value]) -> None:
        super().__init__(of.key, of.default, of.doc, of.invalidates, of.unused)
        self.of, self.type_name, self.at_import = of, of.type_name, of.get()

    def get(self) -> Value:
        return self.at_import


class env_int(env_base[int]):
    """A whole number; `least`: none below it."""

    type_name = "int"

    def __init__(
        self,
        key: str,
        default: Any = None,
        doc: str = "",
        invalidates: bool = False,
        unused: str = "",
        least: int | None = None,
    ) -> None:
        super().__init__(key, default, doc, invalidates, unused)
        self.least = least

    def parse(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError as error:
            raise SettingError(f"Unable to use {self.key}={text}: expected int") from error
        return self.transform(value)

    def transform(self, value: int) -> int:
        if self.least is not None and isinstance(value, int) and value < self.least:
            raise SettingError(f"Unable to use {self.key}={value}: expected an int from {self.least} on")
        return value


class env_float(env_base[float]):
    """A number."""

    type_name = "float"

    def parse(self, text: str) -> float:
        try:
            return float(text)
        except ValueError as error:
            raise SettingError(f"Unable to use {self.key}={text}: expected a number") from error


class env_size(env_base[int]):
    """A number of bytes, written as in `10GB`."""

    type_name = "size"

    def parse(self, text: str) -> int:
        try:
            return parse_size(text)
        except ValueError as error:
            raise SettingError(f"Unable to use {self.key}: {error}") from error

    def transform(self, value: int | str) -> int:
        return self.parse(value) if isinstance(value, str) else value


class env_class(env_base[type | None]):
    """A class by the text `module:Class`; it must have a base of the name `base`. The module `triton.x` is naiad's."""

    type_name = "module:Class"

    def __init__(self, key: str, base: str, doc: str = "") -> None:
        super().__init__(key, None, doc)
        self.base = base

    def transform(self, value: Any) -> Any:
        if value is None or callable(value):
            return value
        if isinstance(value, str):
            return self.parse(value)
        raise SettingError(f"Unable to use {value!r} for {self.key}: expected a class, or its name as MODULE:CLASS")

    def parse(self, text: str) -> type:
        module, colon, name = text.partition(":")
        if not colon:
            raise SettingError(f"Unable to read {self.key}: '{text}' isn't of the form MODULE:CLASS")
        if module.startswith("triton."):
            module = f"naiad.{module.removeprefix('triton.')}"
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise SettingError(f"Unable to read {self.key}: there is no '{text}' ({error})") from error
        if not isinstance(found, type) or all(base.__name__ != self.base for base in found.mro()):
            raise SettingError(f"Unable to use '{text}' from {self.key}: not of type '{self.base}'")
        return found


@dataclass(frozen=True)
class NvidiaTool:
    """A program of the CUDA toolkit and the release that it says it is."""

    path: str
    version: str

    @staticmethod
    @functools.lru_cache
    def from_path(path: str) -> "NvidiaTool | None":
        import subprocess

        try:
            text = subprocess.check_output([path, "--version"], stderr=subprocess.STDOUT).decode("utf-8", "replace")
        except (subprocess.CalledProcessError, OSError):
            return None
        release = re.search(r"release (\d+\.\d+)", text)
        return NvidiaTool(path, release.group(1)) if release else None


def _wheel_folders() -> list[str]:
    """The folders `bin` of the wheels nvidia-cuda-nvcc, where they are installed."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    return [folder for root in roots for name in ("cu13", "cuda_nvcc") if os.path.isdir(folder := f"{root}/{name}/bin")]


class env_nvidia_tool(env_base[NvidiaTool]):
    """A CUDA program: the path given, else one in a wheel of NVIDIA's, else the first on PATH."""

    type_name = "path"

    def __init__(self, binary: str, doc: str = "") -> None:
        super().__init__(f"TRITON_{binary.upper().replace('-', '_')}_PATH", None, doc)
        self.binary = binary

    def get(self) -> NvidiaTool:
        return self.transform(getenv(self.key))

    def transform(self, path: str | NvidiaTool | None) -> NvidiaTool:
        if isinstance(path, NvidiaTool):
            return path
        import shutil

        found = shutil.which(self.binary)
        for candidate in [path, *(f"{folder}/{self.binary}" for folder in _wheel_folders()), found]:
            if candidate and (tool := NvidiaTool.from_path(candidate)):
                if path and candidate != path:  # Triton takes another one, too
                    said = f"{self.key}={path} is no {self.binary} that says its release; {candidate} is taken"
                    warn_once(said)
                return tool
        raise SettingError(f"Cannot find {self.binary}: set {self.key}, or pip install nvidia-cuda-nvcc")


def _propagates() -> bool:
    """`knobs.propagate_env`, which users set on that module."""
    from naiad import knobs

    return knobs.propagate_env


def _write(key: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


class base_knobs:
    """A group of variables."""

    def __setattr__(self, name: str, value: Any) -> None:
        group = type(self).__name__.removesuffix("_knobs")
        if not any(name in vars(kind) for kind in type(self).__mro__):
            warn_once(f"knobs.{group} has no {name}: setting it changes nothing; it has {', '.join(self._names())}")
        elif name.endswith(HOOKS) and not (value is None or callable(value)):
            raise TypeError(f"knobs.{group}.{name} is a function or None, not {value!r}")
        super().__setattr__(name, value)
        changed()

    @classmethod
    def _names(cls) -> list[str]:
        """What can be set."""
        return [
            name for name, value in vars(cls).items() if not name.startswith("_") and not isinstance(value, property)
        ]

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        changed()

    @property
    def knob_descriptors(self) -> dict[str, env_base]:
        return {name: knob for name, knob in type(self).__dict__.items() if isinstance(knob, env_base)}

    @property
    def knobs(self) -> dict[str, Any]:
        """Name to present value."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self) -> Self:
        twin = type(self)()
        twin.__dict__.update(self.__dict__)
        return twin

    def reset(self) -> Self:
        """Forgets assigned values: every variable reads the environment again."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Puts back, at the end of the block, the values and the environment as they were at its start."""
        before = {knob.key: os.environ.get(knob.key) for knob in self.knob_descriptors.values()}
        values = dict(self.__dict__)
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(values)
            for key, value in before.items():
                _write(key, value)
            changed()
