"""Lowering of data movement between layouts: convert_layout, and every op that only renames indices.

`move(e, registers, source, target, type, scratch)` carries one tile from a linear layout to another, as
`layouts.convert` plans it. Shapes do not matter: two layouts with the same packed (row-major) outputs describe the
same tile."""

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from naiad.layouts import gf2
from naiad.layouts.convert import RegisterMove, SharedMove, ShuffleMove, plan, source_of
from naiad.layouts.linear import Dims, LinearLayout
from naiad.lowering.rules import Rules
from naiad.lowering.threads import SHARED, Threads, held_bits, scalar_type, width

__all__ = ["flat", "move", "read_shared", "rules", "write_shared"]

rules = Rules()


def flat(layout: LinearLayout) -> LinearLayout:
    """The layout with one output dimension: the row-major position."""
    return LinearLayout(layout.ins, Dims((("at", layout.outs.total),)), layout.columns)


def move(e: Threads, registers: Sequence[str], source: LinearLayout, target: LinearLayout, type: str,
         scratch: int | None) -> list[str]:  # fmt: skip
    """The registers of `target` from those of `source`. scratch: shared memory, where the plan needs it."""
    source, target = flat(source), flat(target)
    match plan(source, target, held_bits(type), e.target.warp_size):
        case RegisterMove(places):
            return [registers[r] for r in places]
        case ShuffleMove(places):
            return shuffle(e, registers, places, type)
        case SharedMove() as how:
            if scratch is None:
                raise AssertionError("a conversion through shared memory without scratch")
            place = e.own(scratch) if e.ctas > 1 and stays_in_cta(e, source, target) else scratch
            return through_shared(e, registers, source, target, type, place, how)
    raise AssertionError


def stays_in_cta(e: Threads, source: LinearLayout, target: LinearLayout) -> bool:
    """Whether every element goes from threads of a CTA to threads of the same one."""
    moved, first = source_of(source, target), e.cta_bits - e.lane_bits
    for name, bits in moved.ins.bits:
        for i in range(bits):
            there = moved.outs.unpack(moved.bases(name)[i])["warp"] >> first
            if there != (1 << i >> first if name == "warp" else 0):
                return False
    return True


def shuffle(e: Threads, registers: Sequence[str], places: LinearLayout, type: str) -> list[str]:
    """Each target register from a lane that is a linear function of this lane; of two registers where the lane
    decides.
    """
    columns = [places.outs.unpack(c) for c in e.thread_columns(places)]
    to_lane = tuple(c["lane"] for c in columns)
    to_register = tuple(c["register"] for c in columns)
    choices = [0, *{c for c in to_register if c}]
    picked = sum(1 << i for i, c in enumerate(to_register) if c)
    out, memo = [], {}
    for register in range(places.size("register")):
        at = places(register=register)
        words = []
        for choice in choices:
            key = (at["register"] ^ choice, at["lane"])
            if key not in memo:
                memo[key] = shuffle_one(e, registers[key[0]], to_lane, at["lane"], type)
            words.append(memo[key])
        if len(words) == 2:
            odd = parity(e, picked)
            words = [e.op(f"select i1 {odd}, {type} {words[1]}, {type} {words[0]}")]
        out.append(words[0])
    return out


def parity(e: Threads, mask: int) -> str:
    """Whether an odd number of the bits `mask` of the thread's number are set."""
    return e.hoisted(f"icmp ne i32 {e.of_thread(tuple(mask >> i & 1 for i in range(e.thread_bits)))}, 0")


def shuffle_one(e: Threads, value: str, to_lane: gf2.Matrix, flip: int, type: str) -> str:
    """`value` of the lane `to_lane` @ (this thread) ^ flip."""
    if all(c == (1 << i if i < e.lane_bits else 0) for i, c in enumerate(to_lane)):
        return value if not flip else shuffled(e, value, type, lambda word: e.target.shuffle_xor(e, word, flip))
    base = e.of_thread(to_lane)
    lane = e.plus(base, to_lane, flip)
    return shuffled(e, value, type, lambda word: e.target.shuffle(e, word, lane))


def shuffled(e: Threads, value: str, type: str, exchange: Callable[[str], str]) -> str:
    """A value of any width, exchanged in words of 32 bits."""
    n = width(type)
    whole = e.to_bits(value, type)
    if n <= 32:
        word = exchange(e.resize(whole, n, 32))
        return e.from_bits(e.resize(word, 32, n), type)
    low, high = (exchange(w) for w in (e.op(f"trunc i64 {whole} to i32"), e.op(
        f"trunc i64 {e.op(f'lshr i64 {whole}, 32')} to i32")))  # fmt: skip
    wide = e.op(f"shl i64 {e.op(f'zext i32 {high} to i64')}, 32")
    joined = e.op(f"or i64 {wide}, {e.op(f'zext i32 {low} to i64')}")
    return e.from_bits(joined, type)


def through_shared(e: Threads, registers: Sequence[str], source: LinearLayout, target: LinearLayout, type: str,
                   scratch: int | str, how: SharedMove) -> list[str]:  # fmt: skip
    """Stores, waits, loads."""
    own = e.target.store_fragments(e, registers, source, target, type, scratch, how)
    if own is not None:
        how = own
    else:
        write_shared(e, registers, source.compose(how.offset), type, scratch, how.vec)
    if how.within_warp:
        e.target.warp_barrier(e)
    else:
        e.target.barrier(e)
    return read_shared(e, target.compose(how.offset), type, scratch, how.vec)


def vectors(layout: LinearLayout, vec: int) -> list[list[int]]:
    """Registers whose element offsets are `vec` neighbours starting at a multiple of `vec`, in order."""
    by_start: dict[int, dict[int, int]] = {}
    for register in range(layout.size("register")):
        offset = layout.packed(register=register)
        by_start.setdefault(offset & ~(vec - 1), {}).setdefault(offset & (vec - 1), register)
    return [[group[k] for k in range(vec)] for group in by_start.values()]


def address(e: Threads, layout: LinearLayout, register: int, size: int, scratch: int | str, flip: int = 0) -> str:
    """The address of the element that `register` of this thread is about, in shared memory."""
    columns = tuple(c * size for c in e.thread_columns(layout))
    base = e.of_thread(columns)
    value = (layout.packed(register=register) ^ flip) * size
    if isinstance(scratch, int) and not any(c & value for c in columns):
        return e.shared(scratch + value, base) if base != "0" else e.shared(scratch + value)
    index = e.plus(base, columns, value)
    if isinstance(scratch, int):
        return e.shared(scratch, index)
    return e.op(f"getelementptr i8, {SHARED} {scratch}, i32 {index}")


def space(e: Threads, scratch: int | str) -> str:
    """The type of addresses: in the memory of all (an offset), or of a CTA's own (an address)."""
    return e.common if isinstance(scratch, int) else SHARED


def write_shared(e: Threads, registers: Sequence[str], layout: LinearLayout, type: str, scratch: int | str, vec: int,
                 flip: int = 0) -> None:  # fmt: skip
    """Stores registers at the element offsets that `layout` gives, `vec` at a time."""
    size = held_bits(type) // 8
    word = min(32, vec * size * 8) if size <= 4 else 64
    for group in vectors(layout, vec):
        words = e.pack([registers[r] for r in group], type, word)
        kind, whole = f"i{word}", words[0]
        if len(words) > 1:
            kind, whole = f"<{len(words)} x i{word}>", "undef"
            for k, w in enumerate(words):
                whole = e.op(f"insertelement {kind} {whole}, i{word} {w}, i32 {k}")
        place = address(e, layout, group[0], size, scratch, flip)
        e.do(f"store {kind} {whole}, {space(e, scratch)} {place}, align {vec * size}")


def read_shared(e: Threads, layout: LinearLayout, type: str, scratch: int | str, vec: int, flip: int = 0) -> list[str]:
    """Loads the registers of `layout` from their element offsets, `vec` at a time."""
    size = held_bits(type) // 8
    word = min(32, vec * size * 8) if size <= 4 else 64
    out: dict[int, str] = {}
    for group in vectors(layout, vec):
        n = max(1, vec * size * 8 // word)
        kind = f"<{n} x i{word}>" if n > 1 else f"i{word}"
        place = address(e, layout, group[0], size, scratch, flip)
        whole = e.op(f"load {kind}, {space(e, scratch)} {place}, align {vec * size}")
        words = [e.op(f"extractelement {kind} {whole}, i32 {k}") for k in range(n)] if n > 1 else [whole]
        values = dict(
            zip((layout.packed(register=r) & (vec - 1) for r in group), e.unpack(words, type, word), strict=True)
        )
        start = layout.packed(register=group[0]) & ~(vec - 1)
        out |= {start | k: value for k, value in values.items()}
    return [out[layout.packed(register=r)] for r in range(layout.size("register"))]


def scratch_of(e: Threads, op: Operation) -> int | None:
    return e.offsets.get(op)


@rules.lower("ttg.convert_layout", "tt.reshape", "tt.expand_dims")
def renamed(op: Operation, e: Threads) -> list[list[str]]:
    """The row-major position of each element stays: only its holder changes."""
    source, target = e.layout(op.operands[0].type), e.layout(op.results[0].type)
    return [move(e, e.registers(op.operands[0]), source, target, scalar_type(op.results[0]), scratch_of(e, op))]
