"""tt-reorder-broadcast: computes before repeating. Reads ttir, leaves ttir.

An elementwise op on splats is done once, on the scalars; on broadcasts of one small shape it is done on that shape.
What costs a tile of ops becomes a scalar or a row.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from naiad.ir.base import NaiadOp, element, like, shape
from naiad.ir.constants import ConstantOp, SplatAttr
from naiad.ir.elementwise import ELEMENTWISE
from naiad.ir.tt.make import AddPtrOp, SplatOp
from naiad.ir.tt.shape import BroadcastOp, ExpandDimsOp
from naiad.passes.driver import Rewriter, Rules, simplify

__all__ = ["BROADCAST", "ReorderBroadcast"]

BROADCAST = Rules()


@dataclass(frozen=True)
class ReorderBroadcast(ModulePass):
    name = "tt-reorder-broadcast"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        simplify(op, BROADCAST)


def _is_uniform(value: SSAValue) -> bool:
    """Whether a tile holds one scalar everywhere, as an op says."""
    return type(value.owner) in (SplatOp, ConstantOp)


@BROADCAST.on(*ELEMENTWISE.values(), AddPtrOp)
def reorder(op: Operation, rewriter: Rewriter) -> None:
    """op(splat(a), splat(b)) -> splat(op(a, b)); op(broadcast(a), broadcast(b) or splat) -> broadcast(op(a, ...))"""
    if not isinstance(op.results[0].type, TensorType):
        return
    repeats = [v.owner for v in op._operands if not _is_uniform(v)]
    if not repeats:
        if any(type(v.owner) is SplatOp for v in op._operands):
            _on_scalars(op, rewriter)
        return
    kinds = {type(r) for r in repeats}
    if len(kinds) == 1 and kinds <= {BroadcastOp, ExpandDimsOp}:
        _on_sources(op, repeats, rewriter)


def _on_scalars(op: Operation, rewriter: Rewriter) -> None:
    scalars = [_scalar(v, rewriter) for v in op._operands]
    made = _made(op, scalars, element(op.results[0].type))
    rewriter.replace_by(op, made, SplatOp(made.results[0], results=[op.results[0].type]))


def _scalar(value: SSAValue, rewriter: Rewriter) -> SSAValue:
    owner = value.owner
    if isinstance(owner, SplatOp):
        return owner.src
    scalar = owner.properties["value"].scalar
    return rewriter.insert(ConstantOp(results=[scalar.type], value=scalar))


def _on_sources(op: NaiadOp, repeats: list[NaiadOp], rewriter: Rewriter) -> None:
    """Repeats that all come from one shape, the same way; uniform operands take that shape."""
    first = repeats[0]
    source = first._operands[0].type
    for other in repeats[1:]:
        if shape(other._operands[0].type) != shape(source) or other.properties.get("axis") != first.properties.get(
            "axis"
        ):
            return
    operands = [_shrunk(v, source, rewriter) if _is_uniform(v) else v.owner._operands[0] for v in op._operands]
    small = _made(op, operands, like(source, element(op.results[0].type)))
    properties = {"axis": first.properties["axis"]} if isinstance(first, ExpandDimsOp) else {}
    rewriter.replace_by(op, small, type(first)(small.results[0], results=[op.results[0].type], **properties))


def _shrunk(value: SSAValue, source: Attribute, rewriter: Rewriter) -> SSAValue:
    """A uniform tile in the shape of `source`."""
    owner, type_ = value.owner, like(source, element(value.type))
    if isinstance(owner, SplatOp):
        return rewriter.insert(SplatOp(owner.src, results=[type_]))
    scalar = owner.properties["value"].scalar
    return rewriter.insert(ConstantOp(results=[type_], value=SplatAttr(scalar, type_)))


def _made(op: NaiadOp, operands: list[SSAValue], type_: Attribute) -> Operation:
    """The same op on other operands; a new one made for several uses is merged by cse."""
    return type(op)(*operands, results=[type_], **op.properties)
