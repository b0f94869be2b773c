"""Functions of a device library by their symbol, and inline assembly.

The CPU answers to the names of CUDA's libdevice (`__nv_tanhf`, `__nv_clzll`) and to those of libm itself: ours where
there is a vector formula, else libm a lane at a time.
"""

import re

from xdsl.ir import Operation

from naiad.backends.cpu import libdevice_directed, libdevice_float, libdevice_integer
from naiad.backends.cpu.kinds import Kind, count, kind, kind_of, word
from naiad.backends.cpu.lower_casts import from_f32, to_f32
from naiad.backends.cpu.lower_elementwise import whole
from naiad.backends.cpu.lower_math import FUNCTIONS, apply
from naiad.backends.cpu.math_formula import Number
from naiad.backends.cpu.math_libm import by_lanes
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules

rules = Rules()

FORMULAS = libdevice_integer.RULES | libdevice_float.RULES | libdevice_directed.RULES
ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven", "nearbyint": "roundeven"}
INTRINSICS = {"sqrt": "sqrt", "fabs": "fabs", "copysign": "copysign", "fma": "fma", "round": "round"}
LIBM = frozenset({
    "acosh", "asinh", "atanh", "j0", "j1", "y0", "y1", "jn", "yn", "erfc", "lgamma", "tgamma", "logb", "nextafter",
    "hypot", "fmod", "remainder", "fdim", "atan2", "cbrt", "ldexp", "scalbn", "ilogb", "exp10",
})  # fmt: skip
FAST = {"fast_sinf": "sinf", "fast_cosf": "cosf", "fast_tanf": "tanf", "fast_log2f": "log2f", "fast_logf": "logf",
        "fast_log10f": "log10f", "fast_expf": "expf", "fast_exp10f": "exp10f", "fast_powf": "powf"}  # fmt: skip
OCML = re.compile(r"__ocml_(\w+)_f(32|64)")


@rules.lower("tt.extern_elementwise")
def external(op: Operation, e: CpuEmitter) -> str:
    kinds, result = [kind_of(v) for v in op.operands], kind_of(op.results[0])
    operands = e.all(op.operands)
    if not any(k.is_small_float for k in (result, *kinds)):
        return write(e, word(op, "symbol"), kinds, operands, result)
    values = [to_f32(e, k, x) if k.is_small_float else x for k, x in zip(kinds, operands, strict=True)]
    wide = [k.of("f32") if k.is_small_float else k for k in kinds]
    answer = write(e, word(op, "symbol"), wide, values, result.of("f32") if result.is_small_float else result)
    return from_f32(e, result, answer) if result.is_small_float else answer


def plain_name(symbol: str) -> str:
    """The name as libm would spell it."""
    if match := OCML.fullmatch(symbol):
        return match[1] + ("f" if match[2] == "32" else "")
    name = symbol.removeprefix("__nv_")
    return FAST.get(name, name)


def write(e: CpuEmitter, symbol: str, kinds: list[Kind], operands: list[str], result: Kind) -> str:
    """The function on operands of f32, f64 and integers."""
    name = plain_name(symbol)
    if (formula := FORMULAS.get(name)) is not None:
        return formula(*[Number(e, k, x) for k, x in zip(kinds, operands, strict=True)]).text
    single = kinds[-1].element == "f32" or kinds[0].element == "f32"
    base = name.removesuffix("f") if single and name != "erf" else name
    if base in ROUNDING:
        return whole(e, ROUNDING[base], result, operands[0])
    if base in INTRINSICS:
        return e.intrinsic(INTRINSICS[base], result.llvm, *operands)
    if base in FUNCTIONS and all(k == result for k in kinds):
        return apply(e, base, result, operands)
    if base == "powi":
        return integer_power(e, kinds, operands, result)
    if base in LIBM or not symbol.startswith("__"):
        return by_lanes(e, name, result, operands, kinds)
    raise NotImplementedError(f"the CPU has no device function {symbol}")


def integer_power(e: CpuEmitter, kinds: list[Kind], operands: list[str], result: Kind) -> str:
    """x**n for an integer n, in f64."""
    wide = result.of("f64")
    x = operands[0] if result == wide else e.cast("fpext", result, wide, operands[0])
    y = by_lanes(e, "pow", wide, [x, e.cast("sitofp", kinds[1], wide, operands[1])])
    return y if result == wide else e.cast("fptrunc", wide, result, y)


# -- inline assembly


@rules.lower("tt.elementwise_inline_asm")
def assembly(op: Operation, e: CpuEmitter) -> list[str]:
    """The text once for each `packed_element` lanes; elements of less than 32 bits go in packed words."""
    pack = count(op, "packed_element")
    kinds, results = [kind_of(v) for v in op.operands], [kind_of(r) for r in op.results]
    lanes = (kinds or results)[0].lanes
    if lanes % pack if lanes else pack != 1:
        raise NotImplementedError(f"inline assembly on {pack} elements at a time of a vector of {max(lanes, 1)}")
    outs = ["poison" if r.lanes else "" for r in results]
    for first in range(0, max(lanes, 1), pack):
        inputs = [x for v, k in zip(op.operands, kinds, strict=True) for x in words(e, k, e.of(v), first, pack)]
        outputs = [t for r in results for t in word_types(r, pack)]
        answers = called(e, op, inputs, outputs)
        for n, r in enumerate(results):
            taken = len(word_types(r, pack))
            outs[n] = put(e, r, outs[n], answers[:taken], first, pack)
            answers = answers[taken:]
    return outs


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


def called(e: CpuEmitter, op: Operation, inputs: list[tuple[str, str]], outputs: list[str]) -> list[str]:
    """The call of the assembly itself."""
    text = word(op, "asm_string").replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    effect = "" if count(op, "pure") else "sideeffect "
    result = outputs[0] if len(outputs) == 1 else "{ " + ", ".join(outputs) + " }"
    given = ", ".join(f"{t} {x}" for t, x in inputs)
    call = f'call {result} asm {effect}"{text}", "{word(op, "constraints")}"({given})'
    whole = e.op(call)
    if len(outputs) == 1:
        return [whole]
    return [e.op(f"extractvalue {result} {whole}, {n}") for n in range(len(outputs))]


def put(e: CpuEmitter, r: Kind, vector: str, answers: list[str], first: int, pack: int) -> str:
    """The answers in lanes first.. of a result."""
    if not r.lanes:
        return answers[0]
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
