"""Rules that only NVIDIA GPUs have: ldmatrix for operands of dots, cp.async from global to shared memory."""

from xdsl.ir import Operation, SSAValue

from naiad.backends.nvidia.inline import asm
from naiad.errors import explain
from naiad.ir.encodings import MemDescType, layout_of
from naiad.layouts.axes import register_run
from naiad.layouts.linear import LinearLayout
from naiad.layouts.shared import NvmmaShared
from naiad.lowering import shared
from naiad.lowering.convert import address
from naiad.lowering.rules import Rules
from naiad.lowering.threads import GLOBAL, SHARED, Memory, Threads, held_bits, llvm_type

__all__ = ["copy_vector", "rules"]

rules = Rules()


class Matrices:
    """How an offset layout is read by ldmatrix: which bits of registers and lanes walk over rows, which within a row.

    A matrix has 8 rows of 16 bytes; lane l of the warp gives the address of row l % 8 of matrix l / 8.
    """

    def __init__(self, offsets: LinearLayout, bits: int, transposed: bool):
        self.offsets, self.transposed = offsets, transposed
        self.in_word = max(0, (32 // bits).bit_length() - 1)  # register bits that stay within a word of 32 bits
        row = 128 // bits
        lanes, registers = offsets.bases("lane"), offsets.bases("register")
        if transposed:
            inner, rows = lanes[2:5], (*registers[:1], *lanes[:2])
            wanted: tuple[int, ...] = (1, 2, 4)
        else:
            inner, rows = (*registers[: self.in_word], *lanes[:2]), lanes[2:5]
            wanted = tuple(1 << i for i in range(self.in_word + 2))
        self.rows, self.rest = rows, registers[self.in_word :]
        others = (*rows, *self.rest, *offsets.bases("warp"))
        self.fits = inner == wanted and len(rows) == 3 and not any(c % row for c in others)


def matrices(offsets: LinearLayout, bits: int, flip: int) -> Matrices | None:
    """The way to read a layout by ldmatrix, if there is one."""
    if bits not in (8, 16, 32) or flip * bits % 128:
        return None
    for transposed in (False, True) if bits == 16 else (False,):
        found = Matrices(offsets, bits, transposed)
        if found.fits:
            return found
    return None


@rules.lower("ttg.local_load")
def load(op: Operation, e: Threads) -> list[list[str]]:
    type, memory = op.operands[0].type, e.values[op.operands[0]]
    kind = llvm_type(type.element_type)
    offsets = shared.offset_layout(e.layout(op.results[0].type), type)
    found = matrices(offsets, held_bits(kind), memory.flip) if kind != "i1" else None
    if found is None:
        return shared.load(op, e)
    return [load_matrices(e, found, memory, kind)]


def load_matrices(e: Threads, how: Matrices, memory: Memory, kind: str) -> list[str]:
    """Up to four matrices at once; each gives every thread one word."""
    size, per_word = held_bits(kind) // 8, 1 << how.in_word
    at_once = min(2, len(how.rest))
    lane_columns = [*how.rows, *how.rest[:at_once], *[0] * (2 - at_once)]
    layout = how.offsets.replace("lane", lane_columns).replace("register", how.rest)
    suffix = ".trans" if how.transposed else ""
    count = 1 << at_once
    out: list[str] = []
    for first in range(0, 1 << len(how.rest), count):
        place = address(e, layout, first, size, memory.base, memory.flip)
        outs = ", ".join(f"${i}" for i in range(count))
        text = f"ldmatrix.sync.aligned.m8n8.x{count}{suffix}.shared.b16 {{ {outs} }}, [ ${count} ];"
        constraints = ",".join(["=r"] * count + ["r", "~{memory}"])
        words = asm(e, text, constraints, [f"{SHARED} {place}"], ["i32"] * count)
        out += e.unpack(words, kind, 32)
    assert len(out) == per_word << len(how.rest)
    return out


def copy_vector(e: Threads, src: SSAValue, mask: SSAValue | None, type: MemDescType, contiguity: int) -> int:
    """How many elements cp.async takes at once: neighbours on both sides, under one mask."""
    layout = e.layout(src.type)
    dim, run = register_run(layout)
    vector = min(run, max(contiguity, 1), e.axis.vector(src, dim))
    if mask is not None:
        vector = min(vector, e.axis[mask].axes[dim].constancy)
    return min(
        vector, shared.longest_vector(shared.offset_layout(layout, type), held_bits(llvm_type(type.element_type)))
    )


@rules.lower("ttg.async_copy_global_to_local")
def async_copy(op: Operation, e: Threads) -> list[list[str]]:
    memory, type = e.values[op.result_memory], op.result_memory.type
    kind, layout = llvm_type(type.element_type), e.layout(op.src.type)
    size = held_bits(kind) // 8
    contiguity = op.contiguity.value.data if op.contiguity is not None else 16
    vector = copy_vector(e, op.src, op.mask, type, contiguity)
    if vector * size not in (4, 8, 16):
        raise explain(
            NotImplementedError(f"an asynchronous copy of {vector * size} bytes at a time"),
            expected="4, 8 or 16 neighbouring bytes in a thread, on both sides and under one mask",
            advice="load the tile and store it (tt.load, ttg.local_store), or widen what a thread holds",
        )
    offsets, only = shared.offset_layout(layout, type), e.owner(layout, in_cta=True)
    masks = e.registers(op.mask) if op.mask is not None else [None] * layout.size("register")
    pointers = e.registers(op.src)
    for at in range(0, len(pointers), vector):
        place = address(e, offsets, at, size, memory.base, memory.flip)
        copy(e, place, pointers[at], vector * size, masks[at], only)
        if op.other is not None and masks[at] is not None:
            store_other(e, op, place, masks[at], e.registers(op.other)[at : at + vector], kind)
    return [[]]


def copy(e: Threads, place: str, ptr: str, size: int, mask: str | None, only: str | None) -> None:
    """One cp.async; where the mask is false it writes zeros."""
    level = "cg" if size == 16 else "ca"
    text = f"cp.async.{level}.shared.global [ $0 ], [ $1 ], {size}"
    constraints, arguments = ["r", "l"], [f"{SHARED} {place}", f"{GLOBAL} {ptr}"]
    if mask is not None:
        text += ", $2"  # ignores the source where true
        constraints.append("b")
        arguments.append(f"i1 {e.op(f'xor i1 {mask}, true')}")
    if only is not None:
        text = f"@${len(constraints)} {text}"
        constraints.append("b")
        arguments.append(f"i1 {only}")
    asm(e, text + ";", ",".join([*constraints, "~{memory}"]), arguments)


ZEROS = {"0", "0.0", "0xH0000", "0xR0000", "0x0000000000000000"}


def store_other(e: Threads, op: Operation, place: str, mask: str, others: list[str], kind: str) -> None:
    """Writes a value other than zero where the mask is false."""
    if all(o in ZEROS for o in others):
        return
    size = held_bits(kind) // 8

    def write() -> list[str]:
        for k, other in enumerate(others):
            [word] = e.pack([other], kind, 8 * size)
            here = e.op(f"getelementptr i8, {SHARED} {place}, i32 {k * size}")
            e.do(f"store i{8 * size} {word}, {SHARED} {here}, align {size}")
        return []

    e.when(e.op(f"xor i1 {mask}, true"), [], write)


@rules.lower("ttg.async_commit_group")
def commit(op: Operation, e: Threads) -> list[list[str]]:
    asm(e, "cp.async.commit_group;", "~{memory}", [])
    return [[]]


@rules.lower("ttg.async_wait")
def wait(op: Operation, e: Threads) -> list[list[str]]:
    """A thread waits for its own copies, then for the other threads."""
    e.call("void", "llvm.nvvm.cp.async.wait.group", ("i32",), (str(op.properties["num"].value.data),))
    fence_for_wgmma(e)
    e.target.barrier(e)
    return [[]]


def fence_for_wgmma(e: Threads) -> None:
    """What this thread wrote to shared memory becomes visible to wgmma, which reads it by another way."""
    if e.target.has_wgmma:
        asm(e, "fence.proxy.async.shared::cta;", "~{memory}", [])


@rules.lower("ttg.local_alloc")
def allocate(op: Operation, e: Threads) -> list[Memory]:
    made = shared.allocate(op, e)
    if op.operands and isinstance(layout_of(op.results[0].type), NvmmaShared):
        fence_for_wgmma(e)
    return made


@rules.lower("ttg.local_store")
def store(op: Operation, e: Threads) -> None:
    shared.store(op, e)
    if isinstance(layout_of(op.operands[1].type), NvmmaShared):
        fence_for_wgmma(e)


@rules.lower("ttng.fence_async_shared")
def fence(op: Operation, e: Threads) -> None:
    fence_for_wgmma(e)
