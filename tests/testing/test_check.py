"""`naiad.testing.check` passes what is right, and says what is wrong: where, how far, and which program wrote it."""

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad.testing import CheckFailed, check, copies
from naiad.tools.tensor_descriptor import TensorDescriptor

BACKENDS = ("interpreter", "cpu")
rng = np.random.default_rng(5)


@naiad.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, inside) + tl.load(y + i, inside), inside)


def vectors(n=100, dtype="f4"):
    return [(100 * rng.standard_normal(n)).astype(dtype) for _ in range(3)]


def failed(*args, **keywords):
    with pytest.raises(CheckFailed) as caught:
        check(*args, **keywords, backends=BACKENDS)
    return caught.value.checked, str(caught.value)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "i8"])
def test_a_right_kernel(dtype):
    x, y, out = vectors(dtype=dtype)
    before = out.copy()
    found = check(
        add, (x, y, out, 100), (2,), reference=lambda x, y: x + y, outputs=["out"], backends=BACKENDS, BLOCK=64
    )
    assert found and found.outputs == ("out",) and str(found) == "add[(2,)] on interpreter, cpu: all agree on out"
    np.testing.assert_array_equal(out, before)


def test_arguments_by_name_and_grid_functions():
    x, y, out = vectors()
    grid = lambda meta: (naiad.cdiv(meta["n"], meta["BLOCK"]),)  # noqa: E731
    args = {"out": out, "x": x, "y": y, "n": 100, "BLOCK": 32}
    assert check(add, args, grid, lambda **given: given["x"] + given["y"], backends=["cpu"], num_warps=2)
    assert check(add, args, grid, lambda y, x: {"out": y + x}, backends=BACKENDS).grid == (4,)
    assert check(add, args, grid, lambda a, b, c, *rest: b + c, backends=BACKENDS)  # none of its names is known


def test_a_reference_may_change_its_arguments():
    x, y, out = vectors()

    def reference(x, y, out):
        out[:] = x + y

    assert check(add, (x, y, out, 100), (2,), reference, backends=["cpu"], BLOCK=64)
    failed(add, (x, y, out, 100), (2,), lambda x, y, out: None, BLOCK=64)


def test_a_wrong_reference():
    x, y, out = vectors()
    found, text = failed(
        add, (x, y, out, 100), (2,), lambda x, y: np.where(np.arange(100) % 70 == 69, x - y, x + y), BLOCK=64
    )
    assert [(d.backend, d.against, d.argument) for d in found.differences] == [
        ("interpreter", "the reference", "out"), ("cpu", "the reference", "out"),
    ]  # fmt: skip
    (first, second) = found.differences
    assert first.parting.count == 1 and first.parting.index == (69,) and first.program == (1, 0, 0)
    assert "1 of 100 elements differ, the first at [69]" in text and "ulps" in text
    assert "program (1, 0, 0) writes it" in text and "allowed is |error| <=" in text
    assert second.parting.got == first.parting.got == pytest.approx(float(x[69] + y[69]))


def test_a_bound_is_kept():
    x, y, out = vectors()
    wrong = lambda x, y: (x + y) * (1 + 1e-4)  # noqa: E731
    assert check(add, (x, y, out, 100), (2,), wrong, rtol=2e-4, atol=0, backends=BACKENDS, BLOCK=64)
    failed(add, (x, y, out, 100), (2,), wrong, rtol=1e-5, atol=0, BLOCK=64)
    failed(add, (x, y, out, 100), (2,), wrong, BLOCK=64)
    x, y, out = vectors(dtype="i4")
    _, text = failed(add, (x, y, out, 100), (2,), lambda x, y: x + y + 1, rtol=1, atol=100, BLOCK=64)
    assert "bit for bit" in text and "the worst is 1 off" in text


def test_the_reference_computes_in_float64():
    x, y, out = vectors(dtype="f2")
    seen = []

    def reference(x, y, n):
        seen.append((x.dtype, n))
        return x + y

    check(add, (x, y, out, 100), (2,), reference, backends=["cpu"], BLOCK=64)
    assert seen == [(np.dtype("f8"), 100)]


@naiad.jit
def last_one_wins(out):
    tl.store(out, tl.program_id(0))
    tl.store(out + 1, 7)


def test_a_race():
    found, text = failed(last_one_wins, (np.zeros(4, "i4"),), (64,))
    assert found.differences[0].backend == "interpreter" and found.differences[0].argument == "out"
    assert "interpreter against its first run: out: depends on the order of its programs (a race): 1 of 4" in text
    assert "the first at [0]: 0, not 63" in text and "program (63, 0, 0) writes it" in text


@naiad.jit
def partial(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i), mask=i < n)


def test_an_output_that_is_not_written_whole():
    x, out = np.ones(64, "f4"), np.zeros(64, "f4")
    found, text = failed(partial, (x, out, 61), (1,), outputs=["out"], BLOCK=64)
    assert "out: 3 of 64 elements were never written, the first at [61]" in text
    assert {d.backend for d in found.differences} == set(BACKENDS)
    assert check(partial, (x, out, 61), (1,), backends=BACKENDS, BLOCK=64).outputs == ("out",)


def test_reading_what_nobody_wrote():
    x, out = np.ones(60, "f4"), np.zeros(64, "f4")
    _, text = failed(partial, (x, out, 64), (1,), BLOCK=64)
    assert "out: depends on memory that nothing wrote: 4 of 64 elements differ, the first at [60]" in text


def test_writing_outside():
    _, text = failed(partial, (np.ones(64, "i2"), np.zeros(61, "i2"), 64), (1,), BLOCK=64)
    assert "interpreter: wrote 6 bytes behind the last element of out" in text
    rows = np.zeros((4, 24), "f4")[:, :16]

    @naiad.jit
    def whole_rows(out):
        tl.store(out + tl.arange(0, 64), 1.0)

    _, text = failed(whole_rows, (rows,), (1,))
    assert "wrote 64 bytes between the elements of out" in text  # the last 8 of 24 in two rows


def test_an_error_in_one_backend():
    @naiad.jit
    def kernel(out):
        tl.device_assert(tl.program_id(0) < 1, "too many programs")
        tl.store(out, 1)

    _, text = failed(kernel, (np.zeros(1, "i4"),), (2,), debug=True)
    assert "interpreter: failed: " in text and "cpu: failed: " in text and "too many programs" in text


@naiad.jit
def of_many_kinds(pair, desc, y, shared, scale, flag):
    block = desc.load([0, 0])
    value = tl.sum(block) * scale
    tl.store(pair[0], value)
    tl.store(pair[1] + 1, tl.load(y).to(tl.float32) + tl.load(shared + 2))
    if flag:
        tl.store(shared, 5.0)


def test_tuples_descriptors_and_shared_memory():
    base = rng.random((16, 16)).astype("f4")
    memory = np.arange(8, dtype="f4")
    pair = (np.zeros(1, "f4"), np.zeros(2, "f4"))
    desc = TensorDescriptor.from_tensor(base, [16, 16])
    found = check(of_many_kinds, (pair, desc, memory[2:], memory, 0.5, True), (1,), backends=BACKENDS)
    assert found.outputs == ("pair[0]", "pair[1]", "shared")
    assert memory[0] == 0 and desc.base is base
    wrong = {"pair[0]": [base.astype("f8").sum() / 2], "pair[1]": [0, 5]}
    found, text = failed(of_many_kinds, (pair, desc, memory[2:], memory, 0.5, True), (1,), lambda: wrong)
    assert {d.argument for d in found.differences} == {"pair[1]"} and "the first at [1]: 4.0, not 5" in text


def test_strides_offsets_and_alignment_stay():
    @naiad.jit
    def tell(x, out, STRIDE: tl.constexpr):
        tl.store(out, x.to(tl.int64) % 64)
        tl.store(out + 1, tl.load(x + STRIDE).to(tl.int64))

    memory = np.arange(64, dtype="i4")
    base = memory[-(memory.ctypes.data % 64) // 4 % 16 :]
    for shift, step in ((1, 3), (4, 1), (0, -2)):
        x = base[shift + 10 :: step] if step < 0 else base[shift::step]
        want = {"out": [x.ctypes.data % 64, x[1]]}
        found = check(tell, (x, np.zeros(2, "i8")), (1,), lambda want=want: want, backends=BACKENDS, STRIDE=step)
        assert found.outputs == ("out",)


def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch's tensors are arguments here")
    x, y = torch.randn(100, dtype=torch.bfloat16), torch.randn(200, dtype=torch.bfloat16)[::2].contiguous()
    out = torch.zeros(100, dtype=torch.bfloat16)
    check(add, (x, y, out, 100), (2,), lambda x, y: torch.add(x, y), outputs=["out"], backends=BACKENDS, BLOCK=64)
    _, text = failed(add, (x, y, out, 100), (2,), lambda x, y: x - y, outputs=["out"], BLOCK=64)
    assert "cpu against the reference: out: " in text
    assert not out.any()


@naiad.jit
def strided(x, out, n, STEP: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i * STEP, mask=i < n, other=0), mask=i < n)


def test_memory_that_is_elsewhere(monkeypatch):
    """The way of a GPU: its copy lies apart and is fetched. It is the CPU's here."""
    torch = pytest.importorskip("torch", reason="arrays of GPUs are torch's")
    monkeypatch.setattr(copies, "_on_device", lambda memory, device: torch.from_numpy(memory.copy()))
    backends = ("interpreter", "cuda")
    x, out = np.arange(60, dtype="f2")[2:], torch.zeros(30)[1::2]
    out_of_numpy = np.zeros(16, "f4")
    for given in (x, torch.from_numpy(x), torch.from_numpy(x).to(torch.bfloat16)):
        for result in (out_of_numpy, torch.zeros(17)[1:]):
            found = check(strided, (given, result, 15), (1,), backends=backends, STEP=3)
            assert found.backends == backends and found.outputs == ("out",)
    want = {"out": x.astype("f8")[:45:3][:15]}
    with pytest.raises(CheckFailed, match="cuda: wrote 28 bytes between the elements of out"):
        check(strided, (x, out, 15), (1,), lambda: want, backends=backends, STEP=3)


def test_special_values():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0], "f4")
    y = np.array([1.0, 1.0, np.inf, -0.0, 3e38], "f4")
    want = np.array([np.nan, np.inf, np.nan, 0.0, 3e38])
    check(add, (x, y, np.zeros(5, "f4"), 5), (1,), lambda: want, outputs=["out"], backends=BACKENDS, BLOCK=8)
    _, text = failed(add, (x, y, np.zeros(5, "f4"), 5), (1,), lambda: np.nan_to_num(want), BLOCK=8)
    assert "3 of 5 elements differ, the first at [0]: nan, not 0.0" in text and "what differs is not finite" in text


def test_wrong_uses_say_so():
    x, y, out = vectors()
    with pytest.raises(ValueError, match=r"\['ou'\] are no arrays among the arguments"):
        check(add, (x, y, out, 100), (2,), outputs=["ou"], BLOCK=64)
    with pytest.raises(ValueError, match="there is no backend gpu; there are interpreter, cpu, cuda"):
        check(add, (x, y, out, 100), (2,), backends=["gpu"], BLOCK=64)
    with pytest.raises(TypeError, match=r"check takes a @jit function, not a Heuristics: give its \.fn"):
        check(naiad.heuristics({"BLOCK": lambda args: 64})(add), (x, y, out, 100), (2,))
    with pytest.raises(TypeError, match=r"add takes .* and 6 arguments were given"):
        check(add, (x, y, out, 100, 64, 3), (2,))
    with pytest.raises(ValueError, match="the reference gave 2 arrays, and the kernel writes out"):
        check(add, (x, y, out, 100), (2,), lambda x, y: (x, y), backends=["cpu"], BLOCK=64)
    _, text = failed(add, (x, y, out, 100), (2,), lambda x, y: (x + y)[:50], BLOCK=64)
    assert "has shape [100], and what is expected [50]" in text


def test_what_cannot_be_checked_says_what_was_expected():
    x, y, out = vectors()
    arguments = (x, y, out, 100)
    assert check(add, arguments, (2,), outputs="out", backends="cpu", BLOCK=64).backends == ("cpu",)
    with pytest.raises(TypeError, match="expected a function of the kernel's arguments for reference, found array"):
        check(add, arguments, (2,), x + y, BLOCK=64)
    with pytest.raises(TypeError, match="expected a tuple of the kernel's arguments, or a dict, found ndarray"):
        check(add, x, (2,), BLOCK=64)
