"""The keywords of a launch that are no parameters of the kernel: which of them are options."""

from collections.abc import Iterable
from typing import Any

__all__ = ["LAUNCH_OPTIONS", "UnrecognisedKeyword", "check_keywords"]

LAUNCH_OPTIONS = frozenset(
    ("debug", "num_warps", "num_ctas", "num_stages", "maxnreg", "launch_cooperative_grid", "launch_pdl", "extern_libs",
     "enable_fp_fusion", "enable_reflect_ftz", "ir_override", "sanitize_overflow", "waves_per_eu",
     "matrix_instr_nonkdim", "kpack", "schedule_hint", "num_buffers_warp_spec", "num_consumer_groups",
     "instrumentation_mode", "arch")
)  # fmt: skip
"""Those that only some backends give a meaning: every one takes them, and so does the interpreter."""


class UnrecognisedKeyword(KeyError, TypeError):
    """A keyword that is neither a parameter of the kernel nor an option of the launch."""

    def __str__(self) -> str:
        return str(self.args[0])


def check_keywords(function: Any, keywords: Iterable[str], options: Any) -> None:
    """UnrecognisedKeyword for one that is neither in LAUNCH_OPTIONS nor an attribute of the backend's options."""
    for name in keywords:
        if name not in LAUNCH_OPTIONS and not hasattr(options, name):
            raise UnrecognisedKeyword(
                f"Keyword argument {name} was specified but unrecognised: it is neither a parameter of "
                f"{function.__name__}({', '.join(function.arg_names)}) nor an option of the launch"
            )
