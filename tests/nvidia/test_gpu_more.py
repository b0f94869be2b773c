"""On a GPU: clusters, descriptors, products in parts, results by stmatrix."""

import pytest

from naiad.tools.tensor_descriptor import TensorDescriptor

from . import kernels as K
from .test_arithmetic import high_halves, quotients
from .test_clusters import ranks
from .test_descriptors import product

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU here")]


def normal(*shape: int, dtype=None) -> "torch.Tensor":
    return torch.randn(*shape, device="cuda").to(dtype or torch.float32)


def error(got: "torch.Tensor", want: "torch.Tensor") -> float:
    return float((got.double() - want.double()).norm() / want.double().norm())


@pytest.fixture
def hopper() -> None:
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("clusters need a GPU of compute capability 9.0 or more")


@pytest.mark.parametrize("ctas", [2, 4, 8, 16])
@pytest.mark.parametrize("block", [256, 16384])
def test_softmax_of_clusters(ctas: int, block: int, hopper: None) -> None:
    x, n = normal(50, block - 3), block - 3
    o = torch.full_like(x, float("nan"))
    K.softmax[(50,)](x, o, n, n, BLOCK=block, num_ctas=ctas)
    assert error(o, torch.softmax(x.double(), 1)) < 1e-6


@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_matmul_of_clusters(ctas: int, dtype: str, hopper: None) -> None:
    kind = getattr(torch, dtype)
    a, b = normal(500, 200, dtype=kind), normal(200, 300, dtype=kind)
    c = torch.full((500, 300), float("nan"), device="cuda", dtype=kind)
    K.matmul[(4, 3)](
        a, b, c, 500, 300, 200, *a.stride(), *b.stride(), *c.stride(), BM=128, BN=128, BK=32, num_ctas=ctas
    )
    assert error(c, a.double() @ b.double()) < 2e-3


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_and_sort_of_clusters(reverse: bool, hopper: None) -> None:
    x = normal(2, 2048)
    o = torch.full_like(x, float("nan"))
    K.scan_rows[(1,)](x, o, M=2, N=2048, AXIS=1, REVERSE=reverse, num_ctas=4)
    want = x.double().flip(1).cumsum(1).flip(1) if reverse else x.double().cumsum(1)
    assert error(o, want) < 1e-5
    K.sort_rows[(2,)](x, o, BLOCK=2048, DESCENDING=reverse, num_ctas=4)
    assert torch.equal(o, x.sort(1, descending=reverse)[0])


def test_atomics_of_clusters(hopper: None) -> None:
    out, count = (torch.zeros(n, device="cuda", dtype=torch.int32) for n in (16, 1))
    ranks[(3,)](out, count, num_ctas=4)
    assert out.tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 3, 3, 3, 0, 0, 0, 0, 0] and count.item() == 3


@pytest.mark.parametrize(("m", "n", "k"), [(512, 256, 192), (500, 248, 200), (100, 104, 60)])
def test_product_through_descriptors(m: int, n: int, k: int) -> None:
    a, b = normal(m, 256, dtype=torch.float16)[:, :k], normal(n, 256, dtype=torch.float16)[:, :k]
    c = torch.full((m, 256), float("nan"), device="cuda", dtype=torch.float16)[:, :n]
    kinds = [TensorDescriptor(t, list(t.shape), [256, 1], [64, 64]) for t in (a, b, c)]
    product[(-(-m // 64), -(-n // 64))](*kinds, k, BM=64, BN=64, BK=64)
    assert error(c, a.double() @ b.double().T) < 1e-3


@pytest.mark.parametrize(("precision", "tolerance"), [("tf32x3", 2e-6), ("bf16x3", 2e-5), ("bf16x6", 1e-6)])
def test_products_in_parts(precision: str, tolerance: float) -> None:
    a, b = normal(128, 64), normal(64, 128)
    c = torch.full((128, 128), float("nan"), device="cuda")
    K.one_dot[(1,)](a, b, c, M=128, N=128, K=64, PRECISION=precision)
    assert error(c, a.double() @ b.double()) < tolerance


def test_high_halves_and_quotients() -> None:
    out = torch.zeros(2048, device="cuda", dtype=torch.int32)
    high_halves[(2,)](out, 0, BLOCK=1024)
    numbers = torch.arange(2048, dtype=torch.int64) * 0xD2511F53 >> 32
    assert torch.equal(out.cpu().long() & 0xFFFFFFFF, numbers)
    x = normal(512)
    for d in (3.0, 1e38, 1e-36, float("inf")):
        quotients[(1,)](x, o := torch.empty_like(x), d, BLOCK=512)
        torch.testing.assert_close(o, x / torch.tensor(d, device="cuda"), rtol=5e-7, atol=1e-44)
