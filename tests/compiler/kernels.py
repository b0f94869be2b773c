# ruff: noqa: B007, RUF005, SIM201, SIM202
"""Kernels of many kinds, each with a signature: what the front end must turn into ttir that Triton accepts too."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import naiad as triton
import naiad.language as tl


@dataclass(frozen=True)
class Case:
    kernel: Any
    types: tuple[Any, ...]
    constants: dict[str, Any] = field(default_factory=dict)


CASES: dict[str, Case] = {}


def case(*types: Any, **constants: Any) -> Callable[[Any], Any]:
    """Adds a @jit kernel with the types of its parameters, in order, and its constants."""

    def add(kernel: Any) -> Any:
        CASES[kernel.__name__] = Case(kernel, types, constants)
        return kernel

    return add


SCALE = tl.constexpr(3)
DTYPE = tl.float32


class Tensor(NamedTuple):
    ptr: Any
    shape: Any
    stride: Any


@case("*fp32", "*fp32", "*fp32", "i32", BLOCK=128)
@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@case("*fp32", "*fp32", "i32", "i32", BLOCK=64)
@triton.jit
def softmax(x, out, stride, n, BLOCK: "tl.constexpr"):
    row = tl.program_id(axis=0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + columns, mask=columns < n, other=-float("inf"))
    values = values - tl.max(values, axis=0)
    top = tl.exp(values)
    tl.store(out + row * stride + columns, top / tl.sum(top, axis=0), mask=columns < n)


@case("*fp16", "*fp16", "*fp16", "i32", "i32", "i32", M=32, N=32, K=32)
@triton.jit
def matmul(a, b, c, sa, sb, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a_ptrs = a + rows[:, None] * sa + ks[None, :]
    b_ptrs = b + ks[:, None] * sb + columns[None, :]
    acc = tl.zeros((M, N), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(k_size, K), num_stages=3, disallow_acc_multi_buffer=True):
        left = tl.load(a_ptrs, mask=ks[None, :] < k_size - k * K, other=0.0)
        right = tl.load(b_ptrs, mask=ks[:, None] < k_size - k * K, other=0.0)
        acc += tl.dot(left, right)
        a_ptrs += K
        b_ptrs += K * sb
    tl.store(c + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@case("*i32", "i32")
@triton.jit
def early_return(out, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    value = pid * 2
    if value == 4:
        value += 1
        tl.store(out + 1, value)
        return
    tl.store(out, value)


@case("*i32", "i32")
@triton.jit
def nested_early_return(out, n):
    pid = tl.program_id(0)
    total = n
    if pid > 2:
        total = total + 1
        if n > 7:
            return
        total = total + 2
    else:
        if n > 9:
            tl.store(out + 2, total)
            return
    tl.store(out, total)
    if total == 3:
        return
    tl.store(out + 1, total)


@triton.jit
def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@triton.jit
def partly(x, y):
    if x > 0:
        if y > 0:
            return x * y
        x = x - y
    return x + y


@case("*i32", "i32", "i32")
@triton.jit
def returned_values(out, x, y):
    tl.store(out, sign(x) + partly(x, y))


@case("*fp32", "i32")
@triton.jit
def while_loop(out, n):
    i = 0
    total = 0.0
    while i < n:
        total += i
        i += 2
    tl.store(out, total)


@case("*i32", "i32")
@triton.jit
def while_integer(out, n):
    while n:
        n -= 1
    tl.store(out, n)


@case("*i32", "i32")
@triton.jit
def while_walrus(out, n):
    i = 0
    while (twice := i * 2) < n:
        tl.store(out + i, twice)
        i += 1
    tl.store(out, i)


@case("*i32", "i32")
@triton.jit
def while_condition(out, n):
    i = 0
    while tl.condition(i < n, disable_licm=True):
        i += 1
    tl.store(out, i)


@case("*i32", "i32", "i64")
@triton.jit
def ranges(out, n, m):
    for i in range(10, 0, -3):
        tl.store(out + i, i)
    for j in range(n, m, 2):
        tl.store(out + j, j)
    for k in range(n):
        for l in range(k):
            tl.store(out + k + l, l)


@case("*i32", "i32")
@triton.jit
def carried_through_nests(out, n):
    a, b = 0, 1
    for i in range(n):
        for j in range(i):
            if j > 2:
                a, b = b, a + b
        a += 1
    tl.store(out, a)
    tl.store(out + 1, b)


@case("*i32", "i32", N=5)
@triton.jit
def constexpr_changed_in_loop(out, n, N: tl.constexpr):
    for i in range(n):
        N = N * 2
    tl.store(out, N)


@case("*i32")
@triton.jit
def static_loop(out):
    total = 0
    for i in tl.static_range(4):
        if i % 2 == 0:
            double: tl.constexpr = i * 2
            total += double
        tl.store(out + tl.arange(0, 1 << i), total)
    for i in tl.static_range(6, 0, -2):
        total += i
    tl.store(out, total)


@case("*i32", "i32")
@triton.jit
def return_in_static_loop(out, n):
    for i in tl.static_range(3):
        if n == i:
            tl.store(out, i)
            return
    tl.store(out, -1)


@case("*fp32", "*fp32")
@triton.jit
def loop_over_tuple(x, y):
    for ptr in (x, y):
        tl.store(ptr, 1.0)
    for i, scale in enumerate((1.0, 2.0)):
        tl.store(x + i, scale)


@case("*i32", "i32")
@triton.jit
def branches(out, n):
    if n > 1:
        a = 1
        b = n
    elif n > 0:
        a = 2
        b = n + 1
    else:
        a = 3
        b = 0
    c = b
    if n == 5:
        c = a
    tl.store(out, a + b + c)


@case("*fp32", "i32", FLAG=None)
@triton.jit
def ternaries(out, n, FLAG: tl.constexpr = None):
    a = 1 if n > 0 else 2
    b = 1.0 if FLAG is None else "no"
    c = tl.load(out) if n > 3 else 0.0
    tl.store(out, a + b + c)


@case("*i1", "i32", "i32")
@triton.jit
def comparisons(out, a, b):
    tl.store(out, 0 < a < b <= 10)
    tl.store(out + 1, (a > 1 and b > 2) or not a == b)
    tl.store(out + 2, not (a != 0))
    tl.store(out + 3, a in (1, 2, 3))


@case("*fp32", TYPE=tl.float16, NONE=None, MODE="fast")
@triton.jit
def decided_now(out, TYPE: tl.constexpr, NONE: tl.constexpr, MODE: tl.constexpr):
    tl.static_assert(TYPE is tl.float16)
    tl.static_assert(TYPE in (tl.float16, tl.bfloat16))
    tl.static_assert(NONE is None and MODE == "fast" and MODE != "slow")
    tl.static_assert(1 < 2 < 3)
    if MODE == "slow":
        undefined_name + 1  # noqa: F821
    elif TYPE.is_floating():
        tl.store(out, 1)
    if not NONE:
        tl.store(out, 2)


@case(("*fp32", ("i32", "fp32"), "i64"), "i32")
@triton.jit
def tuple_arguments(args, n):
    ptr, (i, f), j = args
    tl.store(ptr + i, f + j)
    tl.store(args[0], args[1][1])
    tl.static_assert(len(args) == 3)


@triton.jit
def pair(x, y):
    return x + y, (x - y, None)


@triton.jit
def first(*values):
    return values[0]


@case("*i32", "i32", "i32")
@triton.jit
def tuples(out, x, y):
    a, (b, nothing) = pair(x, y)
    tl.static_assert(nothing is None)
    both = (a, b) + (1, 2)
    c, *rest = both
    tl.store(out, c + rest[0] + both[-1])
    tl.store(out, first(*both))
    a, b = b, a
    scaled = [v * 2 for v in (a, b)]
    tl.store(out, scaled[0] + scaled[1])
    sizes: tl.constexpr = [2**i for i in range(4) if i > 1]
    tl.static_assert(sizes[0] == 4 and len(sizes) == 2)


@triton.jit
def move(tensor, by):
    return Tensor(ptr=tensor.ptr + by, shape=tensor.shape, stride=tensor.stride)


@case("*fp32", "i32", "i32")
@triton.jit
def named_tuples(ptr, n, s):
    t = move(Tensor(ptr, (n, 4), (s, 1)), 3)
    tl.store(t.ptr + t.shape[0] * t.stride[0], t.shape[1])


@triton.aggregate
class Window:
    base: tl.tensor
    size: tl.constexpr = 16

    @triton.jit
    def offsets(self, start):
        return self.base + start + tl.arange(0, self.size)

    @triton.jit
    def moved(self, by):
        return Window(self.base + by, self.size)

    @triton.constexpr_function
    def half(self):
        return self.size // 2


@case("*fp32", "i32")
@triton.jit
def aggregates(ptr, n):
    w = Window(ptr, 32)
    for i in range(n):
        w = w.moved(i)
    tl.store(w.offsets(n), 1.0)
    tl.store(w.base + tl.arange(0, w.half()), 2.0)


@triton.jit
def apply(f, x):
    return f(x)


@triton.jit
def square(x):
    return x * x


@triton.jit
def maximum(a, b):
    return tl.maximum(a, b)


@case("*fp32", F=square)
@triton.jit
def functions_as_values(out, F: tl.constexpr):
    x = tl.load(out + tl.arange(0, 32))
    y = apply(F, x)
    tl.store(out, tl.reduce(y, 0, maximum))
    tl.store(out + tl.arange(0, 32), tl.associative_scan(y, 0, maximum))


@triton.jit
def with_options(x, scale=2, *, shift=SCALE, dtype: tl.constexpr = DTYPE):
    return (x * scale + shift).to(dtype)


@case("*fp32", "i32")
@triton.jit
def keywords(out, n):
    tl.store(out, with_options(n))
    tl.store(out, with_options(scale=3, x=n, dtype=tl.float64))
    tl.store(out, with_options(n, shift=1.5))


@triton.jit
def halves(x):
    if x.shape[0] == 1:
        return x
    a, b = x.reshape((x.shape[0] // 2, 2)).split()
    return halves(a) + halves(b)


@case("*i32")
@triton.jit
def recursion_that_ends(out):
    tl.store(out + tl.arange(0, 1), halves(tl.arange(0, 8)))


@triton.jit(noinline=True)
def far(ptr, x):
    tl.store(ptr, x)


@case("*i32", "i32")
@triton.jit
def not_inlined(out, n):
    far(out, n)
    far(out + 1, n)


@case("*fp32", "i32")
@triton.jit
def asserts_and_prints(out, n):
    assert n > 0, f"n must be positive, not {SCALE}"
    tl.device_assert(n < 100, "n is large")
    print("n is", n)
    tl.device_print("n ", n, hex=True)
    tl.static_print(f"compiled with {SCALE.value:>4} {SCALE!r}")


@case("*i32", "i32")
@triton.jit
def python_builtins(out, n):
    small: tl.constexpr = min(3, 5, 4)
    tl.static_assert(small == 3 and max(1, 2) == 2 and abs(-2) == 2)
    tl.static_assert(isinstance(n, tl.tensor) and not isinstance(small, tl.tensor))
    tl.static_assert(hasattr(tl, "load") and getattr(tl, "int32") == n.dtype)  # noqa: B009
    tl.static_assert(int("12") == 12 and float("2.5") == 2.5 and str(4) == "4")
    tl.static_assert(len((1, 2)) == 2)
    tl.store(out, max(n, 3) + min(n, 5) + abs(n))


@case("*fp16", "*i8", "i32")
@triton.jit
def methods_of_scalars(out, bytes_ptr, n):
    x = n.to(tl.float32)
    for i in range(n):
        x += i.to(tl.float32) * 0.5
    tl.store(out, x.to(tl.float16))
    tl.store(bytes_ptr, (n & 0xFF ^ 3 | 1 << 2).to(tl.int8))
    tl.store(bytes_ptr, (-n // 2 % 7 >> 1).to(tl.int8))
    tl.store(bytes_ptr, (~n).to(tl.int8))


@case("*fp32", "i32")
@triton.jit
def indexing(out, n):
    x = tl.arange(0, 16)
    y = x[:, None] + x[None, :]
    z = y[:, :, None]
    tl.store(out + tl.arange(0, 16), tl.sum(y.T, axis=1).to(tl.float32))
    tl.static_assert(z.shape[2] == 1 and y.shape == [16, 16] and y.dtype == tl.int32)
    tl.static_assert(out.dtype.element_ty == tl.float32)


@case("*i32", "i32")
@triton.jit
def walrus(out, n):
    if (double := n * 2) > 4:
        tl.store(out, double)
    x = y = n + 1
    tl.store(out + 1, x + y)


@case("*i32", "i32")
@triton.jit
def declared_first(out, n):
    k: tl.constexpr
    m, k = n, 4
    tl.store(out + tl.arange(0, k), m)


@case("*i32", "u8", "u32", "i1", "bf16", "fp64")
@triton.jit
def scalar_types(out, a, b, c, d, e):
    tl.store(out, a + b)
    if c:
        tl.store(out, (d + e).to(tl.int32))
    for i in range(a):
        tl.store(out, i)


@case("*i32", "*i32", "i32")
@triton.jit
def atomics(out, lock, n):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_add(out + tl.arange(0, 16), n, mask=tl.arange(0, 16) < n, sem="relaxed")
    tl.atomic_xchg(lock, 0)


@case("*fp32", "i32", "i32")
@triton.jit
def block_pointers(x, n, stride):
    p = tl.make_block_ptr(x, shape=(n, 64), strides=(stride, 1), offsets=(0, 0), block_shape=(16, 64), order=(1, 0))
    for i in range(0, n, 16):
        values = tl.load(p, boundary_check=(0,), padding_option="zero")
        tl.store(p, values + 1, boundary_check=(0,))
        p = tl.advance(p, (16, 0))


@case("*fp16", "i32")
@triton.jit
def descriptors(x, n):
    d = tl.make_tensor_descriptor(x, shape=[n, 64], strides=[64, 1], block_shape=[16, 64])
    for i in range(0, n, 16):
        d.store([i, 0], d.load([i, 0]) * 2)


@case("*fp32", "i32")
@triton.jit
def random_numbers(out, seed):
    offsets = tl.arange(0, 64)
    tl.store(out + offsets, tl.rand(seed, offsets))


@case("*fp32", "i32")
@triton.jit
def hinted(out, n):
    n = tl.multiple_of(n, 16)
    offsets = tl.max_contiguous(tl.multiple_of(tl.arange(0, 64) + n, 16), 16)
    tl.assume(n > 0)
    for i in tl.range(0, n, loop_unroll_factor=4, flatten=True, warp_specialize=True, disable_licm=True):
        tl.store(out + offsets, i)


@triton.jit
def do_nothing():
    return


@case("*i32", "i32")
@triton.jit
def calls_without_result(out, n):
    do_nothing()
    if n > 1:
        do_nothing()
    else:
        do_nothing()
    i = 0
    while i < n:
        if i == 5:
            do_nothing()
        i += 1
