"""canonicalize: one way to write each thing. Folds constants, drops what does nothing, simplifies control flow.

Works at any level. Constants go to the start of their function (those in the region of a reduction stay there), equal
ones once; of a commutative op the constant stands right.
"""

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from naiad.ir.attributes import keyword
from naiad.ir.base import bits, element
from naiad.ir.constants import ConstantOp, constant, number
from naiad.ir.elementwise import ELEMENTWISE, CmpIOp, Elementwise, SelectOp, mode_of
from naiad.ir.tt.func import FuncOp
from naiad.passes.common.fold import FOLDS
from naiad.passes.driver import Rewriter, Rules, simplify

__all__ = ["CANONICAL", "Canonicalize", "gather_constants"]

IDENTITIES = Rules()


@dataclass(frozen=True)
class Canonicalize(ModulePass):
    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        gather_constants(op)
        if simplify(op, CANONICAL):
            gather_constants(op)


# ---- constants -----------------------------------------------------------------------------------------------------

HOMES = ("tt.func", "tt.reduce", "tt.scan", "tt.map_elementwise")


def gather_constants(module: ModuleOp) -> None:
    """Moves constants to the start of their function, or of their reduction's region, and merges equal ones."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.body.blocks:
            _gather(op.body.blocks[0])


def _gather(home: Block) -> None:
    known: dict[Any, ConstantOp] = {}
    last: Operation | None = None
    for op in list(_own_ops(home)):
        if not isinstance(op, ConstantOp):
            if op.name in HOMES:
                _gather(op.regions[0].blocks[0])
            continue
        key = op.properties["value"]
        if (first := known.get(key)) is not None:
            op.results[0].replace_all_uses_with(first.results[0])
            op.parent.erase_op(op)
            continue
        known[key] = op
        if op.parent is not home or (last is not None and op.prev_op is not last):
            _move_after(op, home, last)
        elif last is None and home.first_op is not op:
            _move_after(op, home, None)
        last = op


def _own_ops(block: Block) -> Any:
    """The ops in a block and below it, but not in the regions of reductions."""
    for op in block.ops:
        yield op
        if op.regions and op.name not in HOMES:
            for region in op.regions:
                for inner in region.blocks:
                    yield from _own_ops(inner)


def _move_after(op: Operation, home: Block, last: Operation | None) -> None:
    op.detach()
    if last is not None:
        home.insert_op_after(op, last)
    elif home.first_op is not None:
        home.insert_op_before(op, home.first_op)
    else:
        home.add_op(op)


# ---- arithmetic ----------------------------------------------------------------------------------------------------


def _ops(*names: str) -> list[type[Elementwise]]:
    return [ELEMENTWISE[f"arith.{n}"] for n in names]


def _is_constant(value: SSAValue) -> bool:
    return type(value.owner) is ConstantOp


@IDENTITIES.on(*_ops("addi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui", "addf", "mulf"))
def constant_right(op: Elementwise, rewriter: Rewriter) -> None:
    """op(c, x) -> op(x, c)"""
    lhs, rhs = op._operands
    if _is_constant(lhs) and not _is_constant(rhs):
        rewriter.set_operands(op, (rhs, lhs))


@IDENTITIES.on(*_ops("addi", "subi", "ori", "xori", "shli", "shrsi", "shrui"))
def with_zero(op: Elementwise, rewriter: Rewriter) -> None:
    """x + 0, x - 0, x | 0, x ^ 0, x << 0 -> x"""
    if number(op._operands[1]) == 0:
        rewriter.replace(op, op._operands[0])


@IDENTITIES.on(*_ops("muli", "divsi", "divui"))
def with_one(op: Elementwise, rewriter: Rewriter) -> None:
    """x * 1, x / 1 -> x; of i1 the constant true reads as -1 in a signed division, and x / -1 is x"""
    if number(op._operands[1]) in (1, True):
        rewriter.replace(op, op._operands[0])


@IDENTITIES.on(*_ops("muli", "andi"))
def times_zero(op: Elementwise, rewriter: Rewriter) -> None:
    """x * 0, x & 0 -> 0"""
    if number(op._operands[1]) == 0:
        rewriter.replace(op, op._operands[1])


@IDENTITIES.on(*_ops("remsi", "remui"))
def remainder_of_one(op: Elementwise, rewriter: Rewriter) -> None:
    """x % 1 -> 0"""
    if number(op._operands[1]) in (1, True):
        rewriter.replace_by(op, constant(0, op.results[0].type))


@IDENTITIES.on(*_ops("andi", "ori"))
def with_all_ones(op: Elementwise, rewriter: Rewriter) -> None:
    """x & -1 -> x, x | -1 -> -1"""
    value = number(op._operands[1])
    if value is True or (value == -1 and element(op.results[0].type) != i1):
        rewriter.replace(op, op._operands[0 if op.name == "arith.andi" else 1])


@IDENTITIES.on(*_ops("andi", "ori", "maxsi", "minsi", "maxui", "minui"))
def with_itself(op: Elementwise, rewriter: Rewriter) -> None:
    """x & x, max(x, x) -> x"""
    if op._operands[0] is op._operands[1]:
        rewriter.replace(op, op._operands[0])


@IDENTITIES.on(*_ops("subi", "xori"))
def minus_itself(op: Elementwise, rewriter: Rewriter) -> None:
    """x - x, x ^ x -> 0"""
    if op._operands[0] is op._operands[1]:
        rewriter.replace_by(op, constant(0, op.results[0].type))


@IDENTITIES.on(*_ops("subi"))
def subtract_constant(op: Elementwise, rewriter: Rewriter) -> None:
    """x - c -> x + (-c), so that sums of constants meet"""
    value = number(op._operands[1])
    if value is not None and element(op.results[0].type) != i1:
        minus = rewriter.insert(constant(-value, op.results[0].type))
        rewriter.replace_by(op, _like(op, "arith.addi", op._operands[0], minus))


@IDENTITIES.on(*_ops("addi", "muli", "andi", "ori", "xori"))
def merge_constants(op: Elementwise, rewriter: Rewriter) -> None:
    """(x + c) + d -> x + (c + d), where nothing else uses x + c"""
    inner = op._operands[0].owner
    if type(inner) is not type(op) or not _is_constant(op._operands[1]) or not _is_constant(inner._operands[1]):
        return
    if inner.results[0].has_one_use():
        both = rewriter.insert(_like(op, op.name, inner._operands[1], op._operands[1]))
        rewriter.replace_by(op, _like(op, op.name, inner._operands[0], both))


@IDENTITIES.on(*_ops("mulf", "divf"))
def float_with_one(op: Elementwise, rewriter: Rewriter) -> None:
    """x * 1.0, x / 1.0 -> x"""
    if number(op._operands[1]) == 1.0:
        rewriter.replace(op, op._operands[0])


@IDENTITIES.on(*_ops("addf", "subf"))
def float_with_zero(op: Elementwise, rewriter: Rewriter) -> None:
    """x + (-0.0), x - 0.0 -> x; x + 0.0 is not x where x is -0.0"""
    neutral = "-0.0" if op.name == "arith.addf" else "0.0"
    value = number(op._operands[1])
    if value is not None and str(value) == neutral:
        rewriter.replace(op, op._operands[0])


@IDENTITIES.on(*_ops("negf"))
def negate_twice(op: Elementwise, rewriter: Rewriter) -> None:
    """-(-x) -> x"""
    if type(inner := op._operands[0].owner) is type(op):
        rewriter.replace(op, inner._operands[0])


def _like(op: Operation, name: str, *operands: SSAValue) -> Elementwise:
    """An op of the same result type."""
    return ELEMENTWISE[name](*operands, results=[op.results[0].type])


# ---- comparisons, choices, casts -----------------------------------------------------------------------------------

INVERSE = {"eq": "ne", "slt": "sge", "sle": "sgt", "ult": "uge", "ule": "ugt"}
INVERSE |= {b: a for a, b in INVERSE.items()}
MIRROR = {"eq": "eq", "ne": "ne", "slt": "sgt", "sle": "sge", "ult": "ugt", "ule": "uge"}
MIRROR |= {b: a for a, b in MIRROR.items()}


@IDENTITIES.on(CmpIOp)
def compare_itself(op: Elementwise, rewriter: Rewriter) -> None:
    """x < x -> false; cmp(c, x) -> the mirrored cmp(x, c)"""
    lhs, rhs = op._operands
    predicate = mode_of(op) or ""
    if lhs is rhs:
        rewriter.replace_by(op, constant(predicate in ("eq", "sle", "sge", "ule", "uge"), op.results[0].type))
    elif _is_constant(lhs) and not _is_constant(rhs):
        op.properties["predicate"] = keyword(MIRROR[predicate])
        rewriter.set_operands(op, (rhs, lhs))


@IDENTITIES.on(*_ops("xori"))
def invert_comparison(op: Elementwise, rewriter: Rewriter) -> None:
    """(a < b) ^ true -> a >= b"""
    inner = op._operands[0].owner
    if type(inner) is CmpIOp and number(op._operands[1]) is True and inner.results[0].has_one_use():
        word = keyword(INVERSE[mode_of(inner) or ""])
        rewriter.replace_by(op, CmpIOp(*inner._operands, results=[op.results[0].type], predicate=word))


@IDENTITIES.on(SelectOp)
def select_known(op: Elementwise, rewriter: Rewriter) -> None:
    """select(true, a, b), select(c, a, a) -> a; select(c, true, false) -> c"""
    condition, yes, no = op._operands
    known = number(condition)
    if known is not None or yes is no:
        rewriter.replace(op, yes if known or yes is no else no)
    elif condition.type == op.results[0].type and number(yes) is True and number(no) is False:
        rewriter.replace(op, condition)


@IDENTITIES.on(ELEMENTWISE["arith.bitcast"], ELEMENTWISE["tt.bitcast"], ELEMENTWISE["tt.fp_to_fp"],
               ELEMENTWISE["arith.index_cast"])  # fmt: skip
def cast_to_same(op: Elementwise, rewriter: Rewriter) -> None:
    """A cast to the type that it comes from, and there and back."""
    source, type_ = op._operands[0], op.results[0].type
    if source.type == type_:
        rewriter.replace(op, source)
    elif "bitcast" in op.name and type(inner := source.owner) is type(op):
        if inner._operands[0].type == type_:
            rewriter.replace(op, inner._operands[0])
        else:
            rewriter.set_operands(op, inner._operands[:1])


@IDENTITIES.on(*_ops("trunci"))
def truncate_extended(op: Elementwise, rewriter: Rewriter) -> None:
    """trunc(ext(x)) -> x, or a shorter ext or trunc of it"""
    inner = op._operands[0].owner
    if not isinstance(inner, Operation) or inner.name not in ("arith.extsi", "arith.extui", "arith.trunci"):
        return
    source, type_ = inner._operands[0], op.results[0].type
    if source.type == type_:
        rewriter.replace(op, source)
        return
    name = "arith.trunci" if bits(source.type) > bits(type_) else inner.name
    rewriter.replace_by(op, _like(op, name, source))


@IDENTITIES.on(*_ops("extsi", "extui"))
def extend_twice(op: Elementwise, rewriter: Rewriter) -> None:
    """ext(ext(x)) -> ext(x), of one kind; a zero-extended number has no sign to extend"""
    inner = op._operands[0].owner
    if type(inner) is type(op) or (isinstance(inner, Operation) and inner.name == "arith.extui"):
        rewriter.replace_by(op, _like(op, inner.name, inner._operands[0]))


# ---- control flow --------------------------------------------------------------------------------------------------


@IDENTITIES.on(ForOp)
def carry_unchanged(op: ForOp, rewriter: Rewriter) -> None:
    """What a loop carries and never changes is what it starts from."""
    last = op.body.block.last_op
    for n, start in enumerate(op._operands[3:]):
        argument, given = op.body.block.args[n + 1], last._operands[n]
        if given is not argument and given is not start:
            continue
        if argument.first_use is not None and not _only_yielded(argument, last):
            rewriter.replace_value(argument, start)
        if op.results[n].first_use is not None:
            rewriter.replace_value(op.results[n], start)


def _only_yielded(argument: SSAValue, last: Operation | None) -> bool:
    return all(use.operation is last and isinstance(last, YieldOp) for use in argument.uses)


@IDENTITIES.on(IfOp)
def branches_agree(op: IfOp, rewriter: Rewriter) -> None:
    """A result for which both branches give the same value from outside is that value."""
    if not op.results or not op.false_region.blocks:
        return
    yes, no = (region.block.last_op._operands for region in op.regions)
    for result, a, b in zip(op.results, yes, no, strict=True):
        if result.first_use is None:
            continue
        if a is b and not _is_inside(a, op):
            rewriter.replace_value(result, a)
        elif number(a) is True and number(b) is False and result.type == i1:
            rewriter.replace_value(result, op.cond)


def _is_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    parent = owner.parent_op()
    while parent is not None:
        if parent is op:
            return True
        parent = parent.parent_op()
    return False


CANONICAL = FOLDS + IDENTITIES
"""Folds and identities together: what `canonicalize` applies."""
