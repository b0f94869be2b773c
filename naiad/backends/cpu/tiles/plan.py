"""Decides which tiles must lie in memory. All others are emitted again, at the index wanted, in each nest that reads them.

A tile is stored where it is made if evaluating it later would be wrong (a load that a store may overtake) or slow (it is
costly and read by several nests, in a deeper loop, or once per row of a broadcast).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from naiad.ir.base import shape

VIRTUAL = frozenset({
    "tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast", "tt.reshape", "tt.trans", "tt.join", "tt.split",
    "tt.cat", "tt.addptr", "tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int", "tt.fp_to_fp", "tt.clampf", "tt.precise_sqrt",
    "tt.precise_divf", "tt.mulhiui", "tt.load", "tt.extern_elementwise", "tt.elementwise_inline_asm", "ttn.flip",
    "ub.poison",
})  # fmt: skip

COST = {"tt.load": 1.0, "arith.divf": 5.0, "tt.precise_divf": 5.0, "tt.precise_sqrt": 5.0, "math.sqrt": 5.0,
        "math.rsqrt": 6.0, "arith.divsi": 10.0, "arith.divui": 10.0, "arith.remsi": 10.0, "arith.remui": 10.0,
        "tt.fp_to_fp": 4.0, "tt.mulhiui": 3.0, "tt.extern_elementwise": 20.0, "tt.elementwise_inline_asm": 4.0,
        "math.absf": 1.0, "math.floor": 1.0, "math.ceil": 1.0, "math.fma": 1.0, "math.absi": 1.0}  # fmt: skip
FREE = frozenset({"tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast", "tt.trans", "tt.addptr", "arith.constant",
                  "arith.extsi", "tt.bitcast", "ub.poison"})  # fmt: skip
WRITES = frozenset({"tt.store", "tt.atomic_rmw", "tt.atomic_cas", "gpu.barrier", "ttg.local_barrier", "ttg.barrier", "tt.call"})
SHARED, DEEPER, REPEATED = 8.0, 3.0, 6.0
"""Costs from which a tile is stored: read by several nests, in a deeper loop, once per row of a broadcast."""


def is_virtual(op: Operation) -> bool:
    """Whether the op's tile is a function of its operands at an index, without effects or order."""
    return op.name in VIRTUAL or op.name.startswith(("arith.", "math."))


def is_tile(value: SSAValue) -> bool:
    return bool(shape(value.type))


def is_elementwise(op: Operation) -> bool:
    """Whether the result at an index reads the operands at that same index."""
    moves = {"tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast", "tt.reshape", "tt.trans", "tt.join",
             "tt.split", "tt.cat", "ttn.flip"}  # fmt: skip
    return is_virtual(op) and op.name not in moves


@dataclass
class Plan:
    """What is decided for one function."""

    entry: Block
    order: dict[Operation, int] = field(default_factory=dict)
    last: dict[Operation, int] = field(default_factory=dict)
    _readers: dict[SSAValue, frozenset[Operation]] = field(default_factory=dict)
    _costs: dict[SSAValue, float] = field(default_factory=dict)
    writes: list[Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._number(self.entry)

    def _number(self, block: Block) -> None:
        for op in block.ops:
            self.order[op] = len(self.order)
            if op.name in WRITES or "isVolatile" in op.properties and _is_volatile(op):
                self.writes.append(op)
            for region in op.regions:
                for inner in region.blocks:
                    self._number(inner)
            self.last[op] = len(self.order)

    # ---- who reads what ------------------------------------------------------------------------------------------------

    def readers(self, value: SSAValue) -> frozenset[Operation]:
        """The ops with a nest of their own in which `value` is evaluated."""
        if (known := self._readers.get(value)) is None:
            found: set[Operation] = set()
            for use in value.uses:
                op = use.operation
                if is_virtual(op) and any(map(is_tile, op.results)):
                    for result in op.results:
                        found |= self.readers(result)
                else:
                    found.add(op)
            known = self._readers[value] = frozenset(found)
        return known

    def cost(self, value: SSAValue) -> float:
        """About how many vector instructions one vector of the tile takes."""
        if (known := self._costs.get(value)) is None:
            op = value.owner
            known = 1.0
            if isinstance(op, Operation) and is_virtual(op):
                own = 0.0 if op.name in FREE else COST.get(op.name, 10.0 if op.name.startswith("math.") else 1.0)
                inputs = op.operands[:1] if op.name == "tt.load" else op.operands
                known = own + (0 if op.name == "tt.load" else sum(self.cost(o) for o in inputs if is_tile(o)))
            self._costs[value] = known
        return known

    # ---- what is stored --------------------------------------------------------------------------------------------------

    @cached_property
    def stored(self) -> frozenset[SSAValue]:
        """The results of virtual ops that get memory of their own."""
        found: set[SSAValue] = set()
        for op in self.order:
            if not is_virtual(op):
                continue
            for result in op.results:
                if is_tile(result) and op.name not in FREE and self._must_store(op, result):
                    found.add(result)
                    self._costs[result] = 1.0
            if op.name == "tt.broadcast":
                found |= self._repeated(op)
        return frozenset(found)

    def _must_store(self, op: Operation, result: SSAValue) -> bool:
        readers = self.readers(result)
        if op.name == "tt.load" and (_is_volatile(op) or any(self._overtaken(op, r) for r in readers)):
            return True
        cost = self.cost(result)
        if cost >= SHARED and len(readers) > 1:
            return True
        return (op.name == "tt.load" or cost >= DEEPER) and any(self.in_deeper_loop(op, r) for r in readers)

    def _repeated(self, op: Operation) -> Iterator[SSAValue] | set[SSAValue]:
        """What a broadcast would compute once per row."""
        source = op.operands[0]
        while isinstance(source.owner, Operation) and source.owner.name in ("tt.expand_dims", "tt.broadcast"):
            source = source.owner.operands[0]
        owner = source.owner
        if isinstance(owner, Operation) and is_virtual(owner) and is_tile(source) and self.cost(source) >= REPEATED:
            self._costs[source] = 1.0
            return {source}
        return set()

    def in_deeper_loop(self, op: Operation, reader: Operation) -> bool:
        """Whether `reader` runs more often than `op`: a loop around it does not hold `op`."""
        return any(loop.name in ("scf.for", "scf.while") and not _holds(loop, op) for loop in _ancestors(reader))

    def _overtaken(self, load: Operation, reader: Operation) -> bool:
        """Whether a write may happen between the load and where its value is read."""
        start, end = self.order[load], self.order[reader]
        for loop in _ancestors(reader):
            if loop.name in ("scf.for", "scf.while") and not _holds(loop, load):
                end = max(end, self.last[loop])
        inner = reader.name.startswith("scf.") and reader.regions  # inits are read before the regions run
        for write in self.writes:
            at = self.order[write]
            if start < at < end and write is not load and not (inner and at > self.order[reader]):
                return True
        return reader in self.writes and reader.name != "tt.call" and self._may_overlap(load, reader)

    def _may_overlap(self, load: Operation, store: Operation) -> bool:
        """Whether one tile may be written while it is read, element by element, with an element apart."""
        ours, theirs = load.operands[0], store.operands[0]
        if ours is theirs:
            return False
        a, b = base_of(ours), base_of(theirs)
        return a is None or b is None or a is b


def base_of(ptr: SSAValue) -> SSAValue | None:
    """The function argument that a pointer is an offset from; None where it is not known."""
    op = ptr.owner
    if isinstance(op, Block):
        return ptr if op.parent_op() is not None and op.parent_op().name == "tt.func" else None
    if op.name in ("tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.bitcast", "tt.trans", "tt.reshape"):
        return base_of(op.operands[0])
    return None


def _is_volatile(op: Operation) -> bool:
    flag = op.properties.get("isVolatile")
    return flag is not None and (isinstance(flag, UnitAttr) or bool(flag.value.data))


def _ancestors(op: Operation) -> Iterator[Operation]:
    while (op := op.parent_op()) is not None:
        yield op


def _holds(outer: Operation, inner: Operation) -> bool:
    return any(a is outer for a in _ancestors(inner))
