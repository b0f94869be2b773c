"""device_print and device_assert."""

from typing import Any

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, count, kind_of, word
from naiad.backends.cpu.lower_casts import to_f32
from naiad.backends.cpu.writer import CpuEmitter
from naiad.ir.base import inside
from naiad.lowering.rules import Rules

rules = Rules()


def assert_messages(module: Operation) -> list[str]:
    """The messages of the module's ttc.assert ops: the status word of a failed launch is 1 + the index in this list."""
    found = [word(op, "message") for op in inside(module) if op.name == "ttc.assert"]
    return list(dict.fromkeys(found))


@rules.lower("ttc.assert")
def check(op: Operation, e: CpuEmitter) -> None:
    """A failure is recorded, the first one counts, and this run of programs ends: what follows relies on the
    condition."""
    passed, failed = e.label("passed"), e.label("failed")
    e.fork(e.of(op.operands[0]), passed, failed)
    e.start(failed)
    code = 1 + e.asserts.index(word(op, "message"))
    e.do(f"%ignored{e.number} = cmpxchg ptr {e.status}, i64 0, i64 {code} monotonic monotonic")
    e.jump(e.leave)
    e.start(passed)


@rules.lower("ttc.print")
def show(op: Any, e: CpuEmitter) -> None:
    """`pid (0, 0, 0) idx ( 3) prefix 1.5`, by printf."""
    text, arguments = ["pid ("], []
    pids = e.all(op.pids) or list(e.program)
    text.append(", ".join(["%d"] * len(pids)) + ")")
    arguments += [f"i32 {p}" for p in pids]
    if op.value is not None:
        widths = [len(str(max(n - 1, 0))) for n in op.properties["shape"].get_values()]
        text.append(" idx (" + ", ".join([f"%{w}lld" for w in widths]) + ")")
        arguments += [f"i64 {i}" for i in e.all(op.index)]
    text.append(word(op, "prefix").replace("%", "%%"))
    if op.value is not None:
        if count(op, "operand_count") > 1:
            text.append(f"(operand {count(op, 'operand_number')}) ")
        form, argument = printed(op, e, kind_of(op.value), e.of(op.value))
        text.append(form)
        arguments.append(argument)
    e.module.declare("i32", "printf", "ptr, ...")
    e.prints = True
    format = e.module.string("".join(text) + "\n")
    e.do(f"%ignored{e.number}p = call i32 (ptr, ...) @printf({', '.join([f'ptr {format}', *arguments])})")
    e.number += 1


def printed(op: Operation, e: CpuEmitter, kind: Kind, value: str) -> tuple[str, str]:
    """(printf's conversion, typed argument) of a scalar."""
    wide = kind.of("i64")
    if "hex" in op.properties:
        if kind.is_float:
            value, kind = e.bits(kind, kind.integer, value), kind.integer
        as_integer = e.cast("ptrtoint" if kind.element == "ptr" else "zext", kind, wide, value)
        return f"0x%0{max(kind.bits // 4, 1)}llx", f"i64 {as_integer}"
    if kind.is_float:
        if kind.element != "f64":
            value = e.cast("fpext", kind.of("f32"), kind.of("f64"), to_f32(e, kind, value))
        return "%f", f"double {value}"
    if kind.element == "ptr":
        return "%p", f"ptr {value}"
    signed = "signed" in op.properties and kind.bits > 1
    return ("%lld" if signed else "%llu"), f"i64 {e.cast('sext' if signed else 'zext', kind, wide, value)}"
