"""Lowering of shared memory: allocations, views, loads and stores between registers and memory descriptors."""

from xdsl.ir import Operation, SSAValue

from naiad.errors import explain
from naiad.ir.encodings import MemDescType, layout_of
from naiad.layouts import gf2
from naiad.layouts.linear import LinearLayout
from naiad.lowering.convert import flat, read_shared, write_shared
from naiad.lowering.rules import Rules
from naiad.lowering.threads import SHARED, Memory, Threads, held_bits, llvm_type

__all__ = ["element_offset", "longest_vector", "offset_layout", "rules", "view_bytes"]

rules = Rules()


def element_offset(type: MemDescType) -> LinearLayout:
    """Where the elements of a view lie: row-major position -> element offset in the memory it is part of."""
    shape, whole = tuple(type.shape), type.allocation_shape[-len(type.shape) :]
    layout = layout_of(type)
    if layout.padding:
        raise explain(
            NotImplementedError("padded shared memory"),
            expected="ttg.swizzled_shared, ttg.nvmma_shared or ttg.shared_linear",
            advice="use a swizzled layout: it is free of bank conflicts too",
        )
    placed = flat(layout.linear(whole)).inverse()
    if shape == whole:
        return placed
    names = [f"dim{d}" for d in reversed(range(len(shape)))]
    view = LinearLayout.of(
        {f"dim{d}": [tuple((1 << i) * (n == f"dim{d}") for n in names) for i in range(shape[d].bit_length() - 1)]
         for d in reversed(range(len(shape)))}, {f"dim{d}": whole[d] for d in reversed(range(len(shape)))})  # fmt: skip
    return LinearLayout(flat(view).ins, placed.outs, flat(view).compose(placed).columns)


def offset_layout(registers: LinearLayout, type: MemDescType) -> LinearLayout:
    """The element offset in shared memory of what each register holds."""
    placed = element_offset(type)
    return LinearLayout(registers.ins, placed.outs, gf2.compose(placed.columns, registers.columns))


def longest_vector(offsets: LinearLayout, bits: int, flip: int = 0, most: int = 128) -> int:
    """How many elements of `bits` bits one access may take: registers that are neighbours in memory."""
    registers = gf2.Basis(offsets.bases("register"))
    threads = offsets.bases("lane") + offsets.bases("warp")
    vector = 1
    while vector * 2 * bits <= most:
        mask = 2 * vector - 1
        if vector not in registers or any(c & mask for c in threads) or flip & mask:
            break
        vector *= 2
    return vector


def element_type(type: MemDescType) -> str:
    return llvm_type(type.element_type)


@rules.lower("ttg.local_alloc")
def allocate(op: Operation, e: Threads) -> list[Memory]:
    memory = Memory(e.own(e.offsets[op]))
    if op.src is not None:
        store_tile(op.src, op.results[0].type, memory, e)
    return [memory]


def store_tile(source: SSAValue, type: MemDescType, memory: Memory, e: Threads) -> None:
    kind = element_type(type)
    offsets = offset_layout(e.layout(source.type), type)
    vector = longest_vector(offsets, held_bits(kind), memory.flip)
    write_shared(e, e.registers(source), offsets, kind, memory.base, vector, memory.flip)


@rules.lower("ttg.local_dealloc")
def free(op: Operation, e: Threads) -> None:
    """The allocator has used it."""


@rules.lower("ttg.local_store")
def store(op: Operation, e: Threads) -> None:
    store_tile(op.operands[0], op.operands[1].type, e.values[op.operands[1]], e)


@rules.lower("ttg.local_load")
def load(op: Operation, e: Threads) -> list[list[str]]:
    memory, type = e.values[op.operands[0]], op.operands[0].type
    kind = element_type(type)
    offsets = offset_layout(e.layout(op.results[0].type), type)
    vector = longest_vector(offsets, held_bits(kind), memory.flip)
    return [read_shared(e, offsets, kind, memory.base, vector, memory.flip)]


def view_bytes(type: MemDescType) -> int:
    """The bytes of the memory that a view is part of."""
    count = 1
    for size in type.shape:
        count *= size
    return count * held_bits(llvm_type(type.element_type)) // 8


@rules.lower("ttg.memdesc_index")
def index(op: Operation, e: Threads) -> list[Memory]:
    memory, step = e.values[op.operands[0]], view_bytes(op.results[0].type)
    at = e.values[op.operands[1]]
    offset = str(int(at) * step) if at.lstrip("-").isdigit() else e.mul(at, step)
    return [Memory(e.op(f"getelementptr i8, {SHARED} {memory.base}, i32 {offset}"), memory.flip)]


@rules.lower("ttg.memdesc_subslice")
def subslice(op: Operation, e: Threads) -> list[Memory]:
    """A constant offset is an xor of element offsets, as the slice's own bits are 0 in it."""
    memory, source = e.values[op.operands[0]], op.operands[0].type
    offsets = list(op.properties["offsets"].get_values())
    position = 0
    for size, at in zip(source.allocation_shape[-len(source.shape) :], offsets, strict=True):
        position = position * size + at
    placed = flat(layout_of(source).linear(source.allocation_shape[-len(source.shape) :])).inverse()
    return [Memory(memory.base, memory.flip ^ gf2.apply(placed.columns, position))]


@rules.lower("ttg.memdesc_trans", "ttg.memdesc_reshape", "ttg.memdesc_reinterpret")
def view(op: Operation, e: Threads) -> list[Memory]:
    return [e.values[op.operands[0]]]
