"""ttc.transpose: a function per element width, loops over square blocks that are turned in registers.

Turning a block of 2**s rows takes s rounds; in the round of width w, rows i and i + w exchange their blocks of w lanes. One
copy of that network a module, since each of its shuffles costs a tenth of a millisecond to compile.
"""

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import Kind, kind, kind_of_type
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules

rules = Rules()


@rules.lower("ttc.transpose")
def transpose(op: Operation, e: CpuEmitter) -> None:
    element = kind_of_type(op.operands[0].type.pointee).memory.bits
    m, n = [op.properties[name].value.data for name in "mn"]
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
    """The columns of a square block of `row.lanes` rows."""
    lanes, width = row.lanes, row.lanes // 2
    while width:
        following = list(rows)
        low = [x if not x & width else lanes + (x ^ width) for x in range(lanes)]
        high = [x | width if not x & width else lanes + x for x in range(lanes)]
        for i in range(lanes):
            if not i & width:
                a, b = rows[i], rows[i + width]
                following[i], following[i + width] = f.shuffle(row, a, b, low), f.shuffle(row, a, b, high)
        rows, width = following, width // 2
    return rows
