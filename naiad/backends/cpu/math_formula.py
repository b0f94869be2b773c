"""Formulas over vectors: what the math functions are written in.

A `Number` is an operand with its kind; `+ - * /` and comparisons write instructions, Python numbers become constants.
So `x * x + 1.0` on lanes of f32 reads as what it computes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

from naiad.backends.cpu.kinds import Kind
from naiad.backends.cpu.writer import CpuEmitter

Operand = Union["Number", int, float]


@dataclass(frozen=True)
class Number:
    """An operand of known kind in the function that `e` writes."""

    e: CpuEmitter
    kind: Kind
    text: str

    def like(self, other: Operand) -> "Number":
        """`other` in this kind: a number of Python becomes a constant."""
        if isinstance(other, Number):
            return other
        return Number(self.e, self.kind, self.e.number_of(other, self.kind))

    def binary(self, float_op: str, integer_op: str, other: Operand) -> "Number":
        op = float_op if self.kind.is_float else integer_op
        return Number(self.e, self.kind, self.e.binary(op, self.kind, self.text, self.like(other).text))

    def __add__(self, other: Operand) -> "Number":
        return self.binary("fadd", "add", other)

    def __sub__(self, other: Operand) -> "Number":
        return self.binary("fsub", "sub", other)

    def __mul__(self, other: Operand) -> "Number":
        return self.binary("fmul", "mul", other)

    def __truediv__(self, other: Operand) -> "Number":
        return self.binary("fdiv", "sdiv", other)

    def __and__(self, other: Operand) -> "Number":
        return self.binary("and", "and", other)

    def __or__(self, other: Operand) -> "Number":
        return self.binary("or", "or", other)

    def __xor__(self, other: Operand) -> "Number":
        return self.binary("xor", "xor", other)

    def __lshift__(self, other: Operand) -> "Number":
        return self.binary("shl", "shl", other)

    def __rshift__(self, other: Operand) -> "Number":
        """Keeps the sign."""
        return self.binary("ashr", "ashr", other)

    def __radd__(self, other: Operand) -> "Number":
        return self.like(other) + self

    def __rsub__(self, other: Operand) -> "Number":
        return self.like(other) - self

    def __rmul__(self, other: Operand) -> "Number":
        return self.like(other) * self

    def __rtruediv__(self, other: Operand) -> "Number":
        return self.like(other) / self

    def __neg__(self) -> "Number":
        return Number(self.e, self.kind, self.e.op(f"fneg {self.kind.llvm} {self.text}"))

    def fused(self, factor: Operand, term: Operand) -> "Number":
        """self * factor + term, rounded once where the CPU has the instruction."""
        if not self.e.target.has_fma:
            return self * factor + term
        a, b = self.like(factor).text, self.like(term).text
        return Number(self.e, self.kind, self.e.intrinsic("fma", self.kind.llvm, self.text, a, b))

    def compare(self, float_predicate: str, integer_predicate: str, other: Operand) -> "Number":
        predicate = float_predicate if self.kind.is_float else integer_predicate
        text = self.e.compare(predicate, self.kind, self.text, self.like(other).text)
        return Number(self.e, self.kind.of("i1"), text)

    def __lt__(self, other: Operand) -> "Number":
        return self.compare("olt", "slt", other)

    def __gt__(self, other: Operand) -> "Number":
        return self.compare("ogt", "sgt", other)

    def __ge__(self, other: Operand) -> "Number":
        return self.compare("oge", "sge", other)

    def equals(self, other: Operand) -> "Number":
        return self.compare("oeq", "eq", other)

    def is_nan(self) -> "Number":
        return self.compare("uno", "ne", self)

    def where(self, then: Operand, otherwise: Operand) -> "Number":
        """By lanes of this condition; one of the two must be a Number."""
        model = then if isinstance(then, Number) else otherwise
        assert isinstance(model, Number)
        a, b = model.like(then), model.like(otherwise)
        return Number(self.e, a.kind, self.e.select(a.kind, self.text, a.text, b.text))

    def at_most(self, limit: float) -> "Number":
        """The smaller of the two; NaN stays."""
        return (self > limit).where(limit, self)

    def at_least(self, limit: float) -> "Number":
        return (self < limit).where(limit, self)

    def call(self, name: str, *others: Operand) -> "Number":
        """An LLVM intrinsic of one type: sqrt, fabs, copysign, maxnum."""
        operands = [self.text, *[self.like(o).text for o in others]]
        return Number(self.e, self.kind, self.e.intrinsic(name, self.kind.llvm, *operands))

    # -- the same bits, other kinds

    @property
    def bits(self) -> "Number":
        """As an integer."""
        return Number(self.e, self.kind.integer, self.e.bits(self.kind, self.kind.integer, self.text))

    def as_float(self) -> "Number":
        """An integer's bits as a float of the same width."""
        to = self.kind.of("f32" if self.kind.bits == 32 else "f64")
        return Number(self.e, to, self.e.bits(self.kind, to, self.text))

    def shifted_down(self, by: int) -> "Number":
        """An integer moved right, zeros coming in."""
        return Number(self.e, self.kind, self.e.binary("lshr", self.kind, self.text, self.like(by).text))

    def to(self, element: str) -> "Number":
        """The number in another kind: floats, or an integer as a float."""
        kind = self.kind.of(element)
        if not self.kind.is_float:
            return Number(self.e, kind, self.e.cast("sitofp", self.kind, kind, self.text))
        op = "fpext" if kind.bits > self.kind.bits else "fptrunc"
        return Number(self.e, kind, self.e.cast(op, self.kind, kind, self.text))

    # -- pieces of formulas

    def polynomial(self, coefficients: Sequence[float]) -> "Number":
        """The sum of coefficients[i] * self**i."""
        total = self.like(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = total.fused(self, c)
        return total

    def nearest(self) -> tuple["Number", "Number"]:
        """(the nearest whole number, the same as an integer) of a float that is not large: adding 1.5 * 2**mantissa
        puts the integer into the low bits. NaN gives NaN and some integer."""
        magic = 12582912.0 if self.kind.bits == 32 else 6755399441055744.0
        moved = self + magic
        return moved - magic, moved.bits - moved.like(magic).bits

    def nearest_of(self, factor: float) -> tuple["Number", "Number"]:
        """`nearest` of self * factor."""
        magic = 12582912.0 if self.kind.bits == 32 else 6755399441055744.0
        moved = self.fused(factor, magic)
        return moved - magic, moved.bits - moved.like(magic).bits


def power_of_two(n: Number) -> Number:
    """2**n as a float, for integers n that are exponents of normal numbers."""
    mantissa, bias = (23, 127) if n.kind.bits == 32 else (52, 1023)
    return ((n + bias) << mantissa).as_float()


def scaled(y: Number, n: Number, whole: Number) -> Number:
    """y * 2**n with one rounding, subnormal or infinite where that is the result. n: the integer, whole: it as a
    float."""
    e, size = y.e, y.kind.lanes * y.kind.bits
    if e.target.has_avx512 and size in (128, 256, 512):
        letter = "ps" if y.kind.bits == 32 else "pd"
        flags = f"i{max(y.kind.lanes, 8)}"
        types = [y.kind.llvm] * 3 + [flags] + (["i32"] if size == 512 else [])
        operands = [y.text, whole.text, "zeroinitializer", "-1"] + (["4"] if size == 512 else [])
        name = f"llvm.x86.avx512.mask.scalef.{letter}.{size}"
        return Number(e, y.kind, e.call(y.kind.llvm, name, types, operands))
    half = n >> 1
    return y * power_of_two(half) * power_of_two(n - half)


Body = Callable[..., Number]


def function(e: CpuEmitter, name: str, kind: Kind, body: Body, arguments: int) -> str:
    """`@naiad_<name>_<kind>`, an inlined function of `arguments` operands of `kind` whose formula is `body`."""
    letters = [f"%x{n}" for n in range(arguments)]

    def define(symbol: str) -> None:
        f = CpuEmitter(e.module, e.target)
        result = body(*[Number(f, kind, letter) for letter in letters])
        f.lines[:0] = f.frame
        e.module.define(kind.llvm, symbol, [f"{kind.llvm} {x}" for x in letters], f, f"ret {kind.llvm} {result.text}",
                        "internal", e.target.function_attributes + " alwaysinline")  # fmt: skip

    return e.module.once(f"naiad_{name}_{kind.element}x{kind.lanes}", define)
