"""Inline assembly in LLVM text."""

from collections.abc import Sequence

from naiad.lowering.threads import Threads

__all__ = ["asm"]


def asm(e: Threads, text: str, constraints: str, arguments: Sequence[str], results: Sequence[str] = (),
        pure: bool = False) -> list[str]:  # fmt: skip
    """Inline assembly; the operands of its results. What is not pure stays where it is, in all threads together."""
    kind = "void" if not results else results[0] if len(results) == 1 else f"{{ {', '.join(results)} }}"
    effect = "" if pure else "sideeffect "
    flags = " nounwind willreturn memory(none)" if pure else " convergent nounwind"
    call = f'call {kind} asm {effect}"{text}", "{constraints}"({", ".join(arguments)}){flags}'
    if not results:
        e.do(call)
        return []
    made = e.op(call)
    if len(results) == 1:
        return [made]
    return [e.op(f"extractvalue {kind} {made}, {i}") for i in range(len(results))]
