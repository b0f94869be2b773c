"""`triton.runtime.build`: Python modules and libraries in C, for code that brings its own. naiad itself builds none."""

import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from types import ModuleType

from naiad import knobs
from naiad.runtime.cache import get_cache_manager

__all__ = ["compile_module_from_file", "compile_module_from_src", "platform_key"]


@functools.cache
def platform_key() -> str:
    """What compiled C depends on besides its source."""
    return ",".join((platform.machine(), platform.system(), *platform.architecture(), sys.implementation.cache_tag))


def compile_module_from_src(
    src: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
) -> ModuleType:
    """The Python module `name` that C source makes, from the cache if it has it. RuntimeError says why it cannot be."""
    lists = [list(given or ()) for given in (include_dirs, library_dirs, libraries, ccflags)]
    parts = [src, name, platform_key(), repr(lists)]
    manager = get_cache_manager(hashlib.sha256("\0".join(parts).encode()).hexdigest())
    file = name + (sysconfig.get_config_var("EXT_SUFFIX") or ".so")
    if (path := manager.get_file(file)) is not None:
        try:
            return _load(name, path)
        except (ImportError, OSError):
            pass  # damaged: it is built again
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, f"{name}.c")
        with open(source, "w") as out:
            out.write(src)
        built = _build(name, source, folder, lists[1], lists[0], lists[2], lists[3])
        with open(built, "rb") as code:
            path = manager.put(code.read(), file, binary=True)
    return _load(name, path)


def compile_module_from_file(
    path: str,
    name: str,
    library_dirs: Sequence[str] | None = None,
    include_dirs: Sequence[str] | None = None,
    libraries: Sequence[str] | None = None,
    ccflags: Sequence[str] | None = None,
) -> ModuleType:
    """As `compile_module_from_src`, of a file."""
    with open(path) as file:
        return compile_module_from_src(file.read(), name, library_dirs, include_dirs, libraries, ccflags)


def _build(
    name: str,
    src: str,
    srcdir: str,
    library_dirs: Sequence[str],
    include_dirs: Sequence[str],
    libraries: Sequence[str],
    ccflags: Sequence[str] = (),
) -> str:
    """Compiles the file `src` to a shared library in `srcdir`; gives its path."""
    if knobs.build.impl is not None:
        return knobs.build.impl(name, src, srcdir, library_dirs, include_dirs, libraries, ccflags)
    out = os.path.join(srcdir, name + (sysconfig.get_config_var("EXT_SUFFIX") or ".so"))
    folders = [srcdir, sysconfig.get_paths()["include"], *include_dirs, *knobs.build.backend_dirs]
    command = [_compiler(name), src, "-O3", "-shared", "-fPIC", "-Wno-psabi", "-o", out]
    command += [f"-I{folder}" for folder in folders] + [f"-L{folder}" for folder in library_dirs]
    command += [f"-l{library}" for library in libraries] + list(ccflags)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr}")
    return out


def _compiler(name: str) -> str:
    """A C compiler: CC, or gcc or clang on the path."""
    found = knobs.build.cc or shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if found is None:
        raise RuntimeError(
            f"{name} is C source that a package brings, and there is no C compiler: set CC, or install gcc or clang "
            "(naiad's own kernels and launchers need none)"
        )
    return found


def _load(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module", name=name, path=path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
