"""Productions that multiply matrices: of every type and size, in loops over K, one behind the other, in batches."""

from dataclasses import dataclass

from naiad.tools.fuzz.scope import Scope
from naiad.tools.fuzz.values import EPSILON, Argument, Value, rounding

MOST = 8192
"""The most elements of a product."""
OPERANDS = ("float16", "float16", "bfloat16", "float32", "float32", "float64", "int8", "float8e4nv", "float8e5")
LARGEST = 4.0
"""What is loaded is no larger."""
PRECISIONS = {"ieee": 0.0, "tf32": 2.0**-10, "tf32x3": 2.0**-20, "bf16x3": 2.0**-15, "bf16x6": 2.0**-22}
"""What a product of two fp32 numbers may be off by, as a part of it."""


def _bits(dtype: str) -> int:
    return 8 if dtype == "int8" or dtype.startswith("float8") else 16


def tile(shape: tuple[int, ...], steps: tuple[int, ...], start: str, array: Argument, mask: str = "") -> str:
    """The text of a load. steps: how far apart in memory neighbours along each dimension are."""
    terms = []
    for dim, (n, step) in enumerate(zip(shape, steps, strict=True)):
        index = ", ".join(":" if d == dim else "None" for d in range(len(shape)))
        terms.append(f"tl.arange(0, {n})[{index}] * {step}")
    return f"tl.load({array.name} + {start} + {' + '.join(terms)}{mask})"


def _steps(scope: Scope, rows: int, columns: int) -> tuple[int, int]:
    """Rows or columns one behind the other, with a gap perhaps."""
    gap = scope.random.choice((0, 0, 0, 8, 1))
    return (columns + gap, 1) if scope.random.random() < 0.5 else (1, rows + gap)


def _sizes(scope: Scope, dtype: str) -> tuple[int, int, int]:
    random = scope.random
    m, n = random.choice((16, 32, 64, 64, 128)), random.choice((8, 16, 32, 64))
    return m, min(n, MOST // m), random.choice((32, 64) if _bits(dtype) == 8 else (16, 32, 64))


def _result(dtype: str) -> str:
    return {"int8": "int32", "float64": "float64"}.get(dtype, "float32")


def _bounds(dtype: str, k: int, a: float, b: float, precision: str) -> tuple[float, float]:
    """(the largest that a sum of k products is, by how much it is off)."""
    result = _result(dtype)
    if result == "int32":
        return 0.0, 0.0
    part = PRECISIONS[precision] if dtype == "float32" else 0.0
    return k * a * b, rounding(result, k * a * b, k + 2) + part * k * a * b


@dataclass(frozen=True)
class Operands:
    """Two matrices in memory, [m, k * turns] and [k * turns, n], and how they are multiplied."""

    dtype: str
    sizes: tuple[int, int, int]
    turns: int
    left: tuple[int, int]
    right: tuple[int, int]
    a: Argument
    b: Argument
    precision: str

    @property
    def given(self) -> str:
        return f", input_precision='{self.precision}'" if self.dtype == "float32" else ""

    def loads(self, turn: str, masks: tuple[str, str] = ("", "")) -> tuple[str, str]:
        """The operands of one turn."""
        m, n, k = self.sizes
        here = [f"{turn} * {k * step}" for step in (self.left[1], self.right[0])]
        x = tile((m, k), self.left, f"pid * {self.a_size} + {here[0]}", self.a, masks[0])
        return x, tile((k, n), self.right, here[1], self.b, masks[1])

    @property
    def a_size(self) -> int:
        return (self.sizes[2] * self.turns + 8) * (self.sizes[0] + 8)


def _operands(scope: Scope, turns: int) -> Operands:
    random = scope.random
    dtype = random.choice(OPERANDS)
    m, n, k = _sizes(scope, dtype)
    depth = k * turns
    a = scope.argument(dtype, count=scope.program.grid * (depth + 8) * (m + 8))
    b = scope.argument(dtype, count=(depth + 8) * (n + 8))
    precision = random.choice(tuple(PRECISIONS)) if dtype == "float32" else "ieee"
    left, right = _steps(scope, m, depth), _steps(scope, depth, n)
    return Operands(dtype, (m, n, k), turns, left, right, a, b, precision)


def product(scope: Scope) -> None:
    """A product of two tiles from memory."""
    found = _operands(scope, 1)
    m, n, k = found.sizes
    x, y = scope.name(), scope.name()
    for name, text in zip((x, y), found.loads("0"), strict=True):
        scope.write(f"{name} = {text}")
    bound, error = _bounds(found.dtype, k, LARGEST, LARGEST, found.precision)
    scope.define(f"tl.dot({x}, {y}{found.given})", _result(found.dtype), (m, n), bound, error, most=MOST)


def products_in_a_loop(scope: Scope) -> None:
    """A product of matrices that are read tile by tile along K, with masks, and computed with on the way."""
    if scope.depth:
        return
    random = scope.random
    found = _operands(scope, random.choice((2, 3, 4)))
    (m, n, k), dtype = found.sizes, found.dtype
    sums = scope.name()
    scope.write(f"{sums} = tl.zeros(({m}, {n}), tl.{_result(dtype)})")
    stages = random.choice(("", "", ", num_stages=1", ", num_stages=2", ", num_stages=3", ", num_stages=4"))
    loop = scope.write(f"for k in tl.range(0, {found.turns}{stages}):")
    loop.body, factor = [], 1.0
    limit = random.randrange(1, k * found.turns + 1) if random.random() < 0.4 else None
    inside = f"k * {k} + tl.arange(0, {k})"
    masks = [f", mask=({inside})[{at}] < {limit}, other=0" if limit else "" for at in ("None, :", ":, None")]
    with scope.inside(loop.body):
        x, y = scope.name(), scope.name()
        for name, text in zip((x, y), found.loads("k", (masks[0], masks[1])), strict=True):
            scope.write(f"{name} = {text}")
        if dtype in ("float16", "bfloat16", "float32") and random.random() < 0.4:
            name, factor = random.choice((x, y)), 2.0
            scope.write(f"{name} = {random.choice((f'{name} * 2', f'({name} + {name}).to(tl.{dtype})'))}")
        given = found.given
        scope.write(random.choice((f"{sums} = tl.dot({x}, {y}, {sums}{given})", f"{sums} += tl.dot({x}, {y}{given})")))
    bound, error = _bounds(dtype, k * found.turns, LARGEST * factor, LARGEST, found.precision)
    scope.values.append(Value(sums, _result(dtype), (m, n), bound, error))


def product_of_product(scope: Scope) -> None:
    """What attention does: a product, rounded, times another tile, in a loop or not."""
    if scope.depth:
        return
    random = scope.random
    dtype = random.choice(("float16", "bfloat16"))
    m = random.choice((16, 64, 64, 128))
    n, k, d = (random.choice((16, 32)) for _ in range(3))
    turns = random.choice((1, 3))
    q, x, y = (scope.argument(dtype, count=size) for size in (m * k, turns * n * k, turns * n * d))
    first, sums = scope.name(), scope.name()
    scope.write(f"{first} = {tile((m, k), _steps_plain(scope, m, k), '0', q)}")
    scope.write(f"{sums} = tl.zeros(({m}, {d}), tl.float32)")
    loop = scope.write(f"for k in range({turns}):")
    loop.body = []
    bound, error = _bounds(dtype, k, LARGEST, LARGEST, "ieee")
    scale = 2.0**-6
    with scope.inside(loop.body):
        a, b, p = scope.name(), scope.name(), scope.name()
        scope.write(f"{a} = {tile((k, n), (1, k), f'k * {n * k}', x)}")
        scope.write(f"{b} = {tile((n, d), (d, 1), f'k * {n * d}', y)}")
        scope.write(f"{p} = tl.dot({first}, {a}) * {scale}")
        if random.random() < 0.5:
            scope.write(f"{p} = tl.maximum({p}, tl.min({p}, 1)[:, None] * 0.5)")
        scope.write(f"{sums} = tl.dot({p}.to(tl.{dtype}), {b}, {sums})")
    bound, error = bound * scale, error * scale + 2 * EPSILON[dtype] * bound * scale
    total = turns * n * bound * LARGEST
    wrong = turns * n * error * LARGEST + rounding("float32", total, turns * n + 2)
    scope.values.append(Value(sums, "float32", (m, d), total, wrong))


def _steps_plain(scope: Scope, rows: int, columns: int) -> tuple[int, int]:
    return (columns, 1) if scope.random.random() < 0.5 else (1, rows)


def batch_product(scope: Scope) -> None:
    """Products of several matrices at once."""
    random = scope.random
    dtype = random.choice(OPERANDS)
    batch, m, n, k = random.choice((1, 2, 4)), random.choice((16, 32)), random.choice((16, 32)), random.choice((16, 32))
    k = 32 if _bits(dtype) == 8 else k
    a, b = (scope.argument(dtype, count=batch * size) for size in (m * k, k * n))
    x, y = scope.name(), scope.name()
    left, right = _steps_plain(scope, m, k), _steps_plain(scope, k, n)
    scope.write(f"{x} = {tile((batch, m, k), (m * k, *left), '0', a)}")
    scope.write(f"{y} = {tile((batch, k, n), (k * n, *right), '0', b)}")
    bound, error = _bounds(dtype, k, LARGEST, LARGEST, "ieee")
    given = ", input_precision='ieee'" if dtype == "float32" else ""
    scope.define(f"tl.dot({x}, {y}{given})", _result(dtype), (batch, m, n), bound, error, most=MOST)


FORMATS = {"e2m1": ("uint8", "", 6.0), "e4m3": ("uint8", " & 0xB7", 1.75), "e5m2": ("uint8", " & 0xBF", 1.75),
           "bf16": ("bfloat16", "", LARGEST), "fp16": ("float16", "", LARGEST)}  # fmt: skip
"""Type of the memory, what is done to keep a byte small, the largest element then."""


def scaled_product(scope: Scope) -> None:
    """A product of microscaled tiles."""
    random = scope.random
    formats = random.choice(tuple(FORMATS)), random.choice(tuple(FORMATS))
    if formats in (("bf16", "fp16"), ("fp16", "bf16")):
        return
    m, n, k = random.choice((16, 32, 64, 128)), random.choice((16, 32, 64)), random.choice((32, 64, 128))
    texts, scales, largest = [], [], []
    for is_left, format in enumerate(formats[::-1]):
        dtype, small, bound = FORMATS[format]
        rows, depth = (m if is_left else n), k // 2 if format == "e2m1" else k
        array = scope.argument(dtype, count=rows * depth)
        name = scope.name()
        shape, steps = ((rows, depth), (depth, 1)) if is_left else ((depth, rows), (1, depth))
        scope.write(f"{name} = {tile(shape, steps, '0', array)}{small}")
        texts.append(f"{name}, {{}}, '{format}'")
        if format in ("bf16", "fp16") and random.random() < 0.7:
            scales.append("None")
        else:
            by = scope.argument("uint8", count=rows * k // 32)
            scales.append(scope.name())
            scope.write(f"{scales[-1]} = ({tile((rows, k // 32), (k // 32, 1), '0', by)} & 7) + 124")
            bound *= 16.0
        largest.append(bound)
    bound, error = _bounds("float32", k, largest[0], largest[1], "ieee")
    both = [text.format(scale) for text, scale in zip(texts, scales, strict=True)]
    scope.define(f"tl.dot_scaled({both[1]}, {both[0]})", "float32", (m, n), bound, 4 * error, most=MOST)
