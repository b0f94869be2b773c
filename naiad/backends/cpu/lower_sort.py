"""ttc.sort: bitonic sorting of rows in place.

Elements become integers that order as they should (floats by a change of the negative ones' bits, NaN as the largest), so
that a comparison is one minimum and one maximum. A vector is sorted in registers by shuffles; above that, blocks of twice
the size are merged: the first step compares an element with its mirror image in the block, so that every block ascends.
"""

from dataclasses import dataclass

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, kind, kind_of_type
from naiad.backends.cpu.lower_casts import FORMATS
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules

rules = Rules()

INFINITIES = {"f32": 0x7F800000, "f64": 0x7FF0000000000000}


@dataclass(frozen=True)
class Order:
    """How elements compare."""

    element: str
    descending: bool
    signed: bool


@rules.lower("ttc.sort")
def sort(op: Operation, e: CpuEmitter) -> None:
    pointee = kind_of_type(op.operands[0].type.pointee)
    order = Order(pointee.element, "descending" in op.properties, "signed" in op.properties)
    rows, n = [op.properties[name].value.data for name in ("rows", "n")]
    if n < 2:
        return
    bits = pointee.memory.bits
    lanes = kind(f"i{bits}", min(n, max(e.target.lanes(max(bits, 32)), 16 if bits < 64 else 8)))
    flags = f"{'d' if order.descending else 'a'}{'s' if order.signed else 'u'}"
    helper = e.module.once(f"naiad_sort_{order.element}_{flags}_{lanes.lanes}", lambda name: define(e, name, lanes, order))
    pointer = e.of(op.operands[0])
    pitch = n * pointee.bytes
    if rows == 1:
        e.do(f"call void {helper}(ptr {pointer}, i64 {n})")
        return

    def row(i: str, _: list[str]) -> None:
        e.do(f"call void {helper}(ptr {e.gep(pointer, e.op(f'mul i64 {i}, {pitch}'))}, i64 {n})")

    e.loop("0", str(rows), "1", [], row)


def define(e: CpuEmitter, name: str, lanes: Kind, order: Order) -> None:
    """(pointer, n): n is a multiple of the vector's lanes."""
    f = CpuEmitter(e.module, e.target)
    s = Sorter(f, lanes, order)
    s.each(lambda v: s.in_register(s.to_key(v)))
    s.merges()
    s.each(s.from_key)
    e.module.define("void", name, ["ptr %p", "i64 %n"], f, "ret void", "internal",
                    e.target.function_attributes + " noinline")  # fmt: skip


class Sorter:
    """Writes the steps of a sort of vectors of `lanes` keys."""

    def __init__(self, f: CpuEmitter, lanes: Kind, order: Order) -> None:
        self.f, self.kind, self.order, self.width = f, lanes, order, lanes.lanes
        self.flags = lanes.of("i1")

    # -- memory

    def at(self, index: str) -> str:
        return self.f.gep("%p", index, self.kind.scalar)

    def load(self, place: str) -> str:
        return self.f.load(self.kind.llvm, place, self.kind.bytes)

    def store(self, value: str, place: str) -> None:
        self.f.store(self.kind.llvm, value, place, self.kind.bytes)

    def each(self, change) -> None:
        """Changes each vector of the row."""
        f = self.f

        def body(i: str, _: list[str]) -> None:
            place = self.at(i)
            self.store(change(self.load(place)), place)

        f.loop("0", "%n", str(self.width), [], body, runs=True)

    # -- keys

    def constant(self, value: int) -> str:
        return self.f.number_of(value, self.kind)

    @property
    def largest(self) -> int:
        return (1 << (self.kind.bits - 1)) - 1

    def to_key(self, value: str) -> str:
        """A signed integer that orders as the element does."""
        f, element = self.f, self.order.element
        if element[0] in "fb":
            size = f.binary("and", self.kind, value, self.constant(self.largest))
            infinity = INFINITIES.get(element) or infinity_of(element)
            nan = f.compare("ugt", self.kind, size, self.constant(infinity))
            value = f.select(self.kind, nan, self.constant(self.largest), self.mirrored(value))
        elif not self.order.signed:
            value = f.binary("xor", self.kind, value, self.constant(self.largest + 1))
        return f.binary("xor", self.kind, value, self.constant(-1)) if self.order.descending else value

    def from_key(self, value: str) -> str:
        f = self.f
        if self.order.descending:
            value = f.binary("xor", self.kind, value, self.constant(-1))
        if self.order.element[0] in "fb":
            return self.mirrored(value)
        if self.order.signed:
            return value
        return f.binary("xor", self.kind, value, self.constant(self.largest + 1))

    def mirrored(self, value: str) -> str:
        """Negative floats have their bits turned, so that they ascend; the same brings them back."""
        f = self.f
        sign = f.binary("ashr", self.kind, value, self.constant(self.kind.bits - 1))
        return f.binary("xor", self.kind, value, f.binary("and", self.kind, sign, self.constant(self.largest)))

    # -- steps

    def pair(self, a: str, b: str) -> tuple[str, str]:
        f = self.f
        return f.intrinsic("smin", self.kind.llvm, a, b), f.intrinsic("smax", self.kind.llvm, a, b)

    def exchange(self, value: str, partner: list[int]) -> str:
        """Each lane against lane partner[lane]: the lower lane keeps the smaller."""
        f = self.f
        other = f.shuffle(self.kind, value, "poison", partner)
        low, high = self.pair(value, other)
        keeps = ", ".join("i1 true" if lane < partner[lane] else "i1 false" for lane in range(self.width))
        return f.op(f"select {self.flags.llvm} <{keeps}>, {self.kind.llvm} {low}, {self.kind.llvm} {high}")

    def merged(self, value: str, size: int) -> str:
        """The halving steps within a vector, from distance `size` / 2 down."""
        distance = size // 2
        while distance:
            value = self.exchange(value, [lane ^ distance for lane in range(self.width)])
            distance //= 2
        return value

    def in_register(self, value: str) -> str:
        """A vector sorted."""
        size = 2
        while size <= self.width:
            value = self.exchange(value, [lane ^ (size - 1) for lane in range(self.width)])
            value = self.merged(value, size // 2)
            size *= 2
        return value

    def reversed(self, value: str) -> str:
        return self.f.shuffle(self.kind, value, "poison", list(range(self.width - 1, -1, -1)))

    def merges(self) -> None:
        """Sorted blocks of `size` / 2 merged into blocks of `size`, until one is left."""
        f, wide = self.f, kind("i64")

        def stage(state: list[str]) -> tuple[str, list[str]]:
            return f.op(f"icmp ule i64 {state[0]}, %n"), state

        def merge(state) -> list[str]:
            size = state[0]
            half = f.binary("lshr", wide, size, "1")
            self.mirror_step(size, half)
            self.distance_steps(f.binary("lshr", wide, half, "1"))
            self.each(lambda v: self.merged(v, self.width))
            return [f.binary("shl", wide, size, "1")]

        f.loop_while([("i64", str(2 * self.width))], stage, merge)

    def mirror_step(self, size: str, half: str) -> None:
        """Each element of a lower half against its mirror image in the upper."""
        f, wide = self.f, kind("i64")
        mask = f.binary("sub", wide, half, "1")
        last = f.binary("sub", wide, size, str(self.width))

        def body(t: str, _: list[str]) -> None:
            low = f.binary("and", wide, t, mask)
            base = f.binary("shl", wide, f.binary("sub", wide, t, low), "1")
            first = self.at(f.binary("add", wide, base, low))
            second = self.at(f.binary("add", wide, base, f.binary("sub", wide, last, low)))
            a, b = self.pair(self.load(first), self.reversed(self.load(second)))
            self.store(a, first)
            self.store(self.reversed(b), second)

        f.loop("0", f.binary("lshr", wide, "%n", "1"), str(self.width), [], body, runs=True)

    def distance_steps(self, first: str) -> None:
        """Elements `distance` apart, from `first` down to a vector; two distances a pass while there are two."""
        f, wide = self.f, kind("i64")
        double = str(2 * self.width)

        def two(state) -> list[str]:
            self.double_step(state[0])
            return [f.binary("lshr", wide, state[0], "2")]

        [left] = f.loop_while([("i64", first)], lambda s: (f.op(f"icmp uge i64 {s[0]}, {double}"), s), two)
        f.when(f.op(f"icmp uge i64 {left}, {self.width}"), [], lambda: self.single_step(left) or [])

    def single_step(self, distance: str) -> None:
        f, wide = self.f, kind("i64")
        mask = f.binary("sub", wide, distance, "1")

        def body(t: str, _: list[str]) -> None:
            low = f.binary("and", wide, t, mask)
            first = self.at(f.binary("sub", wide, f.binary("shl", wide, t, "1"), low))
            second = f.gep(first, distance, self.kind.scalar)
            a, b = self.pair(self.load(first), self.load(second))
            self.store(a, first)
            self.store(b, second)

        f.loop("0", f.binary("lshr", wide, "%n", "1"), str(self.width), [], body, runs=True)

    def double_step(self, distance: str) -> None:
        """Distances `distance` and half of it, on four vectors in registers."""
        f, wide = self.f, kind("i64")
        half = f.binary("lshr", wide, distance, "1")
        mask = f.binary("sub", wide, half, "1")

        def body(t: str, _: list[str]) -> None:
            low = f.binary("and", wide, t, mask)
            base = f.binary("shl", wide, f.binary("sub", wide, t, low), "2")
            places = [self.at(f.binary("add", wide, base, low))]
            for _unused in range(3):
                places.append(f.gep(places[-1], half, self.kind.scalar))
            a, b, c, d = [self.load(p) for p in places]
            a, c = self.pair(a, c)
            b, d = self.pair(b, d)
            for value, place in zip((*self.pair(a, b), *self.pair(c, d)), places, strict=True):
                self.store(value, place)

        f.loop("0", f.binary("lshr", wide, "%n", "2"), str(self.width), [], body, runs=True)


def infinity_of(element: str) -> int:
    """The largest code without sign that is no NaN."""
    format = FORMATS[element]
    return format.infinity if format.infinity >= 0 else format.largest
