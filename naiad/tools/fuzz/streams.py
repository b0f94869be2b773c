"""Productions that touch memory in loops, by descriptors, by atomics that answer; and pairs of tiles."""

from naiad.tools.fuzz.scope import Scope
from naiad.tools.fuzz.sources import LOADED, SHAPES, position
from naiad.tools.fuzz.values import FLOATS, SIGNED, Value, bits_of, rounding

RANGES = ("range(0, {n})", "tl.range({n} - 1, -1, -1, num_stages=3)",
          *(f"tl.range(0, {{n}}, num_stages={stages})" for stages in (1, 2, 3, 4)))  # fmt: skip


def streamed(scope: Scope) -> None:
    """A sum over tiles that a loop reads: at an address that moves, or at one that it reads first; perhaps masked."""
    if scope.depth:
        return
    random = scope.random
    dtype, shape, turns = random.choice(("float16", "float32", "float32", "int32", "int64")), random.choice(SHAPES), 4
    size = Value("", dtype, shape).size
    n = random.choice((str(turns), "a1 % 5", "3"))
    source = scope.argument(dtype, count=turns * size)
    is_indirect, is_masked, writes = (random.random() < p for p in (0.4, 0.3, 0.3))
    indices = scope.argument("int32", count=64) if is_indirect else None
    copy = (
        scope.argument(dtype, count=turns * size * scope.program.grid, output=True, start="poison") if writes else None
    )
    total = scope.name()
    wide = "float32" if dtype in FLOATS else dtype
    scope.write(f"{total} = tl.zeros({shape}, tl.{wide})")
    loop = scope.write(f"for k in {random.choice(RANGES).format(n=n)}:")
    loop.body = []
    with scope.inside(loop.body):
        at = "k"
        if indices is not None:
            at = scope.name()
            scope.write(f"{at} = tl.load({indices.name} + k) & {turns - 1}")
        name, mask = scope.name(), f", mask={position(shape)} < a0 + k, other=1" if is_masked else ""
        scope.write(f"{name} = tl.load({source.name} + {at} * {size} + {position(shape)}{mask})")
        if copy is not None:
            place = f"(pid * {turns} + k) * {size}"
            scope.write(f"tl.store({copy.name} + {place} + {position(shape)}, {name})")
        scope.write(random.choice((f"{total} += {name}", f"{total} = {total} + {name}.to(tl.{wide}) * 2")))
    bound = 2.0 * turns * 4
    error = rounding(wide, bound, turns + 2) if wide in FLOATS else 0.0
    scope.values.append(Value(total, wide, shape, bound if wide in FLOATS else 0.0, error))


def running(scope: Scope) -> None:
    """while: a tile is carried until a number is small; or a tile decides, by its sum."""
    start = scope.pick(lambda v: v.dtype in ("int32", "int64") and bool(v.shape))
    if start is None or scope.depth:
        return
    tile, number = scope.name(), scope.name()
    scope.write(f"{tile} = {start.name}")
    scope.write(f"{number} = (tl.max({start.name}) & 15).to(tl.int32)")
    loop = scope.write(f"while {number} > 1:")
    loop.body = []
    with scope.inside(loop.body):
        scope.write(f"{tile} = {tile} * 3 + {number}")
        scope.write(f"{number} = {number} - 1 - (tl.sum({tile}) & 1).to(tl.int32)")
    scope.values += [Value(tile, start.dtype, start.shape), Value(number, "int32", ())]


def described(scope: Scope) -> None:
    """A tile through a descriptor or a block pointer, over the edge of its matrix perhaps; and back by another."""
    random = scope.random
    dtype = random.choice(LOADED)
    rows, columns = random.choice((8, 16, 32)), random.choice((16, 32, 64))
    height, width = random.randrange(1, 2 * rows), random.randrange(1, 2 * columns)
    pitch = -(-width // 16) * 16
    source = scope.argument(dtype, count=height * pitch)
    y, x = random.randrange(0, rows), random.randrange(0, columns)
    made, name = scope.name(), scope.name()
    shape, strides, block = f"[{height}, {width}]", f"[{pitch}, 1]", f"[{rows}, {columns}]"
    if random.random() < 0.5:
        scope.write(f"{made} = tl.make_tensor_descriptor({source.name}, {shape}, {strides}, {block})")
        text = f"{made}.load([{y}, {x}])"
    else:
        where = f"offsets=({y}, {x}), block_shape=({rows}, {columns}), order=(1, 0)"
        scope.write(
            f"{made} = tl.make_block_ptr({source.name}, shape=({height}, {width}), strides=({pitch}, 1), {where})"
        )
        text = f"tl.load({made}, boundary_check=(0, 1), padding_option='zero')"
    scope.write(f"{name} = {text}")
    scope.values.append(Value(name, dtype, (rows, columns), 4.0 if dtype in FLOATS else 0.0))
    if random.random() < 0.5 and not scope.depth:
        target = scope.argument(dtype, count=height * pitch, output=True, start="poison")
        to = f"tl.make_tensor_descriptor({target.name}, {shape}, {strides}, {block})"
        scope.write(f"{to}.store([{random.randrange(0, rows)}, {random.randrange(0, columns)}], {name})")


def fetched(scope: Scope) -> None:
    """Atomics on a cell for each element: what comes back is what was there."""
    value = scope.pick(lambda v: v.dtype in ("int32", "uint32", "int64", "float32") and bool(v.shape) and v.is_exact)
    if value is None or scope.depth or value.may_be_nan:
        return
    random = scope.random
    is_float = value.dtype in FLOATS
    op = random.choice(("add", "max", "min", "xchg", *(() if is_float else ("or", "xor", "and", "cas"))))
    array = scope.argument(value.dtype, count=value.size * scope.program.grid, output=True, start="zero")
    pointer = f"{array.name} + pid * {value.size} + {position(value.shape)}"
    if op == "cas":
        text = f"tl.atomic_cas({pointer}, {value.name} & 1, {value.name})"
    else:
        text = f"tl.atomic_{op}({pointer}, {value.name}{random.choice(('', f', mask={position(value.shape)} < a0'))})"
    if "mask" in text:  # nothing comes back where nothing was asked for
        scope.write(text)
    else:
        scope.define(text, value.dtype, value.shape, value.bound)


def pairs(scope: Scope) -> None:
    """Reductions and scans of two tiles at once, along any axis."""
    value = scope.pick(
        lambda v: v.dtype in ("int32", "int64", "float32") and bool(v.shape) and v.is_exact and not v.may_be_nan
    )
    if value is None:
        return
    random = scope.random
    axis = random.randrange(len(value.shape))
    index = [f"tl.arange(0, {value.shape[axis]})"]
    subscript = ", ".join(":" if d == axis else "None" for d in range(len(value.shape)))
    where = index[0] if len(value.shape) == 1 else f"tl.broadcast_to({index[0]}[{subscript}], {value.shape})"
    which = random.choice((0, 1))
    shape = value.shape
    if random.random() < 0.5:
        text = f"tl.reduce(({value.name}, {where}), {axis}, larger_first)[{which}]"
        shape = shape[:axis] + shape[axis + 1 :]
    else:
        reverse = random.choice((True, False))
        text = f"tl.associative_scan(({value.name}, {where}), {axis}, larger_first, reverse={reverse})[{which}]"
    scope.define(text, "int32" if which else value.dtype, shape, 0.0 if which else value.bound)


def rearranged(scope: Scope) -> None:
    """The dimensions in another order, or other dimensions of the same elements; then a scan or a sum over one."""
    value = scope.pick(lambda v: len(v.shape) >= 2 and not v.is_bool and v.dtype not in ("bfloat16", "float16"))
    if value is None:
        return
    random = scope.random
    order = random.sample(range(len(value.shape)), len(value.shape))
    shape = tuple(value.shape[d] for d in order)
    moved = scope.define(f"tl.permute({value.name}, {tuple(order)})", value.dtype, shape, value.bound, value.error)
    if moved is None or value.dtype not in SIGNED or bits_of(value.dtype) < 32:
        return
    axis = random.randrange(len(shape))
    if random.random() < 0.5:
        scope.define(f"tl.cumsum({moved.name}, {axis})", value.dtype, shape)
    else:
        scope.define(
            f"tl.sum({moved.name}, {axis}, keep_dims=True)", value.dtype, (*shape[:axis], 1, *shape[axis + 1 :])
        )
