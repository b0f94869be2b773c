"""ttg-assign-layouts: gives every tile a layout. Reads ttir, leaves ttgir.

Layouts are chosen for all tiles at once (`homes.py`), so that few conversions are needed. Where a tile is used in
another
layout than its home, it is computed again there if that is cheap, else converted, once for each layout.
"""

from dataclasses import dataclass, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, TensorType, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from naiad.analysis.axis import AxisInfo
from naiad.ir.base import retype, shape, tensor
from naiad.ir.constants import ConstantOp, SplatAttr
from naiad.ir.encodings import encoding
from naiad.ir.ttg import ConvertLayoutOp
from naiad.layouts.distributed import Blocked, Distributed, replicated
from naiad.passes.ttgir.accelerate_dot import dot_layouts
from naiad.passes.ttgir.coalesce import memory_layouts
from naiad.passes.ttgir.homes import Homes, targets
from naiad.passes.ttgir.transfer import is_tile, operand_layout, with_pair

__all__ = ["AssignLayouts"]


@dataclass(frozen=True)
class AssignLayouts(ModulePass):
    """target: the text of `ttg.target`, cuda:90. fp8, wgmma: whether there are matrix instructions for
    8-bit floats, and those of warpgroups.
    """

    name = "ttg-assign-layouts"
    num_warps: int = 4
    lanes: int = 32
    target: str = "cuda:80"
    fp8: bool = False
    wgmma: bool = False
    num_ctas: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes |= {
            "ttg.num-ctas": IntegerAttr(self.num_ctas, i32), "ttg.num-warps": IntegerAttr(self.num_warps, i32),
            "ttg.target": StringAttr(self.target), "ttg.threads-per-warp": IntegerAttr(self.lanes, i32),
        }  # fmt: skip
        for function in op.ops:
            if function.name == "tt.func":
                Assignment(function, self).run()


CHEAP = frozenset(
    {"arith.constant", "tt.make_range", "tt.splat", "tt.expand_dims", "tt.broadcast", "tt.reshape", "tt.addptr",
     "tt.bitcast"}
)  # fmt: skip
COSTLY = ("arith.div", "arith.rem", "arith.floordiv", "arith.ceildiv")
BUDGET = 48
"""The most ops that are computed again instead of converting their result."""
ROW = 16
"""What converting a tile of one dimension counts, in ops."""
SPREAD = 8
"""Into how many equal parts a tile is spread at least if converting it first is to count no more than a row."""


def scan_layouts(function: Operation, options: AssignLayouts) -> dict[Operation, Distributed]:
    """Each CTA of a cluster scans the whole tile: the parts of warps must be neighbours."""
    scans = {op: shape(op.operands[0].type) for op in function.walk() if op.name == "tt.scan"}
    return {
        op: replace(Blocked.default(sizes, options.num_warps, options.lanes),
                    cga=replicated(len(sizes), options.num_ctas))
        for op, sizes in scans.items()
    }  # fmt: skip


class Assignment:
    """The layouts of one function, put into its types."""

    def __init__(self, function: Operation, options: AssignLayouts):
        self.function = function
        axis = AxisInfo.of(function)
        accesses = memory_layouts(function, axis, options.num_warps, options.lanes, options.num_ctas)
        anchors: dict[Operation, Distributed] = {
            **accesses,
            **dot_layouts(
                function, accesses, options.num_warps, options.lanes, options.fp8, options.wgmma, options.num_ctas
            ),
        }
        if options.num_ctas > 1:
            anchors |= scan_layouts(function, options)
        self.warps, self.lanes = options.num_warps, options.lanes
        self.homes = Homes(function, anchors, options.num_warps, options.lanes, options.num_ctas)
        self.made: dict[tuple[SSAValue, Distributed], SSAValue] = {}
        self.costs: dict[SSAValue, int] = {}

    def run(self) -> None:
        ops = [op for op in self.function.walk() if op is not self.function]
        for op in ops:
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
                if is_tile(value) and value in self.homes.of:
                    set_layout(value, self.homes.of[value])
        for op in ops:
            self.fix_operands(op)

    def fix_operands(self, op: Operation) -> None:
        """Makes every operand available in the layout that the op needs."""
        wanted = [self.wanted(op, n) if is_tile(o) else None for n, o in enumerate(op.operands)]
        if any(wanted):
            op.operands = [self.get(o, w) if w is not None else o for o, w in zip(op.operands, wanted, strict=True)]

    def wanted(self, op: Operation, n: int) -> Distributed | None:
        """The layout that operand n of an op must have; None if its home will do."""
        homes = self.homes
        for target in targets(op, n):
            return homes.of[target]
        if op.name == "tt.store":
            return homes.anchors[op]
        if op.name in ("tt.reduce", "tt.scan") or (op.name == "arith.select" and not is_tile(op.operands[0])):
            return homes.of[op.operands[0]] if op.name == "tt.reduce" else homes.of[op.results[0]]
        if op.name == "tt.split":
            return with_pair(homes.of[op.results[0]]) if isinstance(homes.of[op.results[0]], Blocked) else None
        result = next((r for r in op.results if is_tile(r)), None)
        if result is None or op.name in ("tt.trans", "tt.reshape"):
            return None
        return operand_layout(op, n, homes.anchors.get(op) or homes.of[result])

    def get(self, value: SSAValue, layout: Distributed) -> SSAValue:
        """`value` in `layout`: itself, a copy computed there, or a conversion."""
        if self.homes.of[value] == layout:
            return value
        if (known := self.made.get((value, layout))) is not None:
            return known
        can_repeat = isinstance(value.owner, Operation) and is_cheap(value.owner) and self.cost(value) <= BUDGET
        made = self.again(value, layout) if can_repeat else self.converted(value, layout)
        self.made[value, layout] = made
        return made

    def cost(self, value: SSAValue) -> int:
        """How many ops it takes to compute a value again, all that it is made of included.

        What cannot be computed again is converted where it is a row, or is broadcast: that moves much less than the
        tiles made of it.
        """
        if value not in self.costs:
            owner = value.owner
            self.costs[value] = ROW if len(shape(value.type)) == 1 else BUDGET + 1  # loops cost too much
            if isinstance(owner, Operation) and is_cheap(owner):
                cost = sum(self.cost(o) for o in owner.operands if is_tile(o))
                self.costs[value] = 1 + (min(cost, ROW) if is_spread(owner) else cost)
        return self.costs[value]

    def again(self, value: SSAValue, layout: Distributed) -> SSAValue:
        """A copy of the op that makes a value, in another layout."""
        op = value.owner
        assert isinstance(op, Operation)
        operands = [
            self.get(o, operand_layout(op, n, layout) or self.homes.of[o]) if is_tile(o) else o
            for n, o in enumerate(op.operands)
        ]
        copy = op.clone({old: new for old, new in zip(op.operands, operands, strict=True)})
        copy.location = op.location
        set_layout(copy.results[0], layout)
        self.homes.of[copy.results[0]] = layout
        copy.results[0].name_hint = value.name_hint
        op.parent_block().insert_op_after(copy, op)
        return copy.results[0]

    def converted(self, value: SSAValue, layout: Distributed) -> SSAValue:
        """A conversion right after the value is made."""
        owner = value.owner
        place = owner.location if isinstance(owner, Operation) else owner.parent_op().location
        type = tensor(value.type.element_type, shape(value.type), encoding(layout))
        convert = ConvertLayoutOp(value, results=[type], location=place)
        if isinstance(owner, Block):
            owner.insert_op_before(convert, owner.first_op)
        else:
            owner.parent_block().insert_op_after(convert, owner)
        self.homes.of[convert.results[0]] = layout
        return convert.results[0]


def is_spread(op: Operation) -> bool:
    """Whether an op makes a tile of many equal parts."""
    return op.name == "tt.broadcast" and SPREAD * prod(shape(op.operands[0].type)) <= prod(shape(op.results[0].type))


def is_cheap(op: Operation) -> bool:
    """Whether an op costs no more than a few instructions a register and has no effects."""
    if op.name in CHEAP:
        return True
    return op.name.startswith("arith.") and not op.name.startswith(COSTLY) and len(op.results) == 1


def set_layout(value: SSAValue, layout: Distributed) -> None:
    """Puts a layout into a value's type, and into the constant that makes it."""
    type = value.type
    assert isinstance(type, TensorType)
    new = tensor(type.element_type, shape(type), encoding(layout))
    retype(value, new)
    if isinstance(value.owner, ConstantOp) and isinstance(value.owner.properties["value"], SplatAttr):
        value.owner.properties["value"] = SplatAttr(value.owner.properties["value"].scalar, new)
