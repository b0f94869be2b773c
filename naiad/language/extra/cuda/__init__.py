"""Functions of NVIDIA GPUs: clocks, the place on the machine, dependent launches (griddepcontrol, from sm_90 on)."""

from typing import Any

from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.casts import cast_to
from naiad.language.constexpr import constexpr
from naiad.language.external import inline_asm_elementwise
from naiad.language.extra.cuda import libdevice
from naiad.language.tensor import tensor
from naiad.language.types import int32, int64

__all__ = [
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "gdc_launch_dependents",
    "gdc_wait",
    "globaltimer",
    "libdevice",
    "num_threads",
    "num_warps",
    "smid",
]


@builtin
def globaltimer() -> tensor:
    """Nanoseconds of the GPU's clock, as int64."""
    return inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=int64, is_pure=False, pack=1)


@builtin
def smid() -> tensor:
    """The number of the multiprocessor that runs this program, as int32."""
    return inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=int32, is_pure=True, pack=1)


@builtin
def num_warps() -> constexpr:
    """How many warps run this program."""
    return constexpr(builder().options.num_warps)


@builtin
def num_threads() -> constexpr:
    """How many threads run this program."""
    return constexpr(builder().options.num_warps * 32)


def _grid_dependency(what: str) -> None:
    inline_asm_elementwise(f"griddepcontrol.{what}; // dummy $0", "=r", [], dtype=int32, is_pure=False, pack=1)


@builtin
def gdc_wait() -> None:
    """Waits until all that the kernel before this one wrote is visible. Does nothing without a dependent launch."""
    _grid_dependency("wait")


@builtin
def gdc_launch_dependents() -> None:
    """Lets the next kernel start once every program has come here or ended. Does nothing without a dependent launch."""
    _grid_dependency("launch_dependents")


@builtin
def convert_custom_float8_sm80(arg: tensor, dst_ty: Any, fp_downcast_rounding: str | None = None) -> tensor:
    """A cast to or from fp8e4b15."""
    return cast_to(arg, dst_ty.scalar, fp_downcast_rounding)


convert_custom_float8_sm70 = convert_custom_float8_sm80
