"""What stands for Triton's native module and what is around it: the view of IR, layouts, C, questions about ptxas."""

import os
import shutil
import sysconfig

import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.driver import driver
from naiad.compat import build, mlir, nvidia
from naiad.compat.descriptors import expand_signature, wrap_handle_tensordesc_impl
from naiad.compat.linear_layout import LinearLayout
from naiad.compiler.compiler import ASTSource, make_backend
from tests.compat.dropin import installed


@naiad.jit
def double(x):
    return x * 2


@naiad.jit
def copy_some(source, target, untouched, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(n):
        x = tl.load(source + i)
        tl.store(target + i, double(x))
    tl.load(untouched)


def view():
    target = driver.active.get_current_target()
    options = make_backend(target).parse_options({})
    types = {"source": "*fp32", "target": "*fp32", "untouched": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    context = mlir.context()
    mlir.load_dialects(context)
    return ASTSource(copy_some, types, {"BLOCK": 16}).make_ir(target, options, {}, {}, context)


def test_a_walk_meets_children_first_and_knows_values():
    seen, places = [], {}

    def visit(op):
        seen.append(op.get_name())
        places[op.get_name()] = op
        for i in range(op.get_num_results()):
            places[op.get_result(i).id()] = op
        for i in range(op.get_num_operands()):
            assert isinstance(op.get_operand(i).id(), int)
        if (block := op.get_block()) is not None:
            assert block.get_parent().get_block(0) is not None
            assert all(block.get_argument(i).id() for i in range(block.get_num_arguments()))

    module = view()
    module.walk(visit)
    assert seen[-1] == "builtin.module" and seen.index("tt.store") < seen.index("scf.for") < seen.index("tt.func")
    assert module.verify() and "tt.func public @copy_some" in str(module)
    made = places["tt.make_range"]
    assert (made.get_int_attr("start"), made.get_int_attr("end"), made.get_int_attr("nothing")) == (0, 16, None)
    assert made.get_result(0).get_shape() == [16] and made.get_str_attr("start") is None
    assert "double" in places["tt.call"].get_flat_symbol_ref_attr("callee")
    assert places["tt.func"].get_str_attr("sym_name") and places["scf.for"].get_region(0).size() == 1
    loaded = places[places["tt.store"].get_operand(1).id()]
    assert loaded.get_name() == "tt.call" and isinstance(places["arith.constant"].get_constant_value(), int | float)


def test_ir_that_is_wrong_does_not_verify():
    module = view()
    stores = []
    module.walk(lambda op: stores.append(op.ir) if op.get_name() == "tt.store" else None)
    stores[0].operands = stores[0].operands[:1]
    assert not module.verify()


def test_torch_sees_which_arguments_a_kernel_writes():
    torch = pytest.importorskip("torch")
    wrap = pytest.importorskip("torch._higher_order_ops.triton_kernel_wrap")
    if not hasattr(wrap, "identify_accessed_tensors"):
        pytest.skip("this torch has another analysis")
    with installed():
        arguments = {name: torch.zeros(16) for name in ("source", "target", "untouched")}
        found = wrap.identify_accessed_tensors(copy_some, {**arguments, "n": 2, "BLOCK": 16}, {}).read_writes
    assert {dependency.name for dependency in found.writes} == {"target"}


def test_layouts():
    layout = LinearLayout.from_bases([("lane", [[0, 1], [0, 2]]), ("register", [[1, 0], [2, 0]])], ["row", "column"])
    assert layout.apply({"lane": 3, "register": 2}) == {"row": 2, "column": 3}
    assert layout.bases == [("lane", [[0, 1], [0, 2]]), ("register", [[1, 0], [2, 0]])]
    assert layout.out_dims == [("row", 4), ("column", 4)] and layout.num_in_dims == layout.num_out_dims == 2
    assert layout.get_matrix_view() == [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]
    inverse = layout.invert()
    assert inverse.apply(layout.apply({"lane": 1, "register": 3})) == {"lane": 1, "register": 3}
    assert inverse.invert() == layout and layout.is_injective() and layout.is_surjective()
    assert layout.compose(inverse).apply({"lane": 2, "register": 1}) == {"lane": 2, "register": 1}
    assert layout.invert_and_compose(layout).apply({"lane": 2, "register": 1}) == {"lane": 2, "register": 1}
    side = LinearLayout.identity_1d(4, "i", "o") * LinearLayout.strided_1d(4, 2, "j", "p")
    assert side.apply({"i": 3, "j": 3}) == {"o": 3, "p": 6} and not side.is_surjective()
    assert LinearLayout.zeros_1d(8, "i", "o").apply({"i": 5}) == {"o": 0}
    assert "lane=2 -> (0, 2)" in str(layout) and "row (size 4)" in str(layout)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LinearLayout.identity_1d(3, "i", "o"), "powers of two, got 3"),
        (lambda: LinearLayout.from_bases([("i", [[1], [1]])], ["o"], [4]), "do not reach all"),
        (lambda: LinearLayout.from_bases([("i", [[1], [4]])], ["o"], [4]), "outside of the output"),
        (lambda: LinearLayout.from_bases([("i", [[1, 2], [4]])], ["o"]), "every basis has an index for each"),
        (lambda: LinearLayout.identity_1d(4, "i", "o").apply({"j": 1}), r"takes \['i'\], got \['j'\]"),
        (lambda: LinearLayout.identity_1d(4, "i", "o").apply({"i": 4}), "i is below 4, got 4"),
        (lambda: LinearLayout.zeros_1d(4, "i", "o").invert(), "only a bijective layout"),
        (lambda: LinearLayout.identity_1d(4, "i", "o").compose(LinearLayout.identity_1d(4, "p", "q")), "the first"),
    ],
)
def test_what_is_no_layout(make, text):
    with pytest.raises(ValueError, match=text):
        make()


SOURCE = """
#include <Python.h>
static PyObject *twice(PyObject *self, PyObject *number) { return PyLong_FromLong(2 * PyLong_AsLong(number)); }
static PyMethodDef methods[] = {{"twice", twice, METH_O, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "doubling", NULL, -1, methods};
PyMODINIT_FUNC PyInit_doubling(void) { return PyModule_Create(&definition); }
"""
HEADER = os.path.join(sysconfig.get_paths()["include"], "Python.h")
HAS_COMPILER = (shutil.which("gcc") or shutil.which("clang")) and os.path.exists(HEADER)


@pytest.fixture
def cache(tmp_path):
    with knobs.cache.scope(), knobs.build.scope():
        knobs.cache.dir = str(tmp_path)
        yield tmp_path


@pytest.mark.skipif(not HAS_COMPILER, reason="there is no C compiler with Python's headers")
def test_c_that_a_package_brings(cache):
    module = build.compile_module_from_src(SOURCE, "doubling")
    assert module.twice(4) == 8
    assert build.compile_module_from_src(SOURCE, "doubling").__file__ == module.__file__
    [path] = cache.rglob("doubling*")
    path.unlink()
    path.write_text("damaged")
    assert build.compile_module_from_src(SOURCE, "doubling").twice(3) == 6
    with pytest.raises(RuntimeError, match="ended with status"):
        build.compile_module_from_src("int f( {", "doubling")


def test_c_without_a_compiler(cache, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    knobs.build.cc = None
    with pytest.raises(RuntimeError, match=r"doubling is C source that a package brings.*set CC"):
        build.compile_module_from_src(SOURCE, "doubling")


def test_what_is_asked_of_nvidias_tools(monkeypatch):
    assert [nvidia.ptx_get_version(v) for v in ("11.8", "12.2", "12.5", "12.6", "12.9", "13.1")] == [
        78,
        82,
        85,
        85,
        88,
        91,
    ]
    with pytest.raises(RuntimeError, match="CUDA 11 and later"):
        nvidia.ptx_get_version("10.2")
    assert [nvidia.sm_arch_from_capability(c) for c in (80, 90, 120)] == ["sm_80", "sm_90a", "sm_120a"]
    kinds = ["*fp32", "i1", "u32", "bf16", "fp64", "nvTmaDesc"]
    assert [nvidia.ty_to_cpp(k) for k in kinds] == [
        "CUdeviceptr",
        "int8_t",
        "uint32_t",
        "double",
        "double",
        "CUtensorMap",
    ]
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", "/somewhere")
    assert nvidia.libcuda_dirs() == ["/somewhere"]


def test_a_constant_of_a_parameter_that_says_constexpr():
    types = {"source": "*fp32", "target": "*fp32", "untouched": "*fp32", "n": "i32", "BLOCK": "i32"}
    source = ASTSource(copy_some, types, {"BLOCK": 16, "n": 1})
    assert source.signature["BLOCK"] == "constexpr" and source.signature["n"] == "i32"
    assert naiad.compile(source).asm["ttir"].count("tt.func public") == 1


def test_descriptors_in_argument_lists():
    kinds = ("i32", ("tensordesc<fp16[16,32]>", "i64"), "tensordesc_im2col<fp32[1,16],input_rank=3,'layout'>")
    host = expand_signature(kinds, [{}, {}], "device")
    assert host == ["i32", ("device", *["i32"] * 2, *["i64"] * 3), "device", *["i32"] * 3, *["i64"] * 3]
    plain = expand_signature(kinds, [], "device")
    assert plain[1] == ("*fp16", *["i64"] * 4, "i1", "i1", "i32", "i32", "i64", "i64", "i64")

    calls = []
    launch = wrap_handle_tensordesc_impl(
        lambda *args: calls.append(args), dict(enumerate(kinds)), [{"first": 1}, {"second": 2}],
        lambda argument, metadata, others: [argument, metadata, *others],
    )  # fmt: skip
    launch("grid", (5, ("a", 6), "b"))
    assert calls == [("grid", [5, ("a", {"first": 1}, "grid", 6), "b", {"second": 2}, "grid"])]
    assert wrap_handle_tensordesc_impl(calls.append, {0: "i32", 1: ("i64",)}, None, list) == calls.append
