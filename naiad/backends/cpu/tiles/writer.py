"""Writes ttcir. A pure op is placed as far out of the loops as its operands allow, and never made twice in a scope.

That is common subexpression elimination and loop-invariant code motion by construction: LLVM runs neither here.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, LocationAttr, VectorType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from naiad.backends.cpu.tiles.facts import RULES, Facts, of_constant, unknown
from naiad.ir import ttc
from naiad.ir.attributes import attribute
from naiad.ir.base import NaiadOp, element, int_attr, vector
from naiad.ir.constants import value_attribute
from naiad.ir.registry import OPS, make_op
from naiad.ir.types import pointer


@dataclass(frozen=True)
class Guard:
    """A condition on a scalar: it is a multiple of `divisor`, or, where that is 0, not negative."""

    value: SSAValue
    divisor: int


@dataclass
class Level:
    """A block that is being written. `speculative`: it may not run, so costly ops stay in it.

    `values`: what was made at this level, kept where its block is that of the level below and goes on after it.
    """

    block: Block
    memo: dict[Any, Any] = field(default_factory=dict)
    speculative: bool = False
    values: list[SSAValue] = field(default_factory=list)


ROWS_AT_LEAST = 3
"""Rows that hold fewer vectors than this are not worth a test of each vector."""
COSTLY = frozenset({"math.exp", "math.exp2", "math.log", "math.log2", "math.sin", "math.cos", "math.erf", "math.tanh",
                    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.divf"})  # fmt: skip


class Writer:
    """The blocks that are open, innermost last, and what is known of the values in them."""

    def __init__(self, entry: Block):
        self.levels = [Level(entry)]
        self.depths: dict[SSAValue, int] = {}
        self.constants: dict[SSAValue, int | float] = {}
        self.facts: dict[SSAValue, Facts] = {}
        self.offsets: dict[SSAValue, tuple[SSAValue, int]] = {}  # value or pointer -> what it is a constant away from
        self.sums: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}  # i64 -> the two that it is the sum of
        self.moves: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}  # pointer -> pointer and what it was moved by
        self.location: LocationAttr = UNKNOWN_LOC
        self.types: dict[int, Attribute] = {}
        self.floor = 0  # loads of the nest that is being written may be hoisted to this level
        self.nests = 0  # how many have been begun
        self.guards: dict[Guard, None] | None = None  # what is taken for granted in what is being written
        self.rows: dict[tuple[SSAValue, SSAValue], SSAValue] | None = None  # (first lane, divisor): within one row if
        self.rows_level = 0  # the level of what is written so; the conditions are made further out
        self.sheltering = True

    # ---- placing ops

    @property
    def depth(self) -> int:
        return len(self.levels) - 1

    def depth_of(self, values: Sequence[SSAValue]) -> int:
        depths, found = self.depths, 0
        for value in values:
            if (depth := depths.get(value, 0)) > found:
                found = depth
        return found

    def _insert(self, op: Operation, depth: int) -> Operation:
        level = self.levels[depth]
        level.block.add_op(op)
        for result in op.results:
            self.depths[result] = depth
        level.values.extend(op.results)
        return op

    def pure(self, name: str, operands: Sequence[SSAValue], type: Attribute, **properties: Attribute) -> SSAValue:
        """The value of a pure op: an equal one that is there already, or a new one placed as far out as can be."""
        return self.pure_many(name, operands, (type,), properties)[0]

    def pure_many(
        self, name: str, operands: Sequence[SSAValue], types: Sequence[Attribute], properties: dict[str, Attribute]
    ) -> tuple[SSAValue, ...]:
        depth = self._shelter(name, self.depth_of(operands))
        key = (name, *operands, *[self._same(t) for t in types], *properties.items())
        level = self.levels[depth]
        if (known := level.memo.get(key)) is None:
            op = make_op(name, *operands, results=types, location=self.location, **properties)
            known = level.memo[key] = tuple(self._insert(op, depth).results)
        return known

    def _same(self, type: Attribute) -> int:
        """A number for a type, to save hashing it; equal ones may have two, and what is made of them is not shared."""
        self.types[id(type)] = type  # so that the number stays its own
        return id(type)

    def _shelter(self, name: str, depth: int) -> int:
        """A costly op does not leave a block that may not run."""
        if name in COSTLY and self.sheltering:
            return max((i for i in range(depth, len(self.levels)) if self.levels[i].speculative), default=depth)
        return depth

    def read(self, op_class: type[NaiadOp], operands: Sequence[SSAValue | None], type: Attribute, **properties: Any
             ) -> SSAValue:  # fmt: skip
        """The value of a load in a nest: shared within it, hoisted out of its loops but not out of the nest."""
        given = [o for o in operands if o is not None]
        depth = max(self.depth_of(given), self.floor)
        key = (op_class, *operands, type, *properties.items())
        level = self.levels[depth]
        if (known := level.memo.get(key)) is None:
            op = op_class(*given, results=[type], location=self.location, **properties)
            known = level.memo[key] = self._insert(op, depth).results[0]
        return known

    def effect(self, op: Operation) -> Operation:
        """Places an op here and now."""
        if op.location is UNKNOWN_LOC:
            op.location = self.location
        return self._insert(op, self.depth)

    # ---- constants and integer arithmetic on addresses

    def constant(self, value: int | float, type: Attribute) -> SSAValue:
        """A scalar constant, at the top of the function."""
        level, key = self.levels[0], ("constant", value, str(value), self._same(type))
        if (known := level.memo.get(key)) is None:
            known = level.memo[key] = self._first(
                OPS["arith.constant"](results=[type], value=value_attribute(value, type))
            )
            self.note(known, value)
        return known

    def _first(self, op: Operation) -> SSAValue:
        """Places an op at the top of the function."""
        block = self.levels[0].block
        if block.first_op is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, block.first_op)
        self.depths[op.results[0]] = 0
        return op.results[0]

    def note(self, result: SSAValue, value: int | float) -> None:
        """Records the value of a constant."""
        self.constants[result] = value
        if isinstance(value, int):
            self.facts[result] = of_constant(value, result)

    def index(self, value: int) -> SSAValue:
        return self.constant(value, i64)

    def known(self, value: SSAValue) -> Facts:
        return self.facts.get(value) or unknown(value)

    def take_nonnegative(self, value: SSAValue) -> bool:
        """Whether `value` may be taken not to be negative: it is known, or what is being written is guarded."""
        return self._take(Guard(s, 0) for s in self.known(value).signs)

    def take_multiple(self, value: SSAValue, divisor: int) -> bool:
        """Whether `value` may be taken for a multiple of a power of two."""
        return self.known(value).divisor % divisor == 0 or self._take([Guard(value, divisor)])

    def take_within_row(self, first: SSAValue, divisor: SSAValue, count: int) -> bool:
        """Whether first // divisor (i64) may be taken to be that of all the `count` lanes that begin with it."""
        size = self.constants.get(divisor)
        if self.rows is None or size is None or size < ROWS_AT_LEAST * count:
            return False
        if max(self.depths.get(first, 0), self.depths.get(divisor, 0)) >= self.rows_level:
            return False
        if (first, divisor) not in self.rows:
            last = self.index(int(size) - count)
            self.rows[first, divisor] = self.compare("sle", self.early("arith.remsi", first, divisor), last)
        return True

    def early(self, name: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """`integer` as far out as can be, even if it is costly."""
        before, self.sheltering = self.sheltering, False
        result = self.integer(name, a, b)
        self.sheltering = before
        return result

    def _take(self, needs: Iterable[Guard]) -> bool:
        needs = list(needs)
        if not needs:
            return True
        if self.guards is None or any(self.depths.get(n.value, 0) >= self.floor for n in needs):
            return False
        self.guards.update(dict.fromkeys(needs))
        return True

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a + b, both i64."""
        x, y = self.constants.get(a), self.constants.get(b)
        if x == 0 or y == 0:
            return b if x == 0 else a
        if x is not None and y is not None:
            return self.index(int(x + y))
        if x is not None:
            a, b, y = b, a, x
        (root, near), (other, far) = self.offsets.get(a, (a, 0)), self.offsets.get(b, (b, 0))
        if y is not None:
            return self._past(root, near + int(y))
        total = self.integer("arith.addi", root, other)
        self.sums[total] = (root, other)
        return self._past(total, near + far)

    def _past(self, root: SSAValue, distance: int) -> SSAValue:
        """root + distance. Constants are added last, so that neighbours share all else, and addresses absorb them."""
        if distance == 0:
            return root
        result = self.integer("arith.addi", root, self.index(distance))
        self.offsets[result] = (root, distance)
        return result

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        y = self.constants.get(b)
        if y is not None:
            return self.add(a, self.index(-int(y)))
        if a is b:
            return self.index(0)
        return self.integer("arith.subi", a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        x, y = self.constants.get(a), self.constants.get(b)
        if x == 1 or y == 1:
            return b if x == 1 else a
        root, near = self.offsets.get(a, (a, 0))
        if y is not None and near:  # (root + near) y = root y + near y, so that neighbours share the product
            return self._past(self.integer("arith.muli", root, b), near * int(y))
        if x == 0 or y == 0:
            return self.index(0)
        if x is not None and y is not None:
            return self.index(int(x * y))
        return self.integer("arith.muli", a, b)

    def integer(self, name: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """A pure op on two scalar integers of one type, with the facts that follow."""
        result = self.pure(name, (a, b), a.type)
        if result not in self.facts and (rule := RULES.get(name)):
            self.facts[result] = rule(self.known(a), self.known(b), result)
        return result

    def widen(self, value: SSAValue) -> SSAValue:
        """A scalar integer as i64, by its sign."""
        if value.type == i64:
            return value
        if value in self.constants:
            return self.index(int(self.constants[value]))
        name = "arith.extui" if value.type == i1 else "arith.extsi"
        result = self.pure(name, (value,), i64)
        self.facts.setdefault(result, self.known(value))
        return result

    def narrow(self, value: SSAValue, type: Attribute) -> SSAValue:
        """A scalar i64 as a narrower integer."""
        if value.type == type:
            return value
        if value in self.constants:
            width = type.width.data
            n = int(self.constants[value]) & ((1 << width) - 1)
            return self.constant(n - (1 << width) if n >> (width - 1) else n, type)
        result = self.pure("arith.trunci", (value,), type)
        self.facts.setdefault(result, self.known(value))
        return result

    def move(self, ptr: SSAValue, offset: SSAValue) -> SSAValue:
        """The pointer `offset` (i64) elements on."""
        root, near = self.offsets.get(ptr, (ptr, 0))
        if (known := self.constants.get(offset)) is not None:
            far = int(known)
        else:
            offset, far = self.offsets.get(offset, (offset, 0))
            root = self._moved(root, offset)
        if near + far == 0:
            return root
        result = self.pure("tt.addptr", (root, self.index(near + far)), ptr.type)
        self.offsets[result] = (root, near + far)
        return result

    def _moved(self, ptr: SSAValue, offset: SSAValue) -> SSAValue:
        """`move`, first by what changes least: pointers then move outside of the loops that the rest changes in."""
        depth = self.depths
        if (parts := self.sums.get(offset)) is not None:
            outer, inner = sorted(parts, key=lambda part: depth.get(part, 0))
            if max(depth.get(ptr, 0), depth.get(outer, 0)) < depth.get(inner, 0):
                return self._moved(self._moved(ptr, outer), inner)
        if (made := self.moves.get(ptr)) is not None:
            before, last = made
            if max(depth.get(before, 0), depth.get(offset, 0)) < depth.get(last, 0):
                return self._moved(self._moved(before, offset), last)
        result = self.pure("tt.addptr", (ptr, offset), ptr.type)
        self.moves[result] = (ptr, offset)
        return result

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.pure("arith.cmpi", (a, b), i1, predicate=attribute(OPS["arith.cmpi"], "predicate", predicate))

    # ---- vectors

    def splat(self, value: SSAValue, lanes: int) -> SSAValue:
        return self.pure("ttc.splat", (value,), vector(value.type, lanes))

    def iota(self, type: Attribute, lanes: int) -> SSAValue:
        return self.pure("ttc.iota", (), vector(type, lanes))

    def shuffle(self, a: SSAValue, b: SSAValue, indices: Sequence[int]) -> SSAValue:
        lanes = DenseArrayBase.from_list(i32, list(indices))
        return self.pure("ttc.shuffle", (a, b), vector(element(a.type), len(indices)), indices=lanes)

    def extract(self, value: SSAValue, lane: int) -> SSAValue:
        """A lane of a vector; a scalar is its own lane 0."""
        if not isinstance(value.type, VectorType):
            return value
        return self.pure("ttc.extract", (value, self.index(lane)), element(value.type))

    # ---- memory of the program

    def alloc(self, elements: int, type: Attribute, hint: str | None = None) -> SSAValue:
        """Arena memory; the pointer is at the top of the function."""
        op = ttc.AllocOp(results=[pointer(type)], location=self.location, elements=int_attr(elements, 64))
        op.result.name_hint = hint
        return self._first(op)

    # ---- control flow

    @contextmanager
    def inside(self, block: Block, speculative: bool = False) -> Iterator[None]:
        """Writes into `block` while the context is open."""
        self.levels.append(Level(block, speculative=speculative))
        for argument in block.args:
            self.depths[argument] = self.depth
        try:
            yield
        finally:
            self.levels.pop()

    @contextmanager
    def nest(self) -> Iterator[None]:
        """Loads made inside are shared and hoisted inside, never beyond: memory may change between two nests."""
        self.levels.append(Level(self.levels[-1].block))
        self.nests += 1
        before, self.floor = self.floor, self.depth
        try:
            yield
        finally:
            self.floor = before
            self.depths.update(dict.fromkeys(self.levels.pop().values, self.depth))

    @contextmanager
    def loop(self, low: SSAValue, high: SSAValue, step: SSAValue, carried: Sequence[SSAValue] = ()) -> Iterator["Loop"]:
        """A loop with values that it carries; the body sets `loop.next`, `loop.results` are there afterwards."""
        block = Block(arg_types=[low.type, *(c.type for c in carried)])
        made = Loop(block.args[0], block.args[1:])
        a, b = self.known(low), self.known(step)
        self.facts[made.index] = Facts(min(a.divisor, b.divisor), a.signs | b.signs)
        with self.inside(block):
            yield made
            block.add_op(scf.YieldOp(*made.next))
        op = scf.ForOp(low, high, step, list(carried), Region(block))
        made.results = self.effect(op).results

    @contextmanager
    def count(self, size: int, step: int = 1) -> Iterator["Loop"]:
        """A loop of 0, step, 2*step, ... below the static `size`; no loop where that is 0 alone."""
        if size <= step:
            yield Loop(self.index(0), ())
            return
        with self.loop(self.index(0), self.index(size), self.index(step)) as made:
            yield made


@dataclass
class Loop:
    """An open loop: its index, the carried values inside, the values for the next turn, and the results after it."""

    index: SSAValue
    carried: Sequence[SSAValue]
    next: Sequence[SSAValue] = ()
    results: Sequence[SSAValue] = ()
