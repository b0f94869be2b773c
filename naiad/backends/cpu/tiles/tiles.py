"""A tile value at an index: `Tiles.at` gives its lanes, out of memory where the tile is stored, else computed anew."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.dialects.builtin import IntegerType, i8
from xdsl.ir import Attribute, Operation, SSAValue

from naiad.analysis.strides import Strides
from naiad.backends.cpu.target import CpuTarget
from naiad.backends.cpu.tiles.index import Index, linear, row_major
from naiad.backends.cpu.tiles.lanes import Affine, Lanes, Uniform, Vector, elementwise
from naiad.backends.cpu.tiles.memory import load_lanes, store_lanes
from naiad.backends.cpu.tiles.plan import Plan
from naiad.backends.cpu.tiles.writer import Writer
from naiad.ir.base import element, shape
from naiad.ir.registry import OPS
from naiad.lowering.mistakes import no_rule


@dataclass(frozen=True)
class Buffer:
    """A tile in the arena. type: of an element; i1 is stored as a byte. strides: as `row_major` gives them, or with a
    gap after each row."""

    ptr: SSAValue
    sizes: tuple[int, ...]
    type: Attribute
    strides: tuple[int, ...]

    @property
    def is_row_major(self) -> bool:
        """Not so where a loop goes over the tile along another dimension."""
        return self.strides == row_major(self.sizes)

    @property
    def pitch(self) -> int | None:
        """The distance of rows, whose elements follow each other, in the last two dimensions; None if they do not."""
        if self.is_row_major:
            return self.sizes[-1]
        return self.strides[0] if len(self.sizes) == 2 and self.strides[1] == 1 else None


Rule = Callable[["Tiles", Operation, int, Index, int], Lanes]


@dataclass
class Tiles:
    """The state of lowering one function: what each ttir value is in ttcir.

    pending: tiles that the nest which reads them first stores as it goes. in_place: results that a loop lets be written
    into its own buffer. full: masks known to be true in what is being written. rare: what is being
    written seldom runs, and should be short. nests, steps: see `prefetch.py`. fresh: whether (i1) this is the first
    turn of a loop whose sum this product is, of which memory holds nothing yet.
    """

    w: Writer
    plan: Plan
    target: CpuTarget
    rules: dict[str, Rule]
    scalars: dict[SSAValue, SSAValue] = field(default_factory=dict)
    buffers: dict[SSAValue, Buffer] = field(default_factory=dict)
    asserts: list[str] = field(default_factory=list)
    pending: dict[SSAValue, Buffer] = field(default_factory=dict)
    pending_readers: dict[Operation, list[SSAValue]] = field(default_factory=dict)
    full: frozenset[SSAValue] = frozenset()
    rare: bool = False
    nests: dict[Operation, list[int]] = field(default_factory=dict)
    steps: dict[SSAValue, SSAValue | None] = field(default_factory=dict)
    in_place: dict[SSAValue, Buffer] = field(default_factory=dict)
    fresh: dict[Operation, SSAValue] = field(default_factory=dict)

    @property
    def strides(self) -> Strides:
        return self.plan.strides

    @contextmanager
    def seldom(self) -> Iterator[None]:
        """What is written inside seldom runs: no unrolling."""
        before, self.rare = self.rare, True
        yield
        self.rare = before

    def scalar(self, value: SSAValue) -> SSAValue:
        """The ttcir value of a ttir scalar."""
        return self.scalars[value]

    def at(self, value: SSAValue, index: Index, count: int) -> Lanes:
        """The lanes of `value` at `index`."""
        if not shape(value.type):
            return Uniform(self.scalars[value])
        key = (value, index, count)
        for level in reversed(self.w.levels[self.w.floor :]):
            if (known := level.memo.get(key)) is not None:
                return known
        lanes = self._evaluate(value, index, count)
        depth = max(self.w.depth_of(values_of(lanes)), self.w.floor)
        self.w.levels[depth].memo[key] = lanes
        return lanes

    def _evaluate(self, value: SSAValue, index: Index, count: int) -> Lanes:
        if (buffer := self.buffers.get(value)) is not None:
            return self.read(buffer, index, count)
        op = value.owner
        assert isinstance(op, Operation), f"a tile argument without memory: {value}"
        self.w.location = op.location
        rule = self.rules.get(op.name, evaluate_elementwise)
        lanes = rule(self, op, op.results.index(value), index, count)
        if (waiting := self.pending.get(value)) is not None:
            self.write(waiting, index, lanes, count)
        return lanes

    # ---- tiles in memory

    def new_buffer(self, sizes: Sequence[int], type: Attribute, hint: str | None = None, inner: int = -1) -> Buffer:
        """Memory for a tile whose elements are next to each other along `inner`."""
        stored = i8 if isinstance(type, IntegerType) and type.width.data == 1 else type
        return Buffer(self.w.alloc(prod(sizes), stored, hint), tuple(sizes), type, row_major(sizes, inner))

    def rows_apart(self, value: SSAValue, gap: int) -> Buffer:
        """Memory for a matrix with `gap` elements that are not used after each row."""
        rows, columns = shape(value.type)
        dense = self.new_buffer((rows, columns + gap), element(value.type), value.name_hint)
        return replace(dense, sizes=(rows, columns))

    def aside(self, buffer: Buffer) -> Buffer:
        """Memory like that of `buffer`."""
        last = sum((n - 1) * s for n, s in zip(buffer.sizes, buffer.strides, strict=True))
        return replace(buffer, ptr=self.new_buffer((last + 1,), buffer.type).ptr)

    def buffer_for(self, value: SSAValue, inner: int = -1) -> Buffer:
        """Memory for a ttir value of tile type; its own buffer where a loop lets it be updated in place."""
        if (place := self.in_place.get(value)) is not None:
            return place
        return self.new_buffer(shape(value.type), element(value.type), value.name_hint, inner)

    def address(self, buffer: Buffer, index: Index, count: int) -> Lanes:
        """The pointers at the index."""
        offset = linear(self.w, index, buffer.strides, count)
        ptr = buffer.ptr
        match offset:
            case Uniform(value):
                return Uniform(self.w.move(ptr, value))
            case Affine(base, step, _):
                return Affine(self.w.move(ptr, base), step, ptr.type)
            case Vector(value):
                pointers = self.w.splat(ptr, count)
                return Vector(self.w.pure("tt.addptr", (pointers, value), pointers.type))

    def read(self, buffer: Buffer, index: Index, count: int) -> Lanes:
        lanes = load_lanes(self.w, self.address(buffer, index, count), None, None, count)
        if buffer.type != buffer.ptr.type.pointee:
            return elementwise(self.w, "arith.trunci", [lanes], [buffer.type], count, {})[0]
        return lanes

    def write(self, buffer: Buffer, index: Index, lanes: Lanes, count: int) -> None:
        stored = buffer.ptr.type.pointee
        if buffer.type != stored:
            lanes = elementwise(self.w, "arith.extui", [lanes], [stored], count, {})[0]
        store_lanes(self.w, self.address(buffer, index, count), lanes, None, count)


def values_of(lanes: Lanes) -> tuple[SSAValue, ...]:
    """The SSA values that lanes are made of."""
    return (lanes.base, lanes.step) if isinstance(lanes, Affine) else (lanes.value,)


def evaluate_elementwise(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    """Any op whose result at an index follows from its operands at that index."""
    if op.name not in OPS or op.regions:
        raise no_rule(op)
    operands = [tiles.at(o, index, count) for o in op.operands]
    tiles.w.location = op.location  # the operands have left theirs
    types = [element(r.type) for r in op.results]
    return elementwise(tiles.w, op.name, operands, types, count, op.properties)[result]
