"""Loads, stores, gathers, scatters, addresses and the arena.

Lanes whose mask is false touch no memory. With a masked instruction that is the CPU's promise; elsewhere a full mask
takes the plain access and any other a loop over its set lanes, in a helper outside of line. Scalar and gathered
accesses under a mask are sent to a spare slot of the stack instead of being jumped over.
"""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from naiad.backends.cpu.kinds import Kind, count, kind, kind_of, kind_of_type, pointee
from naiad.backends.cpu.writer import CpuEmitter
from naiad.ir.base import element
from naiad.ir.types import PointerType
from naiad.lowering.emitter import suffix
from naiad.lowering.rules import Rules

rules = Rules()


# -- addresses


@rules.lower("tt.addptr")
def add_pointer(op: Operation, e: CpuEmitter) -> str:
    """Offsets are in elements of the pointee; vectors of pointers take vectors of offsets."""
    pointer, offset = op.operands
    kind_p, kind_o = kind_of(pointer), kind_of(offset)
    one = element(op.results[0].type)
    assert isinstance(one, PointerType)
    step = kind_of_type(one.pointee).memory.scalar
    return e.op(f"getelementptr {step}, {kind_p.llvm} {e.of(pointer)}, {kind_o.llvm} {e.of(offset)}")


# -- contiguous and strided accesses of one pointer


def number_property(op: Operation, name: str) -> int | None:
    return count(op, name) if name in op.properties else None


def optional(op: Operation, name: str, e: CpuEmitter) -> str | None:
    """The operand called `name`, None where the op has none."""
    value: SSAValue | None = getattr(op, name)
    return None if value is None else e.of(value)


@rules.lower("ttc.load")
def load(op: Operation, e: CpuEmitter) -> str:
    kind = kind_of(op.results[0])
    pointer, mask, other = e.of(op.operands[0]), optional(op, "mask", e), optional(op, "other", e)
    step = number_property(op, "step")
    align = number_property(op, "align") or kind.bytes
    volatile = "volatile " if "volatile" in op.properties else ""
    memory = kind.memory
    if other is not None and kind.element == "i1":
        other = e.cast("zext", kind, memory, other)
    if not kind.lanes:
        value = scalar_load(e, memory, pointer, mask, other, align, volatile)
    elif step in (None, 1):
        value = vector_load(e, memory, pointer, mask, other, align, volatile)
    else:
        value = strided_load(e, memory, pointer, mask, other, step)
    return to_register(e, kind, value)


def to_register(e: CpuEmitter, kind: Kind, value: str) -> str:
    """i1 from the byte that holds it: any byte but 0 is true."""
    if kind.element != "i1":
        return value
    return e.compare("ne", kind.memory, value, e.number_of(0, kind.memory))


def to_memory(e: CpuEmitter, kind: Kind, value: str) -> str:
    return e.cast("zext", kind, kind.memory, value) if kind.element == "i1" else value


def scalar_load(e: CpuEmitter, kind: Kind, pointer: str, mask: str | None, other: str | None, align: int,
                volatile: str = "") -> str:  # fmt: skip
    if mask is None:
        return e.op(f"load {volatile}{kind.llvm}, ptr {pointer}, align {align}")
    safe = e.op(f"select i1 {mask}, ptr {pointer}, ptr {spare_slot(e)}")
    value = e.op(f"load {volatile}{kind.llvm}, ptr {safe}, align {align if align <= 64 else 64}")
    return e.op(f"select i1 {mask}, {kind.llvm} {value}, {kind.llvm} {other or e.number_of(0, kind)}")


def spare_slot(e: CpuEmitter) -> str:
    """Stack memory that accesses under a false mask may touch."""
    name = "%spare"
    text = f"  {name} = alloca [64 x i8], align 64"
    if text not in e.frame:
        e.frame.append(text)
        e.frame.append(f"  store <64 x i8> zeroinitializer, ptr {name}, align 64")
    return name


def vector_load(e: CpuEmitter, kind: Kind, pointer: str, mask: str | None, other: str | None, align: int,
                volatile: str = "") -> str:  # fmt: skip
    if mask is None or mask == e.number_of(1, kind.of("i1")):
        return e.op(f"load {volatile}{kind.llvm}, ptr {pointer}, align {align}")
    other = other or "zeroinitializer"
    if e.target.has_masked_memory(kind.bits):
        types = ("ptr", kind.of("i1").llvm, kind.llvm)
        name = f"llvm.masked.load.{suffix(kind.llvm)}.p0"
        e.module.declare(kind.llvm, name, ", ".join(types))
        call = f"call {kind.llvm} @{name}(ptr align {align} {pointer}, {types[1]} {mask}, {kind.llvm} {other})"
        return e.op(call)
    helper = e.module.once(f"naiad_masked_load_{suffix(kind.llvm)}", lambda name: define_masked_load(e, name, kind))
    bits = mask_bits(e, kind, mask)
    full = e.op(f"icmp eq i{kind.lanes} {bits}, -1")
    arguments = f"ptr {pointer}, i{kind.lanes} {bits}, {kind.llvm} {other}"
    [value] = e.when(full, [kind.llvm], lambda: [e.load(kind.llvm, pointer, align)],
                     lambda: [e.op(f"call {kind.llvm} {helper}({arguments})")])  # fmt: skip
    return value


def mask_bits(e: CpuEmitter, kind: Kind, mask: str) -> str:
    """A mask as an integer, lane 0 in the lowest bit."""
    return e.op(f"bitcast {kind.of('i1').llvm} {mask} to i{kind.lanes}")


def define_masked_load(e: CpuEmitter, name: str, kind: Kind) -> None:
    """(pointer, mask bits, other) -> the lanes whose bit is set from memory, the rest from `other`."""
    f = CpuEmitter(e.module, e.target)

    def lane(i: str, at: str) -> None:
        f.store(kind.scalar, f.load(kind.scalar, f.gep("%p", i, kind.scalar), kind.bytes), at, kind.bytes)

    f.do(f"%tile = alloca {kind.llvm}, align 64")
    f.store(kind.llvm, "%other", "%tile", 64)
    set_lanes(f, kind, lane)
    result = f.load(kind.llvm, "%tile", 64)
    bits = f"i{kind.lanes} %bits"
    e.module.define(kind.llvm, name, ["ptr %p", bits, f"{kind.llvm} %other"], f, f"ret {kind.llvm} {result}",
                    "internal",
                    e.target.function_attributes + " noinline")  # fmt: skip


def set_lanes(f: CpuEmitter, kind: Kind, lane) -> None:
    """Calls `lane(index, address in %tile)` in a loop over the bits set in %bits."""
    wide = f"i{kind.lanes}"

    def after(passed: list[str]) -> list[str]:
        [bits] = passed
        index = f.call(wide, f"llvm.cttz.{wide}", (wide, "i1"), (bits, "true"))
        index = index if wide == "i64" else f.op(f"zext {wide} {index} to i64") if kind.lanes < 64 else index
        lane(index, f.gep("%tile", index, kind.scalar))
        less = f.op(f"add {wide} {bits}, -1")
        return [f.op(f"and {wide} {bits}, {less}")]

    f.loop_while([(wide, "%bits")], lambda c: (f.op(f"icmp ne {wide} {c[0]}, 0"), c), after)


def strided_load(e: CpuEmitter, kind: Kind, pointer: str, mask: str | None, other: str | None, step: int) -> str:
    """Lanes `step` elements apart. Steps of -1 and 2 without a mask are whole loads and a shuffle; they reach no byte
    that does not lie between two lanes."""
    lanes = kind.lanes
    if mask is None and step == -1:
        first = e.gep(pointer, str(1 - lanes), kind.scalar)
        return e.shuffle(kind, e.load(kind.llvm, first, kind.bytes), "poison", list(range(lanes - 1, -1, -1)))
    if mask is None and step == 2 and lanes > 1:
        low = e.load(kind.llvm, pointer, kind.bytes)
        high = e.load(kind.llvm, e.gep(pointer, str(lanes - 1), kind.scalar), kind.bytes)
        picked = [2 * i if 2 * i < lanes else lanes + 2 * i - (lanes - 1) for i in range(lanes)]
        return e.shuffle(kind, low, high, picked)
    addresses = [e.gep(pointer, str(i * step), kind.scalar) if i else pointer for i in range(lanes)]
    return gather_lanes(e, kind, addresses, mask, other)


def gather_lanes(e: CpuEmitter, kind: Kind, addresses: list[str], mask: str | None, other: str | None) -> str:
    """A load a lane; those under a false mask read the spare slot."""
    value = "poison"
    flags = kind.of("i1")
    for i, address in enumerate(addresses):
        if mask is not None:
            address = e.op(f"select i1 {e.extract(flags, mask, i)}, ptr {address}, ptr {spare_slot(e)}")
        value = e.insert(kind, value, e.load(kind.scalar, address, kind.bytes), i)
    if mask is None:
        return value
    return e.select(kind, mask, value, other or "zeroinitializer")


@rules.lower("ttc.gather")
def gather(op: Operation, e: CpuEmitter) -> str:
    kind = kind_of(op.results[0])
    pointers, mask, other = e.of(op.operands[0]), optional(op, "mask", e), optional(op, "other", e)
    memory = kind.memory
    if other is not None:
        other = to_memory(e, kind, other)
    if e.target.fast_gather and memory.bits >= 32:
        value = hardware_gather(e, memory, pointers, mask, other)
    else:
        value = scalar_gather(e, memory, pointers, mask, other)
    return to_register(e, kind, value)


def hardware_gather(e: CpuEmitter, kind: Kind, pointers: str, mask: str | None, other: str | None) -> str:
    flags, places = kind.of("i1"), kind.of("ptr")
    name = f"llvm.masked.gather.{suffix(kind.llvm)}.v{kind.lanes}p0"
    types = (places.llvm, flags.llvm, kind.llvm)
    e.module.declare(kind.llvm, name, ", ".join(types))
    mask = mask or e.number_of(1, flags)
    other = other or "zeroinitializer"
    given = f"{types[0]} align {kind.bytes} {pointers}, {types[1]} {mask}, {kind.llvm} {other}"
    return e.op(f"call {kind.llvm} @{name}({given})")


def scalar_gather(e: CpuEmitter, kind: Kind, pointers: str, mask: str | None, other: str | None) -> str:
    places = kind.of("ptr")
    if mask is not None:
        pointers = e.select(places, mask, pointers, e.broadcast(places, spare_slot(e)))
    value = "poison"
    for i in range(kind.lanes):
        value = e.insert(kind, value, e.load(kind.scalar, e.extract(places, pointers, i), kind.bytes), i)
    return value if mask is None else e.select(kind, mask, value, other or "zeroinitializer")


# -- stores


@rules.lower("ttc.store")
def store(op: Operation, e: CpuEmitter) -> None:
    kind = kind_of(op.operands[1])
    pointer, mask = e.of(op.operands[0]), optional(op, "mask", e)
    value = to_memory(e, kind, e.of(op.operands[1]))
    step = number_property(op, "step")
    align = number_property(op, "align") or kind.bytes
    memory = kind.memory
    if not kind.lanes:
        if mask is not None:
            pointer = e.op(f"select i1 {mask}, ptr {pointer}, ptr {spare_slot(e)}")
        e.store(memory.llvm, value, pointer, min(align, 64))
    elif step not in (None, 1):
        strided_store(e, memory, pointer, value, mask, step)
    elif mask is not None and mask != e.number_of(1, kind.of("i1")):
        masked_store(e, memory, pointer, value, mask, align)
    elif "stream" in op.properties:
        stream_store(e, memory, pointer, value, align)
    else:
        e.store(memory.llvm, value, pointer, align)


@rules.lower("ttc.prefetch")
def prefetch(op: Operation, e: CpuEmitter) -> None:
    e.module.declare("void", "llvm.prefetch.p0", "ptr, i32, i32, i32")
    e.do(f"call void @llvm.prefetch.p0(ptr {e.of(op.operands[0])}, i32 0, i32 3, i32 1)")


def stream_store(e: CpuEmitter, kind: Kind, pointer: str, value: str, align: int) -> None:
    """Past the caches, a whole line at a time; a plain store where the address is not known to allow that."""
    size = e.target.vector_bytes
    if kind.lanes * kind.bytes % size or align < size or not e.target.is_x86:
        e.store(kind.llvm, value, pointer, align)
        return
    e.fences = True
    e.do(f"store {kind.llvm} {value}, ptr {pointer}, align {size}, !nontemporal {temporal(e)}")


def temporal(e: CpuEmitter) -> str:
    """The metadata node of non-temporal accesses."""
    if "!{i32 1}" not in e.module.metadata:
        e.module.node("!{i32 1}")
    return f"!{e.module.metadata.index('!{i32 1}')}"


def masked_store(e: CpuEmitter, kind: Kind, pointer: str, value: str, mask: str, align: int) -> None:
    if e.target.has_masked_memory(kind.bits):
        types = (kind.llvm, "ptr", kind.of("i1").llvm)
        name = f"llvm.masked.store.{suffix(kind.llvm)}.p0"
        e.module.declare("void", name, ", ".join(types))
        e.do(f"call void @{name}({kind.llvm} {value}, ptr align {align} {pointer}, {types[2]} {mask})")
        return
    helper = e.module.once(f"naiad_masked_store_{suffix(kind.llvm)}", lambda name: define_masked_store(e, name, kind))
    bits = mask_bits(e, kind, mask)
    full = e.op(f"icmp eq i{kind.lanes} {bits}, -1")
    arguments = f"ptr {pointer}, i{kind.lanes} {bits}, {kind.llvm} {value}"
    e.when(full, [], lambda: e.store(kind.llvm, value, pointer, align),
           lambda: e.do(f"call void {helper}({arguments})"))  # fmt: skip


def define_masked_store(e: CpuEmitter, name: str, kind: Kind) -> None:
    """(pointer, mask bits, value): writes the lanes whose bit is set."""
    f = CpuEmitter(e.module, e.target)

    def lane(i: str, at: str) -> None:
        f.store(kind.scalar, f.load(kind.scalar, at, kind.bytes), f.gep("%p", i, kind.scalar), kind.bytes)

    f.do(f"%tile = alloca {kind.llvm}, align 64")
    f.store(kind.llvm, "%value", "%tile", 64)
    set_lanes(f, kind, lane)
    e.module.define("void", name, ["ptr %p", f"i{kind.lanes} %bits", f"{kind.llvm} %value"], f, "ret void", "internal",
                    e.target.function_attributes + " noinline")  # fmt: skip


def strided_store(e: CpuEmitter, kind: Kind, pointer: str, value: str, mask: str | None, step: int) -> None:
    if mask is None and step == -1:
        turned = e.shuffle(kind, value, "poison", list(range(kind.lanes - 1, -1, -1)))
        e.store(kind.llvm, turned, e.gep(pointer, str(1 - kind.lanes), kind.scalar), kind.bytes)
        return
    addresses = [e.gep(pointer, str(i * step), kind.scalar) if i else pointer for i in range(kind.lanes)]
    for i, address in enumerate(addresses):
        if mask is not None:
            address = e.op(f"select i1 {e.extract(kind.of('i1'), mask, i)}, ptr {address}, ptr {spare_slot(e)}")
        e.store(kind.scalar, e.extract(kind, value, i), address, kind.bytes)


@rules.lower("ttc.scatter")
def scatter(op: Operation, e: CpuEmitter) -> None:
    """A store a lane, in order: the scatter instruction is no faster on any CPU measured."""
    pointers, value, mask = e.of(op.operands[0]), e.of(op.operands[1]), optional(op, "mask", e)
    kind_v = kind_of(op.operands[1])
    value, memory = to_memory(e, kind_v, value), kind_v.memory
    places = memory.of("ptr")
    if mask is not None:
        pointers = e.select(places, mask, pointers, e.broadcast(places, spare_slot(e)))
    for i in range(memory.lanes):
        e.store(memory.scalar, e.extract(memory, value, i), e.extract(places, pointers, i), memory.bytes)


# -- the arena

STACK_LIMIT = 256 * 1024
LINE = 64


def allocations(ops: Sequence[Operation]) -> list[tuple[Operation, int]]:
    """The ttc.alloc ops among a function's, and their sizes in bytes, whole cache lines."""
    found = []
    for op in ops:
        if op.name == "ttc.alloc":
            size = count(op, "elements") * kind_of_type(pointee(op.results[0])).bytes
            found.append((op, -(-max(size, 1) // LINE) * LINE))
    return found


def place_arena(ops: Sequence[Operation], e: CpuEmitter) -> str:
    """Binds each alloc to its address. Gives the operand to free at the end, '' if the stack holds the arena."""
    found = allocations(ops)
    total = sum(size for _, size in found)
    if not found:
        return ""
    if total <= STACK_LIMIT:
        for op, size in found:
            e.values[op.results[0]] = e.slot("i8", size)
        return ""
    base = e.call("ptr", "aligned_alloc", ("i64", "i64"), (str(LINE), str(total)))
    offset = 0
    for op, size in found:
        e.values[op.results[0]] = e.gep(base, str(offset))
        offset += size
    return base


@rules.lower("ttc.alloc")
def alloc(op: Operation, e: CpuEmitter) -> str:
    """Placed before the loop over programs."""
    return e.values[op.results[0]]


__all__ = ["kind", "place_arena", "rules", "vector_load"]
