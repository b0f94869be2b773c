"""ttc.sort: sorting networks over vectors, rows in place.

A comparison is one minimum and one maximum of two vectors: f32 and f64 as they are, other elements as integers that
order as they do. A row is seen as a matrix of v vectors,
element number lane * v + vector: sorting the columns needs no shuffle at all, and of the merges after it only the
steps between lanes do. A block of vectors is sorted in registers by Batcher's network; merges are bitonic, their
first step comparing an element with its mirror image, so that everything ascends. A transposition brings the rows
back into memory order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir import Operation

from naiad.backends.cpu import lower_transpose
from naiad.backends.cpu.kinds import Kind, count, kind, kind_of_type, pointee
from naiad.backends.cpu.sort_keys import Order, from_key, to_key
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules

rules = Rules()

SCRATCH = 256 * 1024  # bytes of a row that are sorted at once, in memory of the stack
WIDE = kind("i64")
FLOATS = ("f32", "f64")


@rules.lower("ttc.sort")
def sort(op: Operation, e: CpuEmitter) -> None:
    element = kind_of_type(pointee(op.operands[0]))
    order = Order(element.element, "descending" in op.properties, "signed" in op.properties)
    rows, n = [count(op, name) for name in ("rows", "n")]
    if n < 2:
        return
    shape = SortShape.of(e, element, min(n, SCRATCH // element.bytes))
    pointer, scratch = e.of(op.operands[0]), e.slot("i8", min(n * element.bytes, SCRATCH))
    long = n * element.bytes > SCRATCH
    name = f"{shape.name}_{order.name}{'_long' if long else ''}"
    helper = e.module.once(name, lambda name: define(e, name, shape, order, long))

    def row(i: str, _: list[str]) -> None:
        place = e.gep(pointer, e.op(f"mul i64 {i}, {n * element.bytes}"))
        e.do(f"call void {helper}(ptr {place}, ptr {scratch}, i64 {n}, i64 {min(n, SCRATCH // element.bytes)})")

    e.loop("0", str(rows), "1", [], row)


@dataclass(frozen=True)
class SortShape:
    """A vector of keys, and how many of them a block in registers has (1: the row is one vector)."""

    keys: Kind
    block: int

    @classmethod
    def of(cls, e: CpuEmitter, element: Kind, n: int) -> "SortShape":
        bits = element.memory.bits
        width = min(e.target.lanes(bits), 16 if bits == 8 else 64)
        lanes = min(n, width)
        many = 16 if e.target.has_avx512 or not e.target.is_x86 else 8
        return cls(kind(element.element if element.element in FLOATS else f"i{bits}", lanes), min(many, n // lanes))

    @property
    def name(self) -> str:
        return f"naiad_sort_{self.keys.element}x{self.keys.lanes}_{self.block}"


def define(e: CpuEmitter, name: str, shape: SortShape, order: Order, long: bool) -> None:
    """(row, scratch, n, chunk): sorts chunks, a power of two that fits into the scratch; if `long`, merges them."""
    f = CpuEmitter(e.module, e.target)
    s = Sorter(f, shape, order)
    s.start_count()

    def chunk(first: str, _: list[str]) -> None:
        s.sort_chunk(f.gep("%p", first, shape.keys.scalar))

    f.loop("0", "%n", "%chunk", [], chunk, runs=True)
    if long:
        s.merge_chunks()
    s.put_nans()
    parameters = ["ptr %p", "ptr noalias %q", "i64 %n", "i64 %chunk"]
    e.module.define("void", name, parameters, f, "ret void", "internal", e.target.function_attributes + " noinline")


def define_descent(e: CpuEmitter, name: str, shape: SortShape) -> None:
    """(keys, count, distance): the bitonic steps between vectors, from `distance` vectors apart down to neighbours."""
    f = CpuEmitter(e.module, e.target)
    Network(f, shape, "%q", "%v").descend("%d")
    e.module.define("void", name, ["ptr %q", "i64 %v", "i64 %d"], f, "ret void", "internal",
                    e.target.function_attributes + " noinline")  # fmt: skip


def batcher(n: int) -> Iterator[tuple[int, int]]:
    """The comparators of Batcher's odd-even merge sort of n elements, a power of two."""
    p = 1
    while p < n:
        k = p
        while k:
            for j in range(k % p, n - k, 2 * k):
                for i in range(j, j + min(k, n - j - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        yield i, i + k
            k //= 2
        p *= 2


class Network:
    """Writes comparators between the vectors of keys at `base`, `count` of them."""

    def __init__(self, f: CpuEmitter, shape: SortShape, base: str, count: str) -> None:
        self.f, self.keys, self.block, self.base, self.count = f, shape.keys, shape.block, base, count
        self.width = self.keys.lanes

    def at(self, vector: str) -> str:
        return self.f.gep(self.base, vector, self.keys.llvm)

    def load(self, place: str) -> str:
        return self.f.load(self.keys.llvm, place, self.keys.bytes)

    def store(self, value: str, place: str) -> None:
        self.f.store(self.keys.llvm, value, place, self.keys.bytes)

    def pair(self, a: str, b: str) -> tuple[str, str]:
        f, keys = self.f, self.keys
        if not keys.is_float:
            return f.intrinsic("smin", keys.llvm, a, b), f.intrinsic("smax", keys.llvm, a, b)
        # minps and maxps give their second operand where the two are equal: in this order -0 and +0 both stay
        low = f.select(keys, f.compare("olt", keys, a, b), a, b)
        return low, f.select(keys, f.compare("ogt", keys, b, a), b, a)

    def math(self, op: str, a: str, b: str) -> str:
        return self.f.binary(op, WIDE, a, b)

    def loop(self, high: str, step: str, body: Callable[[str], None]) -> None:
        self.f.loop("0", high, step, [], lambda i, _: body(i), runs=True)

    # -- between vectors

    def descend(self, distance: str) -> None:
        """Bitonic steps from `distance` on; two at a time, and the last ones in registers."""
        f, block = self.f, self.block

        def two(state: list[str]) -> list[str]:
            self.double_step(state[0])
            return [self.math("lshr", state[0], "2")]

        [left] = f.loop_while([("i64", distance)], lambda s: (f.op(f"icmp uge i64 {s[0]}, {2 * block}"), s), two)
        f.when(f.op(f"icmp uge i64 {left}, {block}"), [], lambda: self.single_step(left))
        self.loop(self.count, str(block), self.finish)

    def finish(self, first: str) -> None:
        """The steps within a block."""
        places = [self.f.gep(self.at(first), str(i), self.keys.llvm) for i in range(self.block)]
        values, distance = [self.load(p) for p in places], self.block // 2
        while distance:
            for i in range(self.block):
                if not i & distance:
                    values[i], values[i + distance] = self.pair(values[i], values[i + distance])
            distance //= 2
        for value, place in zip(values, places, strict=True):
            self.store(value, place)

    def single_step(self, distance: str) -> None:
        mask = self.math("sub", distance, "1")

        def body(t: str) -> None:
            low = self.math("and", t, mask)
            first = self.at(self.math("sub", self.math("shl", t, "1"), low))
            second = self.f.gep(first, distance, self.keys.llvm)
            a, b = self.pair(self.load(first), self.load(second))
            self.store(a, first)
            self.store(b, second)

        self.loop(self.math("lshr", self.count, "1"), "1", body)

    def double_step(self, distance: str) -> None:
        """Distances `distance` and half of it, on four vectors in registers."""
        half = self.math("lshr", distance, "1")
        mask = self.math("sub", half, "1")

        def body(t: str) -> None:
            low = self.math("and", t, mask)
            places = [self.at(self.math("add", self.math("shl", self.math("sub", t, low), "2"), low))]
            for _ in range(3):
                places.append(self.f.gep(places[-1], half, self.keys.llvm))
            a, b, c, d = [self.load(p) for p in places]
            a, c = self.pair(a, c)
            b, d = self.pair(b, d)
            for value, place in zip((*self.pair(a, b), *self.pair(c, d)), places, strict=True):
                self.store(value, place)

        self.loop(self.math("lshr", self.count, "2"), "1", body)

    def mirror_step(self, size: str) -> None:
        """Blocks of `size` vectors: each vector of the lower half against its mirror image in the upper."""
        half = self.math("lshr", size, "1")
        mask, last = self.math("sub", half, "1"), self.math("sub", size, "1")

        def body(t: str) -> None:
            low = self.math("and", t, mask)
            start = self.math("shl", self.math("sub", t, low), "1")
            first = self.at(self.math("add", start, low))
            second = self.at(self.math("add", start, self.math("sub", last, low)))
            a, b = self.pair(self.load(first), self.load(second))
            self.store(a, first)
            self.store(b, second)

        self.loop(self.math("lshr", self.count, "1"), "1", body)

    # -- between lanes

    def chosen(self, first: list[bool], a: str, b: str) -> str:
        """Lanes of a where `first` says so, else of b."""
        flags = ", ".join("i1 true" if x else "i1 false" for x in first)
        kinds = self.keys.llvm
        return self.f.op(f"select <{self.width} x i1> <{flags}>, {kinds} {a}, {kinds} {b}")

    def exchange(self, value: str, bits: int) -> str:
        """Each lane against lane ^ bits: the lower one keeps the smaller."""
        other = self.f.shuffle(self.keys, value, "poison", [lane ^ bits for lane in range(self.width)])
        low, high = self.pair(value, other)
        return self.chosen([lane < lane ^ bits for lane in range(self.width)], low, high)

    def halving(self, value: str, distance: int) -> str:
        """The steps between lanes from `distance` on."""
        while distance:
            value, distance = self.exchange(value, distance), distance // 2
        return value

    def lane_step(self, size: int) -> None:
        """Blocks of `size` lanes: the mirror step, which pairs vector i with the i-th from the end, then the halving
        ones."""
        f, turn = self.f, [lane ^ (size - 1) for lane in range(self.width)]
        lower = [lane < t for lane, t in enumerate(turn)]
        last = self.math("sub", self.count, "1")

        def body(i: str) -> None:
            first, second = self.at(i), self.at(self.math("sub", last, i))
            a, b = self.load(first), f.shuffle(self.keys, self.load(second), "poison", turn)
            low, high = self.pair(a, b)
            self.store(self.halving(self.chosen(lower, low, high), size // 4), first)
            rest = f.shuffle(self.keys, self.chosen(lower, high, low), "poison", turn)
            self.store(self.halving(rest, size // 4), second)

        self.loop(self.math("lshr", self.count, "1"), "1", body)

    def in_register(self, value: str) -> str:
        """One vector sorted."""
        size = 2
        while size <= self.width:
            value = self.halving(self.exchange(value, size - 1), size // 4)
            size *= 2
        return value


class Sorter(Network):
    """Writes the sort of a row: %p the row, %q the scratch, %n and %chunk as `define` says."""

    def __init__(self, f: CpuEmitter, shape: SortShape, order: Order) -> None:
        super().__init__(f, shape, "%q", f.op(f"udiv i64 %chunk, {shape.keys.lanes}"))
        self.shape, self.order = shape, order

    def key(self, value: str) -> str:
        if not self.keys.is_float:
            return to_key(self.f, self.keys, self.order, value)
        return self.float_key(value)

    def unkey(self, value: str) -> str:
        if not self.keys.is_float:
            return from_key(self.f, self.keys, self.order, value)
        return self.f.op(f"fneg {self.keys.llvm} {value}") if self.order.descending else value

    # -- f32 and f64 sort as they are, twice as fast as integers; NaN are counted, and put in place at the end

    def start_count(self) -> None:
        if self.keys.is_float:
            self.nans = self.f.op("alloca i64, align 8")
            self.f.store("i64", "0", self.nans, 8)

    def float_key(self, value: str) -> str:
        f, keys = self.f, self.keys
        nan = f.compare("uno", keys, value, value)
        bits = f.op(f"bitcast {keys.of('i1').llvm} {nan} to i{self.width}")
        some = f.call(f"i{self.width}", f"llvm.ctpop.i{self.width}", (f"i{self.width}",), (bits,))
        wide = f.op(f"zext i{self.width} {some} to i64")
        f.store("i64", self.math("add", f.load("i64", self.nans, 8), wide), self.nans, 8)
        if self.order.descending:
            value = f.op(f"fneg {keys.llvm} {value}")
        last = float("-inf") if self.order.descending else float("inf")
        return f.select(keys, nan, f.number_of(last, keys), value)

    def put_nans(self) -> None:
        """NaN where they belong: last, first if descending, in the place of as many infinities."""
        if not self.keys.is_float:
            return
        f, one = self.f, self.keys.wide(0)
        found = f.load("i64", self.nans, 8)
        start = "0" if self.order.descending else self.math("sub", "%n", found)

        def put(i: str, _: list[str]) -> None:
            place = f.gep("%p", self.math("add", start, i), one.scalar)
            f.store(one.scalar, f.number_of(float("nan"), one), place, one.bytes)

        f.loop("0", found, "1", [], put)

    def sort_chunk(self, row: str) -> None:
        if self.block == 1:
            self.store(self.unkey(self.in_register(self.key(self.load(row)))), row)
            return
        self.loop(self.count, str(self.block), lambda first: self.sort_block(row, first))
        self.columns()
        size = 2
        while size <= self.width:
            self.lane_step(size)
            self.call_descent(self.math("lshr", self.count, "1"))
            size *= 2
        if self.order.descending or not (self.keys.is_float or (self.order.signed and not self.order.is_float)):
            self.loop(self.count, "1", lambda i: self.store(self.unkey(self.load(self.at(i))), self.at(i)))
        self.put_back(row)

    def sort_block(self, row: str, first: str) -> None:
        """A block of vectors from the row into the scratch, each of its columns sorted."""
        f = self.f
        source = f.gep(row, first, self.keys.llvm)
        values = [self.key(self.load(f.gep(source, str(i), self.keys.llvm))) for i in range(self.block)]
        for a, b in batcher(self.block):
            values[a], values[b] = self.pair(values[a], values[b])
        for i, value in enumerate(values):
            self.store(value, f.gep(self.at(first), str(i), self.keys.llvm))

    def columns(self) -> None:
        """Sorted blocks merged until each column is sorted."""
        f = self.f

        def merge(state: list[str]) -> list[str]:
            self.mirror_step(state[0])
            self.call_descent(self.math("lshr", state[0], "2"))
            return [self.math("shl", state[0], "1")]

        first = [("i64", str(2 * self.block))]
        f.loop_while(first, lambda s: (f.op(f"icmp ule i64 {s[0]}, {self.count}"), s), merge)

    def call_descent(self, distance: str) -> None:
        name = f"{self.shape.name}_descend"
        helper = self.f.module.once(name, lambda name: define_descent(self.f, name, self.shape))
        self.f.do(f"call void {helper}(ptr %q, i64 {self.count}, i64 {distance})")

    def put_back(self, row: str) -> None:
        """The scratch, turned, into the row."""
        f, side = self.f, min(self.width, 16, self.block)
        lanes = self.keys.wide(side)
        lanes = lanes.integer
        name = f"naiad_transpose_{lanes.element}_{side}"
        helper = f.module.once(name, lambda name: lower_transpose.define(f, name, lanes))
        given = f"ptr %q, ptr {row}, i64 {self.width}, i64 {self.count}, i64 {self.count}, i64 {self.width}"
        f.do(f"call void {helper}({given})")

    def merge_chunks(self) -> None:
        """Sorted chunks merged in place, in memory order: rows too long for the scratch."""
        f, whole = self.f, self.math("udiv", "%n", str(self.width))
        row = Network(f, self.shape, "%p", whole)
        row.loop(whole, "1", lambda i: row.store(self.key(row.load(row.at(i))), row.at(i)))

        def merge(state: list[str]) -> list[str]:
            self.turn_upper_halves(row, state[0])
            row.descend(self.math("lshr", state[0], "2"))
            row.loop(whole, "1", lambda i: row.store(row.halving(row.load(row.at(i)), self.width // 2), row.at(i)))
            return [self.math("shl", state[0], "1")]

        first = [("i64", self.math("shl", self.count, "1"))]
        f.loop_while(first, lambda s: (f.op(f"icmp ule i64 {s[0]}, {whole}"), s), merge)
        row.loop(whole, "1", lambda i: row.store(self.unkey(row.load(row.at(i))), row.at(i)))

    def turn_upper_halves(self, row: Network, size: str) -> None:
        """The mirror step in memory order, where the image of a vector has its lanes turned as well."""
        backwards = list(range(self.width - 1, -1, -1))
        half = self.math("lshr", size, "1")
        mask, last = self.math("sub", half, "1"), self.math("sub", size, "1")

        def body(t: str) -> None:
            low = self.math("and", t, mask)
            start = self.math("shl", self.math("sub", t, low), "1")
            first = row.at(self.math("add", start, low))
            second = row.at(self.math("add", start, self.math("sub", last, low)))
            a, b = row.pair(row.load(first), self.f.shuffle(self.keys, row.load(second), "poison", backwards))
            row.store(a, first)
            row.store(self.f.shuffle(self.keys, b, "poison", backwards), second)

        row.loop(self.math("lshr", row.count, "1"), "1", body)
