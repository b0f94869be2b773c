"""ttcir -> LLVM text: one function `void <name>(i64 begin, i64 end, ptr args)` that runs programs begin..end-1.

args: 8-byte slots [grid x, y, z, status word, argument 0, ...]. Arguments are loaded and the arena is made before the
loop over programs; the program's place in the grid is carried from round to round, not divided out of its number.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from naiad.backends.cpu import (
    amx,
    lower_assembly,
    lower_atomic,
    lower_casts,
    lower_control,
    lower_debug,
    lower_divide,
    lower_dot,
    lower_elementwise,
    lower_external,
    lower_math,
    lower_memory,
    lower_sort,
    lower_transpose,
    lower_vectors,
)
from naiad.backends.cpu.kinds import kind, kind_of, word
from naiad.backends.cpu.lower_control import run
from naiad.backends.cpu.lower_debug import assert_messages
from naiad.backends.cpu.lower_memory import place_arena, to_register
from naiad.backends.cpu.target import CpuTarget
from naiad.backends.cpu.writer import CpuEmitter
from naiad.ir.base import inside
from naiad.lowering.emitter import Module
from naiad.lowering.locations import Locations
from naiad.lowering.mistakes import placed
from naiad.lowering.rules import Rules

__all__ = ["RULES", "assert_messages", "lower"]

RULES = Rules.of(
    lower_control.rules,
    lower_elementwise.rules,
    lower_casts.rules,
    lower_vectors.rules,
    lower_memory.rules,
    lower_atomic.rules,
    lower_debug.rules,
    lower_divide.rules,
    lower_dot.rules,
    lower_math.rules,
    lower_external.rules,
    lower_assembly.rules,
    lower_sort.rules,
    lower_transpose.rules,
)
FIRST_ARGUMENT = 4


def lower(module: ModuleOp, target: CpuTarget, lines: bool = False) -> str:
    """The LLVM text of every function of a ttcir module; the toolchain adds the triple.

    Raises CompilationError for what it cannot write.

    lines: whether instructions say which source line they come from, for a profiler or a debugger.
    """
    out = Module()
    messages = assert_messages(module)
    for op in module.ops:
        if op.name == "tt.func":
            try:
                lower_function(op, out, target, messages, lines)
            except NotImplementedError as error:  # of its arguments; the ops in it say their own place
                raise placed(op, error) from error
    return out.text()


def lower_function(function: Operation, out: Module, target: CpuTarget, messages: list[str], lines: bool) -> None:
    """Adds the kernel to `out`."""
    e = CpuEmitter(out, target)
    name, attributes = word(function, "sym_name"), target.function_attributes
    if lines:
        e.locations = Locations(out, name, function.location)
        e.suffix = e.locations.suffix(function.location)
        attributes += f" !dbg {e.locations.scope}"
    e.rules, e.asserts = RULES, messages
    block = function.regions[0].blocks[0]
    e.grid = [load_slot(e, n, f"%grid{n}") for n in range(3)]
    e.do("%status = load ptr, ptr " + e.gep("%args", "24") + ", align 8")
    for number, argument in enumerate(block.args):
        e.values[argument] = load_argument(e, argument, number)
    ops = inside(function)
    memory = place_arena(ops, e)
    prepare_tiles(ops, e)
    used = axes_used(ops)
    e.loop("%begin", "%end", "1", first_place(e, used), lambda i, place: one_program(e, block, used, place))
    e.jump("leave")
    e.start("leave")
    finish(e, memory)
    e.lines[:0] = e.frame
    out.define("void", name, ["i64 %begin", "i64 %end", "ptr %args"], e, "ret void", attributes=attributes)


def load_slot(e: CpuEmitter, number: int, name: str) -> str:
    """A size of the grid: i32 in an 8-byte slot."""
    e.do(f"{name} = load i32, ptr {e.gep('%args', str(8 * number))}, align 8")
    return name


def load_argument(e: CpuEmitter, argument: SSAValue, number: int) -> str:
    """An argument in the low bytes of its slot."""
    place = kind_of(argument)
    value = e.load(place.memory.llvm, e.gep("%args", str(8 * (FIRST_ARGUMENT + number))), 8)
    return to_register(e, place, value)


def axes_used(ops: Sequence[Operation]) -> int:
    """How many axes of the grid the program's place is needed in: 0 to 3."""
    axes = [1 + lower_control.axis_of(op) for op in ops if op.name == "tt.get_program_id"]
    prints = any(op.name == "ttc.print" for op in ops)
    return 3 if prints else max(axes, default=0)


def first_place(e: CpuEmitter, used: int) -> list[tuple[str, str]]:
    """The place of program `begin`: (type, operand) for x, y, z as far as they are used."""
    place, left, wide = [], "%begin", kind("i64")
    for axis in range(used):
        size = e.op(f"zext i32 {e.grid[axis]} to i64")
        safe = e.op(f"select i1 {e.op(f'icmp eq i64 {size}, 0')}, i64 1, i64 {size}")
        here = e.binary("urem", wide, left, safe) if axis < 2 else left
        left = e.binary("udiv", wide, left, safe) if axis + 1 < used else left
        place.append(("i32", e.op(f"trunc i64 {here} to i32")))
    return place


def one_program(e: CpuEmitter, block: Block, used: int, place: list[str]) -> list[str]:
    """Writes the body for the program at `place`; gives the place of the next."""
    e.program = [*place, *["0"] * (3 - used)]
    arguments = [e.values[a] for a in block.args]
    run(block, e, arguments)
    following, carry = [], "true"
    for axis in range(used):
        more = e.op(f"add i32 {place[axis]}, {e.op(f'zext i1 {carry} to i32')}")
        if axis < 2:
            wraps = e.op(f"icmp eq i32 {more}, {e.grid[axis]}")
            carry = e.op(f"and i1 {wraps}, {carry}")
            more = e.op(f"select i1 {carry}, i32 0, i32 {more}")
        following.append(more)
    return following


def prepare_tiles(ops: Sequence[Operation], e: CpuEmitter) -> None:
    """Sets the shapes of the tile registers for the whole launch, where its products agree on them."""
    wanted = amx.shapes([lower_dot.dot_of(op, e) for op in ops if op.name == "ttc.dot"])
    e.uses_tiles, e.tiles_set = bool(wanted), len(wanted) == 1
    for shape in wanted if e.tiles_set else ():
        shape.load(e)


def finish(e: CpuEmitter, memory: str) -> None:
    """Frees the arena and the tile registers, orders streaming stores, and writes out what was printed."""
    if e.uses_tiles:
        e.call("void", "llvm.x86.tilerelease", (), ())
    if e.fences:
        e.call("void", "llvm.x86.sse.sfence", (), ())
    if e.prints:
        e.call("i32", "fflush", ("ptr",), ("null",))
    if memory:
        e.call("void", "free", ("ptr",), (memory,))
