"""The language of kernels: `import naiad.language as tl`. What Triton's triton.language has, under the same names."""

from naiad.language.core import builtin, is_builtin  # isort: skip  (the other modules are decorated with it)
from naiad.language import operators as _operators  # isort: skip  (gives tensors their operators)

from naiad.language.arithmetic import add, mul, sub
from naiad.language.builtin import must_use_result
from naiad.language.casts import cast
from naiad.language.compare import PropagateNan, clamp, maximum, minimum, where
from naiad.language.constexpr import const, constexpr, constexpr_type
from naiad.language.program import arange, full, num_programs, program_id
from naiad.language.promotion import to_tensor
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
