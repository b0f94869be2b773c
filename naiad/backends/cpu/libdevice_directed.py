"""Arithmetic rounded in a direction: the CPU does it itself, in a function that sets the direction and sets it back.

What is lost of a result could say which neighbour is the right one, but not where it overflows, where it is subnormal,
or for the sign of a zero.
"""

from collections.abc import Callable

from naiad.backends.cpu.math_formula import Number
from naiad.backends.cpu.writer import CpuEmitter

Rule = Callable[..., Number]

DIRECTIONS = {"rn": 1, "rz": 0, "rd": 3, "ru": 2}
"""What llvm.set.rounding takes."""
OPERATIONS = {"add": ("fadd", 2), "sub": ("fsub", 2), "mul": ("fmul", 2), "div": ("fdiv", 2), "sqrt": ("sqrt", 1),
              "fma": ("fma", 3)}  # fmt: skip
"""LLVM's name of an operation, and how many operands it has."""


def rounded(name: str, mode: str) -> Rule:
    """An operation rounded by `mode`."""

    def write(*xs: Number) -> Number:
        e, kind = xs[0].e, xs[0].kind
        symbol = f"naiad_{name}_{mode}_{kind.element}x{kind.lanes}"
        function = e.module.once(symbol, lambda symbol: define(e, symbol, xs[0], OPERATIONS[name], DIRECTIONS[mode]))
        given = ", ".join(f"{kind.llvm} {x.text}" for x in xs)
        return Number(e, kind, e.op(f"call {kind.llvm} {function}({given})"))

    return write


def define(e: CpuEmitter, symbol: str, model: Number, operation: tuple[str, int], direction: int) -> None:
    """The function. Not inlined: its caller's arithmetic must stay outside."""
    f, kind, (name, count) = CpuEmitter(e.module, e.target), model.kind, operation
    f.module.declare("void", "llvm.set.rounding", "i32")
    types = ", ".join([kind.llvm] * count)
    letters = [f"%x{n}" for n in range(count)]
    given = ", ".join(f"{kind.llvm} {x}" for x in letters)
    full = f"llvm.experimental.constrained.{name}.{f'v{kind.lanes}' if kind.lanes else ''}{kind.element}"
    f.module.declare(kind.llvm, full, f"{types}, metadata, metadata")
    f.do(f"call void @llvm.set.rounding(i32 {direction}) strictfp")
    how = 'metadata !"round.dynamic", metadata !"fpexcept.ignore"'
    result = f.op(f"call {kind.llvm} @{full}({given}, {how}) strictfp")
    f.do(f"call void @llvm.set.rounding(i32 {DIRECTIONS['rn']}) strictfp")
    f.module.define(kind.llvm, symbol, [f"{kind.llvm} {x}" for x in letters], f, f"ret {kind.llvm} {result}",
                    "internal", f"{e.target.function_attributes} noinline strictfp")  # fmt: skip


def reciprocal(mode: str) -> Rule:
    return lambda x: rounded("div", mode)(x.like(1.0), x)


RULES: dict[str, Rule] = {
    **{f"{letter}{name}_{mode}": rounded(name, mode)
       for letter in "fd" for name in OPERATIONS if name != "fma" for mode in DIRECTIONS},
    **{f"{name}_{mode}": rounded("fma", mode) for name in ("fmaf", "fma") for mode in DIRECTIONS},
    **{f"{letter}rcp_{mode}": reciprocal(mode) for letter in "fd" for mode in DIRECTIONS},
}  # fmt: skip
