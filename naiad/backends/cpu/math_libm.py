"""Functions of libm on vectors, a lane at a time, in a helper outside of line so that its many registers stay
unspilled.
"""

from collections.abc import Sequence

from naiad.backends.cpu.kinds import Kind
from naiad.backends.cpu.writer import CpuEmitter


def by_lanes(
    e: CpuEmitter, symbol: str, kind: Kind, operands: Sequence[str], kinds: Sequence[Kind] | None = None
) -> str:
    """The C function `symbol` on each lane; `kinds` of the operands where they are not `kind`, which is the
    result's."""
    kinds = kinds or [kind] * len(operands)
    if not kind.lanes:
        return e.call(kind.llvm, symbol, [k.llvm for k in kinds], operands)
    spelled = "_".join(k.element for k in kinds)
    helper = e.module.once(f"naiad_each_{symbol}_{kind.element}_{spelled}_{kind.lanes}",
                           lambda name: define(e, name, symbol, kind, kinds))  # fmt: skip
    return e.op(
        f"call {kind.llvm} {helper}({', '.join(f'{k.llvm} {x}' for k, x in zip(kinds, operands, strict=True))})"
    )


def define(e: CpuEmitter, name: str, symbol: str, kind: Kind, kinds: Sequence[Kind]) -> None:
    f = CpuEmitter(e.module, e.target)
    places = [f.op(f"alloca {k.llvm}, align 64") for k in kinds]
    out = f.op(f"alloca {kind.llvm}, align 64")
    for n, (k, place) in enumerate(zip(kinds, places, strict=True)):
        f.store(k.llvm, f"%x{n}", place, 64)

    def lane(i: str, _: list[str]) -> None:
        values = [f.load(k.scalar, f.gep(p, i, k.scalar), k.bytes) for k, p in zip(kinds, places, strict=True)]
        result = f.call(kind.scalar, symbol, [k.scalar for k in kinds], values)
        f.store(kind.scalar, result, f.gep(out, i, kind.scalar), kind.bytes)

    f.loop("0", str(kind.lanes), "1", [], lane)
    parameters = [f"{k.llvm} %x{n}" for n, k in enumerate(kinds)]
    e.module.define(kind.llvm, name, parameters, f, f"ret {kind.llvm} {f.load(kind.llvm, out, 64)}", "internal",
                    e.target.function_attributes + " noinline")  # fmt: skip
