"""Lowering of ops that rearrange a tile: broadcast, trans, join, split, cat, gather, histogram, flip."""

from functools import partial

from xdsl.ir import Operation, SSAValue

from naiad.errors import explain
from naiad.ir.base import shape
from naiad.layouts.axes import broadcast_target, transposed
from naiad.layouts.linear import LinearLayout
from naiad.lowering.convert import flat, move, scratch_of
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, held_bits, scalar_type

__all__ = ["drop_last", "rules"]

rules = Rules()


@rules.lower("tt.broadcast")
def broadcast(op: Operation, e: Threads) -> list[list[str]]:
    source = op.operands[0]
    target = broadcast_target(e.layout(op.results[0].type), shape(source.type))
    return [move(e, e.registers(source), e.layout(source.type), target, scalar_type(source), scratch_of(e, op))]


@rules.lower("tt.trans")
def trans(op: Operation, e: Threads) -> list[list[str]]:
    source = op.operands[0]
    layout = transposed(e.layout(source.type), tuple(op.properties["order"].get_values()))
    target = e.layout(op.results[0].type)
    return [move(e, e.registers(source), layout, target, scalar_type(source), scratch_of(e, op))]


def drop_last(layout: LinearLayout) -> LinearLayout:
    """The layout without its last dimension, which has size 2 and the lowest bit of the position."""
    names = layout.outs.names[1:]
    return layout.project(names)


def low_bit(layout: LinearLayout) -> int:
    """The register bit that alone counts along the last dimension (of size 2)."""
    threads = layout.bases("lane") + layout.bases("warp")
    carriers = [i for i, c in enumerate(layout.bases("register")) if c & 1]
    if any(c & 1 for c in threads) or len(carriers) != 1 or layout.bases("register")[carriers[0]] != 1:
        raise explain(
            NotImplementedError("join and split need the two halves in the registers of one thread"),
            expected="a layout with both elements of the last dimension in one thread: sizePerThread = [..., 2]",
            advice="convert the joined tile to such a layout (ttg.convert_layout)",
        )
    return carriers[0]


@rules.lower("tt.join")
def join(op: Operation, e: Threads) -> list[list[str]]:
    target = e.layout(op.results[0].type)
    low_bit(target)
    inner = flat(drop_last(target))
    halves = []
    for n, source in enumerate(op.operands):
        base = e.offsets.get(op)
        here = None if base is None else base + n * joined_bytes(op)
        halves.append(move(e, e.registers(source), e.layout(source.type), inner, scalar_type(source), here))
    return [[halves[target.packed(register=r) & 1][r] for r in range(target.size("register"))]]


def joined_bytes(op: Operation) -> int:
    """The bytes of one operand of a join, or of one result of a split."""
    type = op.operands[0].type if op.name == "tt.join" else op.results[0].type
    count = 1
    for size in shape(type):
        count *= size
    return count * held_bits(scalar_type(op.operands[0])) // 8


@rules.lower("tt.split")
def split(op: Operation, e: Threads) -> list[list[str]]:
    source = e.layout(op.operands[0].type)
    bit = low_bit(source)
    registers = e.registers(op.operands[0])
    half = source.replace("register", [c for i, c in enumerate(source.bases("register")) if i != bit])
    out = []
    for n, result in enumerate(op.results):
        low = (1 << bit) - 1
        picked = [registers[(r & ~low) << 1 | r & low | n << bit] for r in range(len(registers) // 2)]
        base = e.offsets.get(op)
        here = None if base is None else base + n * joined_bytes(op)
        out.append(move(e, picked, drop_last(half), e.layout(result.type), scalar_type(result), here))
    return out


@rules.lower("tt.cat")
def cat(op: Operation, e: Threads) -> list[list[str]]:
    """Any order of the elements will do: the registers of one operand, then of the other, if no thread holds copies."""
    layouts = [e.layout(o.type) for o in op.operands]
    registers = [r for o in op.operands for r in e.registers(o)]
    if len(registers) == e.count(op.results[0].type) and all(layout.invertible for layout in layouts):
        return [registers]
    offset, size = e.scratch(op), held_bits(scalar_type(op.results[0])) // 8
    for operand in op.operands:
        store_rows(e, operand, offset)
        offset += shape(operand.type)[0] * size
    e.target.barrier(e)
    layout = e.layout(op.results[0].type)
    return [[load_at(e, e.scratch(op), at, scalar_type(op.results[0])) for at in e.index_of(layout)]]


@rules.lower("tt.gather")
def gather(op: Operation, e: Threads) -> list[list[str]]:
    """Through shared memory: the source lies there row-major, each thread picks what it needs."""
    source, axis = op.operands[0], op.properties["axis"].value.data
    kind, offset = scalar_type(source), e.scratch(op)
    store_rows(e, source, offset)
    e.target.barrier(e)
    layout, sizes = e.layout(op.results[0].type), shape(source.type)
    index_kind = scalar_type(op.operands[1])
    out = []
    for index, at in zip(e.registers(op.operands[1]), e.indices(layout), strict=True):
        picked = index if index_kind == "i32" else e.op(
            f"{'trunc' if index_kind == 'i64' else 'sext'} {index_kind} {index} to i32")  # fmt: skip
        out.append(load_at(e, offset, position(e, (*at[:axis], picked, *at[axis + 1 :]), sizes), kind))
    return [out]


def store_rows(e: Threads, source: SSAValue, offset: int) -> None:
    """A tile in shared memory, row-major."""
    kind, size = scalar_type(source), held_bits(scalar_type(source)) // 8
    memory = f"i{8 * size}"
    for value, index in zip(e.registers(source), e.index_of(e.layout(source.type)), strict=True):
        [word] = e.pack([value], kind, 8 * size)
        e.do(f"store {memory} {word}, {e.common} {e.shared(offset, e.mul(index, size))}, align {size}")


def position(e: Threads, index: tuple[str, ...], sizes: tuple[int, ...]) -> str:
    """The row-major position of an index."""
    total = "0"
    for value, size in zip(index, sizes, strict=True):
        total = e.add(e.mul(total, size), value)
    return total


def load_at(e: Threads, offset: int, place: str, kind: str) -> str:
    """The element at a position of a row-major tile in shared memory."""
    size = held_bits(kind) // 8
    word = e.op(f"load i{8 * size}, {e.common} {e.shared(offset, e.mul(place, size))}, align {size}")
    return e.unpack([word], kind, 8 * size)[0]


@rules.lower("ttn.flip")
def flip(op: Operation, e: Threads) -> list[list[str]]:
    source, axis = op.operands[0], op.properties["axis"].value.data
    layout, sizes = e.layout(op.results[0].type), shape(source.type)
    store_rows(e, source, e.scratch(op))
    e.target.barrier(e)
    out = []
    for at in e.indices(layout):
        mirrored = e.op(f"sub i32 {sizes[axis] - 1}, {at[axis]}")
        out.append(
            load_at(e, e.scratch(op), position(e, (*at[:axis], mirrored, *at[axis + 1 :]), sizes), scalar_type(source))
        )
    return [out]


@rules.lower("tt.histogram")
def histogram(op: Operation, e: Threads) -> list[list[str]]:
    """Bins in shared memory, counted by atomics."""
    source, kind = op.operands[0], scalar_type(op.operands[0])
    [bins] = shape(op.results[0].type)
    offset = e.scratch(op)
    zero_bins(e, offset, bins)
    e.target.barrier(e)
    masks = e.registers(op.operands[1]) if len(op.operands) > 1 else [None] * len(e.registers(source))
    only = e.owner(e.layout(source.type))
    for value, mask in zip(e.registers(source), masks, strict=True):
        n = int(kind[1:])
        inside = e.op(f"icmp ult {kind} {value}, {bins}") if n >= 32 or bins < 1 << n else None
        index = value if n == 32 else e.op(f"{'trunc' if n > 32 else 'zext'} {kind} {value} to i32")
        counted = e.both(e.both(only, mask), inside)
        count_bin(e, offset, index, counted)
    e.target.barrier(e)
    result = scalar_type(op.results[0])
    counts = [load_at(e, offset, at, "i32") for at in e.index_of(e.layout(op.results[0].type))]
    return [[e.resize(c, 32, int(result[1:])) for c in counts]]


def zero_bins(e: Threads, offset: int, bins: int) -> None:
    threads = 1 << e.thread_bits
    for start in range(0, bins, threads):
        index = e.add(e.tid, start)
        place = e.shared(offset, e.mul(index, 4))
        here = e.op(f"icmp ult i32 {index}, {bins}") if start + threads > bins else None
        if here is None:
            e.do(f"store i32 0, {e.common} {place}, align 4")
        else:
            e.when(here, [], partial(e.do, f"store i32 0, {e.common} {place}, align 4"))


def count_bin(e: Threads, offset: int, index: str, counted: str | None) -> None:
    def write() -> list[str]:
        place = e.shared(offset, e.mul(index, 4))
        e.op(f"atomicrmw add {e.common} {place}, i32 1 monotonic")
        return []

    if counted is None:
        write()
    else:
        e.when(counted, [], write)
