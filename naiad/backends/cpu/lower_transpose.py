"""ttc.transpose: a function per element width, loops over square blocks that are turned in registers.

One copy of the network of shuffles a module, since each costs a tenth of a millisecond to compile.
"""

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, count, kind, kind_of_type, pointee
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules

rules = Rules()


@rules.lower("ttc.transpose")
def transpose(op: Operation, e: CpuEmitter) -> None:
    element = kind_of_type(pointee(op.operands[0])).memory.bits
    m, n = [count(op, name) for name in "mn"]
    side = min(e.target.lanes(element), 16, m, n)
    lanes = kind(f"i{element}", side if side > 1 else 0)
    helper = e.module.once(f"naiad_transpose_i{element}_{side}", lambda name: define(e, name, lanes))
    source, target, pitch_s, pitch_t = e.all(op.operands)
    e.do(f"call void {helper}(ptr {source}, ptr {target}, i64 {pitch_s}, i64 {pitch_t}, i64 {m}, i64 {n})")


def define(e: CpuEmitter, name: str, row: Kind) -> None:
    """(source, target, pitch of each, m, n): m and n are multiples of the block's side."""
    f = CpuEmitter(e.module, e.target)
    side = str(max(row.lanes, 1))

    def down(i: str, _: list[str]) -> None:
        line = f.gep("%s", f.op(f"mul i64 {i}, %ps"), row.scalar)

        def across(j: str, _: list[str]) -> None:
            column = f.gep("%t", f.op(f"mul i64 {j}, %pt"), row.scalar)
            block(f, row, f.gep(line, j, row.scalar), f.gep(column, i, row.scalar))

        f.loop("0", "%n", side, [], across, runs=True)

    f.loop("0", "%m", side, [], down, runs=True)
    parameters = ["ptr noalias %s", "ptr noalias %t", "i64 %ps", "i64 %pt", "i64 %m", "i64 %n"]
    e.module.define("void", name, parameters, f, "ret void", "internal", e.target.function_attributes + " noinline")


def block(f: CpuEmitter, row: Kind, source: str, target: str) -> None:
    rows = []
    for i in range(max(row.lanes, 1)):
        rows.append(f.load(row.llvm, source, row.bytes))
        source = f.gep(source, "%ps", row.scalar) if i + 1 < row.lanes else source
    for i, value in enumerate(turned(f, row, rows)):
        f.store(row.llvm, value, target, row.bytes)
        target = f.gep(target, "%pt", row.scalar) if i + 1 < row.lanes else target


def turned(f: CpuEmitter, row: Kind, rows: list[str]) -> list[str]:
    """The columns of a square block: interleaving within 16 bytes, a bit of the row's number at a time, then moving the
    16-byte pieces. Both are one cheap instruction a shuffle; the rows come out with the first bits reversed."""
    inner = min(row.lanes, 128 // row.bits) or 1
    count, width = inner.bit_length() - 1, max(row.lanes, 1).bit_length() - 1
    for bit in range(width):
        shuffles = [interleaved(row.lanes, inner, 1 << bit, high) if bit < count else pieces(row.lanes, inner, high)
                    for high in (0, 1)]  # fmt: skip
        one = 1 << bit
        rows = [f.shuffle(row, rows[i & ~one], rows[i | one], shuffles[i >> bit & 1]) for i in range(row.lanes)]
    return [rows[place_of(i, count)] for i in range(len(rows))]


def interleaved(lanes: int, inner: int, width: int, high: int) -> list[int]:
    """Blocks of `width` elements of two vectors in turn, from the low or high half of each 16 bytes."""
    picked = []
    for start in range(0, lanes, inner):
        for block in range(inner // width // 2):
            first = start + high * (inner // 2) + block * width
            picked += [*range(first, first + width), *range(lanes + first, lanes + first + width)]
    return picked


def pieces(lanes: int, inner: int, odd: int) -> list[int]:
    """The even or odd 16-byte pieces of one vector, then those of the other."""
    starts = [base + piece * inner for base in (0, lanes) for piece in range(odd, lanes // inner, 2)]
    return [start + k for start in starts for k in range(inner)]


def place_of(row: int, count: int) -> int:
    """Where the row stands: its first `count` bits are reversed."""
    low = sum((row >> bit & 1) << (count - 1 - bit) for bit in range(count))
    return (row >> count << count) | low
