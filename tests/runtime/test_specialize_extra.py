"""What kernels and backends look at in arguments beside `specialize`: specialize_extra and get_*_specialization."""

import collections

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad.backends.cpu.compiler import CPUBackend
from naiad.runtime.binder import make_binder
from naiad.runtime.jit import MockTensor
from naiad.runtime.specialize import extra_of

Pair = collections.namedtuple("Pair", "first second")


def store(out, n, pair=(1, 2)):
    tl.store(out + n, pair[0] + pair[1])


def seen(kernel):
    """What the kernels that were compiled know of `n`."""
    return {str(kinds[1][1]) for kinds, _ in kernel.device_caches["cpu"].keys}


def test_letters_of_a_kernel_tell_kernels_apart():
    asked = []

    def large(argument, sort, *, align):
        asked.append((sort, align))
        return "L" if sort == "int" and argument >= 100 else ""

    kernel = naiad.jit(store, specialize_extra=large)
    out = np.zeros(256, "i4")
    for _ in range(3):
        for n in (3, 99, 100, 101, 112, 16, 1):
            kernel[(1,)](out, n)
            assert out[n] == 3
    assert seen(kernel) == {"", "1", "D", "DL", "L"}
    assert set(asked) == {("tensor", True), ("int", True)}
    aligned = [kernel.asm["ttir"].count("tt.divisibility") for kernel in kernel.device_caches["cpu"][0].values()]
    assert sorted(aligned) == [1, 1, 1, 2, 2], "L is not D"


def test_what_is_not_to_be_looked_at_is_not_shown():
    asked = []
    extra = lambda argument, sort, *, align: asked.append((sort, align)) or "X"  # noqa: E731
    kernel = naiad.jit(store, specialize_extra=extra, do_not_specialize=["n"], do_not_specialize_on_alignment=["out"])
    kernel[(1,)](np.zeros(8, "i4"), 3, Pair(2, 2.5))
    assert asked == [("tensor", False), ("int", True)]  # out; the field of the pair
    ((kinds, _),) = kernel.device_caches["cpu"].keys
    assert kinds == (("*i32", "X"), ("i32", None), (Pair("i32", "fp32"), Pair("X", None)))


@pytest.mark.parametrize("given, text", [("D", "argument n: specialize_extra says 'D': divisible by 16"),
                                         (3, "argument n: specialize_extra gave 3; it gives letters")])  # fmt: skip
def test_wrong_answers_are_refused(given, text):
    kernel = naiad.jit(store, specialize_extra=lambda argument, sort, *, align: given if sort == "int" else "")
    with pytest.raises(TypeError, match=f"store: {text}"):
        kernel[(1,)](np.zeros(8, "i4"), 3)


class Ranges(CPUBackend):
    """As AMD's: S says that an array is small."""

    @staticmethod
    def get_tensor_specialization(tensor, **keywords):
        return "S" if tensor.size < 1000 else "D"


class Old(CPUBackend):
    """As in Triton 3.3 to 3.5."""

    @staticmethod
    def get_arg_specialization(argument, sort, **keywords):
        return f"{sort[0].upper()}{int(keywords['align'])}"


@pytest.mark.parametrize("backend, known", [(Ranges, ("S", "")), (Old, ("T1", "I1"))])
def test_a_backend_answers_for_itself(backend, known):
    kernel = naiad.jit(store)
    device = kernel.device_caches["cpu"]
    made = backend(device.target)
    extra = extra_of(kernel, made)
    _, kinds, _ = make_binder(kernel, extra)(np.zeros(8, "i4"), 3)
    assert (kinds[0][1], kinds[1][1]) == known
    assert extra_of(kernel, device.backend) is None


def test_warmup_and_mock_tensors():
    kernel = naiad.jit(store, specialize_extra=lambda argument, sort, *, align: "M" if sort == "tensor" else "")
    kernel.warmup(MockTensor(np.dtype("i4")), 3, grid=(1,))
    ((kinds, _),) = kernel.device_caches["cpu"].keys
    assert kinds[0] == ("*i32", "DM")
