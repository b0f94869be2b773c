"""The kernels of the emulator's tests on a GPU, with torch tensors: fresh inputs, poisoned outputs, float64
references.
"""

import pytest

from . import kernels as K

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU here")]


def normal(*shape: int, dtype=None) -> "torch.Tensor":
    return torch.randn(*shape, device="cuda").to(dtype or torch.float32)


def poisoned(*shape: int, dtype=None) -> "torch.Tensor":
    out = torch.empty(*shape, device="cuda", dtype=dtype or torch.float32)
    return out.fill_(float("nan") if out.is_floating_point() else 7)


def error(got: "torch.Tensor", want: "torch.Tensor") -> float:
    return float((got.double() - want.double()).norm() / want.double().norm())


@pytest.mark.parametrize("n", [1, 1000, 1024, 98432])
def test_vector_add(n: int) -> None:
    x, y, o = normal(n), normal(n), poisoned(n)
    K.vector_add[(-(-n // 1024),)](x, y, o, n, BLOCK=1024)
    assert torch.equal(o, x + y)


def test_views_with_offsets_are_not_aligned() -> None:
    x, y, o = normal(1001)[1:], normal(1003)[3:], poisoned(1001)[1:]
    K.vector_add[(1,)](x, y, o, 1000, BLOCK=1024)
    assert torch.equal(o, x + y[:1000])


def test_empty_grid() -> None:
    x = normal(16)
    K.vector_add[(0,)](x, x, x, 0, BLOCK=1024)


@pytest.mark.parametrize(("n", "block", "warps"), [(1000, 1024, 4), (33, 64, 1), (781, 1024, 8), (16384, 16384, 16)])
def test_softmax(n: int, block: int, warps: int) -> None:
    x, o = normal(100, n), poisoned(100, n)
    K.softmax[(100,)](x, o, n, n, BLOCK=block, num_warps=warps)
    assert error(o, torch.softmax(x.double(), 1)) < 1e-6


def test_layer_norm() -> None:
    x, w, b, o = normal(64, 1000), normal(1000), normal(1000), poisoned(64, 1000)
    K.layer_norm[(64,)](x, w, b, o, 1000, 1000, 1e-5, BLOCK=1024)
    want = torch.nn.functional.layer_norm(x.double(), (1000,), w.double(), b.double())
    assert error(o, want) < 1e-5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(("m", "n", "k"), [(512, 512, 512), (500, 300, 200), (64, 1, 33)])
def test_matmul(dtype: str, m: int, n: int, k: int) -> None:
    kind = getattr(torch, dtype)
    a, b, c = normal(m, k, dtype=kind), normal(k, n, dtype=kind), poisoned(m, n, dtype=kind)
    grid = (-(-m // 64), -(-n // 64))
    K.matmul[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), BM=64, BN=64, BK=32)
    assert error(c, a.double() @ b.double()) < (2e-3 if dtype == "float32" else 1e-2)


def test_matmul_of_transposed_views() -> None:
    a, b, c = normal(256, 512, dtype=torch.float16).T, normal(128, 256, dtype=torch.float16).T, poisoned(512, 128)
    K.matmul[(8, 2)](a, b, c, 512, 128, 256, *a.stride(), *b.stride(), *c.stride(), BM=64, BN=64, BK=32)
    assert error(c, a.double() @ b.double()) < 1e-3


def test_attention() -> None:
    q, k, v, o = (normal(512, 64, dtype=torch.float16) for _ in range(4))
    K.attention[(8,)](q, k, v, o.fill_(float("nan")), 0.125, 512, D=64, BM=64, BN=32)
    want = torch.softmax(q.double() @ k.double().T * 0.125, 1) @ v.double()
    assert error(o, want) < 2e-3


def test_transpose() -> None:
    x, o = normal(1000, 777), poisoned(777, 1000)
    K.transpose[(16, 13)](x, o, 1000, 777, BM=64, BN=64)
    assert torch.equal(o, x.T)


@pytest.mark.parametrize("block", [64, 1024, 2048])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(block: int, descending: bool) -> None:
    x, o = normal(32, block), poisoned(32, block)
    K.sort_rows[(32,)](x, o, BLOCK=block, DESCENDING=descending)
    assert torch.equal(o, torch.sort(x, 1, descending=descending)[0])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(axis: int, reverse: bool) -> None:
    x, o = normal(32, 128), poisoned(32, 128)
    K.scan_rows[(1,)](x, o, M=32, N=128, AXIS=axis, REVERSE=reverse)
    wide = x.double().flip(axis) if reverse else x.double()
    want = wide.cumsum(axis)
    assert error(o, want.flip(axis) if reverse else want) < 1e-5


@pytest.mark.parametrize("axis", [0, 1])
def test_reduce(axis: int) -> None:
    x, n = normal(32, 64), (32, 64)[1 - axis]
    total, largest, place = poisoned(n), poisoned(n), poisoned(n, dtype=torch.int32)
    K.reduce_rows[(1,)](x, total, largest, place, M=32, N=64, AXIS=axis)
    assert error(total, x.double().sum(axis)) < 1e-5
    assert torch.equal(largest, x.max(axis)[0]) and torch.equal(place.long(), x.argmax(axis))


def test_atomics() -> None:
    n = 5000
    x, total = normal(n), torch.zeros(16, device="cuda")
    largest = torch.full((16,), -(2**31), device="cuda", dtype=torch.int32)
    count, old = torch.zeros(1, device="cuda", dtype=torch.int32), poisoned(40, dtype=torch.int32)
    K.atomics[(40,)](x, total, largest, count, old, n, BLOCK=128)
    assert count.item() == 40 and sorted(old.tolist()) == list(range(40))
    want = torch.zeros(16, device="cuda", dtype=torch.float64).index_add_(
        0, torch.arange(n, device="cuda") % 16, x.double()
    )
    assert error(total, want) < 1e-4


def test_histogram_and_gather() -> None:
    x = torch.randint(0, 16, (300,), device="cuda", dtype=torch.int32)
    o = poisoned(16, dtype=torch.int32)
    K.histogram[(1,)](x, o, 300, BLOCK=512, BINS=16)
    assert torch.equal(o[1:].long(), torch.bincount(x, minlength=16)[1:])
    y, i, g = normal(16, 64), torch.randint(0, 64, (16, 64), device="cuda", dtype=torch.int32), poisoned(16, 64)
    K.gather_rows[(1,)](y, i, g, M=16, N=64)
    assert torch.equal(g, torch.gather(y, 1, i.long()))


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf"])
def test_functions(name: str) -> None:
    x, o = normal(5000).abs() * 3 + 1e-3, poisoned(5000)
    K.unary[(10,)](x, o, 5000, NAME=name, BLOCK=512)
    assert error(o, getattr(torch, name)(x.double())) < 2e-6


def test_dropout_join_while() -> None:
    x, o = torch.ones(4000, device="cuda"), poisoned(4000)
    K.dropout[(4,)](x, o, 4000, 0.25, 99, BLOCK=1024)
    assert abs((o > 0).float().mean().item() - 0.75) < 0.03
    a, b, both, d = normal(128), normal(128), poisoned(256), poisoned(128)
    K.interleave[(1,)](a, b, both, d, BLOCK=128)
    assert torch.equal(both, torch.stack([a, b], 1).reshape(-1)) and torch.equal(d, a - b)
    n, steps = torch.tensor([1, 7, 27, 97], device="cuda", dtype=torch.int32), poisoned(4, dtype=torch.int32)
    K.collatz[(4,)](n, steps)
    assert steps.tolist() == [0, 16, 111, 118]


def test_streams_are_respected() -> None:
    x, o = normal(1 << 20), poisoned(1 << 20)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        x.mul_(2)
        K.vector_add[(1024,)](x, x, o, 1 << 20, BLOCK=1024)
    stream.synchronize()
    assert torch.equal(o, x + x)
