"""The time while a kernel runs."""

from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.external import inline_asm_elementwise
from naiad.language.program import arange
from naiad.language.target_info import current_target
from naiad.language.tensor import tensor
from naiad.language.types import int64

SYMBOL = "naiad_nanoseconds"
"""The function that the CPU and the interpreter have for it."""


@builtin
def nanoseconds() -> tensor:
    """Nanoseconds of a clock that only goes forward, as int64: one number for the whole program."""
    target = current_target()
    if target is not None and target.backend == "cuda":
        from naiad.language.standard import max  # which is written in the language that this file is part of

        # each thread has a clock of its own: the latest of all is known to all
        threads = arange(0, 32 * builder().options.num_warps)
        clocks = inline_asm_elementwise(
            "mov.u64 $0, %globaltimer;", "=l,r", [threads], dtype=int64, is_pure=False, pack=1
        )
        return builder().call(max, [clocks], {"axis": 0})
    attributes = {"libname": "", "libpath": "", "symbol": SYMBOL, "pure": False}
    return tensor(builder().emit("tt.extern_elementwise", [], int64, **attributes), int64)
