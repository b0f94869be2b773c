"""Constant folding: an op whose operands are all known numbers becomes a constant. Rules, and the pass `fold`."""

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from naiad.ir import evaluate as numeric
from naiad.ir.base import element
from naiad.ir.constants import ConstantOp, SplatAttr, constant, number, numpy_type
from naiad.ir.elementwise import ELEMENTWISE, Elementwise, mode_of
from naiad.ir.tt.make import AddPtrOp, MakeRangeOp, SplatOp, UnsplatOp
from naiad.ir.tt.shape import BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp
from naiad.passes.driver import Rewriter, Rules, simplify

__all__ = ["FOLDS", "Fold", "folded"]

FOLDS = Rules()
POINTERS = ("tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int")


@dataclass(frozen=True)
class Fold(ModulePass):
    """Folds constants and nothing else."""

    name = "fold"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        simplify(op, FOLDS)


def folded(op: Operation) -> ConstantOp | None:
    """The constant that an elementwise op on constants is, or None: also where MLIR leaves the value undefined."""
    values = [number(v) for v in op._operands]
    if None in values or not _is_number(op.results[0]):
        return None
    arrays = [np.array(v).astype(numpy_type(o.type)) for v, o in zip(values, op._operands, strict=True)]
    if not numeric.is_defined(op.name, arrays):
        return None
    result = numeric.evaluate(op.name, arrays, numpy_type(op.results[0].type), mode_of(op))
    if isinstance(element(op.results[0].type), IntegerType | IndexType):
        return constant(int(result), op.results[0].type)
    return constant(float(result.astype(np.float64)), op.results[0].type)


def _is_number(value: SSAValue) -> bool:
    scalar = element(value.type)
    return isinstance(scalar, IntegerType | IndexType) or scalar.name in numeric.DTYPES


def fold_elementwise(op: Elementwise, rewriter: Rewriter) -> None:
    """op(constants) -> constant"""
    if all(type(v.owner) is ConstantOp for v in op._operands) and (found := folded(op)) is not None:
        rewriter.replace_by(op, found)


for _name, _class in ELEMENTWISE.items():
    if _name not in POINTERS:
        FOLDS.on(_class)(fold_elementwise)


@FOLDS.on(SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp)
def move_constant(op: Operation, rewriter: Rewriter) -> None:
    """splat(constant), broadcast(constant), ... -> a constant of the new shape"""
    source = op._operands[0].owner
    if type(source) is not ConstantOp:
        return
    value = source.properties["value"]
    scalar = value.scalar if isinstance(value, SplatAttr) else value
    if isinstance(scalar.type, IntegerType) or scalar.type.name in numeric.DTYPES:
        type_ = op.results[0].type
        rewriter.replace_by(op, ConstantOp(results=[type_], value=SplatAttr(scalar, type_)))


@FOLDS.on(UnsplatOp)
def unsplat_constant(op: UnsplatOp, rewriter: Rewriter) -> None:
    """unsplat(dense<c>) -> c"""
    if (value := number(op.src)) is not None:
        rewriter.replace_by(op, constant(value, op.result.type))


@FOLDS.on(MakeRangeOp)
def short_range(op: MakeRangeOp, rewriter: Rewriter) -> None:
    """a range of one number -> constant"""
    if op.end.value.data - op.start.value.data == 1:
        rewriter.replace_by(op, constant(op.start.value.data, op.result.type))


@FOLDS.on(AddPtrOp)
def add_nothing(op: AddPtrOp, rewriter: Rewriter) -> None:
    """addptr(p, 0) -> p, unless a promise about p is written there"""
    if number(op.offset) == 0 and "tt.divisibility" not in op.attributes:
        rewriter.replace(op, op.ptr)


@FOLDS.on(IfOp)
def take_branch(op: IfOp, rewriter: Rewriter) -> None:
    """if true { a } else { b } -> a"""
    condition = number(op.cond)
    if condition is None:
        return
    region = op.true_region if condition else op.false_region
    given = rewriter.inline_block(region.block, op, ()) if region.blocks else ()
    rewriter.replace(op, *given)


@FOLDS.on(ForOp)
def known_trips(op: ForOp, rewriter: Rewriter) -> None:
    """A loop of no turns gives what it starts from; a loop of one turn is its body."""
    trips = trip_count(op)
    if trips == 0:
        rewriter.replace(op, *op.iter_args)
    elif trips == 1:
        given = rewriter.inline_block(op.body.block, op, (op.lb, *op.iter_args))
        rewriter.replace(op, *given)


def trip_count(op: ForOp) -> int | None:
    """How many turns a loop makes, where its bounds are known."""
    start, end, step = (number(v) for v in op._operands[:3])
    if start is None or end is None or step is None or step <= 0:
        return None
    return max(0, -int(-(end - start) // step))


@FOLDS.on(WhileOp)
def never_entered(op: WhileOp, rewriter: Rewriter) -> None:
    """while whose condition is false -> what the condition's block passes on, once"""
    condition = op.before_region.block.last_op
    if condition is not None and number(condition._operands[0]) is False:
        given = rewriter.inline_block(op.before_region.block, op, tuple(op._operands))
        rewriter.replace(op, *given[1:])
