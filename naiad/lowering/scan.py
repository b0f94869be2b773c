"""Lowering of scans along an axis, by the bits of the index: whatever the layout, registers, lanes and warps alike.

Of each register two things are known: `prefix`, the combination of what comes before its block, and `total`, that of
the whole block. A block is one element at first; merging two neighbouring blocks (a bit of the index) makes the
prefix of the upper one start with the total of the lower. At the end the element is combined with its prefix."""

from dataclasses import dataclass

from xdsl.ir import Operation

from naiad.analysis.scratch import slot_bytes
from naiad.errors import explain
from naiad.layouts.axes import axis_bits, first_slots, pure_along, scan_slots
from naiad.layouts.linear import LinearLayout
from naiad.lowering.convert import shuffled
from naiad.lowering.mistakes import tangled
from naiad.lowering.reduce import Combine, Tuple, combiner, read_parts
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, held_bits, scalar_type

__all__ = ["rules"]

rules = Rules()


@dataclass
class Blocks:
    """The state of a scan: per register, and whether the prefix exists (None: no, "": yes, else an i1 operand)."""

    totals: list[Tuple]
    prefixes: list[Tuple | None]
    present: list[str | None]


@dataclass(frozen=True)
class Step:
    """One bit of the index along the axis: which input it is."""

    kind: str
    bit: int


def steps(layout: LinearLayout, axis: int) -> list[Step]:
    """The inputs that count along the axis, the lowest bit of the index first."""
    found = [Step(n, i) for n in ("register", "lane", "warp") for i in axis_bits(layout, axis, n)]
    return sorted(found, key=lambda s: layout.outs.unpack(layout.bases(s.kind)[s.bit])[f"dim{axis}"])


class Scan:
    """One tt.scan: its operands, direction and the code it writes."""

    def __init__(self, op: Operation, e: Threads, combine: Combine):
        self.op, self.e, self.combine = op, e, combine
        self.axis = op.properties["axis"].value.data
        self.layout = e.layout(op.operands[0].type)
        self.reverse = bool(op.properties["reverse"].value.data)
        self.kinds = [scalar_type(o) for o in op.operands]
        if not pure_along(self.layout, self.axis):
            raise tangled("a scan", op.operands[0].type.encoding)

    def run(self) -> list[list[str]]:
        """The registers of each result."""
        elements = list(zip(*(self.e.registers(o) for o in self.op.operands), strict=True))
        state = Blocks(list(elements), [None] * len(elements), [None] * len(elements))
        order = steps(self.layout, self.axis)
        while order:
            step = order.pop(0)
            if step.kind == "register":
                self.merge_registers(state, step.bit)
            elif step.kind == "lane":
                self.merge_lanes(state, step.bit)
            else:
                run = [step.bit]
                while order and order[0].kind == "warp":
                    run.append(order.pop(0).bit)
                self.merge_warps(state, run)
        made = [self.apply(p, x, has) for p, x, has in zip(state.prefixes, elements, state.present, strict=True)]
        return [list(column) for column in zip(*made, strict=True)]

    def apply(self, prefix: Tuple | None, value: Tuple, present: str | None) -> Tuple:
        """prefix . value where there is a prefix."""
        if prefix is None:
            return value
        both = self.combine(prefix, value)
        return both if present == "" else self.choose(present, both, value)

    def choose(self, condition: str | None, a: Tuple, b: Tuple) -> Tuple:
        e = self.e
        return tuple(
            x if x == y else e.op(f"select i1 {condition}, {k} {x}, {k} {y}")
            for x, y, k in zip(a, b, self.kinds, strict=True)
        )

    def after(self, condition: str) -> str:
        """Whether a block comes after its neighbour, given whether it is the one with the higher index."""
        return self.e.hoisted(f"xor i1 {condition}, true") if self.reverse else condition

    def merge_registers(self, state: Blocks, bit: int) -> None:
        for r in range(len(state.totals)):
            if r >> bit & 1:
                continue
            first, second = (r | 1 << bit, r) if self.reverse else (r, r | 1 << bit)
            state.prefixes[second] = self.apply_prefix(state.totals[first], state, second)
            state.present[second] = ""
            state.totals[r] = state.totals[r | 1 << bit] = self.combine(state.totals[first], state.totals[second])

    def apply_prefix(self, total: Tuple, state: Blocks, r: int) -> Tuple:
        """total . (the prefix that register r has)."""
        prefix = state.prefixes[r]
        if prefix is None:
            return total
        both = self.combine(total, prefix)
        return both if state.present[r] == "" else self.choose(state.present[r], both, total)

    def merge_lanes(self, state: Blocks, bit: int) -> None:
        e, memo = self.e, {}
        later = self.after(e.bit_of_thread(bit))
        totals = []
        for r, total in enumerate(state.totals):
            if total not in memo:
                other = tuple(
                    shuffled(e, v, k, lambda word: e.target.shuffle_xor(e, word, 1 << bit))
                    for v, k in zip(total, self.kinds, strict=True)
                )
                whole = self.choose(later, self.combine(other, total), self.combine(total, other))
                memo[total] = other, whole
            other, whole = memo[total]
            self.take(state, r, other, later)
            totals.append(whole)
        state.totals = totals

    def take(self, state: Blocks, r: int, total: Tuple, later: str) -> None:
        """Puts `total` before register r's prefix, in threads where the condition `later` holds."""
        prefix, present = self.apply_prefix(total, state, r), state.present[r]
        old = state.prefixes[r]
        state.prefixes[r] = prefix if old is None else self.choose(later, prefix, old)
        if present != "":
            state.present[r] = later if present is None else self.e.op(f"or i1 {present}, {later}")

    def merge_warps(self, state: Blocks, bits: list[int]) -> None:
        """All warps leave their totals in shared memory; each combines those before its own."""
        e, slots = self.e, scan_slots(self.layout, self.axis)
        warps = axis_bits(self.layout, self.axis, "warp")
        if bits != warps:
            raise explain(
                NotImplementedError("a scan whose warps are not neighbours along the axis"),
                expected="the warps' bits one above the other along the axis",
                advice="convert the tile to a blocked layout before (ttg.convert_layout)",
            )
        per_block: dict[Tuple, int] = {}
        for r, total in enumerate(state.totals):
            per_block.setdefault(total, r)
        parts = self.exchange(state, slots, per_block, len(warps))
        place = [e.bit_of_thread(e.lane_bits + b) for b in bits]
        for r, total in enumerate(list(state.totals)):
            row = parts[total]
            self.prefix_of_row(state, r, row[::-1] if self.reverse else row, place)

    def exchange(self, state: Blocks, slots: LinearLayout, per_block: dict[Tuple, int], warp_bits: int
                 ) -> dict[Tuple, list[Tuple]]:  # fmt: skip
        """For each distinct total of this thread, those of all warps."""
        e, at = self.e, self.e.scratch(self.op)
        count = slots.size("slot") * slots.size("other")
        index = e.index_of(slots)
        rows: dict[Tuple, list[Tuple]] = {t: [() for _ in range(1 << warp_bits)] for t in per_block}
        for n, kind in enumerate(self.kinds):
            size = held_bits(kind) // 8
            for total, r in per_block.items():
                [word] = e.pack([total[n]], kind, 8 * size)
                e.do(f"store i{8 * size} {word}, {e.common} {e.shared(at, e.mul(index[r], size))}, align {size}")
            at += slot_bytes(count, size)
        e.target.barrier(e)
        at, starts = e.scratch(self.op), e.index_of(first_slots(slots))
        for kind in self.kinds:
            for total, r in per_block.items():
                [values] = read_parts(e, [starts[r]], at, kind, warp_bits)
                rows[total] = [(*have, v) for have, v in zip(rows[total], values, strict=True)]
            at += slot_bytes(count, held_bits(kind) // 8)
        return rows

    def prefix_of_row(self, state: Blocks, r: int, row: list[Tuple], place: list[str]) -> None:
        """The combination of the totals of the warps before this one; the total becomes that of all."""
        e = self.e
        running, before = row[0], row[0]
        number = warp_number(e, place, self.reverse)
        for i in range(1, len(row)):
            is_here = e.hoisted(f"icmp ugt i32 {number}, {i}")
            following = self.combine(running, row[i])
            if i < len(row) - 1:
                before = self.choose(is_here, following, before)
            running = following
        self.take(state, r, before, e.hoisted(f"icmp ne i32 {number}, 0"))
        state.totals[r] = running


def warp_number(e: Threads, place: list[str], reverse: bool) -> str:
    """The number of this warp along the axis, counted in the direction of the scan."""
    total = "0"
    for i, bit in enumerate(place):
        part = e.hoisted(f"select i1 {bit}, i32 {0 if reverse else 1 << i}, i32 {1 << i if reverse else 0}")
        total = part if total == "0" else e.hoisted(f"or i32 {total}, {part}")
    return total


@rules.lower("tt.scan")
def scan(op: Operation, e: Threads) -> list[list[str]]:
    return Scan(op, e, combiner(op.regions[0].blocks[0], e)).run()
