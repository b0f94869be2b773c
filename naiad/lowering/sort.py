"""Lowering of ttn.sort and ttn.topk: a bitonic network over the bits of the index.

Keys are signed integers that order like the elements. Before a stage, the keys of runs that it sorts downward are
complemented, so that every comparison is a plain minimum and maximum. A bit that registers hold costs two
instructions a
pair, one that lanes hold a shuffle; where warps hold it, the tile first moves to a layout in which registers do.
"""

from dataclasses import dataclass

from xdsl.ir import Operation

from naiad.ir.base import element, shape
from naiad.layouts.axes import axis_bits, pure_along
from naiad.layouts.linear import LinearLayout
from naiad.lowering.convert import move, shuffled
from naiad.lowering.mistakes import tangled
from naiad.lowering.rules import Rules
from naiad.lowering.shape import load_at, position
from naiad.lowering.small_floats import decode
from naiad.lowering.threads import Threads, held_bits, scalar_type, width

__all__ = ["rules"]

rules = Rules()


@dataclass(frozen=True)
class Keys:
    """How elements become keys: integers of `bits` bits that compare signed."""

    kind: str
    bits: int
    is_float: bool
    signed: bool
    name: str

    @property
    def type(self) -> str:
        return f"i{self.bits}"

    def of(self, e: Threads, value: str) -> str:
        if self.kind == "i1":
            return e.op(f"zext i1 {value} to i8")
        t, top = self.type, 1 << self.bits - 1
        if not self.is_float:
            return value if self.signed else e.op(f"xor {t} {value}, {-top}")
        nan = self.is_nan(e, value)
        key = self.mirrored(e, e.to_bits(value, self.kind))
        return e.op(f"select i1 {nan}, {t} {top - 1}, {t} {key}")

    def is_nan(self, e: Threads, value: str) -> str:
        if self.kind != "i8":
            return e.op(f"fcmp uno {self.kind} {value}, {value}")
        wide = decode(e, self.name, value)
        return e.op(f"fcmp uno float {wide}, {wide}")

    def back(self, e: Threads, key: str) -> str:
        if self.kind == "i1":
            return e.op(f"trunc i8 {key} to i1")
        if self.is_float:
            return e.from_bits(self.mirrored(e, key), self.kind)
        return key if self.signed else e.op(f"xor {self.type} {key}, {-(1 << self.bits - 1)}")

    def mirrored(self, e: Threads, bits: str) -> str:
        """Negative floats count backwards: their lower bits are complemented. Its own inverse."""
        t = self.type
        sign = e.op(f"ashr {t} {bits}, {self.bits - 1}")
        return e.op(f"xor {t} {bits}, {e.op(f'and {t} {sign}, {(1 << self.bits - 1) - 1}')}")


class Network:
    """The state of a sort: keys in the registers of a layout that changes as bits are needed."""

    def __init__(self, op: Operation, e: Threads, keys: Keys, axis: int):
        self.op, self.e, self.keys, self.axis = op, e, keys, axis
        source = op.operands[0]
        self.home = e.layout(source.type)
        if not pure_along(self.home, axis):
            raise tangled("a sort", op.operands[0].type.encoding)
        self.registers = [keys.of(e, v) for v in e.registers(source)]
        self.layout = self.home
        self.flipped = 0  # the bit of the index whose runs are complemented; 0 for none
        self.moved = False

    @property
    def log2(self) -> int:
        return self.layout.outs.width[f"dim{self.axis}"]

    def column(self, bit: int) -> int:
        """The packed index that a bit of the axis' index makes."""
        return 1 << self.layout.outs.shift[f"dim{self.axis}"] + bit

    def holder(self, bit: int) -> tuple[str, int]:
        """The input that counts a bit of the axis."""
        for name in ("register", "lane", "warp"):
            if (column := self.column(bit)) in self.layout.bases(name):
                return name, self.layout.bases(name).index(column)
        raise AssertionError("no input counts this bit of the axis")

    def run(self, descending: bool) -> None:
        """Sorts; the keys of a descending sort are complemented from beginning to end."""
        self.go_to(arranged(self.layout, self.axis, range(self.log2)))
        if descending:
            self.registers = [self.complement(r) for r in self.registers]
        for stage in range(1, self.log2 + 1):
            self.flip_for(stage)
            for bit in reversed(range(stage)):
                self.compare(bit)
        if descending:
            self.registers = [self.complement(r) for r in self.registers]

    def complement(self, value: str) -> str:
        return self.e.op(f"xor {self.keys.type} {value}, -1")

    def flip_for(self, stage: int) -> None:
        """Complements the keys so that runs with bit `stage` set sort upward too; undoes the stage before."""
        changed = [b for b in (stage - 1 if stage > 1 else None, stage if stage < self.log2 else None) if b is not None]
        masks: dict[str, str] = {}
        for bit in changed:
            name, i = self.holder(bit)
            if name == "register":
                for r in range(len(self.registers)):
                    if r >> i & 1:
                        self.registers[r] = self.complement(self.registers[r])
            else:
                place = i if name == "lane" else self.e.lane_bits + i
                mask = self.e.hoisted(f"sext i1 {self.e.bit_of_thread(place)} to {self.keys.type}")
                masks[mask] = mask
        for mask in masks:
            self.registers = [self.e.op(f"xor {self.keys.type} {r}, {mask}") for r in self.registers]

    def compare(self, bit: int) -> None:
        if self.holder(bit)[0] == "warp":
            self.go_to(
                arranged(self.layout, self.axis, range(bit - (len(self.registers) - 1).bit_length() + 1, bit + 1))
            )
        if self.holder(bit)[0] == "warp":  # no register counts along the axis: a lane takes the place of the warp
            self.go_to(exchanged(self.layout, self.column(bit), "lane", bit % self.layout.ins.width["lane"]))
        name, i = self.holder(bit)
        if name == "register":
            self.in_registers(i)
        else:
            self.in_lanes(i)

    def in_registers(self, i: int) -> None:
        e, t = self.e, self.keys.type
        for r in range(len(self.registers)):
            if not r >> i & 1:
                a, b = self.registers[r], self.registers[r | 1 << i]
                self.registers[r] = e.intrinsic("smin", t, a, b)
                self.registers[r | 1 << i] = e.intrinsic("smax", t, a, b)

    def in_lanes(self, i: int) -> None:
        e, t = self.e, self.keys.type
        upper = e.bit_of_thread(i)
        for r, mine in enumerate(self.registers):
            other = shuffled(e, mine, t, lambda word: e.target.shuffle_xor(e, word, 1 << i))
            low, high = e.intrinsic("smin", t, mine, other), e.intrinsic("smax", t, mine, other)
            self.registers[r] = e.op(f"select i1 {upper}, {t} {high}, {t} {low}")

    def go_to(self, layout: LinearLayout) -> None:
        """Moves the keys to another layout."""
        if layout == self.layout:
            return
        if self.moved:
            self.e.target.barrier(self.e)  # the scratch memory of the last move may still be read
        self.registers = move(self.e, self.registers, self.layout, layout, self.keys.type, self.e.offsets.get(self.op))
        self.layout, self.moved = layout, True


def arranged(layout: LinearLayout, axis: int, wanted: range) -> LinearLayout:
    """The layout with bits `wanted` of the axis, as many as there is room for, in registers: swapped with what is
    there.
    """
    columns = list(layout.columns)
    shift = layout.outs.shift[f"dim{axis}"]
    slots = [layout.ins.shift["register"] + i for i in axis_bits(layout, axis, "register")]
    keep = {1 << shift + b for b in wanted if b >= 0}
    free = [s for s in slots if columns[s] not in keep]
    for column in sorted(keep):
        at = columns.index(column) if column in columns else None
        if at is not None and at not in slots and free:
            slot = free.pop(0)
            columns[slot], columns[at] = columns[at], columns[slot]
    return LinearLayout(layout.ins, layout.outs, tuple(columns))


def exchanged(layout: LinearLayout, column: int, name: str, i: int) -> LinearLayout:
    """The layout in which bit `i` of input `name` counts `column`, and what counted it takes the place of that bit."""
    columns, slot = list(layout.columns), layout.ins.shift[name] + i
    at = columns.index(column)
    columns[slot], columns[at] = columns[at], columns[slot]
    return LinearLayout(layout.ins, layout.outs, tuple(columns))


def keys_of(op: Operation) -> Keys:
    kind = scalar_type(op.operands[0])
    name = element(op.operands[0].type).name
    return Keys(kind, max(8, width(kind)), not name.startswith("integer"), "signed" in op.properties, name)


@rules.lower("ttn.sort")
def sort(op: Operation, e: Threads) -> list[list[str]]:
    network = Network(op, e, keys := keys_of(op), op.properties["axis"].value.data)
    network.run("descending" in op.properties)
    network.go_to(network.home)
    return [[keys.back(e, r) for r in network.registers]]


@rules.lower("ttn.topk")
def topk(op: Operation, e: Threads) -> list[list[str]]:
    """A whole sort, of which the first k are read."""
    axis, source = len(shape(op.operands[0].type)) - 1, op.operands[0]
    network = Network(op, e, keys := keys_of(op), axis)
    network.run("descending" in op.properties)
    network.go_to(network.home)
    e.target.barrier(e)
    size, offset = held_bits(keys.type) // 8, e.scratch(op)
    for key, index in zip(network.registers, e.index_of(network.home), strict=True):
        e.do(f"store {keys.type} {key}, {e.common} {e.shared(offset, e.mul(index, size))}, align {size}")
    e.target.barrier(e)
    layout = e.layout(op.results[0].type)
    picked = [load_at(e, offset, position(e, at, shape(source.type)), keys.type) for at in e.indices(layout)]
    return [[keys.back(e, p) for p in picked]]
