"""Which layout each tile of a function lives in.

Layouts start at accesses to memory and at dots, and spread along the data: a stronger one takes over. What nothing
forces
(ranges, constants, arithmetic on them) takes the layout that its first user asks for. What remains gets the default.
"""

from xdsl.ir import Block, Operation, SSAValue

from naiad.ir.base import shape
from naiad.layouts.distributed import Blocked, Distributed
from naiad.passes.ttgir.transfer import DERIVED, is_tile, operand_layout, result_layout, with_pair

__all__ = ["Homes", "carried"]

WEAK, ACCESS, MATRIX = 1, 2, 3
FREE = frozenset({"arith.constant", "tt.make_range", "tt.splat", "ub.poison"})


def carried(value: SSAValue) -> list[SSAValue]:
    """The values that are the same carried one: a loop's argument and result, the results of a branch's yields."""
    owner = value.owner
    if isinstance(owner, Block):
        return of_argument(value, owner)
    if owner.name == "scf.for":
        return [owner.regions[0].blocks[0].args[value.index + 1]]
    if owner.name == "scf.while":
        return [owner.regions[1].blocks[0].args[value.index]]
    return []


def of_argument(value: SSAValue, block: Block) -> list[SSAValue]:
    op = block.parent_op()
    if op is None:
        return []
    if op.name == "scf.for" and value.index > 0:
        return [op.results[value.index - 1]]
    if op.name == "scf.while" and block is op.regions[1].blocks[0]:
        return [op.results[value.index]]
    return []


def sources(value: SSAValue) -> list[SSAValue]:
    """What a carried value is set from: the initial value and what is yielded."""
    owner = value.owner
    if isinstance(owner, Operation):
        if owner.name == "scf.for":
            return sources(owner.regions[0].blocks[0].args[value.index + 1])
        if owner.name == "scf.if":
            return [r.blocks[0].last_op.operands[value.index] for r in owner.regions if r.blocks]
        if owner.name == "scf.while":
            return [owner.regions[0].blocks[0].last_op.operands[value.index + 1]]
        return []
    op = owner.parent_op()
    if op is None:
        return []
    if op.name == "scf.for" and value.index > 0:
        return [op.operands[2 + value.index], owner.last_op.operands[value.index - 1]]
    if op.name == "scf.while":
        if owner is op.regions[1].blocks[0]:
            return [op.regions[0].blocks[0].last_op.operands[value.index + 1]]
        return [op.operands[value.index], op.regions[1].blocks[0].last_op.operands[value.index]]
    return []


def targets(op: Operation, operand: int) -> list[SSAValue]:
    """The carried values that an operand of a loop or of a terminator sets."""
    parent = op.parent_op()
    if op.name == "scf.for":
        return [op.regions[0].blocks[0].args[operand - 2]] if operand > 2 else []
    if op.name == "scf.while":
        return [op.regions[0].blocks[0].args[operand]]
    if op.name == "scf.condition":
        return [parent.regions[1].blocks[0].args[operand - 1]] if operand else []
    if op.name == "scf.yield" and parent.name == "scf.for":
        return [parent.regions[0].blocks[0].args[operand + 1]]
    if op.name == "scf.yield" and parent.name == "scf.if":
        return [parent.results[operand]]
    if op.name == "scf.yield" and parent.name == "scf.while":
        return [parent.regions[0].blocks[0].args[operand]]
    return []


class Homes:
    """The layouts of one function. `anchors`: the layouts that accesses and dots have."""

    def __init__(self, function: Operation, anchors: dict[Operation, Distributed], warps: int, lanes: int = 32,
                 ctas: int = 1):  # fmt: skip
        self.anchors, self.warps, self.lanes, self.ctas = anchors, warps, lanes, ctas
        self.of: dict[SSAValue, Distributed] = {}
        self.strength: dict[SSAValue, int] = {}
        for op, layout in anchors.items():
            for result in op.results:
                if is_tile(result):
                    self.settle(result, layout, MATRIX if op.name == "tt.dot" else ACCESS)
        for op in anchors:
            self.ask_operands(op)
        for op in function.walk():
            self.complete(op)

    def settle(self, value: SSAValue, layout: Distributed, strength: int) -> None:
        """Gives a value its home, unless it has one as strong, and spreads it to what follows from it."""
        if self.strength.get(value, 0) >= strength:
            return
        self.of[value], self.strength[value] = layout, strength
        for other in carried(value):
            self.settle(other, layout, strength)
        for use in list(value.uses):
            for target in targets(use.operation, use.index):
                self.settle(target, layout, strength)
            if use.operation not in self.anchors and not use.operation.name.startswith("scf."):
                following = result_layout(use.operation, use.index, layout)
                for result in use.operation.results:
                    if following is not None and is_tile(result):
                        self.settle(result, following, strength)

    def ask(self, value: SSAValue, layout: Distributed | None) -> None:
        """Suggests a home to a value that has none, and to what it is made of."""
        if layout is None or not is_tile(value) or value in self.of:
            return
        owner = value.owner
        if isinstance(owner, Operation) and owner.name in DERIVED:
            self.ask(owner.operands[0], operand_layout(owner, 0, layout))
            return
        self.settle(value, layout, WEAK)
        for source in sources(value):
            self.ask(source, layout)
        if isinstance(owner, Operation) and not owner.name.startswith("scf."):
            self.ask_operands(owner)

    def ask_operands(self, op: Operation) -> None:
        """Asks for the operands' layouts that an op needs, given those of its results (or its own, for a store)."""
        layout = self.anchors.get(op) or next((self.of[r] for r in op.results if r in self.of), None)
        if layout is None or op.name in FREE:
            return
        for n, operand in enumerate(op.operands):
            wanted = layout if op.name == "tt.store" else operand_layout(op, n, layout)
            if op.name != "tt.dot" or n == 2:
                self.ask(operand, wanted)

    def complete(self, op: Operation) -> None:
        """Gives homes to the results of an op that nothing has asked for."""
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    self.default(argument)
        for n, operand in enumerate(op.operands):
            self.default(operand)
            if op.name in DERIVED and n == 0 and op.name != "tt.join":
                self.derive(op)
        for result in op.results:
            self.default(result)
        self.ask_operands(op)

    def derive(self, op: Operation) -> None:
        following = result_layout(op, 0, self.of[op.operands[0]])
        for result in op.results:
            if is_tile(result) and following is not None:
                self.settle(result, following, WEAK)

    def default(self, value: SSAValue) -> None:
        if is_tile(value) and value not in self.of:
            self.settle(value, self.standard(value), WEAK)

    def standard(self, value: SSAValue) -> Distributed:
        """The layout of a tile that no access shapes."""
        owner = value.owner
        sizes = shape(value.type)
        if isinstance(owner, Operation) and owner.name == "tt.join":
            return with_pair(Blocked.default(sizes[:-1], self.warps, self.lanes, ctas=self.ctas))
        return Blocked.default(sizes, self.warps, self.lanes, ctas=self.ctas)
