"""Productions that combine or move elements: reductions, scans, shapes, order, products."""

from naiad.tools.fuzz.scope import Scope
from naiad.tools.fuzz.values import Value, bits_of, rounding

COMBINED = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
"""In what narrow integers are summed."""


def _tile(value: Value) -> bool:
    return bool(value.shape) and not value.is_bool


def _axis(scope: Scope, value: Value) -> int:
    return scope.random.randrange(len(value.shape))


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def reduction(scope: Scope) -> None:
    """sum, max, min, xor_sum along an axis, or of everything."""
    a = scope.pick(_tile)
    if a is None:
        return
    name = scope.random.choice(("sum", "max", "min", *(("xor_sum",) if a.is_integer else ())))
    whole = scope.random.random() < 0.2
    axis = None if whole else _axis(scope, a)
    shape = () if axis is None else _without(a.shape, axis)
    n = a.size if axis is None else a.shape[axis]
    dtype, text = a.dtype, f"tl.{name}({a.name}, axis={axis})"
    if name in ("max", "min"):
        if dtype in ("bfloat16", "float16"):
            dtype = "float32"
        elif a.is_integer and bits_of(dtype) < 32:
            dtype = "int32"
        scope.define(text, dtype, shape, a.bound, a.error)
    elif a.is_integer:
        scope.define(text, COMBINED.get(dtype, dtype) if name == "sum" else dtype, shape)
    elif dtype != "bfloat16":
        bound = n * a.bound
        scope.define(text, dtype, shape, bound, n * a.error + rounding(dtype, bound, n.bit_length() + 2))


def scan(scope: Scope) -> None:
    """cumsum, or running products and sums by a function."""
    a = scope.pick(lambda v: _tile(v) and v.dtype not in ("float16", "bfloat16"))
    if a is None:
        return
    axis, reverse = _axis(scope, a), scope.random.choice((True, False))
    n = a.shape[axis]
    if a.is_integer and scope.random.random() < 0.4:
        scan = f"tl.associative_scan(({a.name}, {a.name}), {axis}, affine, reverse={reverse})[1]"
        scope.define(scan, a.dtype, a.shape)
        return
    dtype = COMBINED.get(a.dtype, a.dtype)
    bound = n * a.bound
    error = n * a.error + rounding(dtype, bound, n) if a.is_float else 0.0
    scope.define(f"tl.cumsum({a.name}, axis={axis}, reverse={reverse})", dtype, a.shape, bound, error)


def arg_reduction(scope: Scope) -> None:
    """Where the extreme element is; or the same by a function of the kernel's own."""
    a = scope.pick(lambda v: _tile(v) and v.is_exact and v.dtype != "bfloat16")
    if a is None:
        return
    axis = _axis(scope, a)
    # what a comparison of pairs gives for NaN depends on the order in which pairs meet, and that is nowhere promised
    if scope.random.random() < 0.3 and len(a.shape) == 1 and not a.may_be_nan:
        text = f"tl.reduce(({a.name}, tl.arange(0, {a.shape[0]})), 0, larger_first)[1]"
    else:
        text = f"tl.{scope.random.choice(('argmax', 'argmin'))}({a.name}, axis={axis})"
    scope.define(text, "int32", _without(a.shape, axis))


def _keep(scope: Scope, text: str, a: Value, shape: tuple[int, ...]) -> None:
    scope.define(text, a.dtype, shape, a.bound, a.error)


def reshape(scope: Scope) -> None:
    """Another shape of the same elements."""
    a = scope.pick(lambda v: bool(v.shape))
    if a is None:
        return
    kind = scope.random.choice(("ravel", "split", "trans", "expand", "flip", "permute"))
    if kind == "ravel":
        _keep(scope, f"tl.ravel({a.name})", a, (a.size,))
    elif kind == "split" and a.shape[0] >= 4:
        shape = (a.shape[0] // 2, 2, *a.shape[1:])
        _keep(scope, f"tl.reshape({a.name}, {shape})", a, shape)
    elif kind == "trans" and len(a.shape) == 2:
        _keep(scope, f"tl.trans({a.name})", a, a.shape[::-1])
    elif kind == "permute" and len(a.shape) == 3:
        _keep(scope, f"tl.permute({a.name}, (2, 0, 1))", a, (a.shape[2], a.shape[0], a.shape[1]))
    elif kind == "expand" and len(a.shape) < 3:
        axis = scope.random.randrange(len(a.shape) + 1)
        _keep(scope, f"tl.expand_dims({a.name}, {axis})", a, (*a.shape[:axis], 1, *a.shape[axis:]))
    elif kind == "flip":
        _keep(scope, f"tl.flip({a.name}, {_axis(scope, a)})", a, a.shape)


def broadcast(scope: Scope) -> None:
    """Dimensions of size 1 stretched."""
    a = scope.pick(lambda v: 1 in v.shape)
    if a is None:
        return
    shape = tuple(scope.random.choice((2, 8, 16)) if n == 1 else n for n in a.shape)
    _keep(scope, f"tl.broadcast_to({a.name}, {shape})", a, shape)


def sort(scope: Scope) -> None:
    """Exact values in order; or the first few of them."""
    a = scope.pick(lambda v: _tile(v) and v.is_exact and v.shape[-1] > 1)
    if a is None:
        return
    down = scope.random.choice((True, False))
    if scope.random.random() < 0.3:
        k = scope.random.choice([k for k in (1, 2, 4, 8) if k <= a.shape[-1]])
        _keep(scope, f"tl.topk({a.name}, {k})", a, (*a.shape[:-1], k))
    else:
        _keep(scope, f"tl.sort({a.name}, dim={_axis(scope, a)}, descending={down})", a, a.shape)


def gather(scope: Scope) -> None:
    """Elements by an index that was computed."""
    a = scope.pick(lambda v: _tile(v) and len(v.shape) <= 2)
    index = a and scope.pick(lambda v: v.dtype == "int32" and v.shape == a.shape)
    if a is not None and index is not None:
        axis = _axis(scope, a)
        _keep(scope, f"tl.gather({a.name}, {index.name} & {a.shape[axis] - 1}, {axis})", a, a.shape)


def join(scope: Scope) -> None:
    """Two tiles side by side, in turn, or one behind the other."""
    a = scope.pick(_tile)
    b = a and scope.pick(lambda v: v.dtype == a.dtype and v.shape == a.shape)
    if a is None or b is None or len(a.shape) > 2:
        return
    kind = scope.random.choice(("join", "interleave", "cat", "split"))
    bound, error = max(a.bound, b.bound), max(a.error, b.error)
    last = (*a.shape[:-1], 2 * a.shape[-1])
    if kind == "join":
        scope.define(f"tl.join({a.name}, {b.name})", a.dtype, (*a.shape, 2), bound, error)
    elif kind == "interleave":
        scope.define(f"tl.interleave({a.name}, {b.name})", a.dtype, last, bound, error)
    elif kind == "cat":
        scope.define(f"tl.cat({a.name}, {b.name}, dim={len(a.shape) - 1})", a.dtype, last, bound, error)
    elif a.shape[-1] >= 4:
        half = (*a.shape[:-1], a.shape[-1] // 2)
        scope.define(f"tl.split(tl.reshape({a.name}, {(*half, 2)}))[1]", a.dtype, half, a.bound, a.error)


def histogram(scope: Scope) -> None:
    """How often each of a few numbers occurs."""
    a = scope.pick(lambda v: v.dtype == "int32" and len(v.shape) == 1 and v.size >= 16)
    if a is not None:
        scope.define(f"tl.histogram({a.name} & 15, 16)", "int32", (16,))


def dot(scope: Scope) -> None:
    """A product of two tiles."""

    def usable(v: Value) -> bool:
        return len(v.shape) == 2 and min(v.shape) >= 8 and v.dtype in ("float16", "bfloat16", "float32", "int8")

    a = scope.pick(usable)
    b = a and scope.pick(lambda v: usable(v) and v.dtype == a.dtype and v.shape[0] == a.shape[1])
    if a is None or b is None:
        return
    k, shape = a.shape[1], (a.shape[0], b.shape[1])
    if k < (32 if a.dtype == "int8" else 16):  # what a GPU takes
        return
    if a.dtype == "int8":
        scope.define(f"tl.dot({a.name}, {b.name})", "int32", shape)
        return
    bound = k * a.bound * b.bound
    error = k * (a.bound * b.error + b.bound * a.error) + rounding("float32", bound, k + 2)
    scope.define(f"tl.dot({a.name}, {b.name}, input_precision='ieee')", "float32", shape, bound, error)
