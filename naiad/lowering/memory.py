"""Lowering of global memory: loads and stores in the widest aligned vectors that axis analysis allows, predicated."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from naiad.ir.base import bits, element
from naiad.layouts.axes import register_run
from naiad.lowering.rules import Rules
from naiad.lowering.target import Access
from naiad.lowering.threads import Threads, held_bits, llvm_type, scalar_type

__all__ = ["access_vector", "broadcast_owner", "rules"]

rules = Rules()


def access_vector(e: Threads, ptr: SSAValue, mask: SSAValue | None) -> int:
    """How many registers one access through `ptr` covers."""
    if not isinstance(ptr.type, TensorType):
        return 1
    dim, run = register_run(e.layout(ptr.type))
    vector = min(run, e.axis.vector(ptr, dim))
    return min(vector, e.axis[mask].axes[dim].constancy) if mask is not None else vector


def element_kind(ptr: SSAValue) -> str:
    """The LLVM type that memory holds behind a pointer."""
    return llvm_type(element(ptr.type).pointee)


def how(op: Operation, vector: int, kind: str) -> Access:
    """Words of at most 32 bits (64 for wide elements), cache and eviction as the op says."""
    total = vector * held_bits(kind)
    word = held_bits(kind) if held_bits(kind) > 32 else min(32, total)
    words = {name: op.properties[name].data for name in ("cache", "evict") if name in op.properties}
    volatile = "isVolatile" in op.properties and bool(op.properties["isVolatile"].value.data)
    return Access(total // word, word, volatile=volatile, **words)


@rules.lower("tt.load")
def load(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = element_kind(op.ptr)
    vector = access_vector(e, op.ptr, op.mask)
    access = how(op, vector, kind)
    pointers, n = e.registers(op.ptr), e.count(op.ptr.type)
    masks = e.registers(op.mask) if op.mask is not None else [None] * n
    others = e.registers(op.other) if op.other is not None else [zero_of(kind)] * n
    out: list[str] = []
    for at in range(0, n, vector):
        fallback = e.pack(others[at : at + vector], kind, access.bits) if op.mask is not None else []
        words = e.target.load_global(e, pointers[at], masks[at], fallback, access)
        out += e.unpack(words, kind, access.bits)
    return [out] if isinstance(op.ptr.type, TensorType) else out[0]


def zero_of(kind: str) -> str:
    """Zero in an LLVM type."""
    return {"float": "0.0", "double": "0.0", "half": "0xH0000", "bfloat": "0xR0000"}.get(
        kind, "null" if kind.startswith("ptr") else "0")  # fmt: skip


@rules.lower("tt.store")
def store(op: Operation, e: Threads) -> None:
    kind = element_kind(op.ptr)
    vector = access_vector(e, op.ptr, op.mask)
    access = how(op, vector, kind)
    pointers, values, n = e.registers(op.ptr), e.registers(op.value), e.count(op.ptr.type)
    masks = e.registers(op.mask) if op.mask is not None else [None] * n
    only = broadcast_owner(op.ptr, e)
    for at in range(0, n, vector):
        words = e.pack(values[at : at + vector], kind, access.bits)
        e.target.store_global(e, pointers[at], e.both(only, masks[at]), words, access)


def broadcast_owner(ptr: SSAValue, e: Threads) -> str | None:
    """Whether this thread is the one that acts for its elements: thread 0 for scalars; None if every thread is."""
    if isinstance(ptr.type, TensorType):
        return e.owner(e.layout(ptr.type))
    return e.thread_is_zero((1 << e.thread_bits) - 1)


@rules.lower("tt.atomic_rmw")
def atomic(op: Operation, e: Threads) -> str | list[list[str]]:
    kind, word = scalar_type(op.val), op.properties["atomic_rmw_op"].data
    sem, scope, used = op.properties["sem"].data, op.properties["scope"].data, bool(list(op.results[0].uses))
    masks = e.registers(op.mask) if op.mask is not None else [None] * e.count(op.ptr.type)
    only = broadcast_owner(op.ptr, e)
    fence_before(e, sem)
    made = [
        e.target.atomic(e, word, ptr, value, kind, e.both(only, mask), sem, scope, used)
        for ptr, value, mask in zip(e.registers(op.ptr), e.registers(op.val), masks, strict=True)
    ]
    return shared_result(op, e, made, kind, only, used, sem)


@rules.lower("tt.atomic_cas")
def compare_swap(op: Operation, e: Threads) -> str | list[list[str]]:
    kind = scalar_type(op.val)
    sem, scope = op.properties["sem"].data, op.properties["scope"].data
    only = broadcast_owner(op.ptr, e)
    fence_before(e, sem)
    made = []
    for ptr, expected, value in zip(*(e.registers(o) for o in op.operands), strict=True):
        old = e.target.compare_swap(e, ptr, e.to_bits(expected, kind), e.to_bits(value, kind), bits(op.val.type), only,
                                    sem, scope)  # fmt: skip
        made.append(e.from_bits(old, kind))
    return shared_result(op, e, made, kind, only, bool(list(op.results[0].uses)), sem)


def fence_before(e: Threads, sem: str) -> None:
    """A release orders what every thread of the program did before, not only the thread that acts."""
    if sem in ("release", "acq_rel"):
        e.target.barrier(e)


def shared_result(op: Operation, e: Threads, made: list[str], kind: str, only: str | None, used: bool, sem: str
                  ) -> str | list[list[str]]:  # fmt: skip
    """Gives threads that hold copies what the acting thread read, through shared memory."""
    tile = isinstance(op.ptr.type, TensorType)
    if only is not None and used:
        size = held_bits(kind) // 8
        stored = [e.op(f"zext i1 {v} to i8") for v in made] if kind == "i1" else made
        places = [e.shared(e.scratch(op), index) for index in result_places(op, e, size)]
        memory = "i8" if kind == "i1" else kind

        def write() -> list[str]:
            for place, value in zip(places, stored, strict=True):
                e.do(f"store {memory} {value}, {e.common} {place}, align {size}")
            return []

        e.when(only, [], write)
        e.target.barrier(e)
        made = [e.op(f"load {memory}, {e.common} {place}, align {size}") for place in places]
        made = [e.op(f"icmp ne i8 {v}, 0") for v in made] if kind == "i1" else made
    elif sem in ("acquire", "acq_rel"):
        e.target.barrier(e)
    return [made] if tile else made[0]


def result_places(op: Operation, e: Threads, size: int) -> list[str]:
    """The byte offset of each register's element in scratch memory."""
    if not isinstance(op.ptr.type, TensorType):
        return ["0"]
    return [e.mul(index, size) for index in e.index_of(e.layout(op.ptr.type))]
