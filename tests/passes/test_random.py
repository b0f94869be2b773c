"""Random programs compute the same before and after the pipelines: arithmetic on scalars and tiles, loops, branches."""

import random

import numpy as np
import pytest

from naiad.ir.check import check
from naiad.ir.text import parse
from naiad.tools.opt import passes_of
from tests.ir.execute import Heap, Machine

SCALAR, TILE, SMALL, FLOAT, MASK = "i32", "tensor<4x8xi32>", "tensor<8xi32>", "tensor<4x8xf32>", "tensor<4x8xi1>"
BINARY = {
    "i": [
        "addi",
        "subi",
        "muli",
        "andi",
        "ori",
        "xori",
        "maxsi",
        "minsi",
        "maxui",
        "minui",
        "divsi",
        "remsi",
        "divui",
        "remui",
        "shli",
        "shrsi",
        "shrui",
    ],
    "f": ["addf", "subf", "mulf", "divf", "maxnumf", "minimumf", "maximumf"],
}
CONSTANTS = {SCALAR: ("0", "1", "-1", "3", "16"), FLOAT: ("0.0", "-0.0", "1.0", "0.5", "0xFF800000")}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "uge")


class Program:
    """Writes a random function as text. `pool`: the names of values that may be used, by type; a scope is a copy."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def new(self, text: str, type_: str, pool: dict[str, list[str]]) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        pool.setdefault(type_, []).append(name)
        return name

    def pick(self, pool: dict[str, list[str]], type_: str) -> str:
        if not pool.get(type_) or self.random.random() < 0.15:
            return self.constant(pool, type_)
        return self.random.choice(pool[type_][-8:])

    def constant(self, pool: dict[str, list[str]], type_: str) -> str:
        if type_ == MASK:
            return self.new(f"arith.constant dense<{self.random.choice(('true', 'false'))}> : {MASK}", MASK, pool)
        value = self.random.choice(CONSTANTS[FLOAT if type_ == FLOAT else SCALAR])
        return self.new(f"arith.constant {value if type_ == SCALAR else f'dense<{value}>'} : {type_}", type_, pool)

    def step(self, pool: dict[str, list[str]], depth: int) -> None:
        kinds = [self.arithmetic] * 6 + [self.compare, self.choose, self.repeat, self.cast]
        kinds += [self.loop, self.branch] if depth < 2 else []
        self.random.choice(kinds)(pool, depth)

    def arithmetic(self, pool: dict[str, list[str]], depth: int) -> None:
        type_ = self.random.choice((SCALAR, TILE, SMALL, FLOAT))
        name = self.random.choice(BINARY["f" if type_ == FLOAT else "i"])
        self.new(f"arith.{name} {self.pick(pool, type_)}, {self.pick(pool, type_)} : {type_}", type_, pool)

    def compare(self, pool: dict[str, list[str]], depth: int) -> None:
        if self.random.random() < 0.5:
            word, type_ = self.random.choice(PREDICATES), TILE
            self.new(f"arith.cmpi {word}, {self.pick(pool, type_)}, {self.pick(pool, type_)} : {type_}", MASK, pool)
        else:
            word = self.random.choice(("olt", "une", "oeq", "uge"))
            self.new(f"arith.cmpf {word}, {self.pick(pool, FLOAT)}, {self.pick(pool, FLOAT)} : {FLOAT}", MASK, pool)

    def choose(self, pool: dict[str, list[str]], depth: int) -> None:
        type_ = self.random.choice((TILE, FLOAT, MASK))
        values = f"{self.pick(pool, MASK)}, {self.pick(pool, type_)}, {self.pick(pool, type_)}"
        self.new(f"arith.select {values} : {MASK}, {type_}", type_, pool)

    def repeat(self, pool: dict[str, list[str]], depth: int) -> None:
        if self.random.random() < 0.5:
            self.new(f"tt.splat {self.pick(pool, SCALAR)} : i32 -> {TILE}", TILE, pool)
            return
        row = self.new(
            f"tt.expand_dims {self.pick(pool, SMALL)} {{axis = 0 : i32}} : {SMALL} -> tensor<1x8xi32>", "", pool
        )
        self.new(f"tt.broadcast {row} : tensor<1x8xi32> -> {TILE}", TILE, pool)

    def cast(self, pool: dict[str, list[str]], depth: int) -> None:
        wide, name = "tensor<4x8xi64>", self.random.choice(("extsi", "extui"))
        if self.random.random() < 0.5:
            self.new(f"arith.sitofp {self.pick(pool, TILE)} : {TILE} to {FLOAT}", FLOAT, pool)
        else:
            long = self.new(f"arith.{name} {self.pick(pool, TILE)} : {TILE} to {wide}", wide, pool)
            self.new(f"arith.trunci {long} : {wide} to {TILE}", TILE, pool)

    def body(self, pool: dict[str, list[str]], depth: int, types: list[str], arguments: dict[str, str]) -> None:
        inner = {t: list(names) for t, names in pool.items()}
        for name, type_ in arguments.items():
            inner.setdefault(type_, []).append(name)
        for _ in range(self.random.randint(1, 5)):
            self.step(inner, depth + 1)
        given = [self.pick(inner, t) for t in types]
        for n, (name, type_) in enumerate(zip(arguments, types, strict=False)):
            if self.random.random() < 0.8:  # a carry that does not depend on itself tests little
                op = self.random.choice(BINARY["f" if type_ == FLOAT else "i"][:3])
                given[n] = self.new(f"arith.{op} {name}, {given[n]} : {type_}", type_, inner)
        self.lines.append(f"  scf.yield {', '.join(given)} : {', '.join(types)}")

    def loop(self, pool: dict[str, list[str]], depth: int) -> None:
        types = [self.random.choice((SCALAR, TILE, FLOAT)) for _ in range(self.random.randint(1, 3))]
        starts = [self.pick(pool, t) for t in types]
        self.count += 1
        label = f"%r{self.count}"
        names = [f"{label}_a{n}" for n in range(len(types))]
        carried = ", ".join(f"{n} = {s}" for n, s in zip(names, starts, strict=True))
        end = self.random.choice(("%c0", "%c1", "%c2", "%n", "%n"))
        self.lines.append(
            f"  {label}:{len(types)} = scf.for {label}_i = %c0 to {end} step %c1 iter_args({carried}) "
            f"-> ({', '.join(types)}) : i32 {{"
        )
        self.body(pool, depth, types, dict(zip(names, types, strict=True)) | {f"{label}_i": SCALAR})
        factor = self.random.choice(("", "", " {tt.loop_unroll_factor = 2 : i32}"))
        self.lines.append(f"  }}{factor}")
        self.results(label, types, pool)

    def branch(self, pool: dict[str, list[str]], depth: int) -> None:
        types = [self.random.choice((SCALAR, TILE, FLOAT)) for _ in range(self.random.randint(1, 2))]
        word = self.random.choice(PREDICATES)
        test = self.new(f"arith.cmpi {word}, {self.pick(pool, SCALAR)}, {self.pick(pool, SCALAR)} : i32", "i1", pool)
        self.count += 1
        label = f"%r{self.count}"
        self.lines.append(f"  {label}:{len(types)} = scf.if {test} -> ({', '.join(types)}) {{")
        self.body(pool, depth, types, {})
        self.lines.append("  } else {")
        self.body(pool, depth, types, {})
        self.lines.append("  }")
        self.results(label, types, pool)

    def results(self, label: str, types: list[str], pool: dict[str, list[str]]) -> None:
        for n, type_ in enumerate(types):
            pool.setdefault(type_, []).append(f"{label}#{n}" if len(types) > 1 else label)

    def text(self) -> str:
        pool = {SCALAR: ["%x", "%y", "%n"], SMALL: ["%range"]}
        for _ in range(self.random.randint(6, 16)):
            self.step(pool, 0)
        kept = [(name, type_) for type_ in (SCALAR, TILE, FLOAT, MASK) for name in pool.get(type_, ())]
        types = [type_ for _, type_ in kept]
        given = ", ".join(name for name, _ in kept)
        head = "tt.func public @kernel(%x: i32, %y: i32, %n: i32) -> (" + ", ".join(types) + ") {\n"
        constants = "".join(f"  %c{n} = arith.constant {n} : i32\n" for n in range(3))
        ramp = "  %range = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"
        return head + constants + ramp + "\n".join(self.lines) + f"\n  tt.return {given} : {', '.join(types)}\n}}\n"


def results(text: str, spec: str, arguments: tuple[int, ...]) -> list[np.ndarray]:
    module = parse(text)
    check(module, "ttir")
    for p in passes_of(spec):
        p.apply(None, module)  # type: ignore[arg-type]
        check(module, "ttir")
    return Machine(module, Heap()).call("kernel", *arguments)


@pytest.mark.parametrize("seed", range(16))
def test_pipelines_keep_what_is_computed(seed: int) -> None:
    text = Program(seed).text()
    for arguments in ((0, 0, 0), (7, -3, 3), (-(1 << 31), 1 << 30, 2)):
        expected = results(text, "", arguments)
        for spec in ("ttir", "ttir-pointers"):
            for found, wanted in zip(results(text, spec, arguments), expected, strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{spec} {arguments}\n{text}")
                if found.dtype.kind == "f":
                    zero = wanted == 0
                    np.testing.assert_array_equal(np.signbit(found)[zero], np.signbit(wanted)[zero])
