"""Calls of kernels with what they cannot take: which argument it is, what was expected, what to do."""

import ctypes
import functools
import mmap
from dataclasses import replace

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad.tools.tensor_descriptor import TensorDescriptor
from tests.runtime.kernels import add, write_scalar


def arrays(size=8):
    return np.ones(size, "f4"), np.ones(size, "f4"), np.zeros(size, "f4")


def test_bytes_in_the_other_order_are_refused():
    x, y, out = arrays()
    with pytest.raises(TypeError, match=r"argument y: an array of dtype >f4 has the bytes .* in the other order"):
        add[(1,)](x, y.astype(">f4"), out, 8)


@pytest.mark.parametrize("calls_before", [0, 3])
def test_a_read_only_array_is_not_written(calls_before):
    """Also where native launchers run: a memory map of a file that is read-only would end the process."""
    x, y, out = arrays()
    launch, bound = add[(1,)], add.bind(x, y, out, 8, grid=(1,))
    for _ in range(calls_before):
        launch(x, y, out, 8)
        bound(x, y, out, 8)
    locked = np.frombuffer(mmap.mmap(-1, 64, access=mmap.ACCESS_READ), "f4")[:8]
    for call in (launch, add[(1,)], bound):
        with pytest.raises(ValueError, match=r"add: argument out: the kernel writes it.* pass a copy"):
            call(x, y, locked, 8)
        call(x, locked, out, 8)
        assert (out == 1).all()


@naiad.jit
def write_parts(pair, block):
    tl.store(pair[1], 1.0)
    block.store([0], tl.full((8,), 2.0, tl.float32))


def test_read_only_arrays_in_tuples_and_descriptors():
    x, _, out = arrays()
    locked = np.zeros(8, "f4")
    locked.flags.writeable = False
    block = TensorDescriptor(out, [8], [1], [8])
    write_parts[(1,)]((locked, x), block)  # that one is not written
    assert x[0] == 1 and (out == 2).all()
    for pair, described, name in (((x, locked), block, r"pair\.1"), ((x, x), replace(block, base=locked), "block")):
        with pytest.raises(ValueError, match=f"write_parts: argument {name}: the kernel writes it"):
            write_parts[(1,)](pair, described)


def test_what_a_library_says_of_an_argument_names_it():
    torch = pytest.importorskip("torch")
    x, y, out = map(torch.from_numpy, arrays())
    with pytest.raises(RuntimeError, match="add: argument y: Cannot access data pointer"):
        add[(1,)](x, y.to_sparse(), out, 8)


def test_a_class_is_no_array():
    with pytest.raises(TypeError, match="add: argument x: an argument of type type cannot be passed"):
        add[(1,)](np.float32, *arrays()[1:], 8)


def test_a_keyword_that_is_no_parameter_is_named_beside_what_is_missing():
    with pytest.raises(TypeError, match=r"missing a required argument: 'n'; 3 positional .* were given; m is no param"):
        add[(1,)](*arrays(), m=8, num_warps=2)


@pytest.mark.parametrize(("option", "value"), [("num_warps", "4"), ("num_stages", 2.0), ("num_ctas", [1])])
def test_an_option_that_counts_is_an_int(option, value):
    with pytest.raises(TypeError, match=f"{option} of a launch: expected an int, found"):
        add[(1,)](*arrays(), 8, **{option: value})
    with pytest.raises(ValueError, match="num_stages must not be negative, got -1"):
        add[(1,)](*arrays(), 8, num_stages=-1)


def test_numbers_of_numpy_are_constants_and_options():
    x, y, out = arrays()
    add[(np.int64(1),)](x, y, out, 8, BLOCK=np.int64(8), num_warps=np.int32(2))
    assert (out == 2).all()


def test_a_grid_that_fails_says_what_it_was_given():
    with pytest.raises(KeyError, match="size") as caught:
        add[lambda meta: (meta["size"],)](*arrays(), 8)
    assert caught.value.__notes__[0].startswith("in the grid of add, which is called with a dict of ")


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("f4")])
def test_warmup_takes_dtypes_of_numpy(dtype):
    assert add.warmup(dtype, dtype, dtype, 8, grid=(1,)).src.signature["x"] == "*fp32"


def plain(x, n, BLOCK: tl.constexpr):
    tl.store(x, n)


@pytest.mark.parametrize("given", ["n", ["n"], ("n",), 1, [1]])
def test_what_is_not_specialised_is_listed_or_named(given):
    assert [p.do_not_specialize for p in naiad.jit(do_not_specialize=given)(plain).params] == [False, True, False]
    unaligned = naiad.jit(do_not_specialize_on_alignment=given)(plain)
    assert [p.do_not_specialize_on_alignment for p in unaligned.params] == [False, True, False]


@pytest.mark.parametrize("given", ["size", 3, [["n"]]])
def test_what_is_not_specialised_is_a_parameter(given):
    with pytest.warns(UserWarning, match=r"do_not_specialize lists .*, and plain takes x, n, BLOCK"):
        naiad.jit(do_not_specialize=given)(plain)


@pytest.mark.parametrize("what", [5, len, int, functools.partial(plain, n=1), naiad.autotune([], [])(write_scalar)])
def test_what_def_did_not_make_is_not_decorated(what):
    with pytest.raises(TypeError, match="@jit decorates a function that `def` makes, not"):
        naiad.jit(what)


async def waiting(x):
    tl.store(x, 1)


def open_ended(x, **more):
    tl.store(x, 1)


@pytest.mark.parametrize(("what", "why"), [(waiting, "is async"), (open_ended, r"takes \*\*keywords")])
def test_functions_that_kernels_cannot_be(what, why):
    with pytest.raises(TypeError, match=f"{what.__name__} {why}, which a kernel cannot"):
        naiad.jit(what)


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_a_tensor_without_memory_is_refused():
    """In Python, and by the launchers that ran with tensors that have memory."""
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    x, out = torch.ones(8), torch.zeros(8)
    for _ in range(3):
        add[(1,)](x, x, out, 8)
    gone = torch.ones(8)
    gone.untyped_storage().resize_(0)
    with FakeTensorMode():
        fake = torch.ones(8)
    for wrong in (gone, fake):
        with pytest.raises(ValueError, match=r"add: argument out: expected a tensor in memory, found a .*Tensor of 8"):
            add[(1,)](x, x, wrong, 8)
    add[(1,)](x, x, torch.ones(0), 0)


def annotated(x, n: tl.int8, m: tl.uint32):
    tl.store(x, n + m)


def test_a_number_that_its_annotation_does_not_hold():
    kernel, x = naiad.jit(annotated), np.zeros(1, "i8")
    for n, m in ((127, 0), (-128, 2**32 - 1), (0, -1)):  # for unsigned ones, -1 is all bits
        kernel[(1,)](x, n, m)
    for n, m, said in ((128, 0, "n: .* with i8, which does not hold 128"), (0, 2**32, "m: .* with u32")):
        with pytest.raises(OverflowError, match=f"annotated: argument {said}"):
            kernel[(1,)](x, n, m)


def test_what_is_called_float_is_not_always_one():
    with pytest.raises(TypeError, match=r"an argument of type .*c_float_Array_8 cannot be passed"):
        write_scalar[(1,)](np.zeros(1, "f4"), (ctypes.c_float * 8)())


def test_kernels_that_differ_in_their_shown_name_only():
    """The name is in the code, so they are not one entry of the cache."""
    kernels = [naiad.jit(repr=lambda of, word=word: f"{word}_{of.constants['BLOCK']}")(plain) for word in ("a", "b")]
    names = [kernel.warmup(np.float32, 2, 64, grid=(1,)).name for kernel in kernels]
    assert names == ["a_64", "b_64"]
    with pytest.raises(TypeError, match=r"plain: @jit\(repr=...\) gave 5; it gives the name"):
        naiad.jit(repr=lambda of: 5)(plain).warmup(np.float32, 2, 64, grid=(1,))


@pytest.mark.parametrize("text", [None, "junk", "[1]", '{"name": "add"}'])
def test_what_is_no_specialisation_is_not_preloaded(text):
    with pytest.raises(ValueError, match="preload: expected the specialization_data of a hook, found"):
        add.preload(text)
