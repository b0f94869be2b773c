"""The command line, testing, reports, descriptors, reinterpreted tensors, allocators."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import testing
from naiad.report import text_of
from naiad.runtime import allocation
from naiad.testing.bench import LEAST_CALLS
from naiad.tools.tensor_descriptor import TensorDescriptor
from tests.runtime.kernels import write_scalar

ROOT = str(Path(__file__).parent.parent.parent)


def test_importing_is_cheap():
    code = (
        "import sys, time; start = time.process_time(); import naiad; spent = time.process_time() - start;"
        "print(spent, [m for m in ('xdsl', 'llvmlite', 'torch') if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": ROOT}
    results = [
        subprocess.check_output([sys.executable, "-c", code], text=True, env=env).split(" ", 1) for _ in range(3)
    ]
    assert {heavy.strip() for _, heavy in results} == {"[]"}
    assert min(float(spent) for spent, _ in results) < 0.1


def test_names_of_the_package():
    assert naiad.float32 is tl.float32 and naiad.language is tl and naiad.compile
    assert set(naiad.__all__) <= set(dir(naiad))
    assert all(hasattr(naiad, name) for name in naiad.__all__ if name != "tools")
    with pytest.raises(AttributeError, match="nothing"):
        _ = naiad.nothing


@pytest.mark.parametrize("n, power", [(0, 0), (1, 1), (2, 2), (3, 4), (1024, 1024), (1025, 2048), (2**40 + 1, 2**41)])
def test_next_power_of_2(n, power):
    assert naiad.next_power_of_2(n) == power


def test_cdiv_on_the_host_and_in_kernels():
    assert naiad.cdiv(7, 2) == 4

    @naiad.jit
    def kernel(out, N: tl.constexpr):
        blocks: tl.constexpr = naiad.cdiv(N, 4) + naiad.next_power_of_2(N)
        tl.store(out, blocks)

    out = np.zeros(1, "i4")
    kernel[(1,)](out, 5)
    assert out[0] == 2 + 8


def test_do_bench():
    times = testing.do_bench(lambda: time.sleep(0.002), warmup=4, rep=20, return_mode="all")
    assert len(times) >= 3 and all(2 <= t < 100 for t in times)
    median, low = testing.do_bench(lambda: time.sleep(0.002), warmup=1, rep=10, quantiles=[0.5, 0.0])
    assert low <= median
    assert isinstance(testing.do_bench(lambda: None, warmup=1, rep=1, quantiles=[0.5]), float)
    with pytest.raises(ValueError, match="return_mode"):
        testing.do_bench(lambda: None, return_mode="best")
    with pytest.raises(RuntimeError, match="needs a CUDA device"):
        testing.do_bench_cudagraph(lambda: None)


def test_do_bench_counts_the_time_of_clearing(monkeypatch):
    """A short call between long clears is timed ten times, not a thousand."""
    monkeypatch.setattr(type(naiad.runtime.driver.active), "clear_cache", lambda self, cache: time.sleep(0.02))
    assert len(testing.do_bench(lambda: None, warmup=1, rep=100, return_mode="all")) == LEAST_CALLS


@pytest.mark.parametrize("make", [np.array, pytest.param("torch", id="torch")])
def test_assert_close(make):
    make = pytest.importorskip("torch").tensor if make == "torch" else make
    testing.assert_close(make([1.0, 2.0]), make([1.0, 2.005]))
    testing.assert_close(make(1.0), 1.005)
    for wrong in (make([1.0, 2.02]), make([1.0, float("nan")])):
        with pytest.raises(AssertionError):
            testing.assert_close(make([1.0, 2.0]), wrong)
    testing.assert_close(make([100.0, 2.0]), make([101.0, 2.0]), rtol=0.02)


def test_reports(tmp_path, capsys):
    bench = testing.Benchmark(
        x_names=["n", "m"], x_vals=[1, (2, 3)], line_arg="how", line_vals=["a", "b"], line_names=["A", "B"],
        plot_name="plot", args={"scale": 10}, ylabel="ms", styles=[("blue", "-"), ("green", "-")],
    )  # fmt: skip

    @testing.perf_report(bench)
    def measure(n, m, how, scale):
        return (n * scale + m, 0, 1) if how == "a" else float(m)

    measure.run(print_data=True, save_path=str(tmp_path))
    assert (tmp_path / "plot.csv").read_text().split() == [
        "n,m,A",
        "(ms),B",
        "(ms)",
        "1,1,11,1.000000",
        "2,3,23,3.000000",
    ]
    assert "plot:" in capsys.readouterr().out
    assert text_of([["x", "y"], [1, 0.5]]) == "x         y\n1  0.500000"


def test_descriptors_check_what_they_are_given():
    base = np.zeros((8, 16), "f4")
    base = np.frombuffer(bytearray(8 * 16 * 4 + 64), "f4")
    base = base[(-base.ctypes.data % 16) // 4 :][: 8 * 16].reshape(8, 16)
    found = TensorDescriptor.from_tensor(base, [4, 8])
    assert (tuple(found.shape), list(found.strides), found.padding) == ((8, 16), [16, 1], "zero")
    for wrong, text in (
        (dict(block_shape=[4]), "rank mismatch"), (dict(strides=[16, 2]), "contiguous"),
        (dict(strides=[15, 1]), "16-byte"),
        (dict(shape=[0, 16]), "positive"), (dict(padding="one"), "padding"),
        (dict(base=base[:, 1:]), "16-byte aligned"),
    ):  # fmt: skip
        facts = {"base": base, "shape": [8, 16], "strides": [16, 1], "block_shape": [4, 8], **wrong}
        with pytest.raises(AssertionError, match=text):
            TensorDescriptor(**facts)
    with pytest.raises(ValueError, match="Shape element 0 must be a power of 2"):
        TensorDescriptor(base, [8, 16], [16, 1], [3, 8])


def test_reinterpret():
    torch = pytest.importorskip("torch")
    data = torch.arange(4, dtype=torch.int32)
    wrapped = naiad.reinterpret(data, tl.uint32)
    assert wrapped.data_ptr() == data.data_ptr() and wrapped.base is data and wrapped.dtype == tl.uint32
    assert naiad.reinterpret(wrapped, torch.int32) is data
    out = torch.zeros(1, dtype=torch.int32)
    kernel = write_scalar.warmup(naiad.reinterpret(out, tl.uint32), 5, grid=(1,))
    assert kernel.src.signature["out"] == "*u32"
    with pytest.raises(TypeError, match="Cannot reinterpret"):
        naiad.reinterpret(3, tl.uint32)


def test_mock_tensors():
    assert naiad.MockTensor("f", (2, 3, 4)).stride() == (12, 4, 1)


def test_allocators():
    with pytest.raises(RuntimeError, match=r"Use triton\.set_allocator"):
        allocation._allocator.get()(16, 16, None)
    naiad.set_allocator(lambda size, alignment, stream: (size, alignment))
    assert allocation._allocator.get()(16, 8, None) == (16, 8)
    naiad.set_allocator(allocation.NullAllocator())


def test_microscaling():
    torch = pytest.importorskip("torch")
    from naiad.tools.mxfp import E2M1, MXFP4Tensor, MXScaleTensor

    values = torch.linspace(-8, 8, 1601)
    table = torch.tensor([*E2M1, *(-v for v in E2M1)])
    found = MXFP4Tensor(values).to(torch.float32)
    nearest = (values.clamp(-6, 6)[:, None] - table).abs().min(1).values
    torch.testing.assert_close((found - values.clamp(-6, 6)).abs(), nearest)
    ties = MXFP4Tensor(torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])).data
    assert (ties % 2 == 0).all()
    codes = MXFP4Tensor(size=(5, 4)).random()
    for dim in (0, 1):
        packed = codes.to_packed_tensor(dim)
        assert torch.equal(codes.unpack_packed_tensor(packed, dim, (5, 4)), codes.data)
    scales = MXScaleTensor(torch.tensor([1.0, 3.0, 0.4, 0.0, -1.0, float("inf"), 2.0**-130]))
    assert scales.data.tolist() == [127, 128, 125, 255, 255, 255, 0]
    assert torch.equal(MXScaleTensor(torch.tensor([0.25, 8.0])).to(torch.float32), torch.tensor([0.25, 8.0]))
    assert MXScaleTensor(size=1000).random(low=1.0, high=4.0).data.unique().tolist() == [127, 128, 129]
