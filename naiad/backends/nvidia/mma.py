"""tt.dot by mma.sync: the fragments that threads hold are the instruction's operands, 32 bits at a time.

The order of k within a fragment does not matter as long as a and b agree, so that one rule serves every width of k.
"""

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from naiad.backends.nvidia.inline import asm
from naiad.errors import explain
from naiad.ir.base import element
from naiad.lowering.dot import places
from naiad.lowering.threads import Threads, llvm_type, width

__all__ = ["Instruction", "instruction", "multiply"]

Index = tuple[int, ...]


@dataclass(frozen=True)
class Instruction:
    """mma.sync.m16n8k`k`: types in PTX, and whether accumulators are packed halves."""

    k: int
    accumulator: str
    a: str
    b: str

    @property
    def text(self) -> str:
        return f"mma.sync.aligned.m16n8k{self.k}.row.col.{self.accumulator}.{self.a}.{self.b}.{self.accumulator}"


NAMES = {"f16": ("f16", 16), "bf16": ("bf16", 16), "f32": ("tf32", 8), "i8": ("s8", 32), "f8E4M3FN": ("e4m3", 32),
         "f8E5M2": ("e5m2", 32)}  # fmt: skip
ACCUMULATORS = {"float": "f32", "half": "f16", "i32": "s32"}


def instruction(a: str, b: str, accumulator: str) -> Instruction | None:
    """The instruction for element types of the IR and an accumulator of LLVM, or None."""
    if a not in NAMES or b not in NAMES or accumulator not in ACCUMULATORS:
        return None
    (left, k), (right, _) = NAMES[a], NAMES[b]
    is_mixed_fp8 = left in ("e4m3", "e5m2") and right in ("e4m3", "e5m2")
    if (left != right and not is_mixed_fp8) or (accumulator == "i32") != (left == "s8"):
        return None
    if accumulator == "half" and left != "f16":
        return None
    return Instruction(k, ACCUMULATORS[accumulator], left, right)


def words(e: Threads, registers: list[str], at: dict[Index, int], along: int, kind: str) -> dict[Index, list[str]]:
    """For each index without k, the words along k in order. along: the dimension of k."""
    lines: dict[Index, list[int]] = {}
    for index, register in sorted(at.items(), key=lambda item: item[0][along]):
        lines.setdefault(index[:along] + index[along + 1 :], []).append(register)
    return {rest: e.pack([registers[r] for r in line], kind, 32) for rest, line in lines.items()}


def multiply(op: Operation, e: Threads) -> list[str]:
    """The registers of a @ b + c."""
    a, b, c = op.operands
    kind = llvm_type(c.type)
    how = instruction(name_of(a), name_of(b), kind)
    if how is None:
        raise explain(
            NotImplementedError(f"no matrix instruction for {name_of(a)} and {name_of(b)} into {kind}"),
            expected="operands of one type that mma.sync takes, and f32, f16 or i32 as the result",
            advice="give the product a blocked layout: it is computed by multiply-adds then",
        )
    rank = len(a.type.get_shape())
    a_words = words(e, e.registers(a), places(e.layout(a.type)), rank - 1, llvm_type(a.type))
    b_words = words(e, e.registers(b), places(e.layout(b.type)), rank - 2, llvm_type(b.type))
    at = places(e.layout(c.type))
    sums = list(e.registers(c))
    steps = len(next(iter(a_words.values()))) // 2
    tiles = [index for index in at if index[-2] % 16 == 0 and index[-1] % 8 == 0]
    for s in range(steps):
        for *batch, m, n in tiles:
            upper, lower = a_words[*batch, m], a_words[*batch, m + 8]
            given = [
                upper[2 * s],
                lower[2 * s],
                upper[2 * s + 1],
                lower[2 * s + 1],
                *b_words[*batch, n][2 * s : 2 * s + 2],
            ]
            held = [at[*batch, m + i, n + j] for i in (0, 8) for j in (0, 1)]
            for register, made in zip(held, one(e, how, given, [sums[r] for r in held], kind), strict=True):
                sums[register] = made
    return sums


def name_of(value: SSAValue) -> str:
    """The name of an element type: i8, f8E4M3FN, ..."""
    kind = element(value.type)
    return f"i{width(llvm_type(kind))}" if kind.name.startswith("integer") else kind.name


def one(e: Threads, how: Instruction, given: list[str], sums: list[str], kind: str) -> list[str]:
    """One instruction: a has 4 words, b 2; the accumulator 4 registers, or 2 of packed halves."""
    packed = kind == "half"
    accumulators = e.pack(sums, kind, 32) if packed else sums
    n, type = len(accumulators), "i32" if packed else kind
    letter = "f" if type == "float" else "r"
    outs = ", ".join(f"${i}" for i in range(n))
    a = ", ".join(f"${n + i}" for i in range(4))
    b = ", ".join(f"${n + 4 + i}" for i in range(2))
    text = f"{how.text} {{ {outs} }}, {{ {a} }}, {{ {b} }}, {{ {outs} }};"
    constraints = ",".join([f"={letter}"] * n + ["r"] * 6 + [str(i) for i in range(n)])
    arguments = [f"i32 {w}" for w in given] + [f"{type} {x}" for x in accumulators]
    made = asm(e, text, constraints, arguments, [type] * n)
    return e.unpack(made, kind, 32) if packed else made
