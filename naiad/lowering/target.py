"""The questions that rules of `lowering/` ask a GPU: its facts, and how it writes what LLVM has no word for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from naiad.layouts.convert import SharedMove
    from naiad.layouts.linear import LinearLayout
    from naiad.lowering.threads import Threads

__all__ = ["Access", "GpuTarget"]


@dataclass(frozen=True)
class Access:
    """How memory is accessed: `words` registers of `bits` bits at once, cache and eviction words of the IR."""

    words: int
    bits: int
    cache: str = "none"
    evict: str = "evict_normal"
    volatile: bool = False


class GpuTarget(Protocol):
    """One generation of GPU. `e` is the emitter; operands and results are LLVM operands."""

    warp_size: int
    shared_limit: int

    def program_id(self, e: "Threads", axis: int) -> str: ...

    def num_programs(self, e: "Threads", axis: int) -> str: ...

    def thread_id(self, e: "Threads") -> str: ...

    def barrier(self, e: "Threads") -> None: ...

    def of_first_cta(self, e: "Threads") -> str: ...

    def warp_barrier(self, e: "Threads") -> None: ...

    def shuffle_xor(self, e: "Threads", word: str, mask: int) -> str: ...

    def shuffle(self, e: "Threads", word: str, lane: str) -> str: ...

    def load_global(
        self, e: "Threads", ptr: str, mask: str | None, others: Sequence[str], how: Access
    ) -> list[str]: ...

    def store_global(self, e: "Threads", ptr: str, mask: str | None, words: Sequence[str], how: Access) -> None: ...

    def atomic(self, e: "Threads", kind: str, ptr: str, value: str, type: str, mask: str | None, sem: str, scope: str,
               used: bool) -> str: ...  # fmt: skip

    def compare_swap(self, e: "Threads", ptr: str, expected: str, value: str, bits: int, mask: str | None, sem: str,
                     scope: str) -> str: ...  # fmt: skip

    def narrows(self, format: str) -> bool:
        """Whether there are instructions for the 8-bit floats of a format (`f8E4M3FN`, ...)."""

    def narrow(self, e: "Threads", format: str, type: str, low: str, high: str) -> str:
        """Two floats (`type` half or float) as two bytes of an i16: to nearest even, saturated."""

    def widen(self, e: "Threads", format: str, word: str) -> list[str]:
        """The two 8-bit floats of an i16 as half."""

    def to_byte(self, e: "Threads", type: str, value: str, is_signed: bool) -> str:
        """A float as an i8, toward zero; the nearest there is where it does not fit."""

    def unary(self, e: "Threads", name: str, type: str, value: str) -> str: ...

    def library(self, e: "Threads", name: str, type: str, *values: str) -> str: ...

    def divide(self, e: "Threads", type: str, a: str, b: str) -> str: ...

    def store_fragments(self, e: "Threads", registers: Sequence[str], source: "LinearLayout", target: "LinearLayout",
                        type: str, place: int | str, how: "SharedMove") -> "SharedMove | None": ...  # fmt: skip

    def matrix_multiply(self, op: "Operation", e: "Threads") -> list[str]: ...
