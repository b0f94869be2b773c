"""LLVM text -> PTX: the only file of this backend that imports llvmlite to compile for the GPU."""

import functools

import llvmlite.binding as llvm

from naiad.backends.nvidia.target import Nvidia

__all__ = ["ptx_text"]

TRIPLE = "nvptx64-nvidia-cuda"


@functools.cache
def machine(cpu: str, features: str) -> llvm.TargetMachine:
    """LLVM's code generator for a GPU, at its full effort: the registers that wgmma needs depend on it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, features=features, opt=3)


def ptx_text(text: str, target: Nvidia) -> str:
    """The PTX of an LLVM module. Raises RuntimeError with LLVM's message."""
    generator = machine(target.cpu, target.ptx_feature)
    module = llvm.parse_assembly(text)
    module.data_layout = str(generator.target_data)
    module.verify()
    optimize(module, generator)
    return generator.emit_assembly(module)


def optimize(module: llvm.ModuleRef, generator: llvm.TargetMachine) -> None:
    """A handful of passes: what the tile level cannot see, address arithmetic and dead registers of loops."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(generator, tuning)
    manager = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)


PASSES = ("sroa", "instruction_combine", "simplify_cfg", "aggressive_dce")
