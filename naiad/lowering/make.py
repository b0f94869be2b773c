"""Lowering of what makes tiles and pointers: program ids, ranges, splats, pointer arithmetic."""

from xdsl.ir import Operation

from naiad.ir.base import bits, element
from naiad.lowering.elementwise import each
from naiad.lowering.rules import Rules
from naiad.lowering.threads import GLOBAL, Threads, llvm_type, scalar_type, width

__all__ = ["rules"]

rules = Rules()


@rules.lower("tt.get_program_id")
def program_id(op: Operation, e: Threads) -> str:
    return e.target.program_id(e, op.properties["axis"].value.data)


@rules.lower("tt.get_num_programs")
def num_programs(op: Operation, e: Threads) -> str:
    return e.target.num_programs(e, op.properties["axis"].value.data)


@rules.lower("tt.make_range")
def make_range(op: Operation, e: Threads) -> list[list[str]]:
    """Register i holds start + the index that the layout gives."""
    start = op.properties["start"].value.data
    return [[e.add(index, start) for index in e.index_of(e.layout(op.results[0].type))]]


@rules.lower("tt.splat")
def splat(op: Operation, e: Threads) -> list[list[str]]:
    return [[e.values[op.operands[0]]] * e.count(op.results[0].type)]


@rules.lower("tt.unsplat")
def unsplat(op: Operation, e: Threads) -> str:
    return e.registers(op.operands[0])[0]


@rules.lower("tt.addptr")
def add_pointer(op: Operation, e: Threads) -> str | list[list[str]]:
    pointee, index = llvm_type(element(op.operands[0].type).pointee), scalar_type(op.operands[1])
    size = bits(element(op.operands[0].type).pointee)
    pointee = "i8" if size == 1 else pointee

    def write(ptr: str, offset: str) -> str:
        if offset == "0":
            return ptr
        if width(index) < 64:
            offset = e.op(f"sext {index} {offset} to i64")
        return e.op(f"getelementptr {pointee}, {GLOBAL} {ptr}, i64 {offset}")

    return each(op, e, write)


@rules.lower("ub.poison")
def poison(op: Operation, e: Threads) -> str | list[list[str]]:
    n = e.count(op.results[0].type)
    return "poison" if isinstance(element(op.results[0].type), type(op.results[0].type)) else [["poison"] * n]
