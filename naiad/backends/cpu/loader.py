"""Object bytes -> callable code, by the loader that this platform has.

Linux on x86-64 and aarch64 uses `elf.py`, which needs no llvmlite. Elsewhere (macOS, Windows) LLVM's own loader works.
"""

import functools
import itertools
from collections.abc import Collection, Mapping
from typing import Any

from naiad.backends.cpu import elf
from naiad.backends.cpu.symbols import LoadError, process_symbol
from naiad.backends.cpu.system import elf_machine

library_names = (f"naiad{number}" for number in itertools.count())


NOTHING: Mapping[str, int] = {}


def load(obj: bytes, names: Collection[str], externals: Mapping[str, int] = NOTHING) -> elf.Image:
    """The loaded object; `names` are the functions and variables wanted from it.

    Its undefined symbols are those of `externals` (name -> address), else of the process. Raises LoadError.
    """
    if not elf_machine():
        return load_with_llvm(obj, names, externals)
    image = elf.load(obj, lambda name: externals.get(name) or process_symbol(name))
    for name in names:
        image.address(name)
    return image


def load_with_llvm(obj: bytes, names: Collection[str], externals: Mapping[str, int] = NOTHING) -> elf.Image:
    """The loaded object, by LLVM's JIT linker: any object format, at the cost of importing llvmlite."""
    import llvmlite.binding as llvm

    library = llvm.JITLibraryBuilder().add_object_img(obj).add_current_process()
    for name, address in externals.items():
        library.import_symbol(name, address)
    for name in names:
        library.export_symbol(name)
    try:
        tracker = library.link(lljit(), next(library_names))
    except RuntimeError as error:
        raise LoadError(f"LLVM cannot load the object: {error}") from error
    # Dropping the tracker would unload the code.
    return elf.Image({name: tracker[name] for name in names}, tracker)


@functools.cache
def lljit() -> Any:
    """LLVM's JIT of this process, made once."""
    import llvmlite.binding as llvm

    from naiad.backends.cpu.host import host
    from naiad.backends.cpu.toolchain import Machine, target_machine

    return llvm.create_lljit_compiler(target_machine(Machine.of(host())), use_jit_link=True)


__all__ = ["LoadError", "load", "load_with_llvm", "process_symbol"]
