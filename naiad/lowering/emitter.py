"""The writer of LLVM text that every backend lowers through: modules, functions, SSA names, blocks, structured loops.

An operand is a string as it stands in the text, `%v12` or `0x3FF0000000000000`; the rules know its type. Writing is
string appending only, about 0.3 us an instruction.

    module = Module()
    e = Emitter(module)
    total = e.loop("0", "%n", "1", [("float", "0.0")], lambda i, carried: [e.op(f"fadd float {carried[0]}, %x")])
    module.define("float", "sum", ["i64 %n", "float %x"], e, f"ret float {total[0]}")
"""

import functools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

SHORT = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}


class Module:
    """The text of an LLVM module: globals, declarations, functions, attributes and metadata, each written once."""

    def __init__(self) -> None:
        self.declarations: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.metadata: list[str] = []
        self.named_metadata: list[str] = []

    def declare(self, result: str, name: str, parameters: str) -> None:
        """An external function or intrinsic; nothing happens if the module defines or declares it already."""
        if name not in self.declarations and name not in self.functions:
            self.declarations[name] = f"declare {result} @{name}({parameters})"

    def define(self, result: str, name: str, parameters: Sequence[str], body: "Emitter", end: str,
               linkage: str = "", attributes: str = "nounwind") -> None:  # fmt: skip
        """Adds the function whose body `body` holds, closed by the terminator `end`."""
        lines = "\n".join(body.lines)
        head = f"define {linkage}{' ' if linkage else ''}{result} @{name}({', '.join(parameters)}) {attributes}"
        self.functions[name] = f"{head} {{\nentry:\n{lines}\n  {end}{body.suffix}\n}}"

    def once(self, name: str, write: Callable[[str], None]) -> str:
        """`@name` of a function that `write(name)` adds at the first request."""
        if name not in self.functions:
            self.functions[name] = ""  # reserves the place, so that a function it needs itself comes later
            write(name)
        return f"@{name}"

    def string(self, text: str) -> str:
        """`@name` of a constant that holds `text` and a zero byte; equal texts share one."""
        data = text.encode() + b"\0"
        body = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
        if (known := self.globals.get(body)) is not None:
            return known.split(" ", 1)[0]
        name = f"@text.{len(self.globals)}"
        self.globals[body] = f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{body}", align 1'
        return name

    def table(self, element: str, values: Sequence[str], align: int = 64) -> str:
        """`@name` of a constant array."""
        body = ", ".join(f"{element} {v}" for v in values)
        if (known := self.globals.get(body)) is not None:
            return known.split(" ", 1)[0]
        name = f"@table.{len(self.globals)}"
        shape = f"[{len(values)} x {element}]"
        self.globals[body] = f"{name} = private unnamed_addr constant {shape} [{body}], align {align}"
        return name

    def node(self, text: str) -> str:
        """`!n` of a new metadata node."""
        self.metadata.append(text)
        return f"!{len(self.metadata) - 1}"

    def text(self) -> str:
        """The whole module; a target triple is the toolchain's to add."""
        numbered = [f"!{i} = {node}" for i, node in enumerate(self.metadata)]
        functions = list(self.functions.values())
        named = self.named_metadata
        parts = [*self.globals.values(), *self.declarations.values(), *functions, *named, *numbered]
        return "\n".join(parts) + "\n"


class Emitter:
    """Writes the body of one function. `block` is the label of the block being written, `values` the map from IR values
    to operands that the rules fill (a string, or a list of them: the backend decides)."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self.values: dict[Any, Any] = {}
        self.number = 0
        self.block = "entry"
        self.locations: Any = None  # Locations, where lines are wanted
        self.suffix = ""  # ", !dbg !7" while a location is set

    def op(self, text: str) -> str:
        """Writes an instruction that gives a value; its name is the answer."""
        self.number += 1
        name = f"%v{self.number}"
        self.lines.append(f"  {name} = {text}{self.suffix}")
        return name

    def do(self, text: str) -> None:
        """Writes an instruction that gives nothing."""
        self.lines.append(f"  {text}{self.suffix}")

    def call(self, result: str, name: str, types: Sequence[str], arguments: Sequence[str], flags: str = "") -> str:
        """Calls `name`, declared when the module does not define it. '' if `result` is void."""
        self.module.declare(result, name, ", ".join(types))
        given = ", ".join([f"{t} {a}" for t, a in zip(types, arguments, strict=True)])
        text = f"call {flags}{' ' if flags else ''}{result} @{name}({given})"
        if result != "void":
            return self.op(text)
        self.do(text)
        return ""

    def intrinsic(self, name: str, type: str, *arguments: str, flags: str = "") -> str:
        """Calls `llvm.<name>.<type>` whose arguments and result are all of `type`."""
        return self.call(type, f"llvm.{name}.{suffix(type)}", (type,) * len(arguments), arguments, flags)

    # -- blocks

    def label(self, name: str) -> str:
        """A fresh label with `name` in it, for `start`."""
        self.number += 1
        return f"{name}{self.number}"

    def start(self, label: str) -> None:
        """Begins the block `label`; the one before must have ended."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def fork(self, condition: str, then: str, otherwise: str, hint: str = "") -> None:
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}{hint}")

    def phi(self, type: str, *edges: tuple[str, str]) -> str:
        """Chooses by predecessor: (operand, label) pairs."""
        return self.op(f"phi {type} " + ", ".join([f"[ {v}, %{b} ]" for v, b in edges]))

    def when(self, condition: str, types: Sequence[str], then: Callable[[], Sequence[str] | None],
             otherwise: Callable[[], Sequence[str] | None] | None = None, hint: str = "") -> list[str]:  # fmt: skip
        """if/else: the values of the branch that ran. Without `otherwise` there are none."""
        first, second, end = self.label("then"), self.label("else") if otherwise else "", self.label("end")
        self.fork(condition, first, second or end, hint)
        self.start(first)
        left = then() or ()
        first_end = self.block
        self.jump(end)
        if otherwise is None:
            self.start(end)
            return []
        self.start(second)
        right = otherwise() or ()
        second_end = self.block
        self.jump(end)
        self.start(end)
        return [self.phi(t, (a, first_end), (b, second_end)) for t, a, b in zip(types, left, right, strict=True)]

    def loop(self, low: str, high: str, step: str, carried: Sequence[tuple[str, str]],
             body: Callable[[str, list[str]], Sequence[str] | None], type: str = "i64",
             runs: bool | None = None, signed: bool = True) -> list[str]:  # fmt: skip
        """for i in low..high step: `body(i, carried)` gives the next carried values; the last ones are the answer.

        carried: (type, first value). runs: True if the first round is known to be made; told from constants if None.
        """
        runs = always_runs(low, high) if runs is None else runs
        head, end, entry = self.label("loop"), self.label("done"), self.block
        compare = "slt" if signed else "ult"
        if runs:
            self.jump(head)
        else:
            self.fork(self.op(f"icmp {compare} {type} {low}, {high}"), head, end)
        self.start(head)
        place = len(self.lines)
        self.lines.append("")
        index, names = f"%{head}.i", [f"%{head}.c{j}" for j in range(len(carried))]
        following = list(body(index, names) or ())
        advanced = self.op(f"add {type} {index}, {step}")
        self.fork(self.op(f"icmp {compare} {type} {advanced}, {high}"), head, end)
        latch = self.block
        phis = [f"  {index} = phi {type} [ {low}, %{entry} ], [ {advanced}, %{latch} ]"]
        for (t, first), name, new in zip(carried, names, following, strict=True):
            phis.append(f"  {name} = phi {t} [ {first}, %{entry} ], [ {new}, %{latch} ]")
        self.lines[place] = "\n".join(phis)
        self.start(end)
        if runs:
            return following
        return [self.phi(t, (f, entry), (n, latch)) for (t, f), n in zip(carried, following, strict=True)]

    def loop_while(self, carried: Sequence[tuple[str, str]], before: Callable[[list[str]], tuple[str, Sequence[str]]],
                   after: Callable[[list[str]], Sequence[str]]) -> list[str]:  # fmt: skip
        """while: `before(carried)` gives the condition and what goes on, `after` of that the next carried values."""
        head, body, end, entry = self.label("while"), self.label("do"), self.label("done"), self.block
        self.jump(head)
        self.start(head)
        place = len(self.lines)
        self.lines.append("")
        names = [f"%{head}.c{j}" for j in range(len(carried))]
        condition, passed = before(names)
        self.fork(condition, body, end)
        self.start(body)
        following = after(list(passed))
        self.jump(head)
        latch = self.block
        self.lines[place] = "\n".join(
            f"  {name} = phi {t} [ {first}, %{entry} ], [ {new}, %{latch} ]"
            for (t, first), name, new in zip(carried, names, following, strict=True)
        )
        self.start(end)
        return list(passed)


def always_runs(low: str, high: str) -> bool:
    """True when both bounds are constants and the loop between them makes a round."""
    try:
        return int(low) < int(high)
    except ValueError:
        return False


@functools.cache
def suffix(type: str) -> str:
    """How intrinsic names spell a type: `<16 x float>` is v16f32, i32 is i32."""
    if type.startswith("<"):
        lanes, element = type[1:-1].split(" x ")
        return f"v{lanes}{SHORT.get(element, element)}"
    return SHORT.get(type, type)


@functools.cache
def vector_type(element: str, lanes: int) -> str:
    """`<lanes x element>`; the element itself when `lanes` is 0."""
    return f"<{lanes} x {element}>" if lanes else element


def float_literal(value: float, type: str = "float") -> str:
    """A constant of the LLVM type float or double by its bits, so that nan, inf and -0.0 are themselves."""
    if type == "double":
        return double_literal(value)
    if type == "float":
        return double_literal(round_to_f32(value))
    raise ValueError(f"no literal for {type}")


def double_literal(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def round_to_f32(value: float) -> float:
    """The f32 nearest to `value`, as a Python float; too large gives an infinity."""
    if value != value or value in (math.inf, -math.inf):
        return value
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def splat(literal: str, element: str, lanes: int) -> str:
    """A constant in every lane: `splat (float 0x3FF0000000000000)`; the literal itself when `lanes` is 0."""
    return f"splat ({element} {literal})" if lanes else literal
