"""Productions that compute element by element."""

import math

from naiad.tools.fuzz.scope import Scope, common_shape
from naiad.tools.fuzz.values import EPSILON, FLOATS, INTEGERS, SIGNED, Value, bits_of, rounding


def is_integer(value: Value) -> bool:
    return value.is_integer


def is_float(value: Value) -> bool:
    return value.is_float


def _meet(a: Value, b: Value) -> tuple[int, ...]:
    shape = common_shape(a.shape, b.shape)
    assert shape is not None
    return shape


def integer_type(a: str, b: str) -> str:
    """The wider; the unsigned one of two of a width."""
    if (a in SIGNED) == (b in SIGNED):
        return a if bits_of(a) > bits_of(b) else b
    unsigned, signed = (b, a) if a in SIGNED else (a, b)
    return unsigned if bits_of(unsigned) >= bits_of(signed) else signed


def float_type(a: str, b: str) -> str:
    """The type of arithmetic on two floats."""
    for wide in ("float64", "float32"):
        if wide in (a, b):
            return wide
    return a if a == b else "float16"


def integers(scope: Scope) -> None:
    """x + y and the like, modulo the width; the second may be a literal."""
    a = scope.pick(is_integer)
    b = a and scope.partner(a, is_integer)
    if a is None or b is None:
        return
    op = scope.random.choice(("+", "-", "*", "&", "|", "^"))
    if scope.random.random() < 0.2:
        scope.define(f"{a.name} {op} {scope.random.randrange(0, 100)}", a.dtype, a.shape)
    else:
        scope.define(f"{a.name} {op} {b.name}", integer_type(a.dtype, b.dtype), _meet(a, b))


def integer_division(scope: Scope) -> None:
    """x // y and x % y of one signedness; by any number, or by one that is made odd and positive."""
    a = scope.pick(is_integer)
    b = a and scope.partner(a, lambda v: v.is_integer and (v.dtype in SIGNED) == (a.dtype in SIGNED))
    if a is None or b is None:
        return
    op = scope.random.choice(("//", "%"))
    divisor = scope.random.choice((f"(({b.name} & 31) | 1)", b.name))
    scope.define(f"{a.name} {op} {divisor}", integer_type(a.dtype, b.dtype), _meet(a, b))


def shift(scope: Scope) -> None:
    """x << y and x >> y, by less than the width or by more."""
    a = scope.pick(is_integer)
    b = a and scope.partner(a, lambda v: v.dtype == a.dtype)
    if a is None or b is None:
        return
    op = scope.random.choice(("<<", ">>"))
    count = scope.random.choice((f"({b.name} & {bits_of(a.dtype) - 1})", b.name))
    scope.define(f"{a.name} {op} {count}", a.dtype, _meet(a, b))


def floats(scope: Scope) -> None:
    """x + y, x - y, x * y, and x / (|y| + 1)."""
    a = scope.pick(is_float)
    b = a and scope.partner(a, is_float)
    if a is None or b is None:
        return
    op, shape = scope.random.choice(("+", "-", "*", "/")), _meet(a, b)
    dtype = float_type(a.dtype, b.dtype)
    # the operands themselves are rounded on the way to a common type
    ea, eb = (v.error + (0 if EPSILON[v.dtype] >= EPSILON[dtype] else rounding(dtype, v.bound)) for v in (a, b))
    if op == "/":
        dtype = "float32" if dtype in ("float16", "bfloat16") else dtype
        error = ea + a.bound * eb + rounding(dtype, a.bound, 4) + a.bound * rounding(b.dtype, b.bound + 1)
        scope.define(f"{a.name} / (tl.abs({b.name}) + 1)", dtype, shape, a.bound, error)
    elif op == "*":
        bound = a.bound * b.bound
        scope.define(f"{a.name} * {b.name}", dtype, shape, bound, a.bound * eb + b.bound * ea + rounding(dtype, bound))
    else:
        bound = a.bound + b.bound
        scope.define(f"{a.name} {op} {b.name}", dtype, shape, bound, ea + eb + rounding(dtype, bound))


def function(scope: Scope) -> None:
    """A function of math, where it is smooth."""
    a = scope.pick(lambda v: v.dtype in ("float32", "float64") and v.bound < 60)
    if a is None:
        return
    x, dtype, e = a.name, a.dtype, a.error
    few = rounding(dtype, 1.0, 8)
    top, square = math.exp(min(a.bound, 4.0)), a.bound * a.bound + 1
    _, text, bound, error = scope.random.choice((
        ("exp", f"tl.exp(tl.minimum({x}, 4.0))", top, top * (e + few)),
        ("exp2", f"tl.exp2(tl.minimum({x}, 4.0))", top, top * (e + few)),
        ("log", f"tl.log(tl.abs({x}) + 1.0)", math.log(a.bound + 1), e + few * (2 + a.bound)),
        ("sin", f"tl.sin({x})", 1.0, e + few),
        ("cos", f"tl.cos({x})", 1.0, e + few),
        ("sqrt", f"tl.sqrt(tl.abs({x}))", math.sqrt(a.bound), math.sqrt(e) + few * math.sqrt(a.bound)),
        ("rsqrt", f"tl.rsqrt(tl.abs({x}) + 1.0)", 1.0, e + few * (2 + a.bound)),
        ("sigmoid", f"tl.sigmoid({x})", 1.0, e + few),
        ("erf", f"tl.erf({x})", 1.0, 2 * e + few),
        ("fma", f"tl.fma({x}, {x}, 1.0)", square, (2 * a.bound) * e + few * square),
        ("neg", f"-{x}", a.bound, e),
        ("abs", f"tl.abs({x})", a.bound, e),
    ))  # fmt: skip
    scope.define(text, dtype, a.shape, bound, error)


def comparison(scope: Scope) -> None:
    """x < y of exact values of one type."""
    a = scope.pick(lambda v: v.is_exact and not v.is_bool)
    b = a and scope.partner(a, lambda v: v.is_exact and v.dtype == a.dtype)
    if a is None or b is None:
        return
    op = scope.random.choice(("<", "<=", ">", ">=", "==", "!="))
    if scope.random.random() < 0.3:
        scope.define(f"{a.name} {op} 1", "int1", a.shape)
    else:
        scope.define(f"{a.name} {op} {b.name}", "int1", _meet(a, b))


def logic(scope: Scope) -> None:
    """Conditions combined."""
    a = scope.pick(lambda v: v.is_bool)
    b = a and scope.partner(a, lambda v: v.is_bool)
    if a is None or b is None:
        return
    text = scope.random.choice(("{a} & {b}", "{a} | {b}", "{a} ^ {b}", "{a} and {b}", "{a} or {b}", "not {a} and {b}"))
    scope.define(text.format(a=a.name, b=b.name), "int1", _meet(a, b))


def choice(scope: Scope) -> None:
    """tl.where of two values of a type."""
    a = scope.pick(lambda v: not v.is_bool)
    b = a and scope.partner(a, lambda v: v.dtype == a.dtype)
    c = a and scope.partner(a, lambda v: v.is_bool)
    if a is None or b is None or c is None:
        return
    shape = common_shape(_meet(a, b), c.shape)
    if shape is not None:
        scope.define(
            f"tl.where({c.name}, {a.name}, {b.name})", a.dtype, shape, max(a.bound, b.bound), max(a.error, b.error)
        )


def extremum(scope: Scope) -> None:
    """The smaller or larger of two values of a type."""
    a = scope.pick(lambda v: not v.is_bool and v.dtype != "bfloat16")
    b = a and scope.partner(a, lambda v: v.dtype == a.dtype)
    if a is None or b is None:
        return
    name = scope.random.choice(("minimum", "maximum"))
    scope.define(f"tl.{name}({a.name}, {b.name})", a.dtype, _meet(a, b), max(a.bound, b.bound), max(a.error, b.error))


def cast(scope: Scope) -> None:
    """A value in another type; floats become integers only where they are exact."""
    a = scope.pick()
    if a is None:
        return
    if a.is_float:
        targets = FLOATS if not a.is_exact else (*FLOATS, *SIGNED, "float8e4nv", "float8e5", "int1")
        dtype = scope.random.choice(targets)
        if dtype.startswith("float8"):
            scope.define(f"{a.name}.to(tl.{dtype}).to(tl.float32)", "float32", a.shape, a.bound * 1.25)
        elif dtype in FLOATS:
            # a value that is exact is rounded the same everywhere
            error = 0.0 if a.is_exact else a.error + rounding(dtype, a.bound)
            scope.define(f"{a.name}.to(tl.{dtype})", dtype, a.shape, a.bound * 1.01, error)
        elif a.bound < 100 or a.bound == math.inf:  # what does not fit gives the nearest that does
            scope.define(f"{a.name}.to(tl.{dtype})", dtype, a.shape)
        return
    dtype = scope.random.choice((*INTEGERS, "float32", "float64"))
    if dtype in INTEGERS:
        scope.define(f"{a.name}.to(tl.{dtype})", dtype, a.shape)
    elif a.is_bool:
        scope.define(f"{a.name}.to(tl.{dtype})", dtype, a.shape, 1.0)
    else:
        scope.define(f"({a.name} & 15).to(tl.{dtype})", dtype, a.shape, 16.0)


def bits(scope: Scope) -> None:
    """The bits of an exact float as an integer of its width."""
    # the bits of a NaN are nowhere promised
    a = scope.pick(lambda v: v.is_float and v.is_exact and v.dtype != "bfloat16" and not v.may_be_nan)
    if a is not None:
        integer = "int" + a.dtype.removeprefix("float")
        scope.define(f"{a.name}.to(tl.{integer}, bitcast=True)", integer, a.shape)


def call(scope: Scope) -> None:
    """A call of another function."""
    a = scope.pick(is_integer)
    if a is not None:
        scope.define(f"mix({a.name}, {scope.random.randrange(1, 5)})", a.dtype, a.shape)
