"""Launching: grids, binding, specialisations, hooks, devices, and the errors of a wrong call."""

from pathlib import Path

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.runtime.jit import JITFunction
from tests.runtime.kernels import add, scale_in_place, write_pids, write_scalar


def arrays(n, dtype="f4"):
    rng = np.random.default_rng(n)
    return rng.random(n).astype(dtype), rng.random(n).astype(dtype), np.full(n, np.nan, dtype)


def count_of(kernel):
    return len(kernel.device_caches["cpu"][0])


@pytest.fixture
def compilations():
    """How often the cache in memory had no kernel."""
    found = []
    knobs.runtime.jit_cache_hook = lambda **facts: found.append(facts["compile"]["signature"]) and None
    yield found
    knobs.runtime.jit_cache_hook = None


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_sizes_that_do_not_fill_the_last_block(n):
    x, y, out = arrays(n)
    kernel = add[(naiad.cdiv(n, 64),)](x, y, out, n)
    np.testing.assert_array_equal(out, x + y)
    assert kernel.name == "add" and "tt.load" in kernel.asm["ttir"]


@pytest.mark.parametrize(
    "grid, shape", [(3, (3, 1, 1)), ((3,), (3, 1, 1)), ([2, 3], (2, 3, 1)), ((2, 3, 4), (2, 3, 4))]
)
def test_forms_of_grids(grid, shape):
    for form in (grid, lambda meta: grid):
        out = np.zeros(shape[::-1], "i4")
        write_pids[form](out, shape[0], shape[1])
        z, y, x = np.indices(shape[::-1])
        np.testing.assert_array_equal(out, 1 + x + 10 * y + 100 * z)


@pytest.mark.parametrize("grid", [0, (0,), (3, 0), (2, 2, 0)])
def test_an_empty_grid_runs_nothing(grid):
    out = np.zeros(4, "i4")
    for _ in range(3):
        write_pids[grid](out, 2, 2)
    assert not out.any()


def test_a_grid_function_sees_all_arguments():
    x, y, out = arrays(100)
    seen = []
    for _ in range(3):
        add[lambda meta: (seen.append(dict(meta)), (2,))[1]](x, y, out, n=100, num_warps=8)
    assert [(facts["n"], facts["BLOCK"], facts["num_warps"]) for facts in seen] == [(100, 64, 8)] * 3
    assert all(facts["x"] is x for facts in seen)


@pytest.mark.parametrize(
    "grid, error, text",
    [((1.5,), TypeError, "cdiv"), ((1, 1, 1, 1), ValueError, "1 to 3"), ((-1,), ValueError, "negative"),
     ("x", TypeError, "a grid is"), ((), ValueError, "1 to 3"), (None, TypeError, "a grid is")],
)  # fmt: skip
def test_wrong_grids(grid, error, text):
    with pytest.raises(error, match=text):
        write_scalar[grid](np.zeros(1, "i4"), 2)


def test_a_wrong_grid_leaves_nothing_behind():
    """2.0 == 2: what was made for the wrong one must not be found for the right one."""
    write_pids._launchers.clear()
    out = np.zeros(4, "i4")
    with pytest.raises(TypeError, match="cdiv"):
        write_pids[(2.0,)](out, 4, 1)
    write_pids[(2,)](out, 4, 1)
    assert out.tolist() == [1, 2, 0, 0]


def test_a_size_that_changes_in_place_is_asked_each_time():
    torch = pytest.importorskip("torch")
    size, out = torch.tensor(1), np.zeros(4, "i4")
    grid = (size,)
    for _ in range(4):  # by now there is a native launcher
        write_pids[grid](out, 4, 1)
    size.fill_(3)
    write_pids[grid](out, 4, 1)
    assert out.tolist() == [1, 2, 3, 0]


def test_a_call_without_a_grid_says_how():
    with pytest.raises(RuntimeError, match=r"outside of the scope of a kernel.*add\[grid\]\(\.\.\.\)"):
        add(*arrays(4), 4)


@pytest.mark.parametrize(
    "args, keywords, error, text",
    [
        ((1,), {}, TypeError, r"write_scalar\(out, value\): missing a required argument: 'value'"),
        ((1, 2, 3), {}, TypeError, "too many positional arguments; 3 positional"),
        ((1, 2), {"value": 3}, TypeError, "multiple values for argument 'value'"),
        ((np.zeros(1), 2), {"blok": 3}, TypeError, "blok was specified but unrecognised.*write_scalar"),
        ((np.zeros(1), "text"), {}, TypeError, "write_scalar: argument value: an argument of type str"),
        ((np.zeros(1), 2**64), {}, OverflowError, "argument value: .* 64 bits"),
    ],
)
def test_wrong_arguments(args, keywords, error, text):
    with pytest.raises(error, match=text):
        write_scalar[(1,)](*args, **keywords)


def test_specialisations(compilations):
    out = np.zeros(1, "i8")
    for value in (1, 2, 3, 16, 32, 2**40, 2.5, 1, 2, 16):
        write_scalar[(1,)](out, value)
        assert out[0] == int(value)
    kinds = [signature["value"] for signature in compilations]
    assert kinds == ["i32", "i32", "i32", "i64", "fp32"]  # 1, 2, 16, 2**40, 2.5


def test_one_is_a_value_and_not_another_type():
    """A folded 1 takes methods and loops like any number."""

    @naiad.jit
    def kernel(out, n):
        total = n.to(tl.int64) * 0
        for i in range(n):
            total += i + 1
        tl.store(out, total)

    out = np.zeros(1, "i8")
    for n, total in ((1, 1), (4, 10), (16, 136)):
        kernel[(1,)](out, n)
        assert out[0] == total
    assert count_of(kernel) == 3


def test_do_not_specialize(compilations):
    @naiad.jit(do_not_specialize=["value"])
    def loose(out, value):
        tl.store(out, value)

    @naiad.jit(do_not_specialize_on_alignment=["value"])
    def unaligned(out, value):
        tl.store(out, value)

    out = np.zeros(1, "i4")
    for kernel, count in ((loose, 1), (unaligned, 2)):
        for value in (1, 2, 16, 17):
            kernel[(1,)](out, value)
            assert out[0] == value
        assert count_of(kernel) == count


def test_annotated_types():
    @naiad.jit
    def kernel(out, value: tl.int64, scale: tl.float64):
        tl.store(out, value * scale)

    out = np.zeros(1, "f8")
    kernel[(1,)](out, 5, 0.1)
    assert out[0] == 5 * 0.1
    with pytest.raises(TypeError, match=r"argument value: the parameter is annotated with i64.*2\.5"):
        kernel[(1,)](out, 2.5, 1.0)


def test_constants_that_python_calls_equal_are_not():
    @naiad.jit
    def kernel(out, C: tl.constexpr):
        tl.store(out, C + 0.5 if C.dtype == tl.float32 else 7) if False else tl.store(out, C == 1)

    seen = []
    knobs.runtime.jit_cache_hook = lambda **facts: seen.append(facts["key"]) and None
    try:
        for value in (1, True, 1.0):
            kernel.warmup(np.zeros(1, "i4"), value, grid=(1,))
    finally:
        knobs.runtime.jit_cache_hook = None
    assert len(set(seen)) == 3


def test_functions_none_dtypes_and_tuples_as_arguments():
    @naiad.jit
    def double(x):
        return x * 2

    @naiad.jit
    def negate(x):
        return -x

    @naiad.jit
    def kernel(out, fn: tl.constexpr, maybe, pair, DTYPE: tl.constexpr):
        if maybe is None:
            tl.store(out, fn((pair[0] + pair[1][0]).to(DTYPE)))
        else:
            tl.store(out, tl.load(maybe))

    out = np.zeros(1, "f4")
    kernel[(1,)](out, double, None, (1, (20, 5)), tl.float32)
    assert out[0] == 42
    kernel[(1,)](out, negate, None, (1, (20, 5)), tl.float32)
    assert out[0] == -21
    kernel[(1,)](out, double, np.full(1, 9, "f4"), (1, (2, 5)), tl.float32)
    assert out[0] == 9


def test_alternating_forms_of_calls_through_native_launchers():
    """The launcher that was made for one form must not take another: types, alignment, folding, values of constants."""
    wide, narrow = np.zeros(40, "i8"), np.zeros(40, "i4")
    for _ in range(4):
        for value in (1, 3, 16, 2**40, True, 2.0):
            for out in (wide, narrow, wide[1:], narrow[1:]):
                out[:] = -1
                write_scalar[(1,)](out, value)
                assert out[0] == np.array(int(value)).astype(out.dtype), (value, out.dtype)
                assert (out[1:] == -1).all()


def test_blocks_by_keyword_through_native_launchers():
    x, y, out = arrays(100)
    for block in (32, 128, 32, 128, 64):
        out[:] = np.nan
        add[(naiad.cdiv(100, block),)](x, y, out, 100, BLOCK=block)
        np.testing.assert_array_equal(out, x + y)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x, y = torch.rand(100), torch.rand(101)[1:]
    for _ in range(3):
        out = torch.full((100,), float("nan"))
        add[lambda meta: (naiad.cdiv(100, meta["BLOCK"]),)](x, y, out, 100)
        assert torch.equal(out, x + y)


def test_tensors_of_other_devices_are_refused():
    torch = pytest.importorskip("torch")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"cannot be accessed.*meta"):
            write_scalar[(1,)](torch.zeros(1, device="meta"), 2)


def test_device_caches_by_every_name():
    write_scalar[(1,)](np.zeros(1, "i4"), 5)
    caches = write_scalar.device_caches
    assert caches["cpu"] is caches[0] is caches["cpu:0"]
    kernels = caches[0][0]
    key = next(iter(kernels))
    assert kernels[key].metadata.target.backend == "cpu"
    kernels.clear()
    write_scalar[(1,)](np.zeros(1, "i4"), 5)
    assert len(kernels) == 1
    caches.clear()
    assert len(caches[0][0]) == 0


def test_warmup_compiles_and_does_not_run():
    out = np.zeros(1, "i4")
    kernel = write_scalar.warmup(out, 5, grid=(1,))
    assert out[0] == 0 and set(kernel.asm) >= {"ttir", "llir", "obj"}
    kernel[(1,)](out, 5)
    assert out[0] == 5


def test_a_compiled_kernel_launches_again():
    x, y, out = arrays(70)
    kernel = add[(2,)](x, y, out, 70)
    for form in ((x, y, out, 70, 64), (x, y, out, 70)):
        out[:] = 0
        kernel[(2,)](*form)
        np.testing.assert_array_equal(out, x + y)
    out[:] = 0
    kernel.run(2, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, x, y, out, 70, 64)
    np.testing.assert_array_equal(out, x + y)
    with pytest.raises(TypeError, match="takes 5 arguments"):
        kernel[(2,)](x, y)


def test_hooks_around_compiling():
    calls = []
    knobs.runtime.jit_cache_hook = lambda **facts: calls.append(("before", facts)) and None
    knobs.runtime.jit_post_compile_hook = lambda **facts: calls.append(("after", facts)) and None

    @naiad.jit
    def kernel(out, N: tl.constexpr):
        tl.store(out, N)

    kernel[(1,)](np.zeros(1, "i4"), 3, num_warps=8)
    knobs.runtime.jit_cache_hook = knobs.runtime.jit_post_compile_hook = None
    assert [when for when, _ in calls] == ["before", "after"]
    facts = calls[0][1]
    assert facts["fn"].name.endswith("kernel") and facts["compile"]["num_warps"] == 8
    assert facts["compile"]["is_warmup"] is False and facts["key"] in kernel.device_caches[0][0]


def test_a_hook_can_take_over():
    knobs.runtime.jit_cache_hook = lambda **facts: True
    out = np.zeros(1, "i4")
    try:
        kernel = JITFunction(write_scalar.fn)
        assert kernel[(1,)](out, 3) is None and out[0] == 0
    finally:
        knobs.runtime.jit_cache_hook = None


def test_launch_hooks_see_every_launch():
    seen = []

    @naiad.jit(launch_metadata=lambda grid, kernel, args: {"grid": grid, "value": args["value"]})
    def kernel(out, value):
        tl.store(out, value)

    def hook(metadata):
        seen.append(metadata.get())

    out = np.zeros(1, "i4")
    launch = kernel[(1, 1)]
    for _ in range(3):
        launch(out, 7)
    launch = kernel[(1, 1)]
    knobs.runtime.launch_enter_hook.add(hook)
    try:
        launch(out, 7)
        kernel[(1, 1)](out, 8)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    kernel[(1, 1)](out, 9)
    assert [(facts["grid"], facts["value"]) for facts in seen] == [((1, 1), 7), ((1, 1), 8)]


def test_pre_run_hooks():
    kernel = JITFunction(scale_in_place.fn)
    buffer = np.ones(4, "f4")
    for _ in range(2):
        kernel[(1,)](buffer, 4, 2.0, BLOCK=4)
    kernel.add_pre_run_hook(lambda buffer, *args, **keywords: buffer.fill(5))
    kernel[(1,)](buffer, 4, 2.0, BLOCK=4)
    assert (buffer == 11).all()


def test_preload():
    found = []
    knobs.runtime.jit_cache_hook = lambda **facts: found.append(facts["compile"]["specialization_data"]) and None
    first = JITFunction(add.fn)
    kernel = first.warmup(*arrays(4), 4, BLOCK=4, grid=(1,))
    knobs.runtime.jit_cache_hook = None
    second = JITFunction(add.fn)
    assert second.preload(found[0]).hash == kernel.hash
    assert count_of(second) == 1
    second[(1,)](*arrays(4), 4, BLOCK=4)
    assert count_of(second) == 1
    with pytest.raises(RuntimeError, match="Specialization data is for"):
        write_scalar.preload(found[0])


FACTOR = tl.constexpr(3)


def test_a_changed_global_is_an_error(monkeypatch):
    @naiad.jit
    def kernel(out):
        tl.store(out, FACTOR)

    out = np.zeros(1, "i4")
    for _ in range(3):
        kernel[(1,)](out)
    assert out[0] == 3
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(4))
    with pytest.raises(
        RuntimeError, match=r"Global variable FACTOR has changed .* from constexpr\[3\] to constexpr\[4\]"
    ):
        kernel[(1,)](out)


def test_the_key_covers_callees_and_constants():
    @naiad.jit
    def callee(x):
        return x + 1

    @naiad.jit
    def kernel(out, x):
        tl.store(out, callee(x))

    before = kernel.cache_key
    callee._unsafe_update_src(callee.src.replace("x + 1", "x + 2"))
    kernel.hash = None
    assert kernel.cache_key != before
    out = np.zeros(1, "i4")
    kernel[(1,)](out, 5)
    assert out[0] == 7


def test_attributes_that_packages_read():
    assert add.arg_names == ["x", "y", "out", "n", "BLOCK"]
    assert [parameter.is_constexpr for parameter in add.params] == [False] * 4 + [True]
    block = add.params[4]
    assert (block.num, block.name, block.default, block.do_not_specialize) == (4, "BLOCK", 64, False)
    assert add.src.startswith("def add(") and add.__name__ == "add" and add.__module__ == "tests.runtime.kernels"
    assert add.__globals__["tl"] is tl and list(add.signature.parameters) == add.arg_names
    assert not add.noinline and isinstance(add, JITFunction)


@naiad.jit
def curious_names(out, type, how, specialize, learn, freeze: tl.constexpr, typed=3, id=4):
    tl.store(out, type + how * 10 + specialize * 100 + learn * 1000 + freeze * 10000 + typed * 100000 + id * 1000000)


def test_parameters_named_as_anything():
    """Names that the binder written for a kernel could want for itself."""
    out = np.zeros(1, np.int64)
    curious_names[(1,)](out, 7, 5, 2, 8, 6)
    assert out[0] == 4368257
    curious_names[(1,)](out, 7, 5, 2, 8, freeze=6, typed=9)
    assert out[0] == 4968257


def test_where_a_kernel_is_defined_and_what_it_is_in_a_kernel():
    lines = Path(__file__).read_text().splitlines()
    assert lines[curious_names.def_file_line_number - 1].startswith("def curious_names(")
    assert curious_names.def_file_col_number == 1

    @naiad.jit
    def inner(x):
        return x

    assert inner.def_file_col_number == 5 and lines[inner.def_file_line_number - 1].strip() == "def inner(x):"
    assert inner.type == tl.constexpr_type(inner) and inner.type != curious_names.type


def test_the_source_is_not_set_by_hand():
    with pytest.raises(AttributeError, match=r"Cannot set attribute 'src' directly.*Use _unsafe_update_src\(text\)"):
        add.src = "def add(): pass"
