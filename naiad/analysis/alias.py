"""Which allocations of shared memory a memory descriptor may stand for, followed through views, loops and branches."""

from xdsl.ir import Operation, SSAValue

from naiad.ir.encodings import MemDescType

__all__ = ["Aliases"]


class Aliases:
    """For every memory descriptor of a function, the ttg.local_alloc ops that it may view."""

    def __init__(self, function: Operation):
        self.of: dict[SSAValue, frozenset[Operation]] = {}
        changed = True
        while changed:  # loops carry descriptors around: a second round sees what the first put in
            changed = any([self._visit(op) for op in function.walk()])

    def __getitem__(self, value: SSAValue) -> frozenset[Operation]:
        return self.of.get(value, frozenset())

    def _join(self, value: SSAValue, allocations: frozenset[Operation]) -> bool:
        known = self[value]
        self.of[value] = known | allocations
        return self.of[value] != known

    def _visit(self, op: Operation) -> bool:
        if op.name == "ttg.local_alloc":
            return self._join(op.results[0], frozenset([op]))
        pairs: list[tuple[SSAValue, SSAValue]] = []
        if op.name == "scf.for":
            block = op.regions[0].blocks[0]
            pairs += zip(op.operands[3:], block.args[1:], strict=True)
            pairs += zip(block.last_op.operands, block.args[1:], strict=True)
            pairs += zip(block.args[1:], op.results, strict=True)
        elif op.name == "scf.if":
            for region in op.regions:
                pairs += [p for b in region.blocks for p in zip(b.last_op.operands, op.results, strict=True)]
        elif op.name == "ttng.warp_group_dot_wait":
            pairs += zip(op.operands, op.results, strict=True)
        elif op.name.startswith("ttg.memdesc_"):
            pairs.append((op.operands[0], op.results[0]))
        return any([self._join(b, self[a]) for a, b in pairs if isinstance(a.type, MemDescType)])
