"""`kernel.bind`: the bound launcher does what `kernel[grid]` does, natively where it can, and never anything else."""

import weakref

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.cpu.system import has_native_launcher
from naiad.runtime.launcher import MAX_CHAIN

needs_native = pytest.mark.skipif(not has_native_launcher(), reason="no native launcher on this platform")


def make():
    """A kernel of its own for each test."""

    @naiad.jit
    def fill(out, n, value, BLOCK: tl.constexpr, scale=2):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, value * scale, mask=at < n)

    return fill


def is_native(launch):
    return type(launch).__name__ == "builtin_function_or_method"


def aligned(n, dtype="f4", shift=0):
    """An array whose address is `shift` elements from a multiple of 64."""
    width = np.dtype(dtype).itemsize
    base = np.full((n + shift) * width + 64, 0x5A, "u1")
    start = -base.ctypes.data % 64 + shift * width
    return base[start : start + n * width].view(dtype)


@pytest.fixture
def through_python(monkeypatch):
    """The calls of `run`."""
    found = []
    run = naiad.JITFunction.run

    def counted(self, *args, **keywords):
        found.append(keywords)
        return run(self, *args, **keywords)

    monkeypatch.setattr(naiad.JITFunction, "run", counted)
    return found


def check(launch, out, n, value, factor=2, **keywords):
    before = out.copy()
    handle = launch(out, n, value, **keywords)
    np.testing.assert_array_equal(out[:n], np.full(n, value * factor).astype(out.dtype))
    np.testing.assert_array_equal(out[n:], before[n:])
    return handle


@needs_native
def test_binding_compiles_and_runs_nothing_and_calls_are_native(through_python):
    kernel, out = make(), aligned(100)
    before = out.copy()
    launch = kernel.bind(out, 100, 3, grid=(2,), BLOCK=64, num_warps=2)
    np.testing.assert_array_equal(out, before)
    assert is_native(launch) and len(kernel.device_caches["cpu"][0]) == 1
    handles = {check(launch, aligned(100), 100, value) for value in (3, 5, 7, -9)}
    assert through_python == [] and len(handles) == 1
    (handle,) = handles
    assert handle.metadata.num_warps == 2 and handle is kernel.warmup(out, 100, 3, grid=(2,), BLOCK=64, num_warps=2)


@needs_native
def test_other_specialisations_get_their_kernels_and_their_native_launchers(through_python):
    """Alignment, dtype, a folded one, divisibility, width, float: right each time, through Python once each."""
    kernel = make()
    launch = kernel.bind(aligned(100), 100, 3, grid=(2,), BLOCK=64)
    forms = [
        (aligned(100, shift=1), 100, 3), (aligned(100, "f8"), 100, 3), (aligned(100, "i2"), 100, 3),
        (aligned(100), 1, 3), (aligned(100), 96, 3), (aligned(100, "i8"), 100, 2**40), (aligned(100), 100, 0.5),
    ]  # fmt: skip
    for _ in range(3):
        for out, n, value in forms:
            check(launch, out, n, value)
        check(launch, aligned(100), 100, 3)
    assert len(through_python) == len(forms)
    assert len(kernel.device_caches["cpu"][0]) == len(forms) + 1


def test_more_forms_than_a_chain_holds():
    kernel, kinds = make(), ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
    launch = kernel.bind(aligned(70), 70, 3, grid=(2,), BLOCK=64)
    for _ in range(4):
        for kind in kinds:
            for shift in (0, 1):
                check(launch, aligned(70, kind, shift), 70, 3)
    assert 2 * len(kinds) > MAX_CHAIN


def test_keywords_at_the_call_stand_for_held_ones_and_defaults():
    kernel = make()
    launch = kernel.bind(aligned(100), 100, 3, grid=(2,), BLOCK=64)
    for _ in range(3):
        check(launch, aligned(100), 100, 3, factor=5, scale=5)
        check(launch, aligned(128), 128, 3, BLOCK=64)
        check(launch, aligned(100), 100, 3)
        launch(value=3, n=100, out=aligned(100))
    with_default = kernel.bind(grid=(2,), BLOCK=64, scale=7)
    for _ in range(3):
        check(with_default, aligned(100), 100, 3, factor=7)


def test_a_held_number_is_as_if_it_were_given():
    kernel = make()
    launch = kernel.bind(aligned(100), 3, grid=(2,), BLOCK=64, n=50)
    for value in (3, 4, 16, 1):
        out = aligned(100)
        before = out.copy()
        launch(out, value)
        np.testing.assert_array_equal(out[:50], np.full(50, value * 2.0))
        np.testing.assert_array_equal(out[50:], before[50:])


@needs_native
def test_without_examples_the_first_call_compiles(through_python):
    kernel = make()
    launch = kernel.bind(grid=2, BLOCK=64)
    assert len(kernel.device_caches["cpu"][0]) == 0 and is_native(launch)
    for value in (3, 4, 5):
        check(launch, aligned(100), 100, value)
    assert len(through_python) == 1 and len(kernel.device_caches["cpu"][0]) == 1
    kernel.device_caches.clear()
    for value in (3, 4, 5):
        check(launch, aligned(100), 100, value)
    assert len(through_python) == 2
    with pytest.raises(TypeError, match=r"fill\.bind\(grid=\(2, 1, 1\), BLOCK=64\) takes 4 arguments"):
        launch(1, 2, 3, 4, 5)


def test_a_grid_function_is_asked_at_each_call():
    kernel, asked = make(), []

    def grid(meta):
        asked.append((meta["n"], meta["BLOCK"], meta["scale"]))
        return (naiad.cdiv(meta["n"], meta["BLOCK"]),)

    launch = kernel.bind(aligned(100), 100, 3, grid=grid, BLOCK=64)
    for n in (100, 60, 1000, 1000):
        check(launch, aligned(1000), n, 3)
    assert asked == [(n, 64, 2) for n in (100, 60, 1000, 1000)]


@pytest.mark.parametrize("grid", [[2], (2, 1), 2, (2, 1, 1)])
def test_forms_of_grids(grid):
    for _ in range(2):
        check(make().bind(aligned(100), 100, 3, grid=grid, BLOCK=64), aligned(100), 100, 3)


def test_an_empty_grid_runs_nothing():
    launch, out = make().bind(aligned(8), 8, 3, grid=(0,), BLOCK=64), aligned(8)
    before = out.copy()
    launch(out, 8, 3)
    np.testing.assert_array_equal(out, before)


def test_hooks_that_come_later_are_called():
    kernel, seen = make(), []
    launch = kernel.bind(aligned(100), 100, 3, grid=(2,), BLOCK=64)

    def hook(metadata):
        seen.append(metadata.get()["name"])

    knobs.runtime.launch_enter_hook.add(hook)
    try:
        check(launch, aligned(100), 100, 3)
        bound_then = kernel.bind(aligned(100), 100, 3, grid=(2,), BLOCK=64)
        check(bound_then, aligned(100), 100, 3)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    for _ in range(3):
        check(launch, aligned(100), 100, 3)
        check(bound_then, aligned(100), 100, 3)
    assert seen == ["fill"] * 2
    kernel.add_pre_run_hook(lambda *args, **keywords: seen.append(keywords["n"]))
    for n in (100, 90, 80):
        check(launch, aligned(100), n, 3)
    assert seen[2:] == [100, 90, 80]


def test_a_held_launcher_of_a_grid_sees_hooks_too():
    kernel, seen = make(), []
    for _ in range(3):
        kernel[(2,)](aligned(100), 100, 3, BLOCK=64)
    held = kernel[(2,)]
    kernel.add_pre_run_hook(lambda *args, **keywords: seen.append(args[1]))
    for n in (100, 90):
        check(held, aligned(100), n, 3, BLOCK=64)
    assert seen == [100, 90]


@needs_native
def test_what_is_dropped_is_compiled_again_and_native_again(through_python):
    kernel = make()
    launch = kernel.bind(aligned(100), 100, 3, grid=(2,), BLOCK=64)
    first = weakref.ref(check(launch, aligned(100), 100, 3))
    kernel.device_caches.clear()
    handles = {check(launch, aligned(100), 100, 3) for _ in range(5)}
    assert len(handles) == 1 and first() not in handles and len(through_python) == 1
    for _ in range(20):  # chains do not grow by being ended
        kernel.device_caches.clear()
        check(launch, aligned(100), 100, 3)
        check(launch, aligned(100), 100, 3)
    assert len(through_python) == 21


def test_a_changed_source_counts():
    kernel = make()
    launch = kernel.bind(aligned(100), 100, 3, grid=(2,), BLOCK=64)
    check(launch, aligned(100), 100, 3)
    kernel._unsafe_update_src(kernel.src.replace("value * scale", "value * scale + 1"))
    kernel.device_caches.clear()
    for _ in range(3):
        out = aligned(100)
        launch(out, 100, 3)
        assert (out == 7).all()


FACTOR = tl.constexpr(3)


@naiad.jit
def reads_a_global(out, n):
    tl.store(out + tl.program_id(0), n * FACTOR)


@needs_native
@pytest.mark.parametrize("bound", [True, False])
def test_globals_are_watched_natively(bound, through_python, monkeypatch):
    out = aligned(4, "i4")
    launch = reads_a_global.bind(out, 5, grid=(1,)) if bound else reads_a_global[(1,)]
    for _ in range(3):
        launch(out, 5)
    launch = launch if bound else reads_a_global[(1,)]
    assert is_native(launch) and out[0] == 15
    through_python.clear()
    launch(out, 7)
    assert through_python == [] and out[0] == 21
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(4))
    with pytest.raises(RuntimeError, match="FACTOR has changed since we compiled this kernel"):
        launch(out, 7)
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(3))
    launch(out, 9)
    assert out[0] == 27


def test_what_may_change_is_not_held():
    kernel = make()
    with pytest.raises(TypeError, match=r"fill.bind.* out is of type ndarray, which may change: give it at each call"):
        kernel.bind(grid=(1,), out=aligned(4), BLOCK=64)
    with pytest.raises(TypeError, match="BLOCK is of type list"):
        kernel.bind(grid=(1,), BLOCK=[64])

    @naiad.jit
    def many(*pointers):
        tl.store(pointers[0], 1)

    with pytest.raises(TypeError, match=r"takes \*pointers: launch it by kernel\[grid\]"):
        many.bind(grid=(1,))


def test_wrong_calls_say_so():
    kernel, out = make(), aligned(8)
    launch = kernel.bind(out, 8, 3, grid=(1,), BLOCK=64)
    with pytest.raises(TypeError, match=r"takes 4 arguments \(out, n, value, scale\), and 5 were given"):
        launch(out, 8, 3, 4, 5)
    with pytest.raises(TypeError, match="missing a required argument: 'value'"):
        launch(out, 8)
    with pytest.raises(TypeError, match="multiple values for argument 'n'"):
        launch(out, 8, 3, n=8)
    with pytest.raises(TypeError, match="blok was specified but unrecognised"):
        kernel.bind(out, 8, 3, grid=(1,), BLOCK=64, blok=1)
    with pytest.raises(ValueError, match="was given a stream, and its arguments lie on the CPU"):
        kernel.bind(out, 8, 3, grid=(1,), BLOCK=64, stream=7)
    with pytest.raises(TypeError, match="a grid is an int"):
        kernel.bind(out, 8, 3, grid="x", BLOCK=64)


def test_a_parameter_may_be_called_stream():
    @naiad.jit
    def kernel(out, stream):
        tl.store(out, stream)

    out = aligned(1, "i4")
    launch = kernel.bind(out, grid=(1,), stream=5)
    for _ in range(2):
        launch(out)
    assert out[0] == 5


def test_interpreted_and_tuned_kernels_have_it_too():
    @naiad.jit(interpret=True)
    def shown(out, n: tl.constexpr, value):
        tl.store(out + tl.arange(0, n), value)

    out = aligned(8)
    shown.bind(out, 3.0, grid=(1,), n=8)(out, 3.0)
    assert (out == 3).all()
    tuned = naiad.autotune([naiad.Config({"BLOCK": 64}), naiad.Config({"BLOCK": 128})], key=["n"])(make())
    launch = tuned.bind(grid=lambda meta: (naiad.cdiv(meta["n"], meta["BLOCK"]),), scale=4)
    check(launch, aligned(1000), 1000, 3, factor=4)
    computed = naiad.heuristics({"BLOCK": lambda args: 64})(make())
    check(computed.bind(grid=(2,)), aligned(100), 100, 3)


@needs_native
def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch's tensors are arguments here")
    kernel = make()
    launch = kernel.bind(torch.zeros(100), 100, 3, grid=(2,), BLOCK=64)
    for out in (torch.zeros(100), torch.zeros(101)[1:], torch.zeros(100, dtype=torch.float64), aligned(100)):
        for _ in range(2):
            launch(out, 100, 3)
            assert (np.asarray(out) == 6).all()
    with pytest.raises(ValueError, match="lies on meta"):
        launch(torch.zeros(100, device="meta"), 100, 3)
