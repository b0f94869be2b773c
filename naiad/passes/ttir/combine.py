"""tt-combine: simplifies tile ops: pointers, shapes, masks, products. Reads ttir, leaves ttir."""

import operator
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, f32, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from naiad.ir.attributes import keyword
from naiad.ir.base import bits, element, segments, shape
from naiad.ir.constants import ConstantOp, constant, number
from naiad.ir.elementwise import ELEMENTWISE, CmpIOp, SelectOp, mode_of
from naiad.ir.tt.debug import AssertOp, AssumeOp
from naiad.ir.tt.dot import DotOp
from naiad.ir.tt.make import AddPtrOp, MakeRangeOp, SplatOp, UnsplatOp
from naiad.ir.tt.memory import LoadOp, StoreOp
from naiad.ir.tt.reduce import ReduceOp
from naiad.ir.tt.shape import BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp
from naiad.passes.common.canonicalize import CANONICAL, gather_constants
from naiad.passes.driver import Rewriter, Rules, simplify
from naiad.passes.ttir.signs import is_nonnegative, is_nonpositive

__all__ = ["COMBINE", "Combine"]

COMBINE = Rules()
ORDER = {"slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge}


@dataclass(frozen=True)
class Combine(ModulePass):
    """Runs with the rules of canonicalize, which its results feed."""

    name = "tt-combine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        gather_constants(op)
        if simplify(op, CANONICAL + COMBINE):
            gather_constants(op)


# ---- pointers and shapes -------------------------------------------------------------------------------------------


@COMBINE.on(AddPtrOp)
def merge_steps(op: AddPtrOp, rewriter: Rewriter) -> None:
    """addptr(addptr(p, c), d) -> addptr(p, c + d), for constants of one type whose sum fits"""
    inner = op.ptr.owner
    if type(inner) is not AddPtrOp or inner.offset.type != op.offset.type:
        return
    first, second = number(inner.offset), number(op.offset)
    if first is None or second is None:
        return
    limit = 1 << (bits(op.offset.type) - 1)
    if -limit <= first + second < limit:
        total = rewriter.insert(constant(first + second, op.offset.type))
        rewriter.replace_by(op, AddPtrOp(inner.ptr, total, results=[op.result.type]))


@COMBINE.on(ExpandDimsOp, BroadcastOp, ReshapeOp, TransOp)
def shape_of_splat(op: Operation, rewriter: Rewriter) -> None:
    """expand_dims(splat(x)), broadcast(splat(x)), reshape, trans -> splat(x) of the new shape"""
    if type(inner := op._operands[0].owner) is SplatOp:
        rewriter.replace_by(op, SplatOp(inner.src, results=[op.results[0].type]))


@COMBINE.on(BroadcastOp, ReshapeOp)
def same_shape(op: Operation, rewriter: Rewriter) -> None:
    """broadcast or reshape to the type that is there -> nothing"""
    if op._operands[0].type == op.results[0].type and "allow_reorder" not in op.properties:
        rewriter.replace(op, op._operands[0])


@COMBINE.on(BroadcastOp, ReshapeOp)
def twice(op: Operation, rewriter: Rewriter) -> None:
    """broadcast(broadcast(x)) -> broadcast(x), and so reshapes that keep the order"""
    inner = op._operands[0].owner
    if type(inner) is type(op) and not (op.properties or inner.properties):
        rewriter.set_operands(op, inner._operands[:1])


@COMBINE.on(TransOp)
def transpose_twice(op: TransOp, rewriter: Rewriter) -> None:
    """trans(trans(x)) -> one trans, or x"""
    order = tuple(op.order.get_values())
    inner = op.src.owner
    if order == tuple(range(len(order))):
        rewriter.replace(op, op.src)
    elif type(inner) is TransOp:
        first = tuple(inner.order.get_values())
        both = DenseArrayBase.from_list(i32, [first[d] for d in order])
        rewriter.replace_by(op, TransOp(inner.src, results=[op.result.type], order=both))


@COMBINE.on(UnsplatOp)
def unsplat_splat(op: UnsplatOp, rewriter: Rewriter) -> None:
    """unsplat(splat(x)) -> x"""
    if type(inner := op.src.owner) is SplatOp:
        rewriter.replace(op, inner.src)


@COMBINE.on(ELEMENTWISE["tt.int_to_ptr"], ELEMENTWISE["tt.ptr_to_int"])
def pointer_and_back(op: Operation, rewriter: Rewriter) -> None:
    """int_to_ptr(ptr_to_int(p)) -> p, where the types agree"""
    inner = op._operands[0].owner
    back = {"tt.int_to_ptr": "tt.ptr_to_int", "tt.ptr_to_int": "tt.int_to_ptr"}[op.name]
    if isinstance(inner, Operation) and inner.name == back and inner._operands[0].type == op.results[0].type:
        rewriter.replace(op, inner._operands[0])


@COMBINE.on(ELEMENTWISE["arith.maxsi"])
def clamp_known(op: Operation, rewriter: Rewriter) -> None:
    """max(x, 0) -> x where x >= 0, or 0 where x <= 0"""
    value, limit = op._operands
    if number(limit) == 0 and is_nonnegative(value):
        rewriter.replace(op, value)
    elif number(limit) == 0 and is_nonpositive(value):
        rewriter.replace(op, limit)


@COMBINE.on(CmpIOp)
def compare_range(op: Operation, rewriter: Rewriter) -> None:
    """range(a, b) >= c -> true, where c <= a; and the like"""
    steps, limit = op._operands[0].owner, number(op._operands[1])
    if type(steps) is not MakeRangeOp or limit is None:
        return
    compare = ORDER.get(mode_of(op) or "")
    if compare is None:
        return
    first, last = compare(steps.start.value.data, limit), compare(steps.end.value.data - 1, limit)
    if first == last:  # such a comparison changes once along the range, if at all
        rewriter.replace_by(op, constant(first, op.results[0].type))


# ---- masks ---------------------------------------------------------------------------------------------------------


@COMBINE.on(LoadOp)
def load_known_mask(op: LoadOp, rewriter: Rewriter) -> None:
    """load under true -> load without mask; under false -> other"""
    known = number(op.mask) if op.mask is not None else None
    if known is True:
        _unmask(op, rewriter, 1)
    elif known is False and "isVolatile" not in op.properties:
        _never_loaded(op, rewriter)


def _never_loaded(op: LoadOp, rewriter: Rewriter) -> None:
    if op.other is not None:
        rewriter.replace(op, op.other)
    elif element(op.result.type).name != "tt.ptr":
        rewriter.replace_by(op, constant(0, op.result.type))


def _unmask(op: Operation, rewriter: Rewriter, keep: int) -> None:
    """Leaves the first `keep` operands."""
    op.properties["operandSegmentSizes"] = segments(*[1] * keep, *[0] * (3 - keep))
    rewriter.set_operands(op, op._operands[:keep])


@COMBINE.on(StoreOp)
def store_known_mask(op: StoreOp, rewriter: Rewriter) -> None:
    """store under true -> store without mask; under false -> nothing"""
    known = number(op.mask) if op.mask is not None else None
    if known is True:
        _unmask(op, rewriter, 2)
    elif known is False:
        rewriter.erase(op)


@COMBINE.on(SelectOp)
def select_masked_load(op: Operation, rewriter: Rewriter) -> None:
    """select(m, load(p, m), x) -> load(p, m, x), where it is the very same mask"""
    mask, loaded, other = op._operands
    load = loaded.owner
    if type(load) is not LoadOp or load.mask is not mask or not load.result.has_one_use():
        return
    if load.other is other or not _is_before(other, load):
        return
    operands = (load.ptr, load.mask, other)
    properties = {k: v for k, v in load.properties.items() if k != "operandSegmentSizes"}
    new = LoadOp(*operands, results=[load.result.type], location=load.location, **properties)
    rewriter.insert(new, before=load)
    rewriter.replace(op, new.result)


def _is_before(value: SSAValue, op: Operation) -> bool:
    """Whether `value` is defined where `op` can use it.

    A constant, an argument of its block, or earlier in its block.
    """
    owner = value.owner
    if not isinstance(owner, Operation):
        return owner is op.parent
    if isinstance(owner, ConstantOp) and owner.parent is not op.parent:
        return True
    return owner.parent is op.parent and owner.is_before_in_block(op)


@COMBINE.on(AssertOp, AssumeOp)
def certain(op: Operation, rewriter: Rewriter) -> None:
    """assert(true), assume(true) -> nothing"""
    if number(op._operands[0]) is True:
        rewriter.erase(op)


# ---- products ------------------------------------------------------------------------------------------------------


@COMBINE.on(ELEMENTWISE["arith.addf"], ELEMENTWISE["arith.addi"])
def add_to_product(op: Operation, rewriter: Rewriter) -> None:
    """dot(a, b, 0) + x -> dot(a, b, x), unless sums are kept imprecise on purpose"""
    for n, value in enumerate(op._operands):
        dot = value.owner
        if type(dot) is not DotOp or number(dot.c) != 0 or not dot.result.has_one_use() or dot.maxNumImpreciseAcc:
            continue
        other = op._operands[1 - n]
        if other is not value and other.type == dot.result.type:
            properties: dict[str, Any] = dict(dot.properties)
            rewriter.replace_by(
                op, DotOp(dot.a, dot.b, other, results=[other.type], location=dot.location, **properties)
            )
            return


@COMBINE.on(ReduceOp)
def sum_of_products(op: ReduceOp, rewriter: Rewriter) -> None:
    """sum(a[:, :, None] * b[None, :, :], axis 1) -> dot(a, b, 0), of f32: the tile of all products is never made"""
    body = [inner.name for inner in op.combine.block.ops]
    product = op._operands[0].owner
    if op.axis.value.data != 1 or len(op._operands) != 1 or body != ["arith.addf", "tt.reduce.return"]:
        return
    if not isinstance(product, Operation) or product.name != "arith.mulf" or not product.results[0].has_one_use():
        return
    a, b = (_spread(operand, axis) for operand, axis in zip(product._operands, (2, 0), strict=True))
    type = op.results[0].type
    if a is None or b is None or element(type) != f32:
        return
    zero = rewriter.insert(constant(0.0, type))
    exact = keyword("ieee")
    rewriter.replace_by(op, DotOp(a, b, zero, results=[type], location=op.location, inputPrecision=exact))


def _spread(value: SSAValue, axis: int) -> SSAValue | None:
    """x where the value is x, repeated along a third dimension, `axis`, alone."""
    if type(outer := value.owner) is not BroadcastOp or type(inner := outer.src.owner) is not ExpandDimsOp:
        return None
    whole = shape(value.type)
    kept = (*whole[:axis], *whole[axis + 1 :])
    return inner.src if len(whole) == 3 and inner.axis.value.data == axis and shape(inner.src.type) == kept else None
