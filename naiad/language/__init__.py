"""The language of kernels: `import naiad.language as tl`. What Triton's triton.language has, under the same names."""

from naiad.language.core import builtin as _builtin  # isort: skip  (the other modules are decorated with it)
from naiad.language import operators as _operators  # isort: skip  (gives tensors their operators)

from naiad.language import extra, math, target_info
from naiad.language.aggregate import aggregate, aggregate_replace
from naiad.language.arithmetic import add, mul, sub
from naiad.language.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
)
from naiad.language.block_pointers import advance, make_block_ptr
from naiad.language.builtin import must_use_result
from naiad.language.casts import cast
from naiad.language.compare import PropagateNan, clamp, maximum, minimum, where
from naiad.language.constexpr import const, constexpr, constexpr_type
from naiad.language.constexpr_function import constexpr_function
from naiad.language.debug import (
    assume,
    debug_barrier,
    device_assert,
    device_print,
    max_constancy,
    max_contiguous,
    multiple_of,
    static_assert,
    static_print,
)
from naiad.language.descriptors import (
    load_tensor_descriptor,
    make_tensor_descriptor,
    store_tensor_descriptor,
    tensor_descriptor,
    tensor_descriptor_base,
    tensor_descriptor_base_type,
    tensor_descriptor_type,
)
from naiad.language.dot import dot, dot_scaled
from naiad.language.extremes import builtin_max, builtin_min
from naiad.language.external import extern_elementwise, inline_asm_elementwise
from naiad.language.math import (
    abs,
    ceil,
    cos,
    div_rn,
    erf,
    exp,
    exp2,
    fdiv,
    floor,
    fma,
    log,
    log2,
    rsqrt,
    sin,
    sqrt,
    sqrt_rn,
    umulhi,
)
from naiad.language.memory import load, store
from naiad.language.program import arange, full, num_programs, program_id
from naiad.language.promotion import to_tensor as _to_tensor
from naiad.language.random import (
    pair_uniform_to_normal,
    philox,
    philox_impl,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)
from naiad.language.ranges import condition, range, static_range
from naiad.language.reduce import associative_scan, histogram, map_elementwise, reduce
from naiad.language.shape import (
    broadcast,
    broadcast_to,
    cat,
    expand_dims,
    flip,
    gather,
    interleave,
    item,
    join,
    permute,
    ravel,
    reshape,
    split,
    squeeze,
    trans,
    unsqueeze,
    view,
)
from naiad.language.signature import str_to_ty
from naiad.language.sort import bitonic_merge, sort, topk
from naiad.language.standard import (
    argmax,
    argmin,
    cdiv,
    cumprod,
    cumsum,
    max,
    min,
    reduce_or,
    sigmoid,
    softmax,
    sum,
    swizzle2d,
    xor_sum,
    zeros,
    zeros_like,
)
from naiad.language.tensor import tensor
from naiad.language.tuples import slice, slice_type, tuple, tuple_type
from naiad.language.types import (
    TRITON_MAX_TENSOR_NUMEL,
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
    get_int_dtype,
    int1,
    int8,
    int16,
    int32,
    int64,
    pi32_t,
    pointer_type,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)
from naiad.language.values import base_type, base_value

extern = _builtin
to_tensor = _builtin(_to_tensor)
