"""Matrix products of tiles: dot, and dot_scaled for the microscaling formats."""

import math
import warnings

from naiad import knobs
from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.casts import bitcast_to, cast_to
from naiad.language.promotion import scalar_constant
from naiad.language.shape import reshape_to
from naiad.language.tensor import dimensions, tensor
from naiad.language.types import (
    bfloat16,
    block_type,
    dtype,
    float8e4b8,
    float8e4b15,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    int8,
    int32,
    uint8,
    uint16,
)

_OPERANDS = (int8, uint8, float16, bfloat16, float32, float64)


@builtin
def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: dtype | None = None,
) -> tensor:
    """The matrix product of two tiles, plus `acc`. Leading dimensions are a batch.

    `input_precision` is about fp32 operands: "tf32", "tf32x3", "ieee", "bf16x3" or "bf16x6". int8 gives int32, exactly.
    `out_dtype` is that of `acc`, else fp32, where it is None.
    """
    if input_precision is not None and allow_tf32 is not None:
        raise AssertionError("Only one of input_precision and allow_tf32 can be specified")
    precision = _precision(input_precision, allow_tf32)
    if out_dtype is None:
        out_dtype = float32 if acc is None else acc.dtype
    _check_dot_shapes(input, other, acc)
    a_shape, b_shape = dimensions(input), dimensions(other)
    result_shape = (*a_shape[:-1], b_shape[-1])
    if len(result_shape) > 3:  # one batch dimension for the op
        batch = math.prod(result_shape[:-2])
        input = reshape_to(input, (batch, *a_shape[-2:]))
        other = reshape_to(other, (batch, *b_shape[-2:]))
        acc = None if acc is None else reshape_to(acc, (batch, *result_shape[-2:]))
    product = _dot(input, other, acc, precision, max_num_imprecise_acc, out_dtype)
    return product if dimensions(product) == result_shape else reshape_to(product, result_shape)


def _precision(wanted: str | None, allow_tf32: bool | None) -> str:
    """The precision asked for, else the user's default (TRITON_F32_DEFAULT), else the backend's."""
    allowed = builder().options.allowed_dot_input_precisions
    if wanted is None and allow_tf32 is not None:
        wanted = "tf32" if allow_tf32 and "tf32" in allowed else "ieee"
    default = "" if wanted else knobs.language.fp32_default
    wanted = wanted or default or builder().options.default_dot_input_precision
    if str(wanted).lower() not in allowed:
        of = " (TRITON_F32_DEFAULT)" if default else ""
        raise AssertionError(f"input_precision must be one of {allowed}. Got {wanted}{of}")
    return str(wanted).lower()


def _check_dot_shapes(a: tensor, b: tensor, acc: tensor | None) -> None:
    if not isinstance(a, tensor) or not isinstance(b, tensor):
        raise TypeError("input and other of dot must be tensors")
    m, n = dimensions(a), dimensions(b)
    if len(m) != len(n) or len(m) < 2:
        raise AssertionError(
            f"Both inputs must be either 2D or 3D; (lhs: {list(m)} vs rhs: {list(n)}): "
            "input and other must have equal ranks >= 2"
        )
    if m[:-2] != n[:-2]:
        raise AssertionError("input and other must have equal batch shapes")
    if m[-1] != n[-2]:
        raise AssertionError(
            "input and other must have equal reduction dimensions: "
            f"First input shape ({list(m)}) and second input shape {list(n)} are not compatible for matmul "
            f"(second index of first shape ({m[-1]}) must be equal to first index of second shape ({n[-2]})"
        )
    if acc is not None and dimensions(acc) != (*m[:-1], n[-1]):
        raise AssertionError("accumulator shape is incompatible")


def _check_operand_types(a: tensor, b: tensor) -> None:
    if a.dtype.is_fp8() and b.dtype.is_fp8():
        return
    for name, value in (("lhs", a), ("rhs", b)):
        if value.dtype not in _OPERANDS:
            raise AssertionError(f"Unsupported {name} dtype {value.dtype}")
    if a.dtype != b.dtype:
        raise AssertionError(f"Both operands must be same dtype. Got {a.dtype} and {b.dtype}")


def _without_foreign_fp8(a: tensor, b: tensor) -> tuple[tensor, tensor]:
    """fp16 in place of those fp8 types that the target cannot multiply."""
    deprecated = getattr(builder().options, "deprecated_fp8_dot_operand_dtypes", ())
    types = (a.dtype, b.dtype)
    if float8e4b15 in types:
        if "fp8e4b15" in deprecated:
            warnings.warn(
                "the use of fp8e4b15 is deprecated on Hopper and later architectures and can cause significant slow "
                "down. It will be removed in a future triton release",
                stacklevel=2,
            )
        return cast_to(a, float16), cast_to(b, float16)
    for amd in (float8e4b8, float8e5b16):
        if amd in types and amd.name in deprecated:
            arch = getattr(builder().options, "arch", "this architecture")
            warnings.warn(
                f"{amd.name} is AMD gfx942 specific and not supported on {arch} so it's upcasted to fp16 and can cause "
                f"significant slow down. Please use OCP fp8 variants on {arch} for performance",
                stacklevel=2,
            )
            return cast_to(a, float16), cast_to(b, float16)
    return a, b


def _check_least_size(a: tensor, b: tensor) -> None:
    """`options.min_dot_size(lhs type, rhs type)` gives the least M, N and K; without it anything goes."""
    least = getattr(builder().options, "min_dot_size", None)
    if least is None:
        return
    m, n, k = least(a.type, b.type)
    if dimensions(a)[-2] < m or dimensions(b)[-1] < n or dimensions(a)[-1] < k:
        raise AssertionError(f"Input shapes should have M >= {m}, N >= {n} and K >= {k}")


def _result_type(operand: dtype, out_dtype: dtype) -> dtype:
    if operand.is_int():
        if operand != int8:
            raise AssertionError("only int8 supported!")
        return int32
    if out_dtype == bfloat16:
        raise ValueError(
            "out_dtype=bfloat16 is unsupported. Please use out_dtype=float32/float16 and cast with `.to(tl.bfloat16)`"
        )
    if operand in (float32, bfloat16):
        return float32
    return float64 if operand == float64 else out_dtype


def _imprecise(a: tensor, b: tensor, wanted: int | None) -> int:
    """How many fp8 products may be added before they go to the accumulator in full precision; 0 for other types."""
    fp8 = a.dtype.is_fp8() and b.dtype.is_fp8()
    if wanted is None:
        return getattr(builder().options, "max_num_imprecise_acc_default", 0) or 0 if fp8 else 0
    depth = dimensions(a)[-1]
    if fp8 and wanted > depth:
        raise ValueError(f"max_num_imprecise_acc ({wanted}) must be <= K ({depth})")
    return wanted


def _dot(a: tensor, b: tensor, acc: tensor | None, precision: str, imprecise: int | None, out_dtype: dtype) -> tensor:
    _check_operand_types(a, b)
    a, b = _without_foreign_fp8(a, b)
    _check_least_size(a, b)
    element = _result_type(a.dtype, out_dtype)
    type = block_type(element, (*dimensions(a)[:-1], dimensions(b)[-1]))
    start = _accumulator(acc, type)
    handles = (a.handle, b.handle, start.handle)
    count = _imprecise(a, b, imprecise)
    product = builder().emit("tt.dot", handles, type, inputPrecision=precision, maxNumImpreciseAcc=count)
    return tensor(product, type)


def _accumulator(acc: tensor | None, type: block_type) -> tensor:
    if acc is None:
        return scalar_constant(0, type)
    if acc.type != type:
        raise AssertionError(
            f"expected an accumulator of type {type}, got {acc.type}; pass out_dtype={acc.dtype} to use its dtype"
        )
    return acc


_FORMATS: dict[str, tuple[dtype | None, dtype]] = {  # name: (type, integer that may carry it)
    "e2m1": (None, uint8),
    "e4m3": (float8e4nv, uint8),
    "e5m2": (float8e5, uint8),
    "bf16": (bfloat16, uint16),
    "fp16": (float16, uint16),
}


@builtin
def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: str,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: str,
    acc: tensor | None = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: dtype = float32,
) -> tensor:
    """The product of two tiles in microscaling formats, plus `acc`.

    Formats: "e2m1" (two in a uint8, along K unless `k_pack` is false), "e4m3", "e5m2", "bf16", "fp16". Scales: an uint8
    exponent (e8m0) for 32 elements along K, or an fp8e4nv for 16; shapes (M, K / 32) and (N, K / 32), or 16.
    On GPUs what is multiplied by "fp16" is rounded to fp16 first: keep elements times scales between 2^-24 and 65504.
    """
    a, b = _as_format(lhs, lhs_format), _as_format(rhs, rhs_format)
    for packed, format in ((lhs_k_pack, lhs_format), (rhs_k_pack, rhs_format)):
        if not packed and format != "e2m1":
            raise AssertionError("only mxfp4 inputs can be packed along a dimension different than K")
    m, n, k = _scaled_sizes(a, lhs_format, lhs_k_pack, b, rhs_format, rhs_k_pack)
    type = block_type(out_dtype, (*dimensions(a)[:-2], m, n))
    _check_scales(lhs_scale, rhs_scale, m, n, k)
    start = _accumulator(acc, type)
    handles = (a.handle, b.handle, start.handle, *(None if s is None else s.handle for s in (lhs_scale, rhs_scale)))
    product = builder().emit(
        "tt.dot_scaled",
        handles,
        type,
        a_elem_type=lhs_format,
        b_elem_type=rhs_format,
        fastMath=bool(fast_math),
        lhs_k_pack=bool(lhs_k_pack),
        rhs_k_pack=bool(rhs_k_pack),
    )
    return tensor(product, type)


def _as_format(value: tensor, format: str) -> tensor:
    if format not in _FORMATS:
        raise ValueError(f"Invalid float format: {format}.")
    type, carrier = _FORMATS[format]
    if type is None:
        if value.dtype != uint8:
            raise AssertionError(f"e2m1 format must be packed as uint8. Got {value.dtype}")
        return value
    if value.dtype == type:
        return value
    if value.dtype != carrier:
        raise AssertionError(f"Unexpected dtype for {format}. Got {value.dtype}")
    return bitcast_to(value, type)


def _scaled_sizes(a: tensor, a_format: str, a_k: bool, b: tensor, b_format: str, b_k: bool) -> tuple[int, int, int]:
    """M, N and K in elements, not in bytes that hold two of them."""
    shapes = f"(lhs: {list(dimensions(a))} vs rhs: {list(dimensions(b))})"
    if len(dimensions(a)) != len(dimensions(b)) or len(dimensions(a)) not in (2, 3):
        raise AssertionError(f"Both inputs must be either 2D or 3D; {shapes}")
    (m, k), (k_b, n) = dimensions(a)[-2:], dimensions(b)[-2:]
    a_pack, b_pack = (2 if format == "e2m1" else 1 for format in (a_format, b_format))
    k, m = (k * a_pack, m) if a_k else (k, m * a_pack)
    k_b, n = (k_b * b_pack, n) if b_k else (k_b, n * b_pack)
    if k != k_b:
        raise AssertionError(f"Reduction dimension should pack the same number of elements; {shapes}")
    return m, n, k


def _group(scale: tensor | None, k: int) -> int | None:
    """How many elements along K share a scale, by the shape of the scales; None where one element is all there is."""
    if scale is None or math.prod(dimensions(scale)) == 1:
        return None
    group = k // dimensions(scale)[-1]
    if group not in (16, 32):
        raise AssertionError(f"scale factor must be 16 or 32. Got {group}")
    return group


def _check_scales(lhs: tensor | None, rhs: tensor | None, m: int, n: int, k: int) -> None:
    groups = _group(lhs, k), _group(rhs, k)
    if None not in groups and groups[0] != groups[1]:
        raise AssertionError(f"Operands must have the same scale factor; (lhs: {groups[0]} vs rhs: {groups[1]})")
    group = groups[0] or groups[1] or 32
    for name, scale, rows in (("lhs_scale", lhs, m), ("rhs_scale", rhs, n)):
        if scale is not None and dimensions(scale)[-2:] != (rows, k // group):
            found = list(dimensions(scale))
            raise AssertionError(f"{name} must be a tensor of shape [..., {rows}, {k // group}]. Got {found}")
