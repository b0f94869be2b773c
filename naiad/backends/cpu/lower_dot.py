"""ttc.dot: a function per shape and types, out of line, that runs the register microkernel over the tile.

The panels of B are the outer loop, so that one stays in the first cache while the rows of A pass by.
"""

from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Operation

from naiad.backends.cpu.amx import TileShape, define_amx
from naiad.backends.cpu.kinds import Kind, count, kind, kind_of_type, pointee
from naiad.backends.cpu.lower_casts import from_f32, to_f32
from naiad.backends.cpu.microkernel import DotPlan, dot_plan
from naiad.backends.cpu.writer import CpuEmitter
from naiad.lowering.rules import Rules

rules = Rules()


@dataclass(frozen=True)
class Dot:
    """A product to write: its plan, sizes, element kinds, the distance of the sum's rows, and the flags of ttc.dot."""

    plan: DotPlan
    m: int
    n: int
    k: int
    a: Kind
    b: Kind
    acc: Kind
    packed: bool
    pitch: int
    zero: bool
    unsigned_a: bool
    unsigned_b: bool
    fresh: bool

    @cached_property
    def name(self) -> str:
        marks = {"p": self.packed, "z": self.zero, "f": self.fresh, "u": self.unsigned_a, "v": self.unsigned_b}
        flags = "".join(letter for letter, on in marks.items() if on)
        types = f"{self.a.element}_{self.b.element}_{self.acc.element}"
        apart = "" if self.pitch == self.n else f"_{self.pitch}"
        return f"naiad_dot_{types}_{self.m}x{self.n}x{self.k}{apart}_{flags or 'o'}"

    @property
    def sum(self) -> Kind:
        """What is accumulated in registers."""
        return self.acc if self.acc.element in ("f64", "i64", "i32") else kind("f32")


def dot_of(op: Operation, e: CpuEmitter) -> Dot:
    a, b, acc = [pointee(v) for v in op.operands[:3]]
    m, n, k = [count(op, name) for name in "mnk"]
    packed = "packed" in op.properties
    plan = dot_plan(e.target, m, n, k, a, b, acc)
    if (plan.a_type, plan.b_type) != (a, b) or not packed:
        if packed:
            raise ValueError(f"ttc.dot of {a} and {b}: the plan wants {plan.a_type} and {plan.b_type}")
        plan = DotPlan("fma", plan.mr if plan.method == "fma" else min(m, 4), n, 1, a, b)
    zero, unsigned_a, unsigned_b = (name in op.properties for name in ("zero", "unsigned_a", "unsigned_b"))
    pitch, fresh = count(op, "ldc") if "ldc" in op.properties else n, len(op.operands) > 5
    left, right, total = (kind_of_type(t) for t in (a, b, acc))
    return Dot(plan, m, n, k, left, right, total, packed, pitch, zero, unsigned_a, unsigned_b, fresh)


@rules.lower("ttc.dot")
def dot(op: Operation, e: CpuEmitter) -> None:
    d = dot_of(op, e)
    define = define_amx if d.plan.method == "amx" else define_dot
    helper = e.module.once(d.name, lambda name: define(e, name, d))
    if d.plan.method == "amx" and not e.tiles_set:
        TileShape.of(d).load(e)
    a, b, acc, lda, ldb, *fresh = e.all(op.operands)
    more = "".join(f", i1 {x}" for x in fresh)
    e.do(f"call void {helper}(ptr {a}, i64 {lda}, ptr {b}, i64 {ldb}, ptr {acc}{more})")


PARAMETERS = ["ptr noalias %a", "i64 %lda", "ptr noalias %b", "i64 %ldb", "ptr noalias %c"]


def define_dot(e: CpuEmitter, name: str, d: Dot) -> None:
    """Adds the function of a product that needs no tile registers."""
    if d.fresh:
        raise ValueError("ttc.dot: only tile registers begin a sum as the kernel runs")
    f = CpuEmitter(e.module, e.target)
    kernel = METHODS[d.plan.method](f, d)
    panels(kernel)
    e.module.define("void", name, PARAMETERS, f, "ret void", "internal", e.target.function_attributes + " noinline")


class Fma:
    """acc += broadcast(a) * b, a vector of columns at a time, in f32, f64 or integers.

    The other methods replace what a step multiplies: `column` loads B, `row` A, `multiply` is the instruction.
    """

    def __init__(self, f: CpuEmitter, d: Dot) -> None:
        self.f, self.d = f, d
        width = f.target.lanes(d.sum.bits)
        self.nr = d.plan.nr if d.packed else min(d.n, width * 4)
        self.lanes = min(self.nr, width)
        self.sum = d.sum.wide(self.lanes)
        self.registers = self.nr // self.lanes
        self.rows = d.plan.mr
        self.steps = d.k // d.plan.pack

    def panel(self, number: str) -> tuple[str, str]:
        """(address of the panel, bytes from one step of k to the next)."""
        f, d = self.f, self.d
        if d.packed:
            return f.gep("%b", f.op(f"mul i64 {number}, {d.k * self.nr * d.b.bytes}")), str(
                self.nr * d.plan.pack * d.b.bytes
            )
        pitch = f.op(f"mul i64 %ldb, {d.b.bytes}")
        return f.gep("%b", f.op(f"mul i64 {number}, {self.nr * d.b.bytes}")), pitch

    def before(self, panel: str, pitch: str) -> list[str]:
        """What a panel needs once, before the rows."""
        return []

    def column(self, address: str, register: int) -> str:
        f, source = self.f, self.d.b.wide(self.lanes)
        align = self.lanes * source.bytes if self.d.packed else source.bytes
        value = f.load(source.llvm, f.gep(address, str(register * self.lanes * source.bytes)), min(align, 64))
        return self.widened(source, value, self.d.unsigned_b)

    def row(self, address: str, offset: int) -> str:
        f, source = self.f, self.d.a.wide(0)
        value = f.load(source.llvm, f.gep(address, str(offset * source.bytes)), source.bytes)
        return f.broadcast(self.sum, self.widened(source, value, self.d.unsigned_a))

    def widened(self, source: Kind, value: str, unsigned: bool) -> str:
        """An operand in the kind of the sum."""
        f, want = self.f, self.sum.wide(source.lanes)
        if not want.is_float:
            return f.cast("zext" if unsigned else "sext", source, want, value)
        if want.element == "f64":
            single = source.of("f32")
            return value if source.element == "f64" else f.cast("fpext", single, want, to_f32(f, source, value))
        return to_f32(f, source, value)

    def multiply(self, total: str, a: str, b: str) -> str:
        f, kind = self.f, self.sum
        if not kind.is_float:
            return f.binary("add", kind, total, f.binary("mul", kind, a, b))
        if f.target.has_fma:
            return f.intrinsic("fma", kind.llvm, a, b, total)
        return f.binary("fadd", kind, total, f.binary("fmul", kind, a, b))

    def after(self, total: str, register: int, context: list[str]) -> str:
        return total


class Bf16(Fma):
    """vdpbf16ps: pairs along k."""

    instruction, operand = "llvm.x86.avx512bf16.dpbf16ps.512", "<32 x bfloat>"

    def column(self, address: str, register: int) -> str:
        f = self.f
        words = f.load(self.words, f.gep(address, str(register * self.lanes * 4)), min(4 * self.lanes, 64))
        return self.read(words)

    @property
    def words(self) -> str:
        return f"<{self.lanes} x i32>"

    def read(self, words: str) -> str:
        return self.f.op(f"bitcast {self.words} {words} to {self.operand}")

    def row(self, address: str, offset: int) -> str:
        """The elements of one step, as the 4-byte word that they are, in all lanes."""
        f = self.f
        word = f.load("i32", f.gep(address, str(4 * offset // self.d.plan.pack)), self.d.a.bytes)
        return self.read(f.broadcast(kind("i32", self.lanes), self.changed(word)))

    def changed(self, word: str) -> str:
        return word

    def multiply(self, total: str, a: str, b: str) -> str:
        types = (self.sum.llvm, self.operand, self.operand)
        return self.f.call(self.sum.llvm, self.instruction, types, (total, a, b))


MADD = {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}


class Pairs(Bf16):
    """pmaddwd: pairs of i16 along k, exact for what fits into i8."""

    def __init__(self, f: CpuEmitter, d: Dot) -> None:
        super().__init__(f, d)
        self.instruction = MADD.get(self.lanes, "")
        self.operand = f"<{2 * self.lanes} x i16>"

    def multiply(self, total: str, a: str, b: str) -> str:
        f = self.f
        if not self.instruction:  # fewer columns than a register holds
            return f.binary("add", self.sum, total, self.by_lanes(a, b))
        products = f.call(self.sum.llvm, self.instruction, (self.operand, self.operand), (a, b))
        return f.binary("add", self.sum, total, products)

    def by_lanes(self, a: str, b: str) -> str:
        f, lanes = self.f, self.lanes
        pairs, wide = kind("i16", 2 * lanes), kind("i32", 2 * lanes)
        product = f.binary("mul", wide, f.cast("sext", pairs, wide, a), f.cast("sext", pairs, wide, b))
        even, odd = [f.shuffle(wide, product, "poison", list(range(s, 2 * lanes, 2))) for s in (0, 1)]
        return f.binary("add", self.sum, even, odd)


class Int8(Bf16):
    """vpdpbusd: four u8 times s8 along k. Where both have one sign, A is moved by 128 and the columns of B, summed,
    put it right: (a + 128) b - 128 b. sdot has no such trouble."""

    def __init__(self, f: CpuEmitter, d: Dot) -> None:
        super().__init__(f, d)
        self.operand = f"<{4 * self.lanes} x i8>"
        self.moved = d.unsigned_a == d.unsigned_b and f.target.is_x86
        self.swapped = d.unsigned_b  # the first operand of the instruction is the unsigned one

    def changed(self, word: str) -> str:
        return self.f.op(f"xor i32 {word}, {-0x7F7F7F80}") if self.moved else word

    def multiply(self, total: str, a: str, b: str) -> str:
        f = self.f
        if not f.target.is_x86:
            return f.call(self.sum.llvm, f"llvm.aarch64.neon.{'u' if self.d.unsigned_a else 's'}dot.v4i32.v16i8",
                          (self.sum.llvm, self.operand, self.operand), (total, a, b))  # fmt: skip
        first, second = (b, a) if self.swapped else (a, b)
        name = f"llvm.x86.avx512.vpdpbusd.{32 * self.lanes}"
        return f.call(self.sum.llvm, name, (self.sum.llvm, self.operand, self.operand), (total, first, second))

    def before(self, panel: str, pitch: str) -> list[str]:
        """128 times the sums of B's columns."""
        if not self.moved:
            return []
        f, zero = self.f, "zeroinitializer"
        ones = f.op(f"bitcast {self.words} splat (i32 {0x01010101}) to {self.operand}")

        def step(k: str, sums: list[str]) -> list[str]:
            address = f.gep(panel, f.op(f"mul i64 {k}, {pitch}"))
            return [self.multiply(s, ones, self.column(address, r)) for r, s in enumerate(sums)]

        sums = f.loop("0", str(self.steps), "1", [(self.sum.llvm, zero)] * self.registers, step)
        return [f.binary("shl", self.sum, s, f.number_of(7, self.sum)) for s in sums]

    def after(self, total: str, register: int, context: list[str]) -> str:
        if not self.moved:
            return total
        return self.f.binary("add" if self.swapped else "sub", self.sum, total, context[register])


METHODS = {"fma": Fma, "bf16": Bf16, "int8": Int8, "pairs": Pairs}


def panels(kernel: Fma) -> None:
    """The loops over panels of B and blocks of rows of A."""
    f, d = kernel.f, kernel.d
    pitch_a = f.op(f"mul i64 %lda, {d.a.bytes}")
    block = f.op(f"mul i64 {pitch_a}, {kernel.rows}")

    def panel(number: str, _: list[str]) -> None:
        address, pitch = kernel.panel(number)
        context = kernel.before(address, pitch)
        place = f.gep("%c", f.op(f"mul i64 {number}, {kernel.nr * d.acc.bytes}"))

        def rows(r: str, _: list[str]) -> None:
            a = f.gep("%a", f.op(f"mul i64 {r}, {block}"))
            c = f.gep(place, f.op(f"mul i64 {r}, {kernel.rows * d.pitch * d.acc.bytes}"))
            register_block(kernel, a, pitch_a, address, pitch, c, context)

        f.loop("0", str(d.m // kernel.rows), "1", [], rows)

    f.loop("0", str(d.n // kernel.nr), "1", [], panel)


def register_block(kernel: Fma, a: str, pitch_a: str, b: str, pitch_b: str, c: str, context: list[str]) -> None:
    """The block at `c` in registers, over all of k."""
    f, d = kernel.f, kernel.d
    rows = [a] + [f.gep(a, f.op(f"mul i64 {pitch_a}, {i}")) for i in range(1, kernel.rows)]
    places = [[f.gep(c, str((i * d.pitch + r * kernel.lanes) * d.acc.bytes)) for r in range(kernel.registers)]
              for i in range(kernel.rows)]  # fmt: skip
    memory, align = d.acc.wide(kernel.lanes), min(64, kernel.lanes * d.acc.bytes)
    first = "zeroinitializer"
    carried = []
    for line in places:
        for place in line:
            value = first if d.zero else load_sum(f, memory, place, align)
            carried.append((kernel.sum.llvm, value))
    unroll = min(4, kernel.steps)

    def step(k: str, sums: list[str]) -> list[str]:
        sums = list(sums)
        address = f.gep(b, f.op(f"mul i64 {k}, {pitch_b}"))
        here = [f.gep(row, f.op(f"mul i64 {k}, {d.plan.pack * d.a.bytes}")) for row in rows]
        for u in range(unroll):
            columns = [kernel.column(address, r) for r in range(kernel.registers)]
            for i in range(kernel.rows):
                left = kernel.row(here[i], u * d.plan.pack)
                for r in range(kernel.registers):
                    at = i * kernel.registers + r
                    sums[at] = kernel.multiply(sums[at], left, columns[r])
            address = f.gep(address, pitch_b) if u + 1 < unroll else address
        return sums

    totals = f.loop("0", str(kernel.steps), str(unroll), carried, step)
    for n, place in enumerate(p for line in places for p in line):
        total = kernel.after(totals[n], n % kernel.registers, context)
        f.store(memory.llvm, total if memory == kernel.sum else from_f32(f, memory, total), place, align)


def load_sum(f: CpuEmitter, memory: Kind, place: str, align: int) -> str:
    value = f.load(memory.llvm, place, align)
    return to_f32(f, memory, value) if memory.is_small_float else value
