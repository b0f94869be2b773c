"""Lowering of reductions: registers first, then lanes by butterfly shuffles, then warps through shared memory."""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from naiad.analysis.scratch import slot_bytes
from naiad.layouts.axes import axis_bits, first_slots, pure_along, warp_slots, without_axis
from naiad.layouts.linear import LinearLayout
from naiad.lowering.control import inline
from naiad.lowering.convert import move, shuffled
from naiad.lowering.mistakes import tangled
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, held_bits, scalar_type

__all__ = ["Combine", "Tuple", "combiner", "read_parts", "rules"]

rules = Rules()

Tuple = tuple[str, ...]
"""One operand for each source of the reduction: a value and its index, say."""

Combine = Callable[[Tuple, Tuple], Tuple]


def combiner(block: Block, e: Threads) -> Combine:
    """The region of a reduction as a function on operands."""

    def combine(a: Tuple, b: Tuple) -> Tuple:
        for argument, operand in zip(block.args, (*a, *b), strict=True):
            e.values[argument] = operand
        return tuple(inline(block, e))

    return combine


@rules.lower("tt.reduce")
def reduce(op: Operation, e: Threads) -> list:
    combine = combiner(op.regions[0].blocks[0], e)
    axis, layout = op.properties["axis"].value.data, e.layout(op.operands[0].type)
    if not pure_along(layout, axis):
        raise tangled("a reduction", op.operands[0].type.encoding)
    parts = list(zip(*(e.registers(o) for o in op.operands), strict=True))
    parts = within_thread(layout, axis, parts, combine)
    kinds = [scalar_type(o) for o in op.operands]
    for bit in axis_bits(layout, axis, "lane"):
        parts = [combine(p, across(e, p, kinds, 1 << bit)) for p in parts]
    reduced = without_axis(layout, axis)
    if warps := axis_bits(layout, axis, "warp"):
        parts = across_warps(op, e, parts, kinds, combine, warp_slots(layout, axis), len(warps))
    return results(op, e, parts, reduced)


def within_thread(layout: LinearLayout, axis: int, parts: list[Tuple], combine: Combine) -> list[Tuple]:
    """Combines the registers along the axis pairwise, lowest bits first: neighbours stay in order."""
    along = axis_bits(layout, axis, "register")
    order = sorted(along, key=lambda i: layout.bases("register")[i])
    alive = {r: parts[r] for r in range(len(parts))}
    for bit in order:
        alive = {r: combine(v, alive[r | 1 << bit]) for r, v in alive.items() if not r >> bit & 1}
    return [alive[r] for r in sorted(alive)]


def across(e: Threads, part: Tuple, kinds: Sequence[str], mask: int) -> Tuple:
    """The same part in the lane whose number differs by `mask`."""
    return tuple(
        shuffled(e, value, kind, lambda word: e.target.shuffle_xor(e, word, mask))
        for value, kind in zip(part, kinds, strict=True)
    )


def across_warps(op: Operation, e: Threads, parts: list[Tuple], kinds: Sequence[str], combine: Combine,
                 slots: LinearLayout, warp_bits: int) -> list[Tuple]:  # fmt: skip
    """Every warp writes its parts, all read those of all warps and combine them in the same order."""
    count, offset = slots.size("slot") * slots.size("other"), e.scratch(op)
    lanes = e.thread_is_zero(lane_copies(e, slots))
    starts = e.index_of(first_slots(slots))
    reads: list[list[Tuple]] = [[() for _ in range(1 << warp_bits)] for _ in parts]

    def write() -> list[str]:
        at = offset
        for n, kind in enumerate(kinds):
            size = held_bits(kind) // 8
            for value, index in zip((p[n] for p in parts), e.index_of(slots), strict=True):
                [word] = e.pack([value], kind, 8 * size)
                e.do(f"store i{8 * size} {word}, {e.common} {e.shared(at, e.mul(index, size))}, align {size}")
            at += slot_bytes(count, size)
        return []

    write() if lanes is None else e.when(lanes, [], write)
    e.target.barrier(e)
    at = offset
    for kind in kinds:
        for r, values in enumerate(read_parts(e, starts, at, kind, warp_bits)):
            reads[r] = [(*have, v) for have, v in zip(reads[r], values, strict=True)]
        at += slot_bytes(count, held_bits(kind) // 8)
    return [tree(row, combine) for row in reads]


def lane_copies(e: Threads, slots: LinearLayout) -> int:
    """The bits of the lane that only make copies: one lane of each set writes."""
    return sum(1 << i for i, c in enumerate(slots.bases("lane")) if not c)


def read_parts(e: Threads, starts: Sequence[str], offset: int, kind: str, warp_bits: int) -> list[list[str]]:
    """For each start, the parts of all warps, read in vectors."""
    size, n = held_bits(kind) // 8, 1 << warp_bits
    word = min(32, n * size * 8) if size <= 4 else 64
    words = n * size * 8 // word
    per = min(words, 128 // word)
    out, memo = [], {}
    for index in starts:
        if index not in memo:
            loaded: list[str] = []
            for at in range(0, words, per):
                place = e.shared(offset + at * word // 8, e.mul(index, size))
                loaded += load_words(e, place, per, word)
            memo[index] = e.unpack(loaded, kind, word)
        out.append(memo[index])
    return out


def load_words(e: Threads, place: str, count: int, word: int) -> list[str]:
    """`count` words at an address that is aligned to all of them."""
    if count == 1:
        return [e.op(f"load i{word}, {e.common} {place}, align {word // 8}")]
    kind = f"<{count} x i{word}>"
    whole = e.op(f"load {kind}, {e.common} {place}, align {count * word // 8}")
    return [e.op(f"extractelement {kind} {whole}, i32 {k}") for k in range(count)]


def tree(values: list[Tuple], combine: Combine) -> Tuple:
    """Combines neighbours until one is left."""
    while len(values) > 1:
        values = [combine(values[i], values[i + 1]) for i in range(0, len(values), 2)]
    return values[0]


def results(op: Operation, e: Threads, parts: list[Tuple], reduced: LinearLayout) -> list:
    """The parts in the registers of the result's layout; scalars as they are."""
    out: list = []
    for n, result in enumerate(op.results):
        registers = [p[n] for p in parts]
        if not isinstance(result.type, TensorType):
            out.append(registers[0])
            continue
        scratch = e.offsets.get(op)
        out.append(move(e, registers, reduced, e.layout(result.type), scalar_type(result), scratch))
    return out
