"""A pass of a sort as a function over groups of vectors, which are loaded, compared and stored.

(source, target, groups, outer, flip, strides): `outer` is the bits of a vector's offset that tell groups apart, `flip`
those of them that are complemented as the upper vectors of a mirrored stage are loaded; the last are the strides of the
active positions. All in bytes.
"""

from hashlib import sha256

from naiad.backends.cpu.kinds import Kind
from naiad.backends.cpu.sort_keys import Order, from_key, pair, to_key
from naiad.backends.cpu.sort_plan import Compare, Pass, Swap, batcher
from naiad.backends.cpu.writer import CpuEmitter

LINE = 64  # bytes that memory gives at once


class PassWriter:
    """Writes one pass. to_keys, from_keys: whether vectors are loaded, stored as the elements that they stand for.
    fetches: whether each group asks for a line of memory at an address that comes last."""

    def __init__(self, keys: Kind, order: Order, made: Pass, to_keys: bool, from_keys: bool, fetches: bool) -> None:
        self.keys, self.order, self.made, self.fetches = keys, order, made, fetches
        self.to_keys, self.from_keys = to_keys and order.has_keys, from_keys and order.has_keys
        self.bytes = keys.bytes * max(keys.lanes, 1)
        self.index = {place: i for i, place in enumerate(made.active)}

    def call(self, f: CpuEmitter, source: str, target: str, positions: int, ahead: str) -> None:
        """Runs the pass over 2**positions vectors."""
        helper = f.module.once(self.name, lambda name: self.define(CpuEmitter(f.module, f.target), name))
        sizes = ", ".join(f"i64 {size}" for size in self.arguments(positions))
        f.do(f"call void {helper}(ptr {source}, ptr {target}, {sizes}{f', ptr {ahead}' if ahead else ''})")

    def arguments(self, positions: int) -> list[int]:
        """What the function is called with for 2**positions vectors, after source and target."""
        outer = [p for p in range(positions) if p not in self.index]
        _, outside = self.made.flipped or (0, ())
        sizes = [sum(1 << p for p in outer), sum(1 << p for p in outside), *(1 << p for p in self.made.active)]
        return [1 << len(outer), *(size * self.bytes for size in sizes)]

    @property
    def name(self) -> str:
        """Passes whose functions would be the same have one name."""
        made, at = self.made, self.index
        steps = [(at[s.place], *(at[p] for p in s.turned if p in at)) if isinstance(s, Compare)
                 else (at[s.place], s.low, s.high) for s in made.steps]  # fmt: skip
        flipped = made.flipped and at[made.flipped[0]]
        ends = (self.to_keys, self.from_keys, made.targets and (made.active, made.targets))
        form = (self.fetches, len(at), steps, made.sorts, flipped, ends)
        return f"naiad_sort_pass_{self.keys.element}x{self.keys.lanes}_{self.order.name}_{digest(form)}"

    def define(self, f: CpuEmitter, name: str) -> None:
        f.loop("0", "%groups", "1", [("i64", "0")], lambda i, state: [self.group(f, i, state[0])], runs=True)
        sizes = [f"i64 %{size}" for size in ("groups", "outer", "flip", *(f"s{i}" for i in self.index.values()))]
        ahead = ["ptr %ahead"] if self.fetches else []
        f.module.define("void", name, ["ptr %source", "ptr %target", *sizes, *ahead], f, "ret void", "internal",
                        f.target.function_attributes + " noinline")  # fmt: skip

    def group(self, f: CpuEmitter, number: str, base: str) -> str:
        """All that is done to the vectors of one group; the offset of the next."""
        if self.fetches:
            line = f.gep("%ahead", f.op(f"mul i64 {number}, {LINE}"))
            f.call("void", "llvm.prefetch.p0", ("ptr", "i32", "i32", "i32"), (line, "0", "3", "1"))
        places = self.sources(f, base)
        values = [f.load(self.keys.llvm, f.gep("%source", place), self.keys.bytes) for place in places]
        if self.to_keys:
            values = [to_key(f, self.keys, self.order, v) for v in values]
        if self.made.sorts:
            for a, b in batcher(len(values)):
                values[a], values[b] = pair(f, self.keys, self.order, values[a], values[b])
        for step in self.made.steps:
            self.compare(f, step, values) if isinstance(step, Compare) else self.swap(f, step, values)
        if self.from_keys:
            values = [from_key(f, self.keys, v) for v in values]
        for value, place in zip(values, self.stores(f, base, places), strict=True):
            f.store(self.keys.llvm, value, f.gep("%target", place), self.keys.bytes)
        return f.op(f"and i64 {f.op(f'sub i64 {base}, %outer')}, %outer")

    def compare(self, f: CpuEmitter, step: Compare, values: list[str]) -> None:
        one = 1 << self.index[step.place]
        turned = sum(1 << self.index[p] for p in step.turned if p in self.index)
        before = list(values)
        for r in range(len(values)):
            if not r & one:
                upper = before[(r | one) ^ turned]
                values[r], values[r | one] = pair(f, self.keys, self.order, before[r], upper)

    def swap(self, f: CpuEmitter, step: Swap, values: list[str]) -> None:
        one = 1 << self.index[step.place]
        for r in range(len(values)):
            if not r & one:
                a, b = values[r], values[r | one]
                for place, lanes in ((r, step.low), (r | one, step.high)):
                    values[place] = f.shuffle(self.keys, a, b, list(lanes))

    # -- offsets of the vectors, by number in the group

    def sources(self, f: CpuEmitter, base: str) -> list[str]:
        if self.made.flipped is None:
            return spread(f, {0: base}, self.strides)
        upper = self.index[self.made.flipped[0]]
        start = f.op(f"add i64 {f.op(f'xor i64 {base}, %flip')}, {self.strides[upper]}")
        return spread(f, {0: base, 1 << upper: start}, self.strides)

    def stores(self, f: CpuEmitter, base: str, places: list[str]) -> list[str]:
        if not self.made.moves:
            return places
        if not self.made.targets:
            return spread(f, {0: base}, self.strides)
        return spread(f, {0: self.moved(f, base)}, [str(self.bytes << self.made.targets[p]) for p in self.made.active])

    @property
    def strides(self) -> list[str]:
        return [f"%s{i}" for i in self.index.values()]

    def moved(self, f: CpuEmitter, base: str) -> str:
        """The offset where the group is stored."""
        masks: dict[int, int] = {}
        for place, target in enumerate(self.made.targets):
            if place not in self.index:
                masks[target - place] = masks.get(target - place, 0) | self.bytes << place
        total = "0"
        for distance, mask in masks.items():
            part = f.op(f"and i64 {base}, {mask}")
            part = f.op(f"{'shl' if distance > 0 else 'lshr'} i64 {part}, {abs(distance)}")
            total = f.op(f"or i64 {total}, {part}")
        return total


def spread(f: CpuEmitter, starts: dict[int, str], strides: list[str]) -> list[str]:
    """The offsets of all vectors from those of the first ones; the bits of a vector's number are the strides it has."""
    places = dict(starts)
    for i, stride in enumerate(strides):
        if 1 << i not in starts:
            places |= {r | 1 << i: f.op(f"add i64 {place}, {stride}") for r, place in places.items()}
    return [places[r] for r in range(len(places))]


def digest(form: object) -> str:
    return sha256(repr(form).encode()).hexdigest()[:12]
