"""Making vectors and taking them apart: splat, iota, extract, insert, shuffle, reduce."""

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, kind_of, word
from naiad.backends.cpu.lower_casts import from_f32, to_f32
from naiad.backends.cpu.lower_elementwise import combine
from naiad.backends.cpu.writer import CpuEmitter, operand_kind, result_kind
from naiad.lowering.emitter import suffix
from naiad.lowering.rules import Rules

rules = Rules()

INTEGER_REDUCTIONS = {"addi": "add", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor", "maxsi": "smax",
                      "maxui": "umax", "minsi": "smin", "minui": "umin"}  # fmt: skip


@rules.lower("ttc.splat")
def splat(op: Operation, e: CpuEmitter) -> str:
    return e.broadcast(result_kind(op), e.of(op.operands[0]))


@rules.lower("ttc.iota")
def iota(op: Operation, e: CpuEmitter) -> str:
    kind = result_kind(op)
    return counting(kind)


def counting(kind: Kind) -> str:
    """The constant 0, 1, 2, ..."""
    return "<" + ", ".join([f"{kind.scalar} {i}" for i in range(kind.lanes)]) + ">"


@rules.lower("ttc.extract")
def extract(op: Operation, e: CpuEmitter) -> str:
    vector, lane = e.all(op.operands)
    return e.op(f"extractelement {operand_kind(op).llvm} {vector}, {kind_of(op.operands[1]).llvm} {lane}")


@rules.lower("ttc.insert")
def insert(op: Operation, e: CpuEmitter) -> str:
    value, vector, lane = e.all(op.operands)
    kind, index = result_kind(op), kind_of(op.operands[2])
    return e.op(f"insertelement {kind.llvm} {vector}, {kind.scalar} {value}, {index.llvm} {lane}")


@rules.lower("ttc.shuffle")
def shuffle(op: Operation, e: CpuEmitter) -> str:
    indices = op.properties["indices"]
    assert isinstance(indices, DenseArrayBase)
    a, b = e.all(op.operands)
    return e.shuffle(operand_kind(op), a, b, list(indices.get_values()))


@rules.lower("ttc.reduce")
def reduce(op: Operation, e: CpuEmitter) -> str:
    return reduced(e, word(op, "kind"), operand_kind(op), e.of(op.operands[0]))


def reduced(e: CpuEmitter, name: str, kind: Kind, value: str) -> str:
    """All lanes combined by the op `arith.<name>`, in any order; small floats are rounded once, at the end."""
    if kind.is_small_float:
        return from_f32(e, kind.wide(0), reduced(e, name, kind.of("f32"), to_f32(e, kind, value)))
    if name in INTEGER_REDUCTIONS:
        return e.call(
            kind.scalar, f"llvm.vector.reduce.{INTEGER_REDUCTIONS[name]}.{suffix(kind.llvm)}", (kind.llvm,), (value,)
        )
    if name in ("addf", "mulf"):
        neutral = e.number_of(-0.0 if name == "addf" else 1.0, kind.wide(0))
        intrinsic = f"llvm.vector.reduce.f{name[:3]}.{suffix(kind.llvm)}"
        return e.call(kind.scalar, intrinsic, (kind.scalar, kind.llvm), (neutral, value), flags="reassoc")
    return halved(e, name, kind, value)


def halved(e: CpuEmitter, name: str, kind: Kind, value: str) -> str:
    """The two halves of the vector combined until one lane is left: LLVM's own fmax reduction takes five times as
    long."""
    lanes = kind.lanes
    while lanes > 1:
        half = kind.wide(lanes // 2)
        low = e.shuffle(kind.wide(lanes), value, "poison", list(range(lanes // 2)))
        high = e.shuffle(kind.wide(lanes), value, "poison", list(range(lanes // 2, lanes)))
        value, lanes = combine(e, name, half, low, high), lanes // 2
    return e.extract(kind.wide(1), value, 0)
