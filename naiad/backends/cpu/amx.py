"""Products on the tile registers of AMX: 16 rows of 64 bytes each, bf16 into f32 or bytes into i32.

Tiles 0 to 3 hold a block of 2 x 2 tiles of the sum, 4 and 5 rows of A, 6 and 7 columns of B. A panel of B is as wide as
the block. The shapes of the tiles are set once a launch where all products of a kernel have one shape.

Where many panels read the same rows of A, these are copied to where they stay in the first cache: in A they are often
pages apart, in the same few sets of it. The next rows are asked for meanwhile, since the hardware does not look past a
page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from naiad.backends.cpu.writer import CpuEmitter

if TYPE_CHECKING:
    from naiad.backends.cpu.lower_dot import Dot

PARAMETERS = ["ptr noalias %a", "i64 %lda", "ptr noalias %b", "i64 %ldb", "ptr noalias %c"]
SUMS, LEFT, RIGHT = 0, 4, 6
PANELS = 4
"""Rows of A that so many panels of B read are copied."""
COPIED = 32 << 10
"""Bytes of A at most that are: they share a first cache of 48 KB with a panel's tiles and the sum's."""
LINE = 64


@dataclass(frozen=True)
class TileShape:
    """rows, columns of a tile of the sum (columns of 4 bytes) and the bytes of k that a tile of A holds in a row."""

    rows: int
    columns: int
    depth: int

    @classmethod
    def of(cls, d: "Dot") -> "TileShape":
        return cls(min(16, d.m), min(16, d.n), min(64, d.k * d.a.bytes))

    @property
    def configuration(self) -> list[int]:
        """The 64 bytes that ldtilecfg reads: palette 1, bytes of a row of each tile, rows of each tile."""
        widths, heights = [0] * 8, [0] * 8
        for n in range(8):
            widths[n] = self.depth if LEFT <= n < RIGHT else 4 * self.columns
            heights[n] = self.depth // 4 if n >= RIGHT else self.rows
        data = [0] * 64
        data[0] = 1
        for n in range(8):
            data[16 + 2 * n] = widths[n]
            data[48 + n] = heights[n]
        return data

    def load(self, e: CpuEmitter) -> None:
        """Sets the shapes."""
        table = e.module.table("i8", [str(b) for b in self.configuration])
        e.call("void", "llvm.x86.ldtilecfg", ("ptr",), (table,))


def define_amx(e: CpuEmitter, name: str, d: "Dot") -> None:
    """Adds the function of a product on tiles of the shape that is set."""
    f = CpuEmitter(e.module, e.target)
    kernel = Tiles(f, d)
    kernel.write()
    f.lines[:0] = f.frame
    parameters = [*PARAMETERS, "i1 %fresh"] if d.fresh else PARAMETERS
    e.module.define("void", name, parameters, f, "ret void", "internal", e.target.function_attributes + " noinline")


class Tiles:
    """The loops of a product over blocks of up to 2 x 2 tiles."""

    def __init__(self, f: CpuEmitter, d: "Dot") -> None:
        self.f, self.d, self.shape = f, d, TileShape.of(d)
        self.high, self.wide = d.plan.mr // self.shape.rows, d.plan.nr // self.shape.columns
        letters = "".join("u" if unsigned else "s" for unsigned in (d.unsigned_a, d.unsigned_b))
        self.row, self.panels = d.k * d.a.bytes, d.n // d.plan.nr
        self.multiply = "llvm.x86.tdpbf16ps" if d.a.element == "bf16" else f"llvm.x86.tdpb{letters}d"

    def write(self) -> None:
        self.pitch_a = self.f.op(f"mul i64 %lda, {self.d.a.bytes}")
        copies = self.panels >= PANELS and self.row % LINE == 0 and self.d.plan.mr * self.row <= COPIED
        (self.rows_first if copies else self.panels_first)()

    def panels_first(self) -> None:
        """A read in place, while a panel of B stays in the first cache."""
        f, d = self.f, self.d

        def panel(number: str, _: list[str]) -> None:
            b = f.gep("%b", f.op(f"mul i64 {number}, {d.k * d.plan.nr * d.b.bytes}"))
            place = f.gep("%c", f.op(f"mul i64 {number}, {4 * d.plan.nr}"))

            def rows(r: str, _: list[str]) -> None:
                first = f.op(f"mul i64 {r}, {d.plan.mr}")
                a = f.gep("%a", f.op(f"mul i64 {first}, {self.pitch_a}"))
                self.block((a, self.pitch_a), b, f.gep(place, f.op(f"mul i64 {first}, {4 * d.pitch}")))

            f.loop("0", str(d.m // d.plan.mr), "1", [], rows)

        f.loop("0", str(d.n // d.plan.nr), "1", [], panel)

    def rows_first(self) -> None:
        """Some rows of A copied, while all of B passes by."""
        f, d = self.f, self.d
        pitch = self.row + LINE  # so that the rows of a tile are not in the same sets of the cache
        copy, height = f.slot("i8", d.plan.mr * pitch), d.plan.mr
        below = f.op(f"mul i64 {self.pitch_a}, {height}")
        some = max(1, height // self.panels)  # of the next rows, that a panel asks for

        def rows(r: str, _: list[str]) -> None:
            a = f.gep("%a", f.op(f"mul i64 {r}, {below}"))
            self.copy(a, copy, pitch)
            following = f.gep(a, below)
            place = f.gep("%c", f.op(f"mul i64 {r}, {4 * d.pitch * height}"))

            def panel(number: str, _: list[str]) -> None:
                b = f.gep("%b", f.op(f"mul i64 {number}, {d.k * d.plan.nr * d.b.bytes}"))
                c = f.gep(place, f.op(f"mul i64 {number}, {4 * d.plan.nr}"))
                first = f.op(f"mul i64 {f.op(f'mul i64 {number}, {some}')}, {self.pitch_a}")
                ahead = [f.gep(following, first)]
                while len(ahead) < some:
                    ahead.append(f.gep(ahead[-1], self.pitch_a))
                self.block((copy, str(pitch)), b, c, ahead)

            f.loop("0", str(self.panels), "1", [], panel)

        f.loop("0", str(d.m // height), "1", [], rows)

    def copy(self, a: str, to: str, pitch: int) -> None:
        """The rows of a block, `pitch` bytes apart."""
        f, line = self.f, f"<{LINE} x i8>"

        def row(r: str, _: list[str]) -> None:
            source = f.gep(a, f.op(f"mul i64 {r}, {self.pitch_a}"))
            target = f.gep(to, f.op(f"mul i64 {r}, {pitch}"))
            for at in range(0, self.row, LINE):
                f.store(line, f.load(line, f.gep(source, str(at)), 1), f.gep(target, str(at)), LINE)

        f.loop("0", str(self.d.plan.mr), "1", [], row)

    def block(self, left: tuple[str, str], b: str, c: str, ahead: Sequence[str] = ()) -> None:
        """One block of the sum, over all of k. left: the rows of A and their pitch in bytes; ahead: rows to ask for."""
        f, d, shape = self.f, self.d, self.shape
        a, pitch = left
        below = f.op(f"mul i64 {pitch}, {shape.rows}")
        lefts = [a, f.gep(a, below)][: self.high]
        sums = [(SUMS + 2 * i + j, f.gep(c, str(4 * (i * shape.rows * d.pitch + j * shape.columns))))
                for i in range(self.high) for j in range(self.wide)]  # fmt: skip
        self.begin(sums)

        def step(k: str, _: list[str]) -> None:
            for i, left in enumerate(lefts):
                self.move("tileloadd64", LEFT + i, f.gep(left, k), pitch)
            deep = f.gep(b, f.op(f"mul i64 {k}, {d.plan.nr}"))  # bytes of k, over 4, times 4 nr bytes a row
            for j in range(self.wide):
                self.move("tileloadd64", RIGHT + j, f.gep(deep, str(4 * j * shape.columns)), str(4 * d.plan.nr))
            for tile, _place in sums:
                operands = (str(tile), str(LEFT + tile // 2), str(RIGHT + tile % 2))
                f.call("void", self.multiply, ("i8", "i8", "i8"), operands)
            for row in ahead:
                f.call("void", "llvm.prefetch.p0", ("ptr", "i32", "i32", "i32"), (f.gep(row, k), "0", "3", "1"))

        f.loop("0", str(d.k * d.a.bytes), str(shape.depth), [], step)
        for tile, place in sums:
            self.move("tilestored64", tile, place, str(4 * d.pitch))

    def begin(self, sums: list[tuple[int, str]]) -> None:
        """Tiles of the sum as memory has them, or zero."""
        f, d = self.f, self.d

        def load() -> None:
            for tile, place in sums:
                self.move("tileloadd64", tile, place, str(4 * d.pitch))

        def clear() -> None:
            for tile, _ in sums:
                f.call("void", "llvm.x86.tilezero", ("i8",), (str(tile),))

        if d.fresh and not d.zero:
            f.when("%fresh", (), clear, load)
        else:
            (clear if d.zero else load)()

    def move(self, name: str, tile: int, place: str, pitch: str) -> None:
        self.f.call("void", f"llvm.x86.{name}", ("i8", "ptr", "i64"), (str(tile), place, pitch))


def shapes(dots: "list[Dot]") -> set[TileShape]:
    """The tile shapes that products want."""
    return {TileShape.of(d) for d in dots if d.plan.method == "amx"}
