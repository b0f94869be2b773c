"""What the language says about mistakes: the texts that Triton's users and tests look for."""

import warnings

import pytest

import naiad.language as tl
from naiad.language.builder import building
from tests.language.recording import Recorder

N = 16


@pytest.fixture
def r():
    recorder = Recorder()
    with building(recorder):
        yield recorder


def tile(r, element, *shape):
    return r.argument(tl.block_type(element, shape))


def pointers(r, element, *shape):
    return tile(r, tl.pointer_type(element), *shape)


CASES = {
    "arange's range must be a power of 2": (ValueError, lambda r: tl.arange(0, 12)),
    "arange's arguments must be of type tl.constexpr": (ValueError, lambda r: tl.arange(0, r.argument(tl.int32))),
    "arange's end argument must be greater": (ValueError, lambda r: tl.arange(4, 4)),
    "Shape element 0 must be a power of 2": (ValueError, lambda r: tl.full((12,), 0, tl.int32)),
    "program_id axis must be 0, 1, or 2 but got 20": (ValueError, lambda r: tl.program_id(20)),
    "num_programs axis must be 0, 1, or 2 but got 3": (ValueError, lambda r: tl.num_programs(3)),
    "unsupported tensor index": (ValueError, lambda r: tile(r, tl.int32, N)[0]),
    "invalid axis 2": (ValueError, lambda r: tl.expand_dims(tile(r, tl.int32, N), 2)),
    "invalid axis -3": (ValueError, lambda r: tl.expand_dims(tile(r, tl.int32, N), -3)),
    "duplicate axes, normalized axes = [0, 0]": (ValueError, lambda r: tl.expand_dims(tile(r, tl.int32, N), (0, -3))),
    "Scalar 300 is out of range for type int8": (ValueError, lambda r: tile(r, tl.int8, N) + 300),
    "Cannot perform a binary operation between an unsigned tensor and a negative scalar": (
        ValueError,
        lambda r: tile(r, tl.uint32, N) + -1,
    ),
    "have different signedness": (TypeError, lambda r: r.argument(tl.int32) // r.argument(tl.uint32)),
    "Cannot use /, #, or % with triton.language.int32": (
        TypeError,
        lambda r: r.argument(tl.int32) % r.argument(tl.uint32),
    ),
    "invalid operands of type pointer<fp32> and triton.language.float32": (
        TypeError,
        lambda r: r.argument(tl.pointer_type(tl.float32)) + 1.0,
    ),
    "invalid operands of type triton.language.float32 and triton.language.float32": (
        TypeError,
        lambda r: r.argument(tl.float32) & r.argument(tl.float32),
    ),
    "cannot add pointers together": (
        TypeError,
        lambda r: r.argument(tl.pointer_type(tl.int8)) + r.argument(tl.pointer_type(tl.int8)),
    ),
    "wrong type argument to unary minus (pointer<fp32>)": (ValueError, lambda r: -pointers(r, tl.float32, N)),
    "wrong type argument to unary invert (triton.language.float32)": (ValueError, lambda r: ~tile(r, tl.float32, N)),
    "Expected dtype ['fp32', 'fp64'] but got fp16": (ValueError, lambda r: tl.exp(tile(r, tl.float16, N))),
    "Cannot make_shape_compatible: incompatible dimensions at index 0: 16 and 32": (
        ValueError,
        lambda r: tile(r, tl.int32, 16) + tile(r, tl.int32, 32),
    ),
    "Cannot broadcast, rank mismatch": (ValueError, lambda r: tile(r, tl.int32, 16).broadcast_to(16, 16)),
    "reshape() cannot change total number of elements in tensor": (
        ValueError,
        lambda r: tile(r, tl.int32, 16).reshape(8),
    ),
    "permute dims must be a permutation": (ValueError, lambda r: tile(r, tl.int32, 4, 4).permute(0, 0)),
    "can only unsplat single-element tensors": (AssertionError, lambda r: tile(r, tl.int32, 4).item()),
    "Cannot bitcast data-type of size 32 to data-type of size 16": (
        ValueError,
        lambda r: tile(r, tl.int32, 4).to(tl.float16, bitcast=True),
    ),
    "fp_downcast_rounding should be set only for truncating fp conversions": (
        ValueError,
        lambda r: tile(r, tl.int32, 4).to(tl.float16, fp_downcast_rounding="rtz"),
    ),
    "Unsupported ptr type <[4], int32> in `tl.load`": (ValueError, lambda r: tl.load(tile(r, tl.int32, 4))),
    "`other` cannot be provided without `mask`": (ValueError, lambda r: tl.load(pointers(r, tl.int32, 4), other=0)),
    "Cache modifier .xx not supported": (
        ValueError,
        lambda r: tl.load(pointers(r, tl.int32, 4), cache_modifier=".xx"),
    ),
    "Mask argument cannot be block type if pointer argument is not a block": (
        ValueError,
        lambda r: tl.load(r.argument(tl.pointer_type(tl.int32)), mask=tile(r, tl.int1, 4)),
    ),
    "Value argument cannot be block type if pointer argument is not a block": (
        ValueError,
        lambda r: tl.store(r.argument(tl.pointer_type(tl.int32)), tile(r, tl.int32, 4)),
    ),
    "Cannot store to a constant pointer": (
        ValueError,
        lambda r: tl.store(r.argument(tl.pointer_type(tl.int32, const=True)), 1),
    ),
    "Mask must have boolean scalar type": (
        ValueError,
        lambda r: tl.store(pointers(r, tl.int32, 4), 1, mask=tile(r, tl.int32, 4)),
    ),
    "Expected pointer argument to have shape [4, 8] but got [4, 1]": (
        ValueError,
        lambda r: tl.store(pointers(r, tl.int32, 4, 1), tile(r, tl.int32, 4, 8)),
    ),
    "atomic_add does not support int8": (ValueError, lambda r: tl.atomic_add(pointers(r, tl.int8, 4), 1)),
    "Memory semantic often not supported": (
        ValueError,
        lambda r: tl.atomic_add(pointers(r, tl.int32, 4), 1, sem="often"),
    ),
    "Descriptor block shape must have at least 16 bytes in the last dimension": (
        ValueError,
        lambda r: tl.make_tensor_descriptor(r.argument(tl.pointer_type(tl.float32)), [4, 4], [4, 1], [4, 2]),
    ),
    "Tensor descriptor last dim must be 1 but got 2": (
        ValueError,
        lambda r: tl.make_tensor_descriptor(r.argument(tl.pointer_type(tl.float32)), [4, 4], [8, 2], [4, 4]),
    ),
    "max_num_imprecise_acc (128) must be <= K (64)": (
        ValueError,
        lambda r: tl.dot(tile(r, tl.float8e5, 64, 64), tile(r, tl.float8e5, 64, 64), max_num_imprecise_acc=128),
    ),
    "Operands must have the same scale factor; (lhs: 16 vs rhs: 32)": (
        AssertionError,
        lambda r: tl.dot_scaled(
            tile(r, tl.float8e5, 64, 64),
            tile(r, tl.float8e4nv, 64, 4),
            "e5m2",
            tile(r, tl.float8e5, 64, 64),
            tile(r, tl.uint8, 64, 2),
            "e5m2",
        ),
    ),
    "input_precision must be one of": (
        AssertionError,
        lambda r: tl.dot(tile(r, tl.float32, 16, 16), tile(r, tl.float32, 16, 16), input_precision="fp7"),
    ),
    "must have equal reduction dimensions": (
        AssertionError,
        lambda r: tl.dot(tile(r, tl.float32, 16, 16), tile(r, tl.float32, 32, 16)),
    ),
    "Only floating point clamp is supported": (TypeError, lambda r: tl.clamp(tile(r, tl.int32, 4), 0, 1)),
    "invalid axis 1": (ValueError, lambda r: tl.sum(tile(r, tl.int32, 4), 1)),
    "Nonrepresentable integer": (ValueError, lambda r: tl.to_tensor(2**64)),
    "cannot convert None of type <class 'NoneType'> to tensor": (
        TypeError,
        lambda r: tl.expand_dims(None, -1),
    ),
}


@pytest.mark.parametrize("text", CASES)
def test_message(text, r):
    kind, mistake = CASES[text]
    with pytest.raises(kind) as caught:
        mistake(r)
    assert text in str(caught.value)


def test_dot_says_the_least_sizes(r):
    r.options.min_dot_size = lambda lhs, rhs: (1, 1, 16)
    with pytest.raises(AssertionError, match="Input shapes should have M >= 1, N >= 1 and K >= 16"):
        tl.dot(tile(r, tl.float16, 16, 8), tile(r, tl.float16, 8, 16))


def test_unsupported_fp8(r):
    r.options.supported_fp8_dtypes = ("fp8e5",)
    with pytest.raises(ValueError, match="type fp8e4nv not supported in this architecture"):
        tile(r, tl.float32, 4).to(tl.float8e4nv)
    with pytest.raises(ValueError, match="type fp8e5b16 not supported in this architecture"):
        tile(r, tl.uint8, 4).to(tl.float8e5b16, bitcast=True)


def test_where_warns_about_a_condition_that_is_no_bool(r):
    with pytest.warns(UserWarning, match="tl.where with a non-boolean condition is deprecated"):
        tl.where(tile(r, tl.int32, 4), 1, 0)


def test_dot_warns_about_fp8e4b15(r):
    r.options.deprecated_fp8_dot_operand_dtypes = ("fp8e4b15",)
    operand = tile(r, tl.float8e4b15, 16, 16)
    with pytest.warns(UserWarning, match="the use of fp8e4b15 is deprecated on Hopper and later architectures"):
        tl.dot(operand, operand)


def test_shift_warns_past_the_width(r):
    with pytest.warns(UserWarning, match=r"exceeds the maximum bitwidth \(32\)"):
        tile(r, tl.int32, 4) << 32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tile(r, tl.int32, 4) << 31


def test_outside_of_a_kernel():
    with pytest.raises(ValueError, match=r"Did you forget to add @triton.jit \?"):
        tl.program_id(0)
    with pytest.raises(RuntimeError, match="outside of the scope of a kernel"):
        tl.sum(None)


def test_a_builtin_is_seen_in_core(r):
    """Tools look for Triton's file of builtins in the traceback of a mistake in one."""
    with pytest.raises(TypeError) as caught:
        tl.expand_dims(None, -1)
    assert any(str(entry.path).endswith("/core.py") for entry in caught.traceback)


def test_the_compiler_has_no_number_for_a_tensor(r):
    for use in (bool, int, float, range):
        with pytest.raises(TypeError, match="known when the kernel runs"):
            use(r.argument(tl.int32))
