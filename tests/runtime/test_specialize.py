"""What a launch sees of its arguments: types, divisibility, folding, and keys of constants."""

from collections import namedtuple
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest

import naiad.language as tl
from naiad.backends.constants import freeze, stable
from naiad.backends.signature import passed
from naiad.runtime.mock import MockTensor
from naiad.runtime.specialize import specialize
from tests.runtime.kernels import add


@pytest.mark.parametrize(
    "value, kind, seen",
    [
        (None, "constexpr", None), (True, "i1", None), (False, "i1", None), (0, "i32", "D"), (1, "i32", 1),
        (7, "i32", ""),
        (-16, "i32", "D"), (2**31 - 1, "i32", ""), (2**31, "i64", "D"), (-(2**31) - 1, "i64", ""), 
        (2**63 - 1, "i64", ""),
        (2**63, "u64", "D"), (2**64 - 1, "u64", ""), (1.0, "fp32", None), (np.float64(2.0), "fp32", None),
        (np.float32(2.0), "fp32", None), (np.int64(16), "i32", "D"), (np.bool_(True), "i1", None),
    ],
)  # fmt: skip
def test_scalars(value, kind, seen):
    assert specialize(value) == (kind, seen)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_integers_past_64_bits_are_refused(value):
    with pytest.raises(OverflowError, match="64 bits"):
        specialize(value)


def test_nothing_is_looked_at_where_that_was_said():
    assert specialize(1, value=False) == ("i32", None)
    assert specialize(16, align=False) == ("i32", "")
    assert specialize(1, align=False) == ("i32", 1)


@pytest.mark.parametrize("dtype, name", [("f4", "fp32"), ("i8", "i64"), ("u2", "u16"), ("f2", "fp16"), ("?", "i1")])
def test_arrays(dtype, name):
    array = np.zeros(64, dtype)
    start = array[(-array.ctypes.data % 16) // array.itemsize :]
    assert specialize(start) == (f"*{name}", "D")
    assert specialize(start[1:], const=True) == (f"*k{name}", "")


def test_a_dtype_that_kernels_do_not_have_is_named():
    with pytest.raises(TypeError, match="complex64"):
        specialize(np.zeros(2, "complex64"))


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    assert specialize(torch.zeros(4, dtype=torch.bfloat16)) == ("*bf16", "D")
    assert specialize(torch.zeros(8, dtype=torch.float8_e4m3fn)[1:]) == ("*fp8e4nv", "")
    assert specialize(torch.zeros(4, dtype=torch.bool)) == ("*i1", "D")
    assert specialize(MockTensor(torch.float16)) == ("*fp16", "D")
    assert specialize(torch.zeros(0)) == ("*fp32", "D")


class Pointer:
    """A pointer by duck typing."""

    dtype = tl.float32

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


def test_anything_with_data_ptr_and_dtype():
    assert specialize(Pointer(32)) == ("*fp32", "D")
    assert specialize(Pointer(36)) == ("*fp32", "")


class Lent:
    """An array that only dlpack describes."""

    dtype = np.dtype("int32")

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    from naiad.backends.arguments import address, device_of

    array = np.zeros(8, "int32")
    assert address(Lent(array)) == array.ctypes.data
    assert device_of(Lent(array)) == ("cpu", 0)
    assert specialize(Lent(array))[0] == "*i32"


def test_tuples_keep_their_class():
    Pair = namedtuple("Pair", "x y")
    assert specialize((1, 2.0, None)) == (("i32", "fp32", "constexpr"), (1, None, None))
    kinds, seen = specialize(Pair(3, 16))
    assert (kinds, seen) == (Pair("i32", "i32"), Pair("", "D")) and type(kinds) is Pair


@pytest.mark.parametrize("value", ["text", object(), [1], {}, 1j])
def test_other_types_are_refused_with_what_to_do(value):
    with pytest.raises(TypeError, match=r"cannot be passed to a kernel.*tl\.constexpr"):
        specialize(value)


class Mode(Enum):
    FAST = 1


class Opaque:
    pass


DIFFERENT = [1, True, 1.0, "1", None, 0.0, -0.0, (1,), (True,), (1.0,), [1], tl.float32, tl.int32, Mode.FAST, add]


def test_frozen_values_are_equal_only_where_kernels_are():
    frozen = [freeze(value) for value in DIFFERENT]
    assert len(set(frozen)) == len(DIFFERENT)
    assert freeze(tl.constexpr(1)) == freeze(1)
    assert freeze(float("nan")) == freeze(float("nan"))


def test_constants_have_the_same_text_in_every_process():
    texts = [stable(value) for value in DIFFERENT]
    assert None not in texts and len(set(texts)) == len(texts)
    assert stable(Opaque()) is None and stable((1, Opaque())) is None


def test_what_cannot_be_hashed_says_so():
    with pytest.raises(TypeError, match="must be hashable"):
        freeze(bytearray(b"x"))


def test_what_a_launch_passes():
    """No constants, the parts of tuples; of a descriptor what its brackets say, whatever stands behind them."""
    signature = {"n": "i32", "C": "constexpr", "pair": ("*fp32", "i32"), "desc": "tensordesc<fp16[8, 16],a,b>"}
    src = SimpleNamespace(signature=signature, constants={(2, 1): 1})
    sizes, steps = [((3, "shape", i), "i32") for i in (0, 1)], [((3, "strides", i), "i64") for i in (0, 1)]
    assert list(passed(src)) == [((0,), "i32"), ((2, 0), "*fp32"), ((3, "base"), "*i8"), *sizes, *steps]
