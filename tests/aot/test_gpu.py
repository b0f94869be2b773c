"""Launchers in C on a GPU: what the dispatcher runs, on torch's tensors and stream."""

import ctypes
from pathlib import Path

import pytest

from naiad import aot

from . import kernels
from .build import gcc

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU here")]
TYPES = "*fp32:16, *fp16{0}, *fp16:16, i32, i32, i32, i32{0}, i32{0}, i32{0}, 64, 64, 32"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The dispatcher, linked to the driver."""
    folder = tmp_path_factory.mktemp("matmul")
    target = "cuda:" + "".join(map(str, torch.cuda.get_device_capability()))
    made = [aot.compile(kernels.matmul, TYPES.format(hint), "(M + BM - 1) / BM, (N + BN - 1) / BN", target=target)
            for hint in (":16", "")]  # fmt: skip
    files = [file for one in made for file in one.write(folder / "matmul")]
    files += aot.link([one.header for one in made]).write(folder / "matmul")
    sources = [file for file in files if file.suffix == ".c"]
    torch.cuda.init()
    with open("/proc/self/maps") as maps:
        driver = next(line.split()[-1] for line in maps if "libcuda.so" in line)
    gcc("-shared", "-fPIC", "-O1", "-I", Path(__file__).parent, "-o", folder / "matmul.so", *sources, driver)
    return ctypes.CDLL(str(folder / "matmul.so"))


@pytest.mark.parametrize(("m", "n", "k", "offset"), [(256, 256, 256, 0), (97, 131, 75, 0), (64, 64, 64, 1)])
def test_products(library: ctypes.CDLL, m: int, n: int, k: int, offset: int) -> None:
    """Sizes and addresses that are multiples of 16, and that are not."""
    a = torch.randn(m * k + offset, device="cuda").to(torch.float16)[offset:].view(m, k)
    b = torch.randn(k, n, device="cuda").to(torch.float16)
    c = torch.full((m, n), float("nan"), device="cuda")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    pointers = [ctypes.c_uint64(x.data_ptr()) for x in (c, a, b)]
    assert library.matmul_default(stream, *pointers, m, n, k, k, n, n) == 0
    want = a.double() @ b.double()
    assert float((c.double() - want).norm() / want.norm()) < 1e-5


def test_unload_and_again(library: ctypes.CDLL) -> None:
    test_products(library, 64, 64, 64, 0)
    torch.cuda.synchronize()
    assert library.unload_matmul() == 0
    assert library.load_matmul() == 0
    test_products(library, 64, 64, 64, 0)
