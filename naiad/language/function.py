"""Functions that the compiler reads: a Python function with its source, syntax tree and parameters.

`@triton.jit` (runtime/jit.py) makes them from the user's functions, `@library` from those of the language that are
written in the language itself. Calling one while a builder is at work evaluates it there.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from naiad.language.builder import builder, is_building

MISSING = inspect.Parameter.empty
COMPILER_KEYWORDS = ("_semantic", "_builder", "_generator")
"""Keywords of Triton's own internals: accepted everywhere, and ignored."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function. `default` and `annotation` are MISSING where there is none."""

    num: int
    name: str
    default: Any
    annotation: Any
    keyword_only: bool = False
    variadic: bool = False

    @property
    def has_default(self) -> bool:
        return self.default is not MISSING

    @property
    def is_constexpr(self) -> bool:
        """Annotated with tl.constexpr, as an object or as text."""
        text = self.annotation if isinstance(self.annotation, str) else getattr(self.annotation, "__name__", "")
        return text.split(".")[-1] == "constexpr"

    @property
    def is_const(self) -> bool:
        """Annotated with tl.const: a pointer that the kernel may not store to."""
        text = self.annotation if isinstance(self.annotation, str) else getattr(self.annotation, "__name__", "")
        return text.split(".")[-1] == "const"


class Function:
    """A Python function seen by the compiler."""

    def __init__(self, fn: Callable[..., Any], noinline: bool = False) -> None:
        self.fn = fn
        self.noinline = noinline
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn

    @property
    def __globals__(self) -> dict[str, Any]:
        return self.fn.__globals__

    @__globals__.setter
    def __globals__(self, value: None) -> None:
        """For torch's Inductor, which takes from a function what cannot be pickled, `fn` before this."""

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.fn)

    @cached_property
    def params(self) -> list[Parameter]:
        return [
            Parameter(
                i,
                p.name,
                p.default,
                p.annotation,
                p.kind is inspect.Parameter.KEYWORD_ONLY,
                p.kind is inspect.Parameter.VAR_POSITIONAL,
            )
            for i, p in enumerate(self.signature.parameters.values())
        ]

    @cached_property
    def arg_names(self) -> list[str]:
        return [p.name for p in self.params]

    @cached_property
    def _source_lines(self) -> tuple[list[str], int]:
        """The lines with their decorators, and the number of the first in its file."""
        try:
            return inspect.getsourcelines(self.fn)
        except OSError as error:
            raise ValueError("@jit functions should be defined in a Python file") from error

    @property
    def raw_src(self) -> list[str]:
        return self._source_lines[0]

    @property
    def starting_line_number(self) -> int:
        """The line in its file of the first line of `raw_src` (its first decorator)."""
        return self._source_lines[1]

    @property
    def def_line_number(self) -> int:
        """The line in its file where `src` starts: that of its `def`."""
        text = textwrap.dedent("".join(self.raw_src))
        return self.starting_line_number + text[: _start_of_def(text)].count("\n")

    @property
    def file_name(self) -> str:
        return self.fn.__code__.co_filename

    @cached_property
    def src(self) -> str:
        """The source from its `def`, without indentation or decorators."""
        text = textwrap.dedent("".join(self.raw_src))
        return text[_start_of_def(text) :]

    def parse(self) -> ast.Module:
        """The syntax tree of `src`: a module of one function. Line numbers count from the `def`, which is 1."""
        cached = self.__dict__.get("_tree")
        if cached is None or cached[0] is not self.src:
            cached = self.__dict__["_tree"] = (self.src, ast.parse(self.src))
        return cached[1]

    def get_capture_scope(self) -> dict[str, Any]:
        """The names that the function may use from outside: globals and the variables that it closes over."""
        return self.__globals__ | dict(inspect.getclosurevars(self.fn).nonlocals)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_building():
            raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")
        for name in COMPILER_KEYWORDS:
            kwargs.pop(name, None)
        return builder().call(self, args, kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__module__}:{self.__qualname__})"


@dataclass(frozen=True)
class BoundFunction:
    """`function` as a method of `instance`: what `x.sum` is."""

    function: Function
    instance: Any

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.instance, *args, **kwargs)


@dataclass(frozen=True)
class Method:
    """Puts a Function in a class as a method. (A Function itself does not bind: a kernel may be a class attribute.)"""

    function: Function

    def __get__(self, instance: Any, owner: type) -> Any:
        return self.function if instance is None else BoundFunction(self.function, instance)


def library(fn: Callable[..., Any]) -> Function:
    """Decorates a function of the language that is written in the language."""
    return Function(fn)


def _start_of_def(text: str) -> int:
    found = re.search(r"^(async\s+)?def\s+\w+", text, re.MULTILINE)
    if found is None:
        raise ValueError("@jit functions should be defined by a `def`, not a lambda")
    return found.start()
