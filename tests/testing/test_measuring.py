"""Makers of arrays, do_bench, perf_report, assert_close, and what is said of devices."""

import csv
import inspect
import time

import numpy as np
import pytest

import naiad
from naiad import testing
from naiad.testing import bench, device

NAMES = ("assert_close", "Benchmark", "Mark", "cuda_memcheck", "do_bench", "do_bench_cudagraph", "get_dram_gbps",
         "get_max_simd_tflops", "get_max_tensorcore_tflops", "nvsmi", "perf_report", "set_gpu_clock",
         "do_bench_proton", "do_bench_cudagraph_proton")  # fmt: skip


def test_tritons_names():
    assert all(callable(getattr(testing, name)) and name in testing.__all__ for name in NAMES)


def test_signatures_are_the_peers():
    peer = pytest.importorskip("triton.testing", reason="Triton, whose signatures these are, is not installed")
    for name in set(NAMES) & set(dir(peer)):
        ours, theirs = (list(inspect.signature(getattr(m, name)).parameters) for m in (testing, peer))
        assert ours[: len(theirs)] == theirs or name in ("Mark", "nvsmi"), name


@pytest.mark.parametrize("dtype, name", [
    ("float32", "float32"), (naiad.bfloat16, "bfloat16"), (naiad.float8e4nv, "float8_e4m3fn"), (np.int8, "int8"),
    ("u16", "uint16"), (np.dtype("f8"), "float64"), (naiad.int1, "bool"), ("fp16", "float16"),
])  # fmt: skip
def test_makers(dtype, name):
    for make in (testing.random, testing.empty):
        assert str(make((2, 3), dtype).dtype).split(".")[-1] == name and tuple(make(5, dtype).shape) == (5,)
    a, b, c = testing.random(100, dtype), testing.random(100, dtype), testing.random(100, dtype, seed=1)
    assert (testing.to_float64(a) == testing.to_float64(b)).all() and (
        testing.to_float64(a) != testing.to_float64(c)
    ).any()
    if "float" in name:
        assert np.isnan(testing.to_float64(testing.empty(3, dtype))).all()


def test_unknown_dtypes_are_named():
    with pytest.raises(TypeError, match="complex64"):
        testing.random(3, "complex64")


def test_dtypes_at_top_level():
    for name in ("float32", "float16", "bfloat16", "float64", "int1", "int8", "uint64", "float8e4nv", "float8e5"):
        assert getattr(naiad, name) is getattr(naiad.language, name) and name in dir(naiad)


@pytest.mark.parametrize("mode, want", [("min", 1), ("max", 5), ("mean", 2.75), ("median", 2.5), ("all", [2, 1, 3, 5])])
def test_statistics(mode, want):
    assert bench.summary([2, 1, 3, 5], None, mode) == want


def test_quantiles():
    times = [float(x) for x in np.random.default_rng(0).random(17)]
    for q in ([0.5], [0.2, 0.5, 0.8], [0, 1]):
        want = np.quantile(times, q)
        np.testing.assert_allclose(bench.summary(times, q, "mean"), want[0] if len(q) == 1 else want)
    with pytest.raises(ValueError, match=r"Quantiles must be in the range \[0, 1\]"):
        testing.do_bench(lambda: None, quantiles=[0.5, 1.5])
    with pytest.raises(ValueError, match="return_mode is one of"):
        testing.do_bench(lambda: None, return_mode="mode")


def test_what_cannot_be_timed():
    with pytest.raises(TypeError, match=r"expected one, as lambda: kernel\[grid\]\(x, n\), found 5"):
        testing.do_bench(5)
    with pytest.raises(TypeError, match=r"quantiles: expected a list such as .*, found 0.5"):
        testing.do_bench(lambda: None, quantiles=0.5)


def test_times_on_the_cpu():
    calls = []
    found = testing.do_bench(lambda: (calls.append(1), time.sleep(0.002)), warmup=1, rep=20, return_mode="all")
    assert len(calls) > len(found) >= 1 and min(found) >= 2
    low, high = testing.do_bench(lambda: time.sleep(0.001), warmup=1, rep=5, quantiles=[0.1, 0.9])
    assert 1 <= low <= high

    class Tensor:
        grad = 1

    tensor = Tensor()
    testing.do_bench(lambda: tensor.grad, warmup=0, rep=1, grad_to_none=[tensor])
    assert tensor.grad is None


def test_what_needs_a_gpu_or_a_profiler_says_so():
    with pytest.raises(RuntimeError, match="needs a CUDA device; do_bench works everywhere"):
        testing.do_bench_cudagraph(lambda: None)
    with pytest.raises(RuntimeError, match="Proton, which naiad has not; use do_bench"):
        testing.do_bench_proton(lambda: None)


def made(**more):
    return testing.Benchmark(
        x_names=["M", "N"], x_vals=[1, (2, 3)], line_arg="provider", line_vals=["a", "b"], line_names=["A", "B"],
        plot_name="sum", args={"k": 10}, ylabel="GB/s", **more,
    )  # fmt: skip


def test_reports(tmp_path, capsys):
    seen = []

    @testing.perf_report(made())
    def measure(M, N, provider, k, extra=0):
        seen.append((M, N, provider, k, extra))
        return M + N + k + (provider == "b") + 0.25, 1, 2

    measure.run(print_data=True, save_path=str(tmp_path / "out"), diff_col=True, save_precision=3, extra=7)
    assert seen == [(1, 1, "a", 10, 7), (1, 1, "b", 10, 7), (2, 3, "a", 10, 7), (2, 3, "b", 10, 7)]
    rows = list(csv.reader((tmp_path / "out" / "sum.csv").read_text().splitlines()))
    assert rows == [["M", "N", "A (GB/s)", "B (GB/s)", "Diff"], ["1", "1", "12.250", "13.250", "1.000"],
                    ["2", "3", "15.250", "16.250", "1.000"]]  # fmt: skip
    assert "sum:" in (text := capsys.readouterr().out) and "13.250000" in text
    assert (tmp_path / "out" / "results.html").read_text().startswith("<html>")


def test_plots(tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")
    matplotlib.use("Agg")
    mark = testing.perf_report(made(styles=[("red", "-"), ("blue", "--")], x_log=True))(
        lambda M, **_: (M + 1.0, M, M + 2)
    )
    mark.run(save_path=str(tmp_path))
    assert (tmp_path / "sum.png").exists() and "sum.png" in (tmp_path / "results.html").read_text()


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas", reason="return_df needs pandas")
    frame = testing.perf_report(made())(lambda **_: 2.0).run(return_df=True)
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["M", "N", "A (GB/s)", "B (GB/s)"]


def test_sizes_that_do_not_fit_the_names():
    mark = testing.perf_report(testing.Benchmark(["M"], [(1, 2)], "p", ["a"], ["A"], "x"))(lambda **_: 1)
    with pytest.raises(ValueError, match=r"Expected 1 values, got \(1, 2\)"):
        mark.run()


def test_reports_of_what_is_none():
    with pytest.raises(TypeError, match="perf_report: expected a Benchmark or a list of them, found 5"):
        testing.perf_report(5)(lambda **_: 1)
    with pytest.raises(
        ValueError, match="Benchmark x: expected one of line_names for each of the 2 line_vals, found 1"
    ):
        testing.Benchmark(["M"], [1], "p", ["a", "b"], ["A"], "x")


def test_assert_close():
    testing.assert_close([1.0, 2.0], np.array([1.005, 2.0]))
    testing.assert_close(1.0, 1.005)
    testing.assert_close(np.array([np.nan, 1]), [np.nan, 1])
    testing.assert_close(np.nan, np.array([np.nan]))
    seen = []
    testing.assert_close(np.ones(3, "f2"), np.ones(3), rtol=lambda dtype: seen.append(dtype) or 0.1)
    assert seen == [np.dtype("f2")]
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        testing.assert_close([1.0, 2.0], [1.0, 2.1])
    with pytest.raises(AssertionError, match=r"here 1.0 is not close to 1.1 \(atol=0.01, rtol=0.0\)"):
        testing.assert_close(1.0, 1.1, err_msg="here")
    torch = pytest.importorskip("torch", reason="torch's tensors are compared here")
    testing.assert_close(torch.ones(3, dtype=torch.bfloat16, requires_grad=True), torch.ones(3))


class Utils:
    @staticmethod
    def get_device_properties(index):
        return {"mem_clock_rate": 2_619_000, "mem_bus_width": 5120, "multiprocessor_count": 132}


@pytest.mark.parametrize("arch, matrix, simd", [(90, 2048, 256), (75, 1024, 256)])
def test_what_a_gpu_could_do(monkeypatch, arch, matrix, simd):
    class Driver:
        utils = Utils()
        get_current_device = staticmethod(lambda: 0)
        get_current_target = staticmethod(lambda: naiad.backends.GPUTarget("cuda", arch, 32))

    monkeypatch.setattr(device.driver, "_active", Driver())
    assert testing.get_dram_gbps() == pytest.approx(3352.32)
    assert testing.get_max_tensorcore_tflops("float16", 1.8e6) == pytest.approx(132 * matrix * 1.8e6 * 1e-9)
    assert testing.get_max_simd_tflops(naiad.float16, 1.8e6) == pytest.approx(132 * simd * 1.8e6 * 1e-9)
    with pytest.raises(RuntimeError, match="dtype not supported"):
        testing.get_max_tensorcore_tflops("float64", 1e6)
    if arch == 90:
        assert testing.get_max_tensorcore_tflops(naiad.float8e5, 1e6) == pytest.approx(132 * 4.096)


def test_nvidia_smi(monkeypatch):
    asked = []
    monkeypatch.setattr(device.subprocess, "check_output", lambda command: asked.append(command) or b"1350, 1215\n")
    assert testing.nvsmi(["clocks.current.sm", "clocks.current.memory"]) == [1350, 1215]
    assert "--query-gpu=clocks.current.sm,clocks.current.memory" in asked[0]
    monkeypatch.setattr(device, "nvsmi", lambda names: [1350 if "sm" in names[0] else 1215])
    with testing.set_gpu_clock() as (tflops, gbps):
        assert tflops == pytest.approx(298.6, abs=1) and gbps == pytest.approx(1555.2)
    assert [command[-1] for command in asked[-3:-1]] == ["-rgc", "-rmc"]
    wrong = pytest.raises(AssertionError, match=r"clocks\.current\.sm is 1350 MHz and must be 900 MHz")
    with wrong, testing.set_gpu_clock(900):
        pass

    def refuses(command):
        asked.append(command)
        raise device.subprocess.CalledProcessError(4, command)

    asked.clear()
    monkeypatch.setattr(device.subprocess, "check_output", refuses)  # who has no rights sees that, and all is undone
    with pytest.raises(device.subprocess.CalledProcessError, match="-pm"), testing.set_gpu_clock():
        pass
    assert [command[3:] for command in asked[1:]] == [["-rgc"], ["-rmc"], ["-pm", "0"]]


def test_memory_checks_are_for_the_arguments_named():
    ran = []

    @testing.cuda_memcheck(shape=3)
    def test(shape):
        ran.append(shape)

    test(shape=4)
    assert ran == [4]
    with pytest.raises(AssertionError, match=r"must have a .* `request` fixture"):
        test(shape=3)
