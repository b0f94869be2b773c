"""ttg-dot-operands: has operands of matrix instructions come from swizzled shared memory. ttgir to ttgir.

%y = ttg.convert_layout %x : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #dot_a>

becomes a ttg.local_alloc of %x and a ttg.local_load, which ldmatrix can read, and which pipelining can fill ahead of
time
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from naiad.ir.base import bits, retype, shape, tensor
from naiad.ir.encodings import encoding, layout_of, linear_of, memdesc
from naiad.ir.nvg import WarpGroupDotOp, WarpGroupDotWaitOp
from naiad.ir.ttg import ConvertLayoutOp, LocalAllocOp, LocalLoadOp, MemDescTransOp
from naiad.layouts.convert import SharedMove, plan
from naiad.layouts.distributed import Blocked, DotOperand, Linear
from naiad.layouts.mma import NvidiaMma
from naiad.layouts.shared import NvmmaShared, SwizzledShared
from naiad.passes.common.cse import merge_equal_ops
from naiad.passes.effects import is_speculatable
from naiad.passes.ttgir.transfer import is_elementwise, is_tile

__all__ = ["DotOperands", "is_local", "swizzled_for"]

CHUNK = 16
"""Bytes that move as one: what ldmatrix reads of a row, and the widest copy."""


def swizzled_for(type: Attribute) -> SwizzledShared:
    """Shared memory in which 8 rows, a chunk of each, lie in different banks. Rows run as the layout's fastest
    dimension.
    """
    layout, sizes = layout_of(type), shape(type)
    order = layout.order if isinstance(layout, Blocked) else tuple(reversed(range(len(sizes))))
    size = max(1, bits(type) // 8)
    row = sizes[order[0]] * size
    vector = max(1, min(CHUNK // size, sizes[order[0]]))
    per_phase = max(1, 128 // row)
    phases = max(1, min(8 // per_phase, row // CHUNK)) if per_phase <= 8 else 1
    return SwizzledShared(vector, per_phase, phases, order)


def nvmma_for(type: Attribute, k: int) -> NvmmaShared:
    """Shared memory as wgmma reads it, with the widest swizzle that a row fills. Rows of bytes must run along k."""
    layout, sizes = layout_of(type), shape(type)
    fast = layout.order[0] if isinstance(layout, Blocked) else len(sizes) - 1
    if bits(type) == 8:
        fast = k
    row = sizes[fast] * bits(type) // 8
    swizzle = 128 if row >= 128 else 64 if row >= 64 else 32
    return NvmmaShared(swizzle, fast == len(sizes) - 2, bits(type))


def turned(layout: SwizzledShared | NvmmaShared) -> SwizzledShared | NvmmaShared:
    """The layout of the transposed view of a matrix in shared memory."""
    if isinstance(layout, NvmmaShared):
        return replace(layout, transposed=not layout.transposed)
    return replace(layout, order=tuple(1 - d for d in layout.order))


Choice = Callable[[Attribute, bool], SwizzledShared | NvmmaShared]
"""The layout of a tile in shared memory, given its type and whether its transpose is what is wanted."""


@dataclass
class Room:
    """Bytes of shared memory that tiles may take during loops which only read them: else they are stored each turn, in
    memory that others use in turn.
    """

    left: int = 65536

    def take(self, type: Attribute) -> bool:
        size = prod(shape(type)) * max(8, bits(type)) // 8
        fits = size <= self.left
        self.left -= size if fits else 0
        return fits


@dataclass(frozen=True)
class DotOperands(ModulePass):
    name = "ttg-dot-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, ConvertLayoutOp) and goes_through_shared(inner):
                compute_behind(inner)
        merge_equal_ops(op)
        room = Room()
        for inner in list(op.walk()):
            if isinstance(inner, ConvertLayoutOp) and goes_through_shared(inner):
                split(inner, room)
            elif inner.name == "tt.dot" and is_hopper(inner):
                to_warp_group(inner, room)


FEW = 4
"""Ops that are rather computed in the layout of an operand, where several warps hold each element, than moved."""


def compute_behind(convert: Operation) -> None:
    """convert(f(x)) -> f(convert(x)) for a few ops on what was loaded, so that it moves once, as it comes."""
    chain = set(made_of(convert.operands[0], bits(convert.results[0].type)) or ())
    if not 0 < len(chain) <= FEW:
        return
    layout = convert.results[0].type.encoding
    known: dict[SSAValue, SSAValue] = {}

    def there(value: SSAValue) -> SSAValue:
        """A value in the operand's layout."""
        if not is_tile(value):
            return value
        if value not in known:
            type = tensor(value.type.element_type, shape(value.type), layout)
            if value.owner in chain:
                copy = value.owner.clone({o: there(o) for o in value.owner.operands})
                copy.location = value.owner.location
                retype(copy.results[0], type)
            else:
                copy = ConvertLayoutOp(value, results=[type], location=convert.location)
            convert.parent_block().insert_op_before(copy, convert)
            known[value] = copy.results[0]
        return known[value]

    Rewriter.replace_op(convert, [], [there(convert.operands[0])])


def made_of(value: SSAValue, width: int) -> list[Operation] | None:
    """The ops of this width that make a value out of loads, users last; None where it is made of something else."""
    op = value.owner
    if not isinstance(op, Operation) or bits(value.type) != width:
        return None
    if op.name == "tt.load":
        return []
    if not is_elementwise(op) or not is_speculatable(op) or len(op.results) != 1:
        return None
    chain: list[Operation] = []
    for operand in filter(is_tile, op.operands):
        found = made_of(operand, width)
        if found is None or len(chain) > FEW:
            return None
        chain += found
    return [*chain, op]


def is_hopper(dot: Operation) -> bool:
    layout = layout_of(dot.results[0].type)
    return isinstance(layout, NvidiaMma) and layout.is_hopper


def goes_through_shared(convert: Operation) -> bool:
    """Whether a conversion makes an operand of a matrix instruction and needs shared memory for it."""
    target = layout_of(convert.results[0].type)
    if not isinstance(target, DotOperand) or not isinstance(target.parent, NvidiaMma):
        return False
    source, result = linear_of(convert.operands[0].type), linear_of(convert.results[0].type)
    return isinstance(plan(source, result, bits(convert.results[0].type)), SharedMove)


def is_local(type: Attribute) -> bool:
    """Whether each CTA of a cluster holds the whole tile."""
    return not any(layout_of(type).linear(shape(type)).bases("block"))


def made_local(value: SSAValue, anchor: Operation) -> SSAValue:
    """The tile, whole in each CTA: shared memory that matrix instructions read is a CTA's own."""
    if is_local(value.type):
        return value
    layout, sizes = layout_of(value.type), shape(value.type)
    whole: Blocked | Linear
    if isinstance(layout, Blocked):
        whole = replace(layout, cga=((0,) * len(sizes),) * len(layout.cga))
    else:
        given = Linear.of(layout.linear(sizes))
        parts = tuple(step for step in given.block if any(step))
        whole = replace(given, register=given.register + parts, block=((0,) * len(sizes),) * len(given.block))
    type = tensor(value.type.element_type, sizes, encoding(whole))
    convert = ConvertLayoutOp(value, results=[type], location=anchor.location)
    anchor.parent_block().insert_op_before(convert, anchor)
    return convert.results[0]


def outermost(value: SSAValue, anchor: Operation) -> Operation:
    """The outermost loop around an op that `value` comes into from outside; the op itself where there is none."""
    found, here = anchor, anchor.parent_op()
    inside = {anchor.parent_block()}
    while here is not None and here.name.startswith("scf."):
        if value.owner in inside or (isinstance(value.owner, Operation) and value.owner.parent_block() in inside):
            break
        if here.name != "scf.if":
            found = here
        inside.add(here.parent_block())
        here = here.parent_op()
    return found


def stored(value: SSAValue, anchor: Operation, choose: Choice, room: Room) -> SSAValue:
    """A tile in shared memory, before `anchor`, and before the loops around that do not make it, as far as there is
    room. A transposed tile is a view of what it was made of.
    """
    place = outermost(value, anchor)
    anchor = place if place is anchor or room.take(value.type) else anchor
    maker = value.owner
    is_turned = isinstance(maker, Operation) and maker.name == "tt.trans" and len(shape(value.type)) == 2
    source = made_local(maker.operands[0] if is_turned else value, anchor)
    layout, element = choose(source.type, is_turned), source.type.element_type
    kind = memdesc(element, shape(source.type), layout)
    alloc = stored_before(source, kind, anchor)
    if alloc is None:
        alloc = LocalAllocOp(source, results=[kind], location=anchor.location)
        anchor.parent_block().insert_op_before(alloc, anchor)
    if not is_turned:
        return alloc.results[0]
    view = memdesc(element, shape(value.type), turned(layout))
    order = DenseArrayBase.from_list(i32, [1, 0])
    trans = MemDescTransOp(alloc.results[0], results=[view], location=anchor.location, order=order)
    anchor.parent_block().insert_op_before(trans, anchor)
    return trans.results[0]


def stored_before(source: SSAValue, kind: Attribute, anchor: Operation) -> Operation | None:
    """An allocation of the same tile, for a dot before this one."""
    for use in source.uses:
        op = use.operation
        if op.name == "ttg.local_alloc" and op.results[0].type == kind and op.parent_block() is anchor.parent_block():
            return op
    return None


def split(convert: Operation, room: Room) -> None:
    """convert(x) -> local_load(local_alloc(x))"""
    memory = stored(convert.operands[0], convert, lambda type, _: swizzled_for(type), room)
    load = LocalLoadOp(memory, results=[convert.results[0].type], location=convert.location)
    Rewriter.replace_op(convert, load)


def to_warp_group(dot: Operation, room: Room) -> None:
    """dot(a, b, c) -> wgmma of shared memory, and the wait for it. What another dot has made stays in registers."""
    a, b, c = dot.operands
    layout = layout_of(dot.results[0].type)
    if isinstance(layout_of(a.type), NvidiaMma):
        kind = tensor(a.type.element_type, shape(a.type), encoding(DotOperand(0, layout, 32 // bits(a.type))))
        convert = ConvertLayoutOp(a, results=[kind], location=dot.location)
        dot.parent_block().insert_op_before(convert, dot)
        left: SSAValue = convert.results[0]
    else:
        left = stored(a, dot, lambda type, is_turned: nvmma_for(type, 0 if is_turned else 1), room)
    right = stored(b, dot, lambda type, is_turned: nvmma_for(type, 1 if is_turned else 0), room)
    imprecise = {n: dot.properties[n] for n in ("maxNumImpreciseAcc",) if n in dot.properties}
    made = WarpGroupDotOp(left, right, c, results=[c.type], location=dot.location,
                          inputPrecision=IntegerAttr(0, i32), isAsync=IntegerAttr(1, i1), **imprecise)  # fmt: skip
    wait = WarpGroupDotWaitOp(made.results[0], results=[c.type], location=dot.location, pendings=IntegerAttr(0, i32))
    Rewriter.replace_op(dot, [made, wait], list(wait.results))
