"""Decides which tiles must lie in memory. All others are emitted again, at the index wanted, in each nest that
reads them.

A tile is stored where it is made if evaluating it later would be wrong (a load that a store may overtake) or slow
(it is costly and read by several nests, in a deeper loop, or once per row of a broadcast).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from naiad.analysis.strides import Strides
from naiad.ir.base import shape

VIRTUAL = frozenset({
    "tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast", "tt.reshape", "tt.trans", "tt.join", "tt.split",
    "tt.cat", "tt.addptr", "tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int", "tt.fp_to_fp", "tt.clampf",
    "tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui", "tt.load", "tt.extern_elementwise", "tt.elementwise_inline_asm",
    "ttn.flip", "ub.poison",
})  # fmt: skip

COST = {"tt.load": 1.0, "arith.divf": 5.0, "tt.precise_divf": 5.0, "tt.precise_sqrt": 5.0, "math.sqrt": 5.0,
        "math.rsqrt": 6.0, "arith.divsi": 10.0, "arith.divui": 10.0, "arith.remsi": 10.0, "arith.remui": 10.0,
        "tt.fp_to_fp": 4.0, "tt.mulhiui": 3.0, "tt.extern_elementwise": 20.0, "tt.elementwise_inline_asm": 4.0,
        "math.absf": 1.0, "math.floor": 1.0, "math.ceil": 1.0, "math.fma": 1.0, "math.absi": 1.0}  # fmt: skip
FREE = frozenset({"tt.splat", "tt.make_range", "tt.expand_dims", "tt.broadcast", "tt.trans", "tt.addptr",
                  "arith.constant", "arith.extsi", "tt.bitcast", "ub.poison"})  # fmt: skip
DIVISIONS = frozenset({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"})
INDEX_OPS = DIVISIONS | {"arith.addi", "arith.subi", "arith.muli", "arith.extsi"}
"""Cheap on sequences, which stay (base, step)."""
WRITES = frozenset(
    {"tt.store", "tt.atomic_rmw", "tt.atomic_cas", "gpu.barrier", "ttg.local_barrier", "ttg.barrier", "tt.call"}
)
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
    """What is decided for one function. `stored`: the results of virtual ops that get memory of their own."""

    entry: Block
    order: dict[Operation, int] = field(default_factory=dict)
    last: dict[Operation, int] = field(default_factory=dict)
    _readers: dict[SSAValue, frozenset[Operation]] = field(default_factory=dict)
    _costs: dict[SSAValue, float] = field(default_factory=dict)
    writes: list[Operation] = field(default_factory=list)
    stored: set[SSAValue] = field(default_factory=set)
    strides: Strides = field(default_factory=Strides)

    def __post_init__(self) -> None:
        self._number(self.entry)
        self._decide()

    def _number(self, block: Block) -> None:
        for op in block.ops:
            self.order[op] = len(self.order)
            if op.name in WRITES or ("isVolatile" in op.properties and _is_volatile(op)):
                self.writes.append(op)
            for region in op.regions:
                for inner in region.blocks:
                    self._number(inner)
            self.last[op] = len(self.order)

    # ---- who reads what

    def readers(self, value: SSAValue) -> frozenset[Operation]:
        """The ops in whose nest `value` is evaluated: ops with a nest of their own, and those whose tile is stored."""
        if (known := self._readers.get(value)) is None:
            found: set[Operation] = set()
            for use in value.uses:
                op = use.operation
                if is_virtual(op) and any(map(is_tile, op.results)):
                    for result in op.results:
                        found |= {op} if result in self.stored else self.readers(result)
                else:
                    found.add(op)
            known = self._readers[value] = frozenset(found)
        return known

    def cost(self, value: SSAValue) -> float:
        """About how many vector instructions one vector of the tile takes where it is evaluated."""
        if (known := self._costs.get(value)) is None:
            op = value.owner
            known = 1.0
            if isinstance(op, Operation) and is_virtual(op) and value not in self.stored:
                known = self._own_cost(op) + (
                    0 if op.name == "tt.load" else sum(self.cost(o) for o in op.operands if is_tile(o))
                )
            self._costs[value] = known
        return known

    def _own_cost(self, op: Operation) -> float:
        if op.name in FREE:
            return 0.0
        if op.name in INDEX_OPS and None not in self.strides.of(op.operands[0]):
            return 0.5 if op.name in DIVISIONS else 0.0
        return COST.get(op.name, 10.0 if op.name.startswith("math.") else 1.0)

    # ---- what is stored

    def _decide(self) -> None:
        """Readers first, so that a tile stored further on counts as one reader; then costs, now that operands are
        known.

        What was to be stored for its cost alone stays virtual if what made it costly is stored itself.
        """
        costly = []
        for op in reversed(self.order):
            for result in op.results:
                if is_virtual(op) and is_tile(result) and op.name not in FREE:
                    if self._overtaken_load(op, result) or self._hoisted_load(op, result):
                        self.stored.add(result)
                    elif self._is_dear(op, result):
                        self.stored.add(result)
                        costly.append((op, result))
        self._costs.clear()
        for op, result in reversed(costly):
            self.stored.discard(result)
            if self._is_dear(op, result):
                self.stored.add(result)
                self._costs[result] = 1.0
        self._readers.clear()

    def _overtaken_load(self, op: Operation, result: SSAValue) -> bool:
        return op.name == "tt.load" and (
            _is_volatile(op) or any(self._overtaken(op, r) for r in self.readers(result))
        )  # fmt: skip

    def _hoisted_load(self, op: Operation, result: SSAValue) -> bool:
        return op.name == "tt.load" and any(self.in_deeper_loop(op, r) for r in self.readers(result))

    def _is_dear(self, op: Operation, result: SSAValue) -> bool:
        """Whether the tile would be computed again and again at a cost."""
        cost, readers = self.cost(result), self.readers(result)
        if cost >= SHARED and len(readers) > 1:
            return True
        if cost >= DEEPER and any(self.in_deeper_loop(op, r) for r in readers):
            return True
        return cost >= REPEATED and any(_is_repeated(use.operation) for use in result.uses)

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


def _is_repeated(op: Operation) -> bool:
    """Whether the op, or a broadcast of what it gives, reads its operand once per row."""
    if op.name == "tt.broadcast":
        return True
    return op.name == "tt.expand_dims" and any(_is_repeated(use.operation) for use in op.results[0].uses)


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
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _holds(outer: Operation, inner: Operation) -> bool:
    return any(a is outer for a in _ancestors(inner))
