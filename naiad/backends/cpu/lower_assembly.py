"""Inline assembly: its text once for each group of elements, tried before it is used.

LLVM ends the process where it cannot assemble something; so that every text is first assembled by a child process.
"""

import functools
import re

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, count, kind, kind_of, word
from naiad.backends.cpu.target import CpuTarget
from naiad.backends.cpu.writer import CpuEmitter
from naiad.errors import explain
from naiad.lowering.rules import Rules

rules = Rules()

PTX = re.compile(r"\.(b8|b16|b32|b64|[us](8|16|32|64)|f16x2|bf16x2|bf16|f16|f32|f64|pred|sync)\b|%(tid|ctaid|laneid)\b")
"""What stands in PTX and in no assembly of a CPU: types in the names of instructions."""


@rules.lower("tt.elementwise_inline_asm")
def assembly(op: Operation, e: CpuEmitter) -> list[str]:
    """Elements of less than 32 bits go in packed words. A group that is not full is filled up with zeros."""
    pack = count(op, "packed_element")
    kinds, results = [kind_of(v) for v in op.operands], [kind_of(r) for r in op.results]
    lanes = (kinds or results)[0].lanes
    total = -(-max(lanes, 1) // pack) * pack
    operands = [filled_up(e, k, e.of(v), total) for v, k in zip(op.operands, kinds, strict=True)]
    try_out(op, e.target, kinds, results, pack)
    outs = ["poison"] * len(results)
    for first in range(0, total, pack):
        inputs = [x for v, k in zip(operands, kinds, strict=True) for x in words(e, k.wide(total), v, first, pack)]
        answers = called(e, call_text(op, kinds, results, pack, [x for _, x in inputs]), results, pack)
        for n, r in enumerate(results):
            taken = len(word_types(r, pack))
            outs[n] = put(e, r.wide(total), outs[n], answers[:taken], first, pack)
            answers = answers[taken:]
    return [taken_of(e, r, x, total) for r, x in zip(results, outs, strict=True)]


def filled_up(e: CpuEmitter, k: Kind, value: str, total: int) -> str:
    """The value as a vector of `total` lanes, zeros behind its own."""
    if not k.lanes:
        return e.insert(k.wide(total), "zeroinitializer", value, 0)
    if k.lanes == total:
        return value
    return e.shuffle(k, value, "zeroinitializer", [min(lane, k.lanes) for lane in range(total)])


def taken_of(e: CpuEmitter, r: Kind, vector: str, total: int) -> str:
    """The lanes of a result of those that were computed."""
    if not r.lanes:
        return e.extract(r.wide(total), vector, 0)
    return vector if r.lanes == total else e.shuffle(r.wide(total), vector, "poison", list(range(r.lanes)))


def word_types(k: Kind, pack: int) -> list[str]:
    """The LLVM types in which `pack` elements go to the assembly: whole, or so many in an i32."""
    fit = min(max(32 // k.bits, 1), pack)
    return [k.scalar if fit == 1 else "i32"] * (pack // fit)


def words(e: CpuEmitter, k: Kind, value: str, first: int, pack: int) -> list[tuple[str, str]]:
    """(type, operand) of lanes first.. of a value."""
    types = word_types(k, pack)
    fit = pack // len(types)
    if fit == 1:
        return [(k.scalar, e.extract(k, value, first + n)) for n in range(pack)]
    found = []
    for n, t in enumerate(types):
        lanes = [first + n * fit + j for j in range(fit)]
        part = e.shuffle(k, value, "poison", lanes)
        found.append((t, e.op(f"bitcast {k.wide(fit).llvm} {part} to i{fit * k.bits}")))
        if fit * k.bits < 32:
            found[-1] = (t, e.op(f"zext i{fit * k.bits} {found[-1][1]} to i32"))
    return found


def outputs_of(results: list[Kind], pack: int) -> list[str]:
    return [t for r in results for t in word_types(r, pack)]


def result_type(results: list[Kind], pack: int) -> str:
    """What the call gives: one word, or a struct of them."""
    outputs = outputs_of(results, pack)
    return outputs[0] if len(outputs) == 1 else "{ " + ", ".join(outputs) + " }"


def call_text(op: Operation, kinds: list[Kind], results: list[Kind], pack: int, operands: list[str]) -> str:
    """The call of the assembly itself."""
    text, constraints = [escaped(word(op, name)) for name in ("asm_string", "constraints")]
    effect = "" if count(op, "pure") else "sideeffect "
    types = [t for k in kinds for t in word_types(k, pack)]
    given = ", ".join(f"{t} {x}" for t, x in zip(types, operands, strict=True))
    return f'call {result_type(results, pack)} asm {effect}"{text}", "{constraints}"({given})'


def escaped(text: str) -> str:
    return text.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")


def called(e: CpuEmitter, call: str, results: list[Kind], pack: int) -> list[str]:
    """The words that a call gives."""
    whole, words = e.op(call), len(outputs_of(results, pack))
    if words == 1:
        return [whole]
    return [e.op(f"extractvalue {result_type(results, pack)} {whole}, {n}") for n in range(words)]


def put(e: CpuEmitter, r: Kind, vector: str, answers: list[str], first: int, pack: int) -> str:
    """The answers in lanes first.. of a result."""
    fit = pack // len(answers)
    for n, answer in enumerate(answers):
        if fit == 1:
            vector = e.insert(r, vector, answer, first + n)
            continue
        part = kind(r.element, fit)
        short = e.op(f"trunc i32 {answer} to i{fit * r.bits}") if fit * r.bits < 32 else answer
        lanes = e.op(f"bitcast i{fit * r.bits} {short} to {part.llvm}")
        for j in range(fit):
            vector = e.insert(r, vector, e.extract(part, lanes, j), first + n * fit + j)
    return vector


# -- the trial


def try_out(op: Operation, target: CpuTarget, kinds: list[Kind], results: list[Kind], pack: int) -> None:
    """Raises what the assembler has against the text."""
    types = [t for k in kinds for t in word_types(k, pack)]
    letters = [f"%x{n}" for n in range(len(types))]
    given = ", ".join(f"{t} {x}" for t, x in zip(types, letters, strict=True))
    call, whole = call_text(op, kinds, results, pack, letters), result_type(results, pack)
    body = f"{{\n  %y = {call}\n  ret {whole} %y\n}}"
    if said := refusal(f"define {whole} @piece({given}) {target.function_attributes} {body}", target):
        raise bad_assembly(op, target, said, (len(outputs_of(results, pack)), len(types)))


def bad_assembly(op: Operation, target: CpuTarget, said: str, words: tuple[int, int]) -> NotImplementedError:
    text = word(op, "asm_string")
    found = f"{text.strip()!r} with constraints {word(op, 'constraints')!r}"
    advice = f"correct it or its constraints, which are those of {words[0]} outputs, $0 first, and of {words[1]} inputs"
    if PTX.search(text):
        found = f"PTX, the assembly of NVIDIA GPUs: {found}"
        advice = "choose it by the target: `if tl.target_info.is_cuda(): ... else: ...`"
    error = NotImplementedError(f"inline assembly that the CPU's assembler refuses: {said}")
    return explain(error, expected=f"assembly for {target.arch}", found=found, advice=advice)


@functools.cache
def refusal(text: str, target: CpuTarget) -> str:
    """What LLVM says against a module, in a line; empty where it takes it."""
    from naiad.backends.cpu.toolchain import Machine, ToolchainError, refuse_bad_assembly

    features = ",".join(f"+{feature}" for feature in sorted(target.features))
    try:
        refuse_bad_assembly(text, Machine(f"{target.arch}-unknown-linux-gnu", target.cpu, features))
    except ToolchainError as error:
        lines = [line for line in str(error).splitlines() if "error: " in line]
        return (lines or [str(error)])[-1].rpartition("error: ")[2] or str(error)
    return ""
