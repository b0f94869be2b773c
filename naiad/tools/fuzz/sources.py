"""Productions that touch memory: loads in many patterns, stores, atomics; and constants and indices."""

import math

from naiad.tools.fuzz.scope import Scope
from naiad.tools.fuzz.values import FLOATS, INTEGERS, Value

LOADED = (*INTEGERS, *FLOATS, *FLOATS)
SHAPES = ((16,), (32,), (128,), (8, 16), (16, 16), (4, 32), (32, 8), (16, 1), (1, 32), (2, 4, 8))


def begin(scope: Scope) -> None:
    """The names that every kernel has: pid, an odd size, a number of iterations."""
    scope.argument("int32", number=scope.random.randrange(1, 200))
    scope.argument("int32", number=scope.random.randrange(0, 6))
    scope.write("pid = tl.program_id(0)")
    scope.values.append(Value("pid", "int32", ()))
    scope.values.append(Value("a0", "int32", ()))


def position(shape: tuple[int, ...], steps: tuple[int, ...] | None = None) -> str:
    """The index of each element of a tile, in row-major order or with the given steps."""
    if not shape:
        return "0"
    terms, step = [], 1
    for dim in reversed(range(len(shape))):
        index = "".join(["[", ", ".join(":" if d == dim else "None" for d in range(len(shape))), "]"])
        index = "" if len(shape) == 1 else index
        by = step if steps is None else steps[dim]
        terms.append(f"tl.arange(0, {shape[dim]}){index} * {by}")
        step *= shape[dim]
    return " + ".join(reversed(terms))


def _pattern(scope: Scope, shape: tuple[int, ...]) -> tuple[str, int]:
    """An index for each element, and how many elements of memory that needs."""
    size = Value("", "", shape).size
    kind = scope.random.choice(("plain", "plain", "strided", "transposed", "reversed", "same row"))
    if kind == "strided":
        return f"({position(shape)}) * 3 + 1", size * 3 + 1
    if kind == "transposed" and len(shape) == 2:
        return position(shape, (1, shape[0])), size
    if kind == "reversed":
        return f"{size - 1} - ({position(shape)})", size
    if kind == "same row" and len(shape) == 2:
        return position(shape, (0, 1)), shape[1]
    return position(shape), size


def load(scope: Scope) -> None:
    """A tile from a new array, perhaps masked at an odd size."""
    dtype, shape = scope.random.choice(LOADED), scope.random.choice(SHAPES)
    index, extent = _pattern(scope, shape)
    special = dtype in FLOATS and scope.random.random() < 0.15
    array = scope.argument(dtype, count=extent * scope.program.grid, start="special" if special else "random")
    pointer = f"{array.name} + pid * {extent} + ({index})"
    mask = scope.random.choice(("", f", mask={position(shape)} < a0", f", mask={position(shape)} < a0, other=3"))
    scope.define(f"tl.load({pointer}{mask})", dtype, shape, bound=math.inf if special else 4.0)


def constant(scope: Scope) -> None:
    """A tile or a number that is known when the kernel is compiled."""
    dtype, shape = scope.random.choice(LOADED), scope.random.choice(SHAPES)
    number = scope.random.choice((0, 1, 2, 3)) if dtype in INTEGERS else scope.random.choice((-1.5, 0.25, 3.0))
    scope.define(f"tl.full({shape}, {number}, tl.{dtype})", dtype, shape, bound=4.0)


def index(scope: Scope) -> None:
    """Positions."""
    shape = scope.random.choice(SHAPES)
    scope.define(f"{position(shape)} + pid * {scope.random.choice((0, 1, 7))}", "int32", shape)


def gathered_load(scope: Scope) -> None:
    """A tile whose addresses are computed from data."""
    at = scope.pick(lambda v: v.is_integer and bool(v.shape))
    if at is None:
        return
    dtype = scope.random.choice(LOADED)
    array = scope.argument(dtype, count=64)
    scope.define(f"tl.load({array.name} + ({at.name} & 63))", dtype, at.shape, bound=4.0)


def store_value(scope: Scope, value: Value) -> None:
    """Writes a value to a new array, perhaps masked."""
    dtype = "int8" if value.is_bool else value.dtype
    array = scope.argument(
        dtype,
        count=max(1, value.size) * scope.program.grid,
        output=True,
        start="poison",
        tolerance=2.5 * value.error,
    )
    at = position(value.shape)
    mask = scope.random.choice(("", f", mask={at} < a0")) if value.shape else ""
    scope.write(f"tl.store({array.name} + pid * {max(1, value.size)} + ({at}), {value.name}{mask})")


def store(scope: Scope) -> None:
    """Stores a value; not in a loop, where the last iteration would be all that is seen."""
    value = scope.pick()
    if value is not None and not scope.depth:
        store_value(scope, value)


def atomic(scope: Scope) -> None:
    """Counts or collects in a few cells; what comes back depends on the order and is not used."""
    value = scope.pick(lambda v: v.dtype in ("int32", "uint32", "int64") and bool(v.shape))
    if value is None or scope.depth:
        return
    op = scope.random.choice(("add", "max", "min", "or", "xor", "and"))
    array = scope.argument(value.dtype, count=8, output=True, start="zero")
    mask = scope.random.choice(("", f", mask={value.name} > 1"))
    scope.write(f"tl.atomic_{op}({array.name} + ({value.name} & 7).to(tl.int32), {value.name}{mask})")
