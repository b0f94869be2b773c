"""tt-decompose-scaled-dot: products in microscaling formats become products of plain floats. ttir to ttir.

    %d = tt.dot_scaled %a scale %s, %b scale %t, %c lhs = e2m1 rhs = e4m3

    becomes  tt.dot (unpacked a * 2^(s - 127)), (b * 2^(t - 127)), %c

for a target that has no such instruction. Elements and scales are multiplied in f32, where that is exact, and rounded
to bf16, in which e2m1, e4m3, e5m2 and bf16 times a power of two fit; where something does not, the product is in f32,
as tf32 if fp16 times a power of two is all that does not.
Hardware may take what is below the least normal bf16, 2^-126, for 0.
With `halves`, what is multiplied by plain fp16 becomes fp16, as Triton has it: matrix units take it twice as fast as
tf32. It has the bits but not the range: an element times its scale beyond 65504 is infinite, and below 2^-24 it is 0.
`fastMath` says that no scale is NaN. Source: OCP Microscaling Formats Specification 1.0, sections 5.3 and 5.4.
"""

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    Float8E4M3FNType,
    Float8E5M2Type,
    IntegerType,
    ModuleOp,
    bf16,
    f16,
    f32,
    i1,
    i16,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.attributes import keyword
from naiad.ir.base import bits, element, int_attr, like, shape, tensor
from naiad.ir.tt.dot import DotScaledOp
from naiad.ir.tt.shape import TransOp
from naiad.passes.ttir.accesses import Maker

__all__ = ["DecomposeScaledDot"]

FP8 = {"e4m3": Float8E4M3FNType(), "e5m2": Float8E5M2Type()}
Operands = tuple[tuple[str, SSAValue | None], ...]
"""The format and the scale of each factor."""

HALF, SMALLEST_SCALE, NAN_CODE = 0x3F00, 0x00400000, 255
"""The bits of 0.5 in bf16; of 2^-127, the scale of code 0, in f32; the code of the scale NaN."""


@dataclass(frozen=True)
class DecomposeScaledDot(ModulePass):
    name = "tt-decompose-scaled-dot"
    halves: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, DotScaledOp):
                _decompose(inner, self.halves)


def _decompose(op: DotScaledOp, halves: bool) -> None:
    make, c = Maker(op, op.location), op.c
    operands = ((op.a_elem_type.data, op.a_scale), (op.b_elem_type.data, op.b_scale))
    type = _factor_type(operands, halves)
    a, b = _converted(make, _lhs(make, op), type), _converted(make, _rhs(make, op, type), type)
    precision = keyword("tf32" if type == f32 and all(_fits_tf32(*o) for o in operands) else "ieee")
    made = make.op("tt.dot", like(c.type, f32), a, b, _converted(make, c, f32), inputPrecision=precision)
    made = _converted(make, made, element(op.result.type))
    made.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(made)
    Rewriter.erase_op(op)


def _lhs(make: Maker, op: DotScaledOp) -> SSAValue:
    """The numbers of a, times their scales."""
    k = len(shape(op.a.type)) - 1
    numbers = _numbers(make, op.a, op.a_elem_type.data, k if _is_true(op.lhs_k_pack) else k - 1)
    return numbers if op.a_scale is None else _scaled(make, numbers, op.a_scale, k, not _is_true(op.fastMath))


def _factor_type(operands: Operands, halves: bool) -> Attribute:
    """What is multiplied: the narrowest type that has the bits of both operands times their scales."""
    if all(_fits(*operand) for operand in operands):
        return bf16
    return f16 if halves and all(_fits_half(*operand) for operand in operands) else f32


def _rhs(make: Maker, op: DotScaledOp, type: Attribute) -> SSAValue:
    """The numbers of b, times their scales. What is transposed for the product is transposed last, as fewer bytes."""
    value, k = op.b, len(shape(op.b.type)) - 2
    turned = _untransposed(value)
    if turned is not None:
        value, k = turned, k + 1
    other = 2 * len(shape(value.type)) - 3 - k  # the last two dimensions are k and this one
    numbers = _numbers(make, value, op.b_elem_type.data, k if _is_true(op.rhs_k_pack) else other)
    if op.b_scale is not None:
        scale = op.b_scale if turned is not None else _transposed(make, op.b_scale)
        numbers = _scaled(make, numbers, scale, k, not _is_true(op.fastMath))
    if turned is None:
        return numbers
    return _transposed(make, _converted(make, numbers, type))


def _is_true(flag: BoolAttr | None) -> bool:
    """A flag, which is true where it is left out."""
    return flag is None or bool(flag.value.data)


def _untransposed(value: SSAValue) -> SSAValue | None:
    """x where the value is x with its last two dimensions exchanged."""
    rank, owner = len(shape(value.type)), value.owner
    exchanged = (*range(rank - 2), rank - 1, rank - 2)
    return owner.src if isinstance(owner, TransOp) and owner.order.get_values() == exchanged else None


def _fits(kind: str, scale: SSAValue | None) -> bool:
    """Whether an element times its scale has at most the 8 bits of a bf16."""
    return kind != "fp16" and (kind != "bf16" or _is_power_of_two(scale))


def _fits_half(kind: str, scale: SSAValue | None) -> bool:
    """Whether an element times its scale has at most the 11 bits of an f16; its range is not looked at."""
    return scale is None if kind == "fp16" else kind != "bf16"


def _fits_tf32(kind: str, scale: SSAValue | None) -> bool:
    """Whether an element times its scale has at most the 11 bits of a tf32, whose range is that of f32."""
    return kind not in ("fp16", "bf16") or _is_power_of_two(scale)


def _is_power_of_two(scale: SSAValue | None) -> bool:
    return scale is None or isinstance(element(scale.type), IntegerType)


def _converted(make: Maker, value: SSAValue, scalar: Attribute) -> SSAValue:
    """A tile of floats in another type of floats, rounded to nearest."""
    old, new = element(value.type), like(value.type, scalar)
    if old == scalar:
        return value
    if bits(old) == 8:
        return make.op("tt.fp_to_fp", new, value)
    if bits(old) == bits(scalar):
        return _converted(make, _converted(make, value, f32), scalar)
    return make.op("arith.extf" if bits(old) < bits(scalar) else "arith.truncf", new, value)


def _numbers(make: Maker, value: SSAValue, kind: str, axis: int) -> SSAValue:
    """The elements of an operand, as floats of a type that holds them; e2m1 are unpacked along `axis`."""
    if kind == "e2m1":
        low, high = _halves(make, value)
        return _interleaved(make, _from_e2m1(make, low), _from_e2m1(make, high), axis)
    if kind in FP8 and isinstance(element(value.type), IntegerType):
        return make.op("tt.bitcast", like(value.type, FP8[kind]), value)
    return value


def _halves(make: Maker, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The codes in the low and in the high half of each byte, as i16."""
    wide = make.op("arith.extui", like(value.type, i16), value)
    low = make.op("arith.andi", wide.type, wide, make.constant(15, wide.type))
    return low, make.op("arith.shrui", wide.type, wide, make.constant(4, wide.type))


def _from_e2m1(make: Maker, code: SSAValue) -> SSAValue:
    """The numbers of 4-bit codes (i16) in bf16. Exponent and mantissa go where bf16 has them, all but 0.5's and 0's."""
    type = code.type
    magnitude = make.op("arith.andi", type, code, make.constant(7, type))
    moved = make.op("arith.shli", type, magnitude, make.constant(6, type))
    normal = make.op("arith.addi", type, moved, make.constant(HALF, type))
    tiny = make.op("arith.muli", type, magnitude, make.constant(HALF, type))
    is_normal = make.op("arith.cmpi", like(type, i1), magnitude, make.constant(1, type), predicate=keyword("sgt"))
    number = make.op("arith.select", type, is_normal, normal, tiny)
    sign = make.op("arith.andi", type, code, make.constant(8, type))
    sign = make.op("arith.shli", type, sign, make.constant(12, type))
    return make.op("tt.bitcast", like(type, bf16), make.op("arith.ori", type, number, sign))


def _interleaved(make: Maker, low: SSAValue, high: SSAValue, axis: int) -> SSAValue:
    """One tile twice as long along `axis`: low, high, low, high, ..."""
    sizes, scalar = shape(low.type), element(low.type)
    joined = make.op("tt.join", tensor(scalar, (*sizes, 2)), low, high)
    order = [*range(axis + 1), len(sizes), *range(axis + 1, len(sizes))]
    if axis + 1 < len(sizes):
        turned = tensor(scalar, tuple(shape(joined.type)[d] for d in order))
        joined = make.op("tt.trans", turned, joined, order=DenseArrayBase.from_list(i32, order))
    return make.op("tt.reshape", tensor(scalar, (*sizes[:axis], 2 * sizes[axis], *sizes[axis + 1 :])), joined)


def _transposed(make: Maker, value: SSAValue) -> SSAValue:
    """The last two dimensions exchanged."""
    *batch, rows, columns = shape(value.type)
    order = [*range(len(batch)), len(batch) + 1, len(batch)]
    turned = tensor(element(value.type), (*batch, columns, rows))
    return make.op("tt.trans", turned, value, order=DenseArrayBase.from_list(i32, order))


def _scaled(make: Maker, value: SSAValue, scale: SSAValue, axis: int, has_nan: bool) -> SSAValue:
    """The elements (f32) times their scales; `scale` has an element for each group of them along `axis`."""
    value = _converted(make, value, f32)
    factors = _factors(make, scale, has_nan)
    sizes, groups = shape(value.type), shape(scale.type)
    opened = (*groups[: axis + 1], 1, *groups[axis + 1 :])
    spread = (*groups[: axis + 1], sizes[axis] // groups[axis], *groups[axis + 1 :])
    factors = make.op("tt.expand_dims", tensor(f32, opened), factors, axis=int_attr(axis + 1))
    factors = make.reshaped(make.repeated(factors, spread), value.type)
    return make.op("arith.mulf", value.type, value, factors)


def _factors(make: Maker, scale: SSAValue, has_nan: bool) -> SSAValue:
    """Scales as f32: of i8 codes 2^(code - 127), NaN for 255."""
    if not isinstance(element(scale.type), IntegerType):
        return _converted(make, scale, f32)
    type = like(scale.type, i32)
    code = make.op("arith.extui", type, scale)
    word = make.op("arith.shli", type, code, make.constant(23, type))
    word = make.op("arith.maxsi", type, word, make.constant(SMALLEST_SCALE, type))
    factor = make.op("tt.bitcast", like(type, f32), word)
    if not has_nan:
        return factor
    is_nan = make.op("arith.cmpi", like(type, i1), code, make.constant(NAN_CODE, type), predicate=keyword("eq"))
    return make.op("arith.select", factor.type, is_nan, make.constant(math.nan, factor.type), factor)
