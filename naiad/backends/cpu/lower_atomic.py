"""Atomic read-modify-write and compare-and-swap on one element, for every dtype.

LLVM's atomicrmw where the CPU has it; floats of 16 bits, and max and min of floats, by a loop around compare-and-swap.
"""

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, kind_of, word
from naiad.backends.cpu.lower_elementwise import in_f32
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules

rules = Rules()

ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
FAILURES = {"monotonic": "monotonic", "acquire": "acquire", "release": "monotonic", "acq_rel": "acquire"}
NAMES = {"exch": "xchg", "xchg": "xchg", "fadd": "fadd", "fmax": "fmax", "fmin": "fmin", "add": "add", "and": "and",
         "or": "or", "xor": "xor", "max": "max", "min": "min", "umax": "umax", "umin": "umin"}  # fmt: skip

OF_FLAGS = {"xchg": "xchg", "and": "and", "or": "or", "xor": "xor", "add": "xor", "umax": "or", "umin": "and",
            "max": "and", "min": "or"}  # fmt: skip
"""What operations on one bit are on the byte that holds it; with a sign, true is -1."""


@rules.lower("ttc.atomic_rmw")
def read_modify_write(op: Operation, e: CpuEmitter) -> str:
    name, order = NAMES[word(op, "kind")], ORDERS[word(op, "sem")]
    of = kind_of(op.operands[1])
    pointer, value = e.all(op.operands)
    if of.element == "i1":
        return of_flag(e, f"atomicrmw {OF_FLAGS[name]} ptr {pointer}, i8", value, order)
    if name == "xchg":
        return exchange(e, of, pointer, value, order)
    if of.is_float and name in ("add", "max", "min"):
        name = f"f{name}"
    if name == "fadd" and not of.is_small_float:
        return e.op(f"atomicrmw fadd ptr {pointer}, {of.llvm} {value} {order}, align {of.bytes}")
    if name[0] == "f":
        return by_swapping(e, of, pointer, value, name, order)
    return e.op(f"atomicrmw {name} ptr {pointer}, {of.llvm} {value} {order}, align {of.bytes}")


def of_flag(e: CpuEmitter, operation: str, value: str, order: str) -> str:
    """The old flag, of an operation on the byte that holds it."""
    old = e.op(f"{operation} {e.op(f'zext i1 {value} to i8')} {order}, align 1")
    return e.op(f"trunc i8 {old} to i1")


def exchange(e: CpuEmitter, kind: Kind, pointer: str, value: str, order: str) -> str:
    """Pointers go as integers."""
    if kind.element != "ptr":
        return e.op(f"atomicrmw xchg ptr {pointer}, {kind.llvm} {value} {order}, align {kind.bytes}")
    integer = kind.of("i64")
    number = e.cast("ptrtoint", kind, integer, value)
    old = e.op(f"atomicrmw xchg ptr {pointer}, i64 {number} {order}, align 8")
    return e.cast("inttoptr", integer, kind, old)


def by_swapping(e: CpuEmitter, kind: Kind, pointer: str, value: str, name: str, order: str) -> str:
    """The old value of the round that nobody came between."""
    integer = kind.integer
    first = e.op(f"load atomic {integer.llvm}, ptr {pointer} monotonic, align {kind.bytes}")
    again, done, entry = e.label("again"), e.label("swapped"), e.block
    e.jump(again)
    e.start(again)
    place = len(e.lines)
    e.lines.append("")
    old = f"%{again}.old"
    new = modified(e, kind, e.bits(integer, kind, old), value, name)
    wanted = e.bits(kind, integer, new)
    failure = FAILURES[order]
    pair = e.op(
        f"cmpxchg ptr {pointer}, {integer.llvm} {old}, {integer.llvm} {wanted} {order} {failure}, align {kind.bytes}"
    )
    found = e.op(f"extractvalue {{ {integer.llvm}, i1 }} {pair}, 0")
    e.fork(e.op(f"extractvalue {{ {integer.llvm}, i1 }} {pair}, 1"), done, again)
    e.lines[place] = f"  {old} = phi {integer.llvm} [ {first}, %{entry} ], [ {found}, %{e.block} ]"
    e.start(done)
    return e.bits(integer, kind, found)


def modified(e: CpuEmitter, kind: Kind, old: str, value: str, name: str) -> str:
    if name == "fadd":
        return in_f32(e, kind, (old, value), lambda k, a, b: e.binary("fadd", k, a, b))
    intrinsic = "maxnum" if name == "fmax" else "minnum"
    return in_f32(e, kind, (old, value), lambda k, a, b: e.intrinsic(intrinsic, k.llvm, a, b))


@rules.lower("ttc.atomic_cas")
def compare_and_swap(op: Operation, e: CpuEmitter) -> str:
    """Floats are compared by their bits."""
    kind, order = kind_of(op.results[0]), ORDERS[word(op, "sem")]
    pointer, expected, value = e.all(op.operands)
    if kind.element == "i1":
        expected, value = [e.op(f"zext i1 {x} to i8") for x in (expected, value)]
        pair = e.op(f"cmpxchg ptr {pointer}, i8 {expected}, i8 {value} {order} {FAILURES[order]}, align 1")
        return e.op(f"trunc i8 {e.op(f'extractvalue {{ i8, i1 }} {pair}, 0')} to i1")
    integer = kind.integer
    to, back = ("ptrtoint", "inttoptr") if kind.element == "ptr" else ("bitcast", "bitcast")
    expected, value = e.cast(to, kind, integer, expected), e.cast(to, kind, integer, value)
    pair = e.op(f"cmpxchg ptr {pointer}, {integer.llvm} {expected}, {integer.llvm} {value} {order} {FAILURES[order]}, "
                f"align {kind.bytes}")  # fmt: skip
    return e.cast(back, integer, kind, e.op(f"extractvalue {{ {integer.llvm}, i1 }} {pair}, 0"))
