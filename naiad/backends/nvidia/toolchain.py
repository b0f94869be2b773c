"""LLVM text -> PTX: the only file of this backend that imports llvmlite to compile for the GPU."""

import contextlib
import functools
from collections.abc import Sequence

import llvmlite.binding as llvm

from naiad import knobs
from naiad.backends.nvidia.target import Nvidia
from naiad.backends.nvidia.tools import ToolMissing, find_libdevice

__all__ = ["ptx_text"]

TRIPLE = "nvptx64-nvidia-cuda"


@functools.cache
def machine(cpu: str, features: str) -> llvm.TargetMachine:
    """LLVM's code generator for a GPU, at its full effort: the registers that wgmma needs depend on it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, features=features, opt=3)


def ptx_text(text: str, target: Nvidia, libraries: Sequence[str] = ()) -> str:
    """The PTX of an LLVM module. libraries: files of LLVM bitcode with functions that it may call, besides libdevice.

    Raises RuntimeError with LLVM's message.
    """
    generator = machine(target.cpu, target.ptx_feature)
    # A context a compile, or its types and constants would stay for good; the module has to be closed before it.
    with llvm.create_context() as context, contextlib.closing(llvm.parse_assembly(text, context)) as module:
        module.data_layout = str(generator.target_data)
        complete(module, generator, libraries, context)
        module.verify()
        if not knobs.passes.disable_llvm:
            optimize(module, generator)
        return generator.emit_assembly(module)


def complete(
    module: llvm.ModuleRef, generator: llvm.TargetMachine, libraries: Sequence[str], context: llvm.ContextRef
) -> None:
    """Links the functions that a module calls; RuntimeError where one is nowhere."""
    for path in libraries:
        link(module, generator, path, context)
    if any(f.is_declaration and f.name.startswith("__nv_") for f in module.functions):
        link(module, generator, device_library(), context)
    missing = [f.name for f in module.functions if f.is_declaration and not f.name.startswith(KNOWN)]
    if missing:
        raise RuntimeError(
            f"the kernel calls {', '.join(missing)}, which no library defines: pass a file of LLVM bitcode that does "
            "as extern_libs={'name': path}, or as the lib_path of extern_elementwise"
        )


def optimize(module: llvm.ModuleRef, generator: llvm.TargetMachine) -> None:
    """A handful of passes: what the tile level cannot see, address arithmetic and dead registers of loops."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(generator, tuning)
    manager = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)


PASSES = ("sroa", "instruction_combine", "reassociate", "simplify_cfg", "aggressive_dce")


KNOWN = ("llvm.", "__nv_", "__nvvm_reflect", "vprintf", "__assertfail")
"""Functions that need no library, or have their own message. The code generator answers what libdevice asks of it."""


def device_library() -> str:
    path = find_libdevice()
    if path is None:
        raise ToolMissing("a function of libdevice is used, and libdevice.10.bc was not found: pip install "
                          "nvidia-cuda-nvcc, or set TRITON_LIBDEVICE_PATH to it")  # fmt: skip
    return path


def link(module: llvm.ModuleRef, generator: llvm.TargetMachine, path: str, context: llvm.ContextRef) -> None:
    """Adds the functions of a library that a module calls; all that it does not call goes."""
    own = {f.name for f in module.functions if not f.is_declaration}
    library = llvm.parse_bitcode(_bytes(path), context)
    library.triple, library.data_layout = TRIPLE, module.data_layout
    module.link_in(library)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in own:
            value.linkage = "internal"
            if value.is_function and not any(b"noinline" in word for word in value.attributes):
                value.add_function_attribute("alwaysinline")
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.add_always_inliner_pass()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(module, llvm.create_pass_builder(generator, llvm.create_pipeline_tuning_options(speed_level=1)))


@functools.cache
def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
