"""naiad: a tile compiler in Python with Triton's language and API.

Importing it is cheap: a name brings its module when it is first used, the compiler comes with the first kernel that no
cache has, and neither needs torch.
"""

import importlib
from typing import Any

from naiad import knobs
from naiad.errors import (
    AutotunerError,
    CompilationError,
    CompileTimeAssertionFailure,
    InterpreterError,
    OutOfResources,
    TritonError,
)

__version__ = "0.1.0"
# Module -> the names that are taken from it when they are asked for.
_NAMES = {
    "naiad.runtime.jit": ("jit", "JITFunction", "KernelInterface", "MockTensor", "TensorWrapper", "reinterpret"),
    "naiad.runtime.autotuner": ("autotune", "Autotuner", "Config", "heuristics", "Heuristics"),
    "naiad.runtime.constexpr_function": ("cdiv", "constexpr_function", "next_power_of_2"),
    "naiad.runtime.async_compile": ("AsyncCompileMode", "FutureKernel"),
    "naiad.runtime.allocation": ("set_allocator",),
    "naiad.compiler.compiler": ("compile",),
    "naiad.language.aggregate": ("aggregate",),
    "naiad.language.builtin": ("must_use_result",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = ("aot", "backends", "compat", "compiler", "language", "runtime", "testing", "tools")
__all__ = [
    "AutotunerError",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "InterpreterError",
    "OutOfResources",
    "TritonError",
    "knobs",
    *_HOME,
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        found = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
        return found
    if name in _MODULES:
        return importlib.import_module(f"naiad.{name}")
    dtypes = importlib.import_module("naiad.language.types")
    if isinstance(found := getattr(dtypes, name, None), dtypes.dtype):
        return found
    raise AttributeError(f"module 'naiad' has no attribute {name!r}")


def __dir__() -> list[str]:
    types = importlib.import_module("naiad.language.types")
    dtypes = {name for name, value in vars(types).items() if isinstance(value, types.dtype)}
    return sorted({*globals(), *__all__, *dtypes})
