# ruff: noqa: B007, B018, F841, SIM105
"""Kernels with mistakes."""

import naiad as triton
import naiad.language as tl

NUMBER = 42
ANNOTATED: tl.constexpr = 42


@triton.jit
def runtime_range(out, n):
    x = tl.arange(0, n)
    tl.store(out + x, x)


@triton.jit
def shapes_differ(out):
    a = tl.arange(0, 16)
    b = tl.arange(0, 32)
    tl.store(out + a, a + b)


@triton.jit
def mask_differs(x):
    offsets = tl.arange(0, 128)
    y = tl.load(x + offsets, mask=tl.arange(0, 64) < 3)
    tl.store(x + offsets, y)


@triton.jit
def not_a_pointer(n):
    tl.load(n)


@triton.jit
def undefined(out):
    offsets = tl.arange(0, 16)
    tl.store(out + ofsets, offsets)  # noqa: F821


@triton.jit
def defined_in_loop(out, n):
    for i in range(n):
        last = i * 2
    tl.store(out, last)


@triton.jit
def loop_variable_after(out, n):
    for i in range(n):
        tl.store(out, i)
    tl.store(out, i)


@triton.jit
def defined_in_branch(out, n):
    if n > 3:
        value = 1
    tl.store(out, value)


@triton.jit
def branch_types_differ(out, n):
    value = 0
    if n > 3:
        value = 1.5
    tl.store(out, value)


@triton.jit
def return_in_loop(out, n):
    for i in range(n):
        if i == 3:
            return
        tl.store(out + i, i)


@triton.jit
def return_in_while(out, n):
    i = 0
    while i < n:
        return


@triton.jit
def has_try(out):
    try:
        tl.store(out, 1)
    except ValueError:
        pass


@triton.jit
def has_with(out):
    with out:
        pass


@triton.jit
def has_lambda(out):
    f = lambda x: x  # noqa: E731
    tl.store(out, f(1))


@triton.jit
def has_set(out):
    tl.store(out, {x for x in (1, 2)})


@triton.jit
def has_class(out):
    class Inner:
        pass


@triton.jit
def has_function(out):
    def inner(a):
        return a

    tl.store(out, inner(1))


@triton.jit
def has_break(out, n):
    for i in range(n):
        if i > 2:
            break


@triton.jit
def type_changes(out, n):
    total = 0
    for i in range(n):
        total = total + 0.5
    tl.store(out, total)


@triton.jit
def callee(a, b, c=1):
    return a + b + c


@triton.jit
def too_few(out):
    tl.store(out, callee(1))


@triton.jit
def too_many(out):
    tl.store(out, callee(1, 2, 3, 4))


@triton.jit
def unknown_keyword(out):
    tl.store(out, callee(1, 2, d=3))


@triton.jit
def innermost(x):
    # a comment
    return x + tl.arange(0, 7)


@triton.jit
def middle(x):
    return innermost(x)


@triton.jit
def in_a_callee(out, n):
    y = n + 1
    middle(y)


@triton.jit
def endless(x):
    return endless(x)


@triton.jit
def recursion(out, n):
    endless(n)


@triton.jit
def plain_global(out):
    tl.store(out, NUMBER)


@triton.jit
def annotated_global(out):
    tl.store(out, ANNOTATED)


@triton.jit
def not_of_tuple():
    not (0, 0)


@triton.jit
def constants_do_not_add():
    0 + "a"


@triton.jit
def static_assertion(n):
    x = n
    tl.static_assert(isinstance(x, tl.constexpr), "x must be known")


@triton.jit
def runtime_static_assertion(n):
    tl.static_assert(n > 3)


@triton.jit
def branched(n):
    if n == 0:
        return tl.arange(0, 4)
    else:
        return tl.arange(0, 8)


@triton.jit
def return_types_differ(n):
    branched(n)


@triton.must_use_result("It is pure.")
@triton.jit
def cube(x):
    return x * x * x


@triton.jit
def unused_result(n):
    cube(n)


@triton.jit
def assigns_item(n):
    t = (n, n)
    t[0] = 1


@triton.jit
def assigns_attribute(n):
    n.value = 1


@triton.jit
def unpacks_too_few(n):
    a, b, c = (n, n)


@triton.jit
def runtime_constexpr(n):
    x: tl.constexpr = n
    tl.arange(0, x)


@triton.jit
def tile_condition(out):
    if tl.arange(0, 16) > 3:
        tl.store(out, 1)


@triton.jit
def runtime_index(n):
    t = (n, n)
    return t[n]


@triton.jit
def runtime_static_range(out, n):
    for i in tl.static_range(n):
        tl.store(out, i)


@triton.jit
def float_bounds(out, f):
    for i in range(f):
        tl.store(out, i)


@triton.jit
def text_of_runtime_value(n):
    tl.static_print(f"{n}")


@triton.jit
def ternary_types_differ(out, n):
    tl.store(out, 1.0 if n > 0 else tl.arange(0, 4))


@triton.jit
def adds_constant(out, n: tl.constexpr):
    tl.store(out, tl.arange(0, 4) + n)


@triton.jit
def counts_constant(out, n: tl.constexpr):
    for i in tl.static_range(n):
        tl.store(out + i, i)


@triton.jit
def counts_tile(out, n: tl.constexpr):
    tl.store(out + tl.arange(0, n), 1)


@triton.jit
def counts_shape(out, n: tl.constexpr):
    tl.store(out, tl.sum(tl.reshape(tl.arange(0, 32), (n,)), 0))


@triton.jit
def casts_to(out, n: tl.constexpr):
    tl.store(out, tl.arange(0, 4).to(n))


@triton.jit
def first_line(a, b=NUMBER): return a + undefined_name  # fmt: skip  # noqa: F821
