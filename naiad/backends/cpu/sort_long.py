"""Rows too long for the scratch: sorted chunks of them are merged in place, in memory order."""

from collections.abc import Callable

from naiad.backends.cpu.kinds import Kind, kind
from naiad.backends.cpu.sort_keys import Order, from_key, pair, to_key
from naiad.backends.cpu.writer import CpuEmitter

WIDE = kind("i64")


class LongRow:
    """Writes the sort of the n elements at %p."""

    def __init__(self, f: CpuEmitter, keys: Kind, order: Order, n: int) -> None:
        self.f, self.keys, self.order, self.n = f, keys, order, n
        self.width, self.vectors = keys.lanes, n // keys.lanes

    def sort(self, chunk: int, sort_chunk: Callable[[str], None]) -> None:
        if self.order.has_keys:
            self.each(lambda value: to_key(self.f, self.keys, self.order, value))
        self.f.loop("0", str(self.n), str(chunk), [], lambda first, _: sort_chunk(
            self.f.gep("%p", first, self.keys.scalar)), runs=True)  # fmt: skip
        self.merge(2 * chunk // self.width)
        if self.order.has_keys:
            self.each(lambda value: from_key(self.f, self.keys, value))

    def merge(self, first: int) -> None:
        """Blocks of `first` vectors, then larger ones: bitonic merges, their halves sorted already."""

        def merged(state: list[str]) -> list[str]:
            half = self.math("lshr", state[0], "1")
            self.mirror_step(half)
            self.f.loop_while([("i64", self.math("lshr", half, "1"))],
                              lambda s: (self.f.op(f"icmp ne i64 {s[0]}, 0"), s), self.vector_step)  # fmt: skip
            self.each(self.lane_steps)
            return [self.math("shl", state[0], "1")]

        self.f.loop_while(
            [("i64", str(first))], lambda s: (self.f.op(f"icmp ule i64 {s[0]}, {self.vectors}"), s), merged
        )

    def mirror_step(self, half: str) -> None:
        """Each vector of a block's lower half against its mirror image in the upper, where lanes are turned as well."""
        backwards = list(range(self.width - 1, -1, -1))
        last = self.math("sub", self.math("shl", half, "1"), "1")

        def body(start: str, low: str) -> None:
            first, second = self.at(self.math("add", start, low)), self.at(
                self.math("add", start, self.math("sub", last, low)))  # fmt: skip
            a, b = self.pair(self.load(first), self.turned(self.load(second), backwards))
            self.store(a, first)
            self.store(self.turned(b, backwards), second)

        self.blocks(half, body)

    def vector_step(self, state: list[str]) -> list[str]:
        """Vectors that are `distance` apart."""
        [distance] = state

        def body(start: str, low: str) -> None:
            first = self.at(self.math("add", start, low))
            second = self.f.gep(first, distance, self.keys.llvm)
            a, b = self.pair(self.load(first), self.load(second))
            self.store(a, first)
            self.store(b, second)

        self.blocks(distance, body)
        return [self.math("lshr", distance, "1")]

    def lane_steps(self, value: str) -> str:
        """The steps between the lanes of a vector: each lane against another, the lower one keeps what comes first."""
        distance = self.width // 2
        while distance:
            other = self.turned(value, [lane ^ distance for lane in range(self.width)])
            first, second = self.pair(value, other)[0], self.pair(other, value)[1]  # of equal ones each keeps one
            lower = ", ".join(f"i1 {'false' if lane & distance else 'true'}" for lane in range(self.width))
            value = self.f.op(
                f"select <{self.width} x i1> <{lower}>, {self.keys.llvm} {first}, {self.keys.llvm} {second}"
            )
            distance //= 2
        return value

    def blocks(self, half: str, body: Callable[[str, str], None]) -> None:
        """body(first vector of a block, number in its lower half), for all pairs of vectors of blocks of two halves."""
        mask = self.math("sub", half, "1")

        def each(i: str, _: list[str]) -> None:
            low = self.math("and", i, mask)
            body(self.math("shl", self.math("sub", i, low), "1"), low)

        self.f.loop("0", str(self.vectors // 2), "1", [], each, runs=True)

    def each(self, change: Callable[[str], str]) -> None:
        """Every vector changed where it is."""
        self.f.loop("0", str(self.vectors), "1", [], lambda i, _: self.store(
            change(self.load(self.at(i))), self.at(i)), runs=True)  # fmt: skip

    def pair(self, a: str, b: str) -> tuple[str, str]:
        return pair(self.f, self.keys, self.order, a, b)

    def turned(self, value: str, lanes: list[int]) -> str:
        return self.f.shuffle(self.keys, value, "poison", lanes)

    def at(self, vector: str) -> str:
        return self.f.gep("%p", vector, self.keys.llvm)

    def load(self, place: str) -> str:
        return self.f.load(self.keys.llvm, place, self.keys.bytes)

    def store(self, value: str, place: str) -> None:
        self.f.store(self.keys.llvm, value, place, self.keys.bytes)

    def math(self, op: str, a: str, b: str) -> str:
        return self.f.binary(op, WIDE, a, b)
