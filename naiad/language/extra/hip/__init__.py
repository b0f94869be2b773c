"""Functions of AMD GPUs."""

from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.external import inline_asm_elementwise
from naiad.language.extra.hip import libdevice
from naiad.language.tensor import tensor
from naiad.language.types import int64

__all__ = ["libdevice", "memrealtime"]


@builtin
def memrealtime() -> tensor:
    """A counter that ticks at a constant rate, in 64 bits."""
    arch = str(builder().options.arch)
    if arch.startswith(("gfx11", "gfx12")):
        asm = "s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)"
    else:
        asm = "s_memrealtime $0\ns_waitcnt vmcnt(0)"
    return inline_asm_elementwise(asm, "=r", [], dtype=int64, is_pure=False, pack=1)
