"""The Python of a kernel's body: control flow, names, calls, and what a debugger and a traceback see."""

import inspect
import traceback
from collections import namedtuple

import numpy as np
import pytest

import naiad.language as tl
from naiad.errors import InterpreterError
from naiad.runtime.keywords import LAUNCH_OPTIONS

from .interpreted import jit, poisoned

LIMIT = tl.constexpr(3)


def run(kernel, *args, count=8, name="int32", grid=(1,), **kwargs):
    out = np.zeros(count, name)
    kernel[grid](out, *args, **kwargs)
    return out.tolist()


@jit
def loops(o, n, N: tl.constexpr):
    total = 0
    for i in range(n):
        total += i
    tl.store(o, total)
    tl.static_assert(total.dtype == tl.int32)
    for i in range(N, 0, -2):
        total = total * 10 + i.to(tl.int64).to(tl.int32)
    tl.store(o + 1, total)
    for i in tl.range(0, n, 2, num_stages=3):
        total += i
    tl.store(o + 2, total)
    for i in tl.static_range(3):
        size: tl.constexpr = 2**i
        total += tl.sum(tl.arange(0, 2 * size), axis=0)
    tl.store(o + 3, total)
    while total > 100:
        total = total // 2
    tl.store(o + 4, total)


def test_loops():
    total = 10
    for i in (5, 3, 1):
        total = total * 10 + i
    assert run(loops, 5, 5)[:5] == [10, total, total + 6, total + 6 + 1 + 6 + 28, (total + 41) // 128]


@jit
def branches(o, n, flag, NOTHING: tl.constexpr, FLAG: tl.constexpr):
    if n > 3 and not flag:
        x = 1
    elif n > 1 or flag:
        x = 2
    else:
        x = 3
    tl.store(o, x.to(tl.int64))
    y = 5 if n > 3 else 6
    tl.store(o + 1, y.to(tl.float32))
    if NOTHING is None and FLAG is not None:
        tl.store(o + 2, 7)
    if NOTHING is not None and NOTHING.does_not_exist:
        tl.store(o + 2, 8)
    tl.store(o + 3, 1 if 0 < n < 5 else 0)
    if n == 9:
        return
    tl.store(o + 4, FLAG)


@pytest.mark.parametrize(
    "n, flag, want", [(9, False, [1, 5, 7, 0, 0]), (2, True, [2, 6, 7, 1, 4]), (0, False, [3, 6, 7, 0, 4])]
)
def test_branches(n, flag, want):
    assert run(branches, n, flag, None, 4)[:5] == want


@jit
def on_tiles(o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, i, mask=(i > 1 and i < 7) or i == 0)
    tl.store(o + i, 50, mask=not (i > 1))
    tl.store(o + i, 60, mask=3 < i < 6)


def test_logic_of_tiles_is_elementwise():
    assert run(on_tiles, BLOCK=8) == [50, 50, 2, 3, 60, 60, 6, 0]


@jit
def truth_of_a_tile(o):
    if tl.arange(0, 4) > 2:
        tl.store(o, 1)


def test_a_tile_has_no_truth():
    with pytest.raises(InterpreterError, match=r"in truth_of_a_tile\n    if tl.arange.*\n.*not one number"):
        run(truth_of_a_tile)


@jit
def two(a, b: tl.constexpr, c=3):
    if b:
        return a + c, a - c
    return a * c, a


@jit
def recursive_size(N: tl.constexpr):
    if N > 1:
        return 2 * recursive_size(N // 2)
    return 1


@jit
def calls(o, n):
    x, y = two(n, True)
    both = two(n, False, c=10)
    tl.store(o, x)
    tl.store(o + 1, y)
    tl.store(o + 2, both[0] + both[1])
    tl.store(o + 3, tl.cdiv(n, 4) + LIMIT)
    x, y = y, x
    tl.store(o + 4, x)
    tl.store(o + 5, recursive_size(16))
    pairs = ((n, 1), (2, 3))
    tl.store(o + 6, pairs[0][0] + pairs[1][1])


def test_calls():
    assert run(calls, 7)[:7] == [10, 4, 77, 5, 4, 16, 10]


Point = namedtuple("Point", ["x", "y"])


@jit
def tuples(o, point, many):
    tl.store(o, point.x + point[1])
    total = 0
    for i in tl.static_range(len(many)):
        total += many[i]
    tl.store(o + 1, total)


def test_tuples_as_arguments():
    assert run(tuples, Point(3, 4), (1, 2, 30))[:2] == [7, 33]


@jit
def moved_point(p, by):
    return Point(p.x + by, p.y + by)


@jit
def named_tuples(o, p):
    q = moved_point(p, 10)
    tl.store(o, q.x * 100 + q.y)


def test_named_tuples_in_a_kernel():
    assert run(named_tuples, Point(3, 4))[0] == 1314


def test_a_function_without_source():
    names = {"tl": tl}
    exec("def f(o, n):\n    for i in range(n):\n        tl.store(o + i, i * 2, mask=i != 1)", names)
    with pytest.warns(UserWarning, match="f has no source"):
        kernel = jit(names["f"])
    assert run(kernel, 3)[:4] == [0, 0, 4, 0]


@jit
def constants(o, N: tl.constexpr):
    shape: tl.constexpr = (N // 2, 2)
    tl.store(o + tl.arange(0, N), tl.flip(tl.arange(0, N).reshape(shape), 1).reshape((N,)))


@jit
def no_constant(o, n):
    size: tl.constexpr = n * 2  # Triton takes it, and refuses it where a constexpr is needed
    tl.store(o, size)
    tl.store(o + tl.arange(0, size), size)


def test_constants_in_a_kernel():
    assert run(constants, 8) == [1, 0, 3, 2, 5, 4, 7, 6]
    with pytest.raises(InterpreterError, match=r"arguments must be of type tl\.constexpr"):
        run(no_constant, 3)


@jit
def pythons_functions(o, n, N: tl.constexpr):
    tl.store(o, min(n, 4) + max(N, 2))
    tl.store(o + 1, int(N) + len((1, 2, 3)))
    tl.static_assert(isinstance(n, tl.tensor) and isinstance(N, tl.constexpr))
    tl.static_assert(isinstance(N, int) and float(N) == 5.0)
    values = [k * 2 for k in range(3)]
    tl.store(o + 2, values[2])
    at = tl.arange(0, 4)
    tl.store(o + 4 + at, getattr(tl, "maximum")(at, 2))  # noqa: B009


def test_pythons_functions():
    assert run(pythons_functions, 9, 5) == [9, 8, 4, 0, 2, 2, 2, 3]


def test_closures():
    factor = tl.constexpr(6)

    @jit
    def inner(o, n):
        tl.store(o, n * factor)

    assert run(inner, 7)[0] == 42


@jit
def grids(o, x_size):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(o + at, tl.num_programs(0) * 100 + tl.num_programs(1) * 10 + tl.num_programs(2) + x_size)


def test_grids():
    assert run(grids, 0, count=24, grid=(2, 3, 4)) == [234] * 24
    out = poisoned(3, "int32")
    grids[lambda meta: (meta["x_size"],)](out, 3)
    assert out.tolist() == [314] * 3
    grids[5](poisoned(5, "int32"), 0)
    with pytest.raises(ValueError, match="1 to 3 dimensions"):
        grids[(1, 1, 1, 1)](out, 3)
    with pytest.raises(TypeError, match="cdiv"):
        grids[(2.0,)](out, 3)


def test_options_are_those_of_compiled_launches():
    out = poisoned(5, "int32")
    grids[5](out, 0, **dict.fromkeys(LAUNCH_OPTIONS - {"num_warps", "num_ctas", "num_stages"}), num_warps=8)
    assert out.tolist() == [511] * 5
    with pytest.raises(AssertionError, match="num_warps must be a power of 2"):
        grids[5](out, 0, num_warps=3)


@jit
def typed(o, a: tl.uint8, b: tl.int64, c, d, e):
    tl.static_assert(a.dtype == tl.uint8 and b.dtype == tl.int64 and c.dtype == tl.int64)
    tl.static_assert(d.dtype == tl.float32 and e.dtype == tl.int1)
    tl.store(o, a + 0)
    tl.store(o + 1, (b + c) // 2**32)


def test_types_of_numbers():
    assert run(typed, 300, 5, 2**40, 1.5, True)[:2] == [44, 256]


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"typed\(\): missing a required argument"):
        typed[(1,)](poisoned(1, "int32"))
    with pytest.raises(KeyError, match="num_wraps"):
        run(loops, 5, 5, num_wraps=4)
    with pytest.raises(OverflowError, match="64 bits"):
        run(grids, 2**70)


@jit
def mistaken(o, n):
    x = tl.arange(0, 8)
    y = (x +
         tl.arange(0, 16))  # fmt: skip
    tl.store(o + x, y)


def test_errors_show_the_kernels_line():
    line = inspect.getsourcelines(mistaken.fn)[1] + 3
    with pytest.raises(
        InterpreterError, match=rf"test_python.py:{line}: in mistaken\n    y = \(x \+\nValueError: "
    ) as caught:
        run(mistaken, 1)
    assert isinstance(caught.value.__cause__, ValueError)
    frames = [f for f in traceback.extract_tb(caught.value.__cause__.__traceback__) if f.name == "mistaken"]
    assert frames[-1].line == "y = (x +" and frames[-1].filename == __file__


@jit
def stops(o, n):
    x = tl.arange(0, 4) + n
    breakpoint()
    tl.store(o + tl.arange(0, 4), x)


def test_breakpoint_is_in_the_kernel(monkeypatch):
    seen = {}

    def hook():
        frame = inspect.currentframe().f_back
        seen.update(name=frame.f_code.co_name, line=frame.f_lineno, x=repr(frame.f_locals["x"]))

    monkeypatch.setattr("sys.breakpointhook", hook)
    assert run(stops, 10)[:4] == [10, 11, 12, 13]
    start = inspect.getsourcelines(stops.fn)[1]
    assert seen == {"name": "stops", "line": start + 3, "x": "int32[4] [10 11 12 13]"}


@jit
def prints(o, n, N: tl.constexpr):
    x = tl.arange(0, 4) - 2
    print("x is", x, x.to(tl.uint8), n, N, sep="|")


def test_print_shows_numbers(capsys):
    run(prints, 3, 7)
    assert capsys.readouterr().out == "x is|[-2 -1  0  1]|[254 255   0   1]|3|7\n"


@jit
def torch_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "int8", "float8_e5m2"])
def test_torch_tensors(name):
    torch = pytest.importorskip("torch")
    x = torch.arange(20).to(getattr(torch, name))
    y = torch.zeros_like(x)
    torch_kernel[(3,)](x, y, 20, BLOCK=8)
    assert torch.equal(y.float(), (x.float() * 2).to(x.dtype).float())
