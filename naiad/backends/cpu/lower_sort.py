"""ttc.sort: sorting networks over vectors, rows in place.

A comparison is one minimum and one maximum of two vectors: of integers and of f32 and f64 as they are, of other floats
as integers that order as they do. What is compared when is in sort_plan.py; here each pass over the vectors is written
as a function, which passes of one form share. Rows too long for the scratch are sorted in chunks (sort_long.py).
"""

from xdsl.ir import Operation

from naiad.backends.cpu.kinds import count, kind_of_type, pointee
from naiad.backends.cpu.sort_keys import Order, key_kind
from naiad.backends.cpu.sort_long import LongRow
from naiad.backends.cpu.sort_nans import count_nans, put_nans
from naiad.backends.cpu.sort_pass import LINE, PassWriter
from naiad.backends.cpu.sort_plan import sort_plan
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules

rules = Rules()

SCRATCH = 256 * 1024  # bytes of a row that are sorted at once, in memory of the stack


@rules.lower("ttc.sort")
def sort(op: Operation, e: CpuEmitter) -> None:
    element = kind_of_type(pointee(op.operands[0]))
    order = Order(element.element, "descending" in op.properties, "signed" in op.properties)
    rows, n = [count(op, name) for name in ("rows", "n")]
    if n < 2:
        return
    chunk = min(n, SCRATCH // element.bytes)
    pointer, scratch = e.of(op.operands[0]), e.slot("i8", chunk * element.bytes)
    ahead = e.of(op.operands[1]) if len(op.operands) > 1 and n == chunk else ""
    sorter = Sorter(e, order, n, chunk, fetches=bool(ahead))
    helper = e.module.once(sorter.name, sorter.define)

    def row(i: str, _: list[str]) -> None:
        place = e.gep(pointer, e.op(f"mul i64 {i}, {n * element.bytes}"))
        following = f", ptr {e.gep(ahead, e.op(f'mul i64 {i}, {n * element.bytes}'))}" if ahead else ""
        e.do(f"call void {helper}(ptr {place}, ptr {scratch}{following})")

    e.loop("0", str(rows), "1", [], row)


class Sorter:
    """Writes the functions that sort a row of n elements, `chunk` at a time, and may fetch another row meanwhile."""

    def __init__(self, e: CpuEmitter, order: Order, n: int, chunk: int, fetches: bool) -> None:
        self.e, self.order, self.n, self.chunk, self.fetches = e, order, n, chunk, fetches
        key = key_kind(order)
        lanes = min(e.target.lanes(key.bits), 16 if key.bits == 8 else 64, chunk // 2)
        self.keys = key.wide(lanes if lanes > 1 else 0)
        registers = 4 if e.target.has_avx512 or not e.target.is_x86 else 3
        self.positions = log2(chunk // lanes)
        self.plan = sort_plan(log2(chunk), log2(lanes), log2(128 // key.bits), registers)

    @property
    def name(self) -> str:
        return f"naiad_sort_{self.keys.lanes}_{self.order.name}_{self.n}{'_ahead' if self.fetches else ''}"

    def define(self, name: str) -> None:
        """(row, scratch, the row to fetch): sorts the row."""
        f, n = CpuEmitter(self.e.module, self.e.target), self.n
        nans = count_nans(f, self.keys, "%p", n) if self.keys.is_float else ""
        if n == self.chunk:
            self.write_passes(f, "%p", keyed=True)
        else:
            LongRow(f, self.keys, self.order, n).sort(self.chunk, lambda row: self.write_passes(f, row, keyed=False))
        if nans:
            put_nans(f, self.keys, "%p", "0" if self.order.descending else f.op(f"sub i64 {n}, {nans}"), nans)
        parameters = ["ptr %p", "ptr noalias %q", *(["ptr %ahead"] if self.fetches else [])]
        f.module.define("void", name, parameters, f, "ret void", "internal",
                        f.target.function_attributes + " noinline")  # fmt: skip

    def write_passes(self, f: CpuEmitter, row: str, keyed: bool) -> None:
        """The passes one after the other, from the row to the scratch and back where vectors change places."""
        here, there, last, fetched = row, "%q", len(self.plan) - 1, 0
        odd = sum(made.moves for made in self.plan) % 2 == 1
        for i, made in enumerate(self.plan):
            moved = last > 0 and (made.moves or (i == 0 and odd))  # such that the last one ends in the row
            fetches = self.fetches and fetched < self.n * self.keys.bytes
            writer = PassWriter(self.keys, self.order, made, keyed and i == 0, keyed and i == last, fetches)
            writer.call(
                f, here, there if moved else here, self.positions, f.gep("%ahead", str(fetched)) if fetches else ""
            )
            fetched += LINE << self.positions - len(made.active)
            here, there = (there, here) if moved else (here, there)


def log2(n: int) -> int:
    return n.bit_length() - 1
