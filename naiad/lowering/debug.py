"""Lowering of printing, assertions, assumptions, barriers, and code from outside."""

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from naiad.ir.base import shape
from naiad.lowering.rules import Rules
from naiad.lowering.threads import Threads, scalar_type, width

__all__ = ["rules"]

rules = Rules()


@rules.lower("gpu.barrier")
def barrier(op: Operation, e: Threads) -> None:
    e.target.barrier(e)


@rules.lower("llvm.intr.assume")
def assume(op: Operation, e: Threads) -> None:
    e.call("void", "llvm.assume", ("i1",), (e.values[op.operands[0]],))


@rules.lower("tt.assert")
def check(op: Operation, e: Threads) -> None:
    """A false condition stops the kernel, as CUDA's assert does: message and place on standard error."""
    failed: str | None = None
    for condition in e.registers(op.operands[0]):
        here = e.op(f"xor i1 {condition}, true")
        failed = here if failed is None else e.op(f"or i1 {failed}, {here}")

    def fail() -> list[str]:
        texts = [e.module.string(t) for t in (op.properties["message"].data, "unknown", "unknown")]
        arguments = [f"ptr {texts[0]}", f"ptr {texts[1]}", "i32 0", f"ptr {texts[2]}", "i64 1"]
        e.module.declare("void", "__assertfail", "ptr, ptr, i32, ptr, i64")
        e.do(f"call void @__assertfail({', '.join(arguments)})")
        return []

    e.when(failed, [], fail)
    e.target.barrier(e)


@rules.lower("tt.print")
def print_values(op: Operation, e: Threads) -> None:
    """A line per program and element, by vprintf: `pid (x, y, z) idx (i, j) prefix: value`."""
    pids = [e.target.program_id(e, axis) for axis in range(3)]
    prefix, is_hex = op.properties["prefix"].data, bool(op.properties["hex"].value.data)
    if not op.operands:
        e.when(e.thread_is_zero((1 << e.thread_bits) - 1), [], lambda: write(e, f"pid (%u, %u, %u){prefix}\n", pids))
        return
    signs = list(op.properties["isSigned"].get_values()) or [1] * len(op.operands)
    for n, value in enumerate(op.operands):
        tile = isinstance(value.type, TensorType)
        places = e.indices(e.layout(value.type)) if tile else [()]
        only = e.owner(e.layout(value.type)) if tile else e.thread_is_zero((1 << e.thread_bits) - 1)
        digits = ", ".join(number(len(str(size - 1))) for size in shape(value.type))
        label = f" (operand {n})" if len(op.operands) > 1 else ""
        kind = Kind(scalar_type(value), is_hex, bool(signs[n]))
        for register, index in zip(e.registers(value), places, strict=True):
            head = f"pid (%u, %u, %u) idx ({digits}){prefix}{label}"
            print_element(e, head, [*pids, *index], register, kind, only)


@dataclass(frozen=True)
class Kind:
    """How an element is printed: its LLVM type, in hexadecimal or not, signed or not."""

    type: str
    is_hex: bool
    signed: bool


def print_element(e: Threads, head: str, numbers: list[str], value: str, kind: Kind, only: str | None) -> None:
    """A line for one element, by the one thread that answers for it."""

    def line() -> list[str]:
        form, argument = formatted(e, value, kind.type, kind.is_hex, kind.signed)
        return write(e, f"{head}{form}\n", numbers, argument)

    if only is None:
        line()
    else:
        e.when(only, [], line)


def number(digits: int) -> str:
    return f"%{digits}u"


def formatted(e: Threads, value: str, kind: str, is_hex: bool, signed: bool) -> tuple[str, tuple[str, str]]:
    """The printf format of a value, and the value in the type that C passes it in."""
    n = width(kind)
    if kind in ("half", "bfloat", "float"):
        return "%f", ("double", e.op(f"fpext {kind} {value} to double"))
    if kind == "double":
        return "%f", ("double", value)
    if kind.startswith("ptr"):
        return "%p", ("i64", e.to_bits(value, kind))
    if is_hex:
        return f"0x%0{max(1, n // 4)}{'ll' if n > 32 else ''}x", wide(e, value, n, False)
    return f"%{'ll' if n > 32 else ''}{'d' if signed and n > 1 else 'u'}", wide(e, value, n, signed and n > 1)


def wide(e: Threads, value: str, n: int, signed: bool) -> tuple[str, str]:
    if n >= 32:
        return f"i{n}", value
    return "i32", e.op(f"{'sext' if signed else 'zext'} i{n} {value} to i32")


def write(e: Threads, form: str, numbers: list[str], last: tuple[str, str] | None = None) -> list[str]:
    """vprintf: the arguments lie in a buffer as C would lay out a struct."""
    arguments = [("i32", v) for v in numbers] + ([last] if last is not None else [])
    struct = "{ " + ", ".join(kind for kind, _ in arguments) + " }"
    buffer = e.at_start(lambda: e.op(f"alloca {struct}, align 8"))
    for n, (kind, value) in enumerate(arguments):
        e.do(f"store {kind} {value}, ptr {e.op(f'getelementptr {struct}, ptr {buffer}, i32 0, i32 {n}')}")
    e.call("i32", "vprintf", ("ptr", "ptr"), (e.module.string(form), buffer))
    return []


@rules.lower("tt.elementwise_inline_asm")
def inline_assembly(op: Operation, e: Threads) -> list:
    """The assembly once per `packed_element` elements; elements narrower than 32 bits share registers of 32 bits."""
    packed = op.properties["packed_element"].value.data
    tile = any(isinstance(r.type, TensorType) for r in op.results)
    count = e.count(op.results[0].type)
    columns = [e.registers(o) for o in op.operands]
    columns = [c if len(c) == count else c * count for c in columns]
    kinds, made_kinds = [scalar_type(o) for o in op.operands], [scalar_type(r) for r in op.results]
    out: list[list[str]] = [[] for _ in op.results]
    for at in range(0, count, packed):
        arguments: list[str] = []
        for column, kind in zip(columns, kinds, strict=True):
            group = column[at : at + packed]
            group += [group[-1]] * (packed - len(group))
            arguments += [f"{k} {v}" for k, v in operands_of(e, group, kind)]
        for n, values in enumerate(call_assembly(op, e, arguments, made_kinds, packed)):
            out[n] += values[: count - at]
    return out if tile else [o[0] for o in out]


def operands_of(e: Threads, group: list[str], kind: str) -> list[tuple[str, str]]:
    """The registers that a group of elements is passed in."""
    if len(group) > 1 and width(kind) < 32:
        per = min(len(group), 32 // width(kind))
        return [(f"i{per * width(kind)}", w) for w in e.pack(group, kind, per * width(kind))]
    if kind in ("half", "bfloat"):
        return [("i16", e.to_bits(v, kind)) for v in group]
    return [(kind, v) for v in group]


def call_assembly(op: Operation, e: Threads, arguments: list[str], kinds: list[str], packed: int) -> list[list[str]]:
    """One call; per result the elements that it gives."""
    layouts = [(kind, max(1, packed * width(kind) // 32) if width(kind) < 32 else packed) for kind in kinds]
    types: list[str] = []
    for kind, registers in layouts:
        each = kind if width(kind) >= 32 else f"i{min(32, packed * width(kind))}"
        types += [each] * registers
    text = op.properties["asm_string"].data.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    constraints = op.properties["constraints"].data.replace(" ", "")
    struct = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
    effect = "" if op.properties["pure"].value.data else "sideeffect "
    call = e.op(f'call {struct} asm {effect}"{text}", "{constraints}"({", ".join(arguments)})')
    words = [call] if len(types) == 1 else [e.op(f"extractvalue {struct} {call}, {i}") for i in range(len(types))]
    out, at = [], 0
    for kind, registers in layouts:
        part = words[at : at + registers]
        at += registers
        out.append(part if width(kind) >= 32 else e.unpack(part, kind, min(32, packed * width(kind))))
    return out


@rules.lower("tt.extern_elementwise")
def external(op: Operation, e: Threads) -> str | list[list[str]]:
    """A function of a device library, declared here and linked later."""
    symbol, result = op.properties["symbol"].data, scalar_type(op.results[0])
    kinds = [scalar_type(o) for o in op.operands]
    count = e.count(op.results[0].type)
    columns = [e.registers(o) for o in op.operands]
    columns = [c if len(c) == count else c * count for c in columns]
    made = [e.call(result, symbol, kinds, row) for row in zip(*columns, strict=True)]
    return [made] if isinstance(op.results[0].type, TensorType) else made[0]
